import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { useQuery } from '@tanstack/react-query'
import type { Failure } from '../../app/api/failure.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { needsSignIn } from '../discovery/scans/error-cause.ts'
import { useRejectedCredentials } from '../discovery/scans/error-devices.ts'
import { type ErrorGroup, errorGroupsOf } from '../discovery/scans/error-groups.ts'
import { errorMessages } from '../discovery/scans/error-messages.ts'
import { mostRejected } from '../discovery/scans/sign-in-errors.ts'
import { hasRunErrors } from './job-errors.ts'
import { scanReference } from './scan-result.tsx'

/** The number of errors that are grouped by cause. */
const groupedErrors = 100
const noErrors: readonly DeviceError[] = []
const noScan = { gatewayId: '', assetLinkId: '' }

export type RunErrors = {
  scan: Discovery
  run: DiscoveryRun
  groups: ErrorGroup[]
  /** The errors of devices that no credentials could sign in to. */
  signIn: readonly DeviceError[]
  /** The credentials that a device rejected, by address. */
  rejected: ReturnType<typeof useRejectedCredentials>
  /** The credentials that most of the devices rejected in this run. */
  mostRejected: ReturnType<typeof mostRejected>
}

/** Is without data while the errors load, and if a request failed. */
type LoadedRunErrors = { data: RunErrors | undefined; failure: Failure | undefined; retry: () => unknown }

/** Loads the errors of the run of a scan, grouped by cause. Other jobs have no data. */
export function useRunErrors(job: AnyJob): LoadedRunErrors {
  const causes = useText(errorMessages)
  const query = useOperationQuery()
  const enabled = hasRunErrors(job)
  const params = { jobId: scanReference(job) ?? '' }
  const scan = useQuery({ ...query(['discovery', 'getDiscovery'], { params }), enabled })
  const input = { params, query: { limit: groupedErrors, ...(job.runId !== undefined && { run: job.runId }) } }
  const report = useQuery({ ...query(['discovery', 'getReport'], input), enabled })
  const errors = report.data?.data.errors ?? noErrors
  const signIn = errors.filter(needsSignIn)
  const rejected = useRejectedCredentials(scan.data?.data ?? noScan, signIn)
  const failed = [scan, report].find(({ error }) => error !== null)
  const state = { failure: failed?.error ?? undefined, retry: () => failed?.refetch() }
  if (scan.data === undefined || report.data === undefined) return { ...state, data: undefined }
  const { run } = report.data.data
  const data = {
    ...{ scan: scan.data.data, run, signIn, rejected },
    groups: errorGroupsOf(errors, causes),
    mostRejected: mostRejected(signIn, { rejected, run }),
  }
  return { ...state, data }
}
