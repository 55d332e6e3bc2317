import { useMemo } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { PlainTable } from '../../../components/tables/plain-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { recordingMessages } from './messages.ts'
import { parseRequestLog } from './request-log.ts'

/** The maximum number of requests that are shown. */
const shownRequests = 1_000

/** `RequestTable` lists the requests of a web session. */
export function RequestTable({ content }: { content: string }) {
  const text = useText(recordingMessages)
  const formats = useFormats()
  const requests = useMemo(() => parseRequestLog(content), [content])
  if (requests.length === 0) return <p className="quiet">{text.noRequests}</p>
  return (
    <>
      {requests.length > shownRequests && (
        <p>{text.shownRequests(formats.number(shownRequests), formats.number(requests.length))}</p>
      )}
      <PlainTable columns={[text.time, text.method, text.path, text.status, text.received, text.duration]} isWide>
        {requests.slice(0, shownRequests).map((request, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: requests have no id and never change
          <tr key={index}>
            <td>
              <Time at={request.timestamp} isExact />
            </td>
            <td>{request.method}</td>
            <td>
              <code>{request.path}</code>
            </td>
            <td>{request.status}</td>
            <td>{request.bytes !== undefined && formats.bytes(request.bytes)}</td>
            <td>{request.durationMs !== undefined && `${formats.number(Math.round(request.durationMs))} ms`}</td>
          </tr>
        ))}
      </PlainTable>
    </>
  )
}
