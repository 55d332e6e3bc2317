import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { keyOf } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { SubjectLink } from '../../../components/values/subject-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { kindOf, type Subscription } from '../subscription.ts'
import { operationsOf, pollMs, useRefreshSubscriptions } from '../subscription-data.ts'
import { AttemptView, Headers } from './attempt-view.tsx'
import { DeliveryState } from './delivery-state.tsx'
import { logMessages } from './messages.ts'
import { NextAttempt } from './next-attempt.tsx'

type DeliveryDetail = Output<'events', 'readWebhookDelivery'>['data']

type DeliveryDialogProps = { subscription: Subscription; deliveryId: string; onClose: () => void }

/** `DeliveryDialog` shows a delivery with its request, and the attempts to send it. */
export function DeliveryDialog({ subscription, deliveryId, onClose }: DeliveryDialogProps) {
  const text = useText(logMessages)
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const kind = kindOf(subscription)
  const params = { id: subscription.id, deliveryId }
  const operations = operationsOf(api, kind)
  const delivery = useQuery({
    queryKey: keyOf('events', 'readDelivery', { kind, params }),
    queryFn: async () => (await operations.readDelivery({ params })).data,
    refetchInterval: ({ state: { data } }) => (data !== undefined && isEnded(data) ? false : pollMs),
  })
  const retry = async () => {
    setBusy(true)
    setFailure(undefined)
    try {
      await operations.retry({ params })
      showSuccess(text.retried)
    } catch (error) {
      setFailure(error)
    }
    await refresh()
    setBusy(false)
  }
  return (
    <Dialog
      title={text.delivery}
      onClose={onClose}
      isWide
      actions={
        <>
          <IxButton variant="secondary" onClick={onClose}>
            {text.close}
          </IxButton>
          {delivery.data !== undefined && canRetry(delivery.data) && (
            <IxButton loading={isBusy} onClick={retry}>
              {text.retry}
            </IxButton>
          )}
        </>
      }
    >
      <QueryState query={delivery}>
        {(data) => <DeliveryFacts subscription={subscription} delivery={data} />}
      </QueryState>
      {failure !== undefined && <ProblemMessage failure={failure} />}
    </Dialog>
  )
}

/** Returns whether a delivery no longer changes unless a user retries it. */
function isEnded({ state, isDeadLetter }: DeliveryDetail): boolean {
  return state === 'succeeded' || state === 'skipped' || isDeadLetter
}

/** Returns whether the event can be sent again. A test event has no position and cannot. */
function canRetry({ state, position }: DeliveryDetail): boolean {
  return state === 'failed' && position !== null
}

type DeliveryFactsProps = { subscription: Subscription; delivery: DeliveryDetail }

function DeliveryFacts({ subscription, delivery }: DeliveryFactsProps) {
  const text = useText(logMessages)
  const formats = useFormats()
  const kind = kindOf(subscription)
  const { attempts, attemptCount, nextAttemptTimestamp, position, request, subject } = delivery
  return (
    <div className="delivery-facts">
      <KeyValueList
        items={[
          { name: text.state, value: <DeliveryState delivery={delivery} /> },
          { name: text.type, value: <code>{delivery.type}</code> },
          { name: text.subject, value: subject === null ? text.hidden : <SubjectLink subject={subject} /> },
          { name: text.position, value: position === null ? text.testEvent : formats.number(position) },
          { name: text.eventId, value: <code>{delivery.eventId}</code> },
          delivery.messageId !== delivery.eventId && {
            name: text.messageId,
            value: <code>{delivery.messageId}</code>,
          },
          { name: text.created, value: <Time at={delivery.createdTimestamp} isExact /> },
          nextAttemptTimestamp !== null && {
            name: text.nextAttempt,
            value: <NextAttempt at={nextAttemptTimestamp} subscription={subscription} />,
          },
        ]}
      />
      <h3 className="delivery-part">{kind === 'webhook' ? text.request : text.message}</h3>
      {request === null ? (
        <p className="quiet">{position === null ? text.noTestRequest : text.noRequest}</p>
      ) : (
        <>
          <KeyValueList
            items={[
              { name: kind === 'webhook' ? text.url : text.topic, value: <code>{request.target}</code> },
              { name: text.requestHeaders, value: <Headers headers={request.headers} /> },
            ]}
          />
          <p className="part-title">
            {text.requestBody} <CopyButton value={request.body} label={text.requestBody} />
          </p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable with the keyboard */}
          <pre className="request-text" tabIndex={0}>
            {indented(request.body)}
          </pre>
        </>
      )}
      <h3 className="delivery-part">{text.attempts(attemptCount, formats.number(attemptCount))}</h3>
      {attempts.length < attemptCount && <p className="quiet">{text.newestAttempts(String(attempts.length))}</p>}
      {attempts.length === 0 && <p className="quiet">{text.noAttempts}</p>}
      <ol className="attempts">
        {attempts.toReversed().map((attempt) => (
          <li key={attempt.time}>
            <AttemptView kind={kind} attempt={attempt} />
          </li>
        ))}
      </ol>
    </div>
  )
}

/** Returns a JSON text with indentation, or the text itself if it is not JSON. */
function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
