import { isBuiltInWorkflow, platformClient } from '@millwright/api/built-in-workflows.ts'
import type { Discovery } from '@millwright/api/discovery.ts'
import type { AnyJob, JobPhase } from '@millwright/api/jobs.ts'
import { iconTasksAll } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../app/api/gateways.ts'
import { usePagedList } from '../../app/api/paged-list.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { Time } from '../../components/values/time.tsx'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { hasEnded, JobPhaseChip } from './job-phase.tsx'
import { type OutcomeText, resultOf } from './job-result.ts'
import { JobSubjectLink } from './job-subject.tsx'
import { jobMessages } from './messages.ts'
import { useOutcomeText } from './outcome-text.ts'
import { durationOf, latestScan, ScanResult, scanIdOf, scanReference, useNewestScans } from './scan-result.tsx'
import { StartJob } from './start-job.tsx'

const dayMs = 86_400_000
/** The time ranges of the filter, up to the time at which the page was opened. */
const rangeMs = { lastDay: dayMs, lastWeek: 7 * dayMs, lastMonth: 30 * dayMs } as const
const ranges = ['lastDay', 'lastWeek', 'lastMonth'] as const

const phases: readonly JobPhase[] = ['waiting', 'running', 'finished', 'failed', 'canceled']

/** `JobsPage` lists all jobs of the tenant. Events update the list. */
export function JobsPage() {
  const text = useText(jobMessages)
  const names = useText(workflowNames)
  const formats = useFormats()
  const navigate = useNavigate()
  const gateways = useGatewayNames()
  const outcome = useOutcomeText()
  const canManage = usePermission('glb_workflow_manage')
  const canScan = usePermission('glb_discovery_run')
  const [isAdding, setAdding] = useCreateDialog()
  const types = useWorkflowNames()
  const [search, setSearch] = useSearchState<'type' | 'phase' | 'gateway' | 'range'>()
  const [openedAt] = useState(() => Date.now())
  usePageTitle(text.title)
  const phase = phases.find((each) => each === search.phase)
  const range = ranges.find((each) => each === search.range)
  const pagedList = usePagedList(
    ['jobs', 'listJobs'],
    {
      query: {
        ...(search.type && { type: search.type }),
        ...(phase && { phase }),
        ...(search.gateway && { gatewayId: search.gateway }),
        ...(range && { since: new Date(openedAt - rangeMs[range]).toISOString() }),
      },
    },
    { live: ['workflows.job'] },
  )
  const scans = useNewestScans(pagedList.rows.some((job) => scanReference(job) !== undefined))
  const owners = useMonitoringOwners(pagedList.rows.some(({ type }) => type === 'monitoring'))
  // Jobs of built-in workflows start on other pages.
  const canStart = canManage && gateways.size > 0 && types.some((name) => !isBuiltInWorkflow(name))
  const isFiltered = [search.type, search.phase, search.gateway, search.range].some((each) => each !== undefined)
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={canStart && <IxButton onClick={() => setAdding(true)}>{text.start}</IxButton>}
      />
      <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
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
          choices={[
            { value: '', label: text.anyType },
            ...types.map((value) => ({ value, label: workflowName(value, names) })),
          ]}
        />
        <SelectField
          label={text.gateway}
          isLabelUnseen
          value={search.gateway ?? ''}
          onChange={(value) => setSearch({ gateway: value })}
          choices={[
            { value: '', label: text.anyGateway },
            ...[...gateways].map(([value, label]) => ({ value, label })),
            { value: platformClient, label: text.platform },
          ]}
        />
        <SelectField
          label={text.range}
          isLabelUnseen
          value={search.range ?? ''}
          onChange={(value) => setSearch({ range: value })}
          choices={[{ value: '', label: text.anyTime }, ...ranges.map((value) => ({ value, label: text[value] }))]}
        />
      </Toolbar>
      <PagedTable
        label={text.title}
        pagedList={pagedList}
        columns={columnsOf(text, { gateways, names, outcome, scans, owners, duration: formats.duration })}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/jobs/${id}` })}
        empty={
          <EmptyState icon={iconTasksAll} title={isFiltered ? text.noMatches : text.none}>
            <p>{isFiltered ? text.noMatchesHint : text.noneHint}</p>
            {isFiltered ? (
              <IxButton
                variant="secondary"
                onClick={() => setSearch({ type: undefined, phase: undefined, gateway: undefined, range: undefined })}
              >
                {text.clearFilters}
              </IxButton>
            ) : (
              canScan && (
                <Link to="/discovery" search={{ scan: 'any' } as never}>
                  {text.startScan}
                </Link>
              )
            )}
          </EmptyState>
        }
      />
      {isAdding && canManage && types.length > 0 && <StartJob workflows={types} onClose={() => setAdding(false)} />}
    </>
  )
}

/** Returns the names of all workflows. */
function useWorkflowNames(): string[] {
  const query = useOperationQuery()
  const input = { query: { limit: 1_000 } }
  const { data } = useQuery(query(['workflows', 'listWorkflows'], input, { live: ['workflows.workflow'] }))
  return data?.content.map(({ name }) => name) ?? []
}

/** Returns the owners of the monitoring tasks, with whose rights their jobs run. */
function useMonitoringOwners(isEnabled: boolean): ReadonlyMap<string, string> {
  const query = useOperationQuery()
  const input = { query: { limit: 100 } }
  const { data } = useQuery({
    ...query(['monitoring', 'listMonitorings'], input, { live: ['monitoring'] }),
    enabled: isEnabled,
  })
  return new Map(data?.data.map(({ id, owner }) => [`monitoring/${id}`, owner.name]))
}

type Text = (typeof jobMessages)['en']

type ColumnContext = {
  gateways: ReadonlyMap<string, string>
  names: (typeof workflowNames)['en']
  outcome: OutcomeText
  scans: ReadonlyMap<string, Discovery>
  /** The owners of the monitoring tasks, by the reference of the task. */
  owners: ReadonlyMap<string, string>
  duration: (ms: number) => string
}

function columnsOf(text: Text, { gateways, names, outcome, scans, owners, duration }: ColumnContext): Column<AnyJob>[] {
  return [
    {
      id: 'type',
      header: text.type,
      width: 145,
      cell: ({ id, type }) => <Link to={`/jobs/${id}`}>{workflowName(type, names)}</Link>,
    },
    {
      id: 'phase',
      header: text.phase,
      width: 115,
      cell: ({ phase, progress }) =>
        phase === 'running' && progress !== undefined ? (
          <Progress value={progress} label={text.progress} />
        ) : (
          <JobPhaseChip phase={phase} />
        ),
    },
    { id: 'subject', header: text.subject, width: 186, cell: ({ subject }) => <JobSubjectLink subject={subject} /> },
    {
      id: 'outcome',
      header: text.outcome,
      width: 195,
      cell: (job) => <Outcome job={job} outcome={outcome} scans={scans} />,
    },
    {
      id: 'gateway',
      header: text.gateway,
      width: 130,
      cell: ({ gatewayId }) => {
        const name = gatewayId === platformClient ? text.platform : (gateways.get(gatewayId) ?? gatewayId)
        return gateways.has(gatewayId) ? (
          <Link to={`/discovery/gateways/${gatewayId}`} title={name}>
            {name}
          </Link>
        ) : (
          <span title={name}>{name}</span>
        )
      },
    },
    {
      id: 'started-by',
      header: text.startedBy,
      width: 120,
      cell: (job) => {
        const author = scans.get(scanReference(job) ?? '')?.createdBy ?? owners.get(job.subject?.reference ?? '')
        return author === undefined ? <span className="quiet">–</span> : <span title={author}>{author}</span>
      },
    },
    {
      id: 'created',
      header: text.created,
      width: 135,
      cell: ({ createdTimestamp }) => <Time at={createdTimestamp} isRelative />,
    },
    {
      id: 'duration',
      header: text.duration,
      width: 100,
      isNumber: true,
      cell: (job) => (hasEnded(job.phase) ? duration(durationOf(job, latestScan(job, scans))) : ''),
    },
  ]
}

type OutcomeProps = { job: AnyJob; outcome: OutcomeText; scans: ReadonlyMap<string, Discovery> }

/** The result can be longer than its cell, so that the tooltip contains it too. */
function Outcome({ job, outcome, scans }: OutcomeProps) {
  const scanId = scanIdOf(job)
  if (scanId !== undefined) return <ScanResult scanId={scanId} scan={latestScan(job, scans)} />
  const result = resultOf(job, outcome)
  return <span title={result}>{result}</span>
}
