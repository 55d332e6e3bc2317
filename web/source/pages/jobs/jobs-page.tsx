import type { AnyJob, JobPhase } from '@millwright/api/jobs.ts'
import { iconTasksAll } from '@siemens/ix-icons/icons'
import { Link, useNavigate } from '@tanstack/react-router'
import { useGatewayNames } from '../../app/gateways.ts'
import { useFormats, useText } from '../../app/language-context.tsx'
import { usePaged } from '../../app/paged.ts'
import { useSearchState } from '../../app/search.ts'
import type { Column } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { SelectField } from '../../components/fields.tsx'
import { PageHeader } from '../../components/page-header.tsx'
import { usePageTitle } from '../../components/page-title.ts'
import { PagedTable } from '../../components/paged-table.tsx'
import { Progress } from '../../components/progress.tsx'
import { Time } from '../../components/time.tsx'
import { Toolbar } from '../../components/toolbar.tsx'
import { JobPhaseChip } from './job-phase.tsx'
import { jobMessages } from './messages.ts'

const phases: readonly JobPhase[] = ['waiting', 'running', 'finished', 'failed', 'canceled']
const types = ['discovery', 'device-info']

/** All jobs of the tenant, as they go on. */
export function JobsPage() {
  const text = useText(jobMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const gateways = useGatewayNames()
  const [search, setSearch] = useSearchState<'type' | 'phase' | 'gateway'>()
  usePageTitle(text.title)
  const phase = phases.find((each) => each === search.phase)
  const paged = usePaged(
    ['jobs', 'listJobs'],
    {
      query: {
        ...(search.type && { type: search.type }),
        ...(phase && { phase }),
        ...(search.gateway && { gatewayId: search.gateway }),
      },
    },
    { live: ['workflows.job'] },
  )
  const isFiltered = Object.keys(search).length > 0
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} />
      <Toolbar count={text.count(paged.total, formats.number(paged.total))}>
        <SelectField
          label={text.phase}
          isLabelUnseen
          value={search.phase ?? ''}
          onChange={(value) => setSearch({ phase: value })}
          choices={[{ value: '', label: text.anyPhase }, ...phases.map((value) => ({ value, label: text[value] }))]}
        />
        <SelectField
          label={text.type}
          isLabelUnseen
          value={search.type ?? ''}
          onChange={(value) => setSearch({ type: value })}
          choices={[{ value: '', label: text.anyType }, ...types.map((value) => ({ value, label: value }))]}
        />
        <SelectField
          label={text.gateway}
          isLabelUnseen
          value={search.gateway ?? ''}
          onChange={(value) => setSearch({ gateway: value })}
          choices={[
            { value: '', label: text.anyGateway },
            ...[...gateways].map(([value, label]) => ({ value, label })),
          ]}
        />
      </Toolbar>
      <PagedTable
        label={text.title}
        paged={paged}
        columns={columnsOf(text, gateways)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/jobs/${id}` })}
        empty={
          <EmptyState icon={iconTasksAll} title={isFiltered ? text.noneFit : text.none}>
            <p>{isFiltered ? text.noneFitHint : text.noneHint}</p>
            {!isFiltered && <Link to="/discovery">{text.toDiscovery}</Link>}
          </EmptyState>
        }
      />
    </>
  )
}

type Text = (typeof jobMessages)['en']

function columnsOf(text: Text, gateways: ReadonlyMap<string, string>): Column<AnyJob>[] {
  return [
    { id: 'type', header: text.type, width: 140, cell: ({ type }) => type },
    { id: 'phase', header: text.phase, width: 130, cell: ({ phase }) => <JobPhaseChip phase={phase} /> },
    {
      id: 'progress',
      header: text.progress,
      width: 170,
      cell: ({ phase, progress }) => (phase === 'running' ? <Progress value={progress} label={text.progress} /> : null),
    },
    {
      id: 'gateway',
      header: text.gateway,
      width: 200,
      cell: ({ gatewayId }) => gateways.get(gatewayId) ?? gatewayId,
    },
    { id: 'created', header: text.created, width: 170, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    {
      id: 'changed',
      header: text.changed,
      width: 150,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} isRelative />,
    },
    { id: 'message', header: text.message, width: 260, cell: ({ message }) => message },
  ]
}
