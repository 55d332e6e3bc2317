import type { Attempt } from '@millwright/api/event-subscriptions.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import type { SubscriptionKind } from '../subscription.ts'
import { logMessages } from './messages.ts'

/** `AttemptView` shows one attempt with the response of the receiver. A broker responds with a reason code. */
export function AttemptView({ kind, attempt }: { kind: SubscriptionKind; attempt: Attempt }) {
  const text = useText(logMessages)
  const formats = useFormats()
  const { time, durationMs, status, error, responseHeaders, responseBody } = attempt
  return (
    <>
      <KeyValueList
        items={[
          { name: text.time, value: <Time at={time} isExact /> },
          { name: text.duration, value: text.milliseconds(formats.number(durationMs)) },
          {
            name: kind === 'webhook' ? text.status : text.reasonCode,
            value: status === null ? text.noResponse : <code>{status}</code>,
          },
          error !== null && { name: text.error, value: <span lang="en">{error}</span> },
          responseHeaders !== undefined && {
            name: text.responseHeaders,
            value: <Headers headers={responseHeaders} />,
          },
        ]}
      />
      {responseBody !== undefined && responseBody !== '' && (
        <>
          <p className="part-title">{text.responseBody}</p>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable with the keyboard */}
          <pre className="request-text" tabIndex={0}>
            {responseBody}
          </pre>
        </>
      )}
    </>
  )
}

export function Headers({ headers }: { headers: Readonly<Record<string, string>> }) {
  return (
    <ul className="plain-list">
      {Object.entries(headers).map(([name, value]) => (
        <li key={name}>
          <code>
            {name}: {value}
          </code>
        </li>
      ))}
    </ul>
  )
}
