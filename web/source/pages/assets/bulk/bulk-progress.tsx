import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { assetsMessages } from '../messages.ts'
import type { BulkOutcome } from './bulk-result.ts'

/** `BulkProgressState` is the progress of a bulk write. `outcome` is set when the write has finished. */
export type BulkProgressState = { done: number; outcome?: BulkOutcome }

/** The maximum number of listed failures. */
const maxFailures = 50

/** `BulkProgress` shows the progress of a bulk write and its failures. */
export function BulkProgress({ progress, all }: { progress: BulkProgressState; all: number }) {
  const text = useText(assetsMessages)
  const formats = useFormats()
  const failures = progress.outcome?.failures ?? []
  return (
    <div className="bulk-progress" role="status">
      <Progress value={(100 * progress.done) / Math.max(1, all)} label={text.save} />
      <p>{text.progress(formats.number(progress.done), formats.number(all))}</p>
      {failures.length > 0 && (
        <>
          <p className="field-error">{text.someFailed(formats.number(failures.length))}</p>
          <ul className="bulk-failures">
            {failures.slice(0, maxFailures).map(({ id, detail }) => (
              <li key={id}>
                <Link to="/assets/$id" params={{ id }}>
                  <code>{id}</code>
                </Link>{' '}
                <span lang="en">{detail}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
