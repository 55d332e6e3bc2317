import { iconWarning } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { useText } from '../../app/language/language-context.tsx'
import { useAppContext } from '../../app/session/app-context.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { kindOf, pathOf, type Subscription } from '../webhooks/subscription.ts'
import { useSubscriptions } from '../webhooks/subscription-data.ts'
import { startMessages } from './messages.ts'

/** `SubscriptionNotice` shows the webhooks and MQTT publishers of the user that the platform has stopped. */
export function SubscriptionNotice() {
  const { user } = useAppContext()
  const stopped = useSubscriptions().filter(
    ({ owner, reason }) => owner.id === user.sub && (reason === 'receiver_gone' || reason === 'events_gone'),
  )
  return stopped.map((subscription) => <Notice key={subscription.id} subscription={subscription} />)
}

function Notice({ subscription }: { subscription: Subscription }) {
  const text = useText(startMessages)
  const { id, name, reason, url } = subscription
  const kind = kindOf(subscription)
  const title = kind === 'webhook' ? text.webhookStopped(name) : text.publisherStopped(name)
  return (
    <section className="notice" data-tone="warning" aria-label={title}>
      <Icon name={iconWarning} />
      <div>
        <p className="notice-title">{title}</p>
        <p>{reason === 'receiver_gone' ? text.receiverGone(url) : text.eventsGone}</p>
        <div className="notice-actions">
          <Link to={`${pathOf[kind]}/${id}`}>{text.openSubscription}</Link>
          <Link to={`${pathOf[kind]}/${id}`} search={{ log: 'failed' } as never}>
            {text.failedDeliveries}
          </Link>
        </div>
      </div>
    </section>
  )
}
