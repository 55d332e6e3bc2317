import { iconTasksAll } from '@siemens/ix-icons/icons'
import { useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../app/api/paged-list.ts'
import { useText } from '../../app/language/language-context.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, textAt } from '../assets/model/asset.ts'
import { errorsOf } from '../jobs/job-errors.ts'
import { JobPhaseChip } from '../jobs/job-phase.tsx'
import { resultOf } from '../jobs/job-result.ts'
import { useOutcomeText } from '../jobs/outcome-text.ts'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { assetMessages } from './messages.ts'

/** `Jobs` lists the jobs that refer to an asset. For a gateway, it lists all jobs that the gateway runs. */
export function Jobs({ asset }: { asset: Asset }) {
  const text = useText(assetMessages)
  const outcome = useOutcomeText()
  const names = useText(workflowNames)
  const navigate = useNavigate()
  const isGateway = textAt(asset, 'functional_object_type') === 'Gateway'
  const query = isGateway ? { gatewayId: asset.id } : { tag: `asset/${asset.id}` }
  const pagedList = usePagedList(['jobs', 'listJobs'], { query }, { live: ['workflows.job'] })
  return (
    <PagedTable
      label={text.jobs}
      pagedList={pagedList}
      idOf={({ id }) => id}
      onOpen={({ id }) => navigate({ to: `/jobs/${id}` })}
      columns={[
        { id: 'type', header: text.job, width: 200, cell: ({ type }) => workflowName(type, names) },
        {
          id: 'phase',
          header: text.phase,
          width: 140,
          cell: (job) => <JobPhaseChip phase={job.phase} errors={errorsOf(job)} isShort />,
        },
        { id: 'outcome', header: outcome.text.outcome, width: 300, cell: (job) => resultOf(job, outcome) },
        { id: 'created', header: text.created, width: 200, cell: (job) => <Time at={job.createdTimestamp} /> },
        { id: 'changed', header: text.modified, width: 200, cell: (job) => <Time at={job.lastModifiedTimestamp} /> },
      ]}
      empty={
        <EmptyState icon={iconTasksAll} title={text.noJobs}>
          <p>{text.noJobsHint}</p>
        </EmptyState>
      }
    />
  )
}
