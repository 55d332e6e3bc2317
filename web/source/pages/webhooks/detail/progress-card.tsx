import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { ErrorText } from '../error-text.tsx'
import { webhookMessages } from '../messages.ts'
import { eventsBehind, type Subscription } from '../subscription.ts'
import { SubscriptionState } from '../subscription-state.tsx'
import { detailMessages } from './messages.ts'
import { progressWindow } from './progress-window.ts'

/** `ProgressCard` shows how far the sending is, and when the receiver last responded. */
export function ProgressCard({ subscription }: { subscription: Subscription }) {
  const text = useText(detailMessages)
  const shared = useText(webhookMessages)
  const formats = useFormats()
  const behind = eventsBehind(subscription)
  const { nextAttemptTimestamp, lastSuccessTimestamp, lastFailureTimestamp, lastError } = subscription
  return (
    <Card title={text.progress}>
      <ProgressPicture subscription={subscription} />
      <KeyFigures
        figures={[
          { name: text.behind(behind), value: formats.number(behind) },
          { name: text.waitingFigure, value: formats.number(subscription.waiting) },
          { name: shared.deadLetters, value: formats.number(subscription.deadLetters) },
        ]}
      />
      <div className="progress-facts">
        <KeyValueList
          items={[
            { name: shared.state, value: <SubscriptionState subscription={subscription} /> },
            nextAttemptTimestamp !== null && {
              name: text.nextAttempt,
              value: (
                <>
                  <Time at={nextAttemptTimestamp} isRelative /> (<Time at={nextAttemptTimestamp} isTimeOfDay />)
                </>
              ),
            },
            { name: shared.lastSuccess, value: <Time at={lastSuccessTimestamp} isRelative /> },
            { name: shared.lastFailure, value: <Time at={lastFailureTimestamp} isRelative /> },
            lastError !== null && { name: shared.lastError, value: <ErrorText error={lastError} /> },
          ]}
        />
      </div>
    </Card>
  )
}

/** `ProgressPicture` shows the position of a subscription on a line that ends at the newest event. */
function ProgressPicture({ subscription }: { subscription: Subscription }) {
  const text = useText(detailMessages)
  const formats = useFormats()
  const { position, newestPosition } = subscription
  const behind = eventsBehind(subscription)
  const { start, share } = progressWindow({ position, newestPosition })
  return (
    <figure className="position-line">
      <svg width="100%" height="14" aria-hidden="true">
        <rect className="bar-ground" y="3" width="100%" height="8" rx="4" />
        <rect className="bar-fill" y="3" width={`${share}%`} height="8" rx="4" />
        <rect className="position-mark" x={`calc(${share}% - ${share / 50 + 1}px)`} width="4" height="14" rx="2" />
      </svg>
      <figcaption>
        <span>{formats.number(start)}</span>
        <span>
          {behind === 0
            ? text.upToDate(formats.number(newestPosition))
            : text.positionOf(formats.number(position), formats.number(newestPosition))}
        </span>
        <span>{formats.number(newestPosition)}</span>
      </figcaption>
    </figure>
  )
}
