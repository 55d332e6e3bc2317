import type { AnyJob } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useText } from '../../app/language/language-context.tsx'
import { locationOf } from '../../app/navigation/subject-location.ts'
import { checkCountsOf } from './check-counts.ts'
import { jobMessages } from './messages.ts'

/** `CheckResult` shows the result of a check. The number of unreachable devices links to the devices that are unreachable now. */
export function CheckResult({ job }: { job: AnyJob }) {
  const text = useText(jobMessages)
  const counts = checkCountsOf(job.message)
  const place = locationOf(job.subject?.reference ?? '')
  if (counts === undefined || place === undefined) return null
  return (
    <span>
      {text.reachable(String(counts.reached))},{' '}
      <Link to={place.to} search={{ results: 'failed' } as never} className="link-in-text" title={text.unreachableNow}>
        {text.unreachable(String(counts.failed))}
      </Link>
      {counts.unchecked > 0 && `, ${text.notChecked(String(counts.unchecked))}`}
    </span>
  )
}
