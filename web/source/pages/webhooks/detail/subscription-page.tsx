import { useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../../app/language/language-context.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { DeliveryLog } from '../log/delivery-log.tsx'
import { webhookMessages } from '../messages.ts'
import type { SubscriptionKind } from '../subscription.ts'
import { useSubscription } from '../subscription-data.ts'
import { ProgressCard } from './progress-card.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import { SettingsCard } from './settings-card.tsx'
import { StateNotice } from './state-notice.tsx'
import { SubscriptionActions } from './subscription-actions.tsx'
import '../webhooks.css'

/** `WebhookPage` shows a webhook with its state and its deliveries. */
export function WebhookPage() {
  return <SubscriptionPage kind="webhook" />
}

/** `PublisherPage` shows an MQTT publisher with its state and its deliveries. */
export function PublisherPage() {
  return <SubscriptionPage kind="mqtt" />
}

function SubscriptionPage({ kind }: { kind: SubscriptionKind }) {
  const text = useText(webhookMessages)
  const { id = '' } = useParams({ strict: false })
  const loaded = useSubscription(kind, id)
  const [isReplaying, setReplaying] = useState(false)
  const subscription = loaded.data?.subscription
  const title = subscription?.name ?? (kind === 'webhook' ? text.webhook : text.publisher)
  usePageTitle(title)
  const replay = () => setReplaying(true)
  return (
    <>
      <PageHeader
        title={title}
        above={
          <ParentLink to="/webhooks" search={kind === 'mqtt' ? { view: 'mqtt' } : {}}>
            {kind === 'webhook' ? text.webhooks : text.publishers}
          </ParentLink>
        }
        actions={subscription !== undefined && <SubscriptionActions subscription={subscription} onReplay={replay} />}
      />
      <QueryState query={loaded}>
        {(data) => (
          <>
            <StateNotice subscription={data.subscription} onReplay={replay} />
            <div className="cards cards-two">
              <ProgressCard subscription={data.subscription} />
              <SettingsCard subscription={data.subscription} />
            </div>
            <DeliveryLog subscription={data.subscription} />
            {isReplaying && <ReplayDialog subscription={data.subscription} onClose={() => setReplaying(false)} />}
          </>
        )}
      </QueryState>
    </>
  )
}
