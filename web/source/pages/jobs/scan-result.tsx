import type { Discovery } from '@millwright/api/discovery.ts'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { jobMessages } from './messages.ts'

type ScanResultProps = {
  scanId: string
  /** The scan, if its latest run belongs to the job. */
  scan: Discovery | undefined
  /** The run of the job, if it is known. The page of the scan then shows this run. */
  runId?: string | undefined
  /** Whether the result contains a link to the new devices in the inbox. */
  hasInbox?: boolean
}

/** `ScanResult` shows how many devices a scan found, with links to the scan and to the new devices. */
export function ScanResult({ scanId, scan, runId, hasInbox = false }: ScanResultProps) {
  const text = useText(jobMessages)
  const { number } = useFormats()
  const shown = scan === undefined ? text.toResult : text.scanResult(number(scan.found), number(scan.created))
  return (
    <>
      <Link
        to={`/discovery/scans/${scanId}`}
        search={(runId === undefined ? {} : { run: runId }) as never}
        title={shown}
      >
        {shown}
      </Link>
      {hasInbox && scan !== undefined && scan.created > 0 && (
        <>
          {' · '}
          <Link to="/inbox" search={{ scan: scan.runId } as never}>
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

/** Returns the id of the scan of a finished job, or undefined for other jobs. */
export function scanIdOf(job: Pick<AnyJob, 'phase' | 'subject'>): string | undefined {
  return job.phase === 'finished' ? scanReference(job) : undefined
}

/** Returns the scan with this id, and undefined while it is not loaded. */
export function useScan(id: string | undefined): Discovery | undefined {
  const query = useOperationQuery()
  const input = { params: { jobId: id ?? '' } }
  const { data } = useQuery({
    ...query(['discovery', 'getDiscovery'], input, { live: ['discovery'] }),
    enabled: id !== undefined,
  })
  return id === undefined ? undefined : data?.data
}

/** The number of scans whose results are shown in the list of jobs. */
const newestScans = 100

/** Returns the newest scans by id, with one request. */
export function useNewestScans(isEnabled: boolean): ReadonlyMap<string, Discovery> {
  const query = useOperationQuery()
  const input = { query: { limit: newestScans } }
  const { data } = useQuery({
    ...query(['discovery', 'listDiscoveries'], input, { live: ['discovery'] }),
    enabled: isEnabled,
  })
  return new Map(data?.data.map((scan) => [scan.jobId, scan]))
}

/** Returns the scan of a job, if the job belongs to the latest run of the scan. */
export function latestScan(job: AnyJob, scans: ReadonlyMap<string, Discovery>): Discovery | undefined {
  const scan = scans.get(scanIdOf(job) ?? '')
  return scan !== undefined && isLatestRun(job, scan) ? scan : undefined
}

type JobTimes = Pick<AnyJob, 'createdTimestamp' | 'lastModifiedTimestamp'>
type ScanTimes = Pick<Discovery, 'startedTimestamp' | 'endedTimestamp'>

/**
 * Returns the start and the end of a job. For a scan they are the times of its run, as on the page of the scan: the run
 * ends when the inventory contains the devices.
 */
export function timesOf(
  { createdTimestamp, lastModifiedTimestamp }: JobTimes,
  scan: ScanTimes | undefined,
): { started: string; ended: string } {
  return { started: scan?.startedTimestamp ?? createdTimestamp, ended: scan?.endedTimestamp ?? lastModifiedTimestamp }
}

/** Returns the duration of a job in milliseconds: the difference of its times, which are shown in seconds. */
export function durationOf(job: JobTimes, scan: ScanTimes | undefined): number {
  const { started, ended } = timesOf(job, scan)
  const secondOf = (time: string) => Math.floor(Date.parse(time) / 1_000)
  const seconds = secondOf(ended) - secondOf(started)
  return seconds === 0 ? Date.parse(ended) - Date.parse(started) : seconds * 1_000
}

/** Returns whether a job belongs to the latest run of its scan. The runs of a scan do not overlap. */
function isLatestRun(
  { createdTimestamp, lastModifiedTimestamp }: Pick<AnyJob, 'createdTimestamp' | 'lastModifiedTimestamp'>,
  { startedTimestamp, endedTimestamp }: Pick<Discovery, 'startedTimestamp' | 'endedTimestamp'>,
): boolean {
  if (startedTimestamp === undefined || endedTimestamp === undefined) return false
  return (
    Date.parse(startedTimestamp) <= Date.parse(lastModifiedTimestamp) &&
    Date.parse(endedTimestamp) >= Date.parse(createdTimestamp)
  )
}
