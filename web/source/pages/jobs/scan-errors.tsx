import type { AnyJob } from '@millwright/api/jobs.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { DeviceErrors } from '../discovery/scans/device-errors.tsx'
import { errorsOf } from './job-errors.ts'
import { jobMessages } from './messages.ts'
import { scanReference, useScan } from './scan-result.tsx'

/** The number of errors on the page of a job. The page of the scan lists all of them. */
const shownErrors = 10

/** `ScanErrors` lists the first errors of the run of a scan, with their causes and remedies. */
export function ScanErrors({ job }: { job: AnyJob }) {
  const text = useText(jobMessages)
  const query = useOperationQuery()
  const scanId = scanReference(job) ?? ''
  const scan = useScan(scanId)
  const input = { params: { jobId: scanId }, query: { run: job.runId ?? '', limit: shownErrors } }
  const report = useQuery({ ...query(['discovery', 'getReport'], input), enabled: job.runId !== undefined })
  const errors = errorsOf(job)
  if (scan === undefined || errors === undefined) return null
  return (
    <Card
      title={text.errors}
      size="wide"
      actions={
        errors.count > shownErrors && (
          <Link to={errors.to} search={(errors.search ?? {}) as never}>
            {text.showErrors}
          </Link>
        )
      }
    >
      <QueryState query={report}>
        {({ data }) => <DeviceErrors scan={scan} run={data.run} errors={data.errors} total={data.totalErrors} />}
      </QueryState>
    </Card>
  )
}
