import { iconClose } from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { isFailure } from '../../../app/api/failure.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { transferCodes } from './file-streams.ts'
import { fileMessages } from './messages.ts'
import type { Transfer, Transfers } from './transfers.ts'

/** `TransferList` shows the progress of the transfers of a session, and cancels them. */
export function TransferList({ transfers }: { transfers: Transfers }) {
  const text = useText(fileMessages)
  if (transfers.list.length === 0) return null
  return (
    <section className="transfers" aria-label={text.transfers}>
      <h3>{text.transfers}</h3>
      <ul>
        {transfers.list.toReversed().map((transfer) => (
          <li key={transfer.id}>
            <TransferState transfer={transfer} />
            {transfer.state === 'running' ? (
              <IxIconButton
                icon={iconClose}
                size="16"
                variant="subtle-tertiary"
                aria-label={text.cancelOf(transfer.name)}
                onClick={() => transfers.cancel(transfer.id)}
              />
            ) : (
              <IxIconButton
                icon={iconClose}
                size="16"
                variant="subtle-tertiary"
                aria-label={`${text.remove}: ${transfer.name}`}
                onClick={() => transfers.remove(transfer.id)}
              />
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}

function TransferState({ transfer: { direction, name, bytes, total, state } }: { transfer: Transfer }) {
  const text = useText(fileMessages)
  const formats = useFormats()
  const label = direction === 'upload' ? text.uploading(name) : text.downloading(name)
  if (state === 'running') {
    const percent = total === undefined ? undefined : total === 0 ? 100 : Math.floor((bytes / total) * 100)
    return (
      <div>
        <p>
          {label} <span className="quiet">{formats.bytes(bytes)}</span>
        </p>
        <Progress value={percent} label={label} />
      </div>
    )
  }
  if (state === 'done' || state === 'canceled') {
    return (
      <p role="status">
        {label}: {state === 'done' ? text.done : text.canceled}
      </p>
    )
  }
  const { failure } = state
  if (isFailure(failure, transferCodes.lost)) return <p role="alert">{`${label}: ${text.lost}`}</p>
  if (isFailure(failure, transferCodes.tooLarge)) return <p role="alert">{`${label}: ${text.tooLarge}`}</p>
  return <ProblemMessage failure={failure} title={`${text.failed}: ${name}`} />
}
