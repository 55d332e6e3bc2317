import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { discoveryMessages } from '../discovery/messages.ts'
import { mostRejected } from '../discovery/scans/device-errors.tsx'
import { unauthenticated } from '../discovery/scans/error-cause.ts'
import { useRejectedCredentials } from '../discovery/scans/error-devices.ts'
import { errorGroupsOf } from '../discovery/scans/error-groups.ts'
import { errorMessages } from '../discovery/scans/error-messages.ts'

/** The number of errors that are grouped. */
const groupedErrors = 100

/** `ScanErrors` shows the errors of the run of a scan by cause, each with what the user can do. */
export function ScanErrors({ scanId, runId }: { scanId: string; runId: string }) {
  const text = useText(discoveryMessages)
  const query = useOperationQuery()
  const scan = useQuery(query(['discovery', 'getDiscovery'], { params: { jobId: scanId } }))
  const input = { params: { jobId: scanId }, query: { run: runId, limit: groupedErrors } }
  const report = useQuery(query(['discovery', 'getReport'], input, { live: ['discovery'] }))
  return (
    <Card title={text.errors}>
      <QueryState query={report}>
        {({ data: { run, errors } }) =>
          scan.data !== undefined && <ErrorGroups scan={scan.data.data} run={run} errors={errors} />
        }
      </QueryState>
    </Card>
  )
}

type ErrorGroupsProps = { scan: Discovery; run: DiscoveryRun; errors: readonly DeviceError[] }

function ErrorGroups({ scan, run, errors }: ErrorGroupsProps) {
  const text = useText(discoveryMessages)
  const causes = useText(errorMessages)
  const { number } = useFormats()
  const rejected = useRejectedCredentials(scan, errors)
  const canChange = usePermission('glb_credential_write')
  const isComplete = errors.length >= run.errors
  return errorGroupsOf(errors, causes).map(({ name, advice, errors: group }) => {
    const credentials = group[0]?.code === unauthenticated ? mostRejected(group, { rejected, run }) : undefined
    return (
      <div key={name} className="error-group">
        <p className="error-advice">
          <Link to={`/discovery/scans/${scan.jobId}`} search={{ view: 'errors', run: run.id } as never}>
            <strong>{isComplete ? text.errorGroup(name, group.length, number(group.length)) : name}</strong>
          </Link>
        </p>
        <p className="error-advice">{advice}</p>
        {credentials !== undefined && canChange && (
          <p className="error-advice">
            <Link to={`/credentials/${credentials.instanceId}`}>{text.changeCredentials(credentials.name)}</Link>
          </p>
        )}
      </div>
    )
  })
}
