import { platformClient } from '@millwright/api/built-in-workflows.ts'
import type { AnyJobInFull } from '@millwright/api/jobs.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useGatewayNames } from '../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { CopyButton } from '../../components/actions/copy-button.tsx'
import { ConfirmButton } from '../../components/dialogs/confirm-button.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { showSuccess } from '../../components/feedback/toast.ts'
import { Card } from '../../components/page/card.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { Time } from '../../components/values/time.tsx'
import { AddCredentialsButton } from '../credentials/flow/add-credentials-button.tsx'
import type { CredentialStart } from '../credentials/flow/credential-start.ts'
import { WorkflowDiagram } from '../workflows/workflow-diagram.tsx'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { JobPhaseChip } from './job-phase.tsx'
import { jobMessages } from './messages.ts'

/** `JobPage` shows the progress, the input, the result and the history of one job. */
export function JobPage() {
  const text = useText(jobMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const job = useQuery(query(['jobs', 'getJob'], { params: { id } }, { live: ['workflows.job'] }))
  const names = useText(workflowNames)
  const title = job.data === undefined ? text.job : `${text.job}: ${workflowName(job.data.data.type, names)}`
  usePageTitle(title)
  return (
    <>
      <PageHeader
        title={title}
        above={<Link to="/jobs">{text.all}</Link>}
        actions={job.data !== undefined && <Actions job={job.data.data} />}
      />
      <QueryState query={job}>{({ data }) => <JobCards job={data} />}</QueryState>
    </>
  )
}

const ended: readonly AnyJobInFull['phase'][] = ['finished', 'failed', 'canceled']

function Actions({ job: { id, phase } }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canManage = usePermission('glb_workflow_manage')
  if (!canManage || !ended.includes(phase)) return null
  const remove = async () => {
    await api.workflows.deleteJob({ params: { id } })
    showSuccess(text.removed)
    await navigate({ to: '/jobs' })
    await queryClient.invalidateQueries({ queryKey: keyOf('jobs', 'listJobs') })
  }
  return (
    <ConfirmButton action={text.remove} title={text.removeTitle} onConfirm={remove}>
      {text.removeDetail}
    </ConfirmButton>
  )
}

function JobCards({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  return (
    <div className="cards cards-two">
      <Card title={text.job}>
        <JobDetails job={job} />
      </Card>
      <Card title={text.history}>
        <ol className="timeline">
          {job.history.toReversed().map(({ timestamp, state, message, progress }, index) => (
            <li key={`${timestamp} ${state} ${progress ?? ''}`} data-now={index === 0}>
              <Time at={timestamp} />
              <strong>{state}</strong>
              {message !== undefined && <span>{message}</span>}
            </li>
          ))}
        </ol>
      </Card>
      <Card title={text.workflow} size="wide">
        <WorkflowDiagram name={job.type} label={text.drawing(job.type)} />
        <p>
          <Link to="/workflows" search={{ name: job.type }}>
            {text.toWorkflow}
          </Link>
        </p>
      </Card>
      <Card title={text.input}>
        <JsonView value={job.definition} />
      </Card>
      {job.context !== undefined && (
        <Card title={text.result}>
          <JsonView value={job.context} />
        </Card>
      )}
    </div>
  )
}

/** Returns the data of the protected device that a job could not read. */
function startOf({ gatewayId, definition: { addresses, assetLinkId } }: AnyJobInFull): CredentialStart {
  const [address]: unknown[] = Array.isArray(addresses) ? addresses : []
  return {
    gatewayId,
    ...(typeof assetLinkId === 'string' && { assetLinkId }),
    ...(typeof address === 'string' && { address }),
  }
}

function JobDetails({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const { discoveryId: scanId, monitoringId, importId, exportId, sessionId, campaignId } = job.definition
  const gateways = useGatewayNames()
  return (
    <KeyValueList
      items={[
        { name: text.phase, value: <JobPhaseChip phase={job.phase} /> },
        job.phase === 'running' && {
          name: text.progress,
          value: <Progress value={job.progress} label={text.progress} />,
        },
        { name: text.message, value: job.message },
        job.context?.protected === true && {
          name: text.remedy,
          value: <AddCredentialsButton start={startOf(job)} />,
        },
        { name: text.state, value: job.state },
        {
          name: text.gateway,
          value: gateways.has(job.gatewayId) ? (
            <Link to={`/discovery/gateways/${job.gatewayId}`}>{gateways.get(job.gatewayId)}</Link>
          ) : job.gatewayId === platformClient ? (
            text.platform
          ) : (
            job.gatewayId
          ),
        },
        typeof scanId === 'string' && {
          name: text.scan,
          value: <Link to={`/discovery/scans/${scanId}`}>{text.toScan}</Link>,
        },
        typeof monitoringId === 'string' && {
          name: text.monitoring,
          value: <Link to={`/monitoring/${monitoringId}`}>{text.toMonitoring}</Link>,
        },
        typeof sessionId === 'string' && {
          name: text.session,
          value: <Link to={`/remote/sessions/${sessionId}`}>{text.toSession}</Link>,
        },
        typeof campaignId === 'string' && {
          name: text.campaign,
          value: <Link to={`/updates/campaigns/${campaignId}`}>{text.toCampaign}</Link>,
        },
        typeof importId === 'string' && {
          name: text.file,
          value: <Link to={`/files/imports/${importId}`}>{text.toImport}</Link>,
        },
        typeof exportId === 'string' && {
          name: text.file,
          value: (
            <Link to="/files" search={{ view: 'exports' }}>
              {text.toExports}
            </Link>
          ),
        },
        { name: text.created, value: <Time at={job.createdTimestamp} /> },
        { name: text.changed, value: <Time at={job.lastModifiedTimestamp} /> },
        job.tags.length > 0 && {
          name: text.tags,
          value: (
            <span className="chips">
              {job.tags.map((tag) => (
                <StatusChip key={tag}>{tag}</StatusChip>
              ))}
            </span>
          ),
        },
        {
          name: 'ID',
          value: (
            <span className="with-copy">
              <code>{job.id}</code>
              <CopyButton value={job.id} label="ID" />
            </span>
          ),
        },
      ]}
    />
  )
}
