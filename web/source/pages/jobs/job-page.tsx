import type { AnyJobInFull } from '@millwright/api/jobs.ts'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useGatewayNames } from '../../app/gateways.ts'
import { useText } from '../../app/language-context.tsx'
import { useOperationQuery } from '../../app/queries.ts'
import { Card } from '../../components/card.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Facts } from '../../components/facts.tsx'
import { JsonView } from '../../components/json-view.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { Progress } from '../../components/progress.tsx'
import { QueryState } from '../../components/query-state.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { Time } from '../../components/time.tsx'
import { WorkflowPicture } from '../workflows/workflow-picture.tsx'
import { JobPhaseChip } from './job-phase.tsx'
import { jobMessages } from './messages.ts'

/** One job: how far it is, what it is about, and every state it was in. */
export function JobPage() {
  const text = useText(jobMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const job = useQuery(query(['jobs', 'getJob'], { params: { id } }, { live: ['workflows.job'] }))
  usePageTitle(text.job)
  return (
    <>
      <PageHeader title={`${text.job} ${job.data?.data.type ?? ''}`} above={<Link to="/jobs">{text.all}</Link>} />
      <QueryState query={job}>{({ data }) => <JobCards job={data} />}</QueryState>
    </>
  )
}

function JobCards({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  return (
    <div className="cards cards-two">
      <Card title={text.job}>
        <JobFacts job={job} />
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
        <WorkflowPicture name={job.type} label={text.drawing(job.type)} />
      </Card>
      <Card title={text.definition}>
        <JsonView value={job.definition} />
      </Card>
      {job.context !== undefined && (
        <Card title={text.context}>
          <JsonView value={job.context} />
        </Card>
      )}
    </div>
  )
}

function JobFacts({ job }: { job: AnyJobInFull }) {
  const text = useText(jobMessages)
  const gateways = useGatewayNames()
  return (
    <Facts
      facts={[
        { name: text.phase, value: <JobPhaseChip phase={job.phase} /> },
        job.phase === 'running' && {
          name: text.progress,
          value: <Progress value={job.progress} label={text.progress} />,
        },
        { name: text.message, value: job.message },
        { name: text.state, value: job.state },
        { name: text.gateway, value: gateways.get(job.gatewayId) ?? job.gatewayId },
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
              <CopyButton value={job.id} what="ID" />
            </span>
          ),
        },
      ]}
    />
  )
}
