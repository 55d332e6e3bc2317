import type { AnyJob } from '@millwright/api/jobs.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { jobMessages } from './messages.ts'

type ScanJob = Pick<AnyJob, 'phase' | 'subject' | 'runId' | 'scan'>

/** `ScanResult` shows how many devices the run of a finished scan found, with links to the run and to its new and missing devices. */
export function ScanResult({ job }: { job: ScanJob }) {
  const text = useText(jobMessages)
  const { number } = useFormats()
  const { runId, scan } = job
  const to = `/discovery/scans/${scanReference(job)}`
  const ofRun = runId === undefined ? {} : { run: runId }
  return (
    <>
      <Link to={to} search={ofRun as never}>
        {scan === undefined ? text.finished : text.scanResult(number(scan.found), number(scan.created))}
      </Link>
      {scan?.gone !== undefined && (
        <>
          {', '}
          <Link to={to} search={{ ...ofRun, view: 'gone' } as never}>
            {text.missingDevices(number(scan.gone))}
          </Link>
        </>
      )}
      {runId !== undefined && scan !== undefined && scan.created > 0 && (
        <>
          {' · '}
          <Link to="/inbox" search={{ scan: runId } as never}>
            {text.toInbox}
          </Link>
        </>
      )}
    </>
  )
}

/** Returns the id of the scan to which a job belongs, or undefined for other jobs. */
export function scanReference({ subject }: Pick<AnyJob, 'subject'>): string | undefined {
  return /^discovery\/(.+)$/.exec(subject?.reference ?? '')?.[1]
}

/** Returns what started a job: a schedule, or the user or service account. */
export function starterOf(
  { trigger, startedBy }: Pick<AnyJob, 'trigger' | 'startedBy'>,
  text: (typeof jobMessages)['en'],
): string | undefined {
  return trigger === 'schedule' ? text.schedule : startedBy
}
