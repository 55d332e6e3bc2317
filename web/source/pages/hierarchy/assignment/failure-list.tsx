import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { hierarchyMessages } from '../messages.ts'
import type { AssignmentOutcome } from './outcome.ts'

/** The maximum number of listed failures. */
const maxFailures = 50

/** `FailureList` shows the assets that could not be assigned, with the reasons. */
export function FailureList({ failures }: Pick<AssignmentOutcome, 'failures'>) {
  const text = useText(hierarchyMessages)
  const formats = useFormats()
  return (
    <div role="alert">
      <p className="field-error">{text.someFailed(failures.length, formats.number(failures.length))}</p>
      <ul className="failure-list">
        {failures.slice(0, maxFailures).map(({ assetId, detail }) => (
          <li key={assetId}>
            <Link to="/assets/$id" params={{ id: assetId }}>
              <code>{assetId}</code>
            </Link>{' '}
            <span lang="en">{detail}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}
