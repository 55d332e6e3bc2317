import { isBuiltInWorkflow, platformClient } from '@millwright/api/built-in-workflows.ts'
import type { AnyJob, JobPhase } from '@millwright/api/jobs.ts'
import { iconTasksAll } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useGatewayNames } from '../../app/api/gateways.ts'
import { usePagedList } from '../../app/api/paged-list.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import type { Formats } from '../../app/language/formats.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { firstSentence, isInvalidSettings } from '../../app/language/link-message.ts'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { editSettings } from '../discovery/scans/edit-settings.ts'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { errorsOf } from './job-errors.ts'
import { hasEnded, JobPhaseChip } from './job-phase.tsx'
import { type OutcomeText, partsText, resultOf } from './job-result.ts'
import { JobSubjectLink, subjectNameOf } from './job-subject.tsx'
import { jobMessages } from './messages.ts'
import { useOutcomeText } from './outcome-text.ts'
import { useScanAgain } from './scan-again.ts'
import { durationOf, ScanResult, scanReference, starterOf, timesOf } from './scan-result.tsx'
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
  const [search, setSearch] = useSearchState<'type' | 'phase' | 'gateway' | 'range' | 'tag'>()
  const [openedAt] = useState(() => Date.now())
  usePageTitle(text.title)
  const phase = phases.find((each) => each === search.phase)
  const range = ranges.find((each) => each === search.range)
  // A campaign has its own type, state, time and gateway, so these filters select the jobs of its devices instead.
  const filters = [search.type, search.phase, search.gateway, search.tag, search.range]
  const isGrouped = filters.every((each) => each === undefined)
  const pagedList = usePagedList(
    ['jobs', 'listJobs'],
    {
      query: {
        ...(search.type && { type: search.type }),
        ...(phase && { phase }),
        ...(search.gateway && { gatewayId: search.gateway }),
        ...(search.tag && { tag: search.tag }),
        ...(isGrouped && { grouped: true }),
        ...(range && { since: new Date(openedAt - rangeMs[range]).toISOString() }),
      },
    },
    { live: ['workflows.job'] },
  )
  const { runAgain, failure } = useScanAgain()
  const canRunAgain = canScan && pagedList.rows.some(isFailedScan)
  // Jobs of built-in workflows start on other pages.
  const canStart = canManage && gateways.size > 0 && types.some((name) => !isBuiltInWorkflow(name))
  const isFiltered = !isGrouped
  const clear = () =>
    setSearch({ type: undefined, phase: undefined, gateway: undefined, range: undefined, tag: undefined })
  const campaignId = /^campaign\/([\w-]+)$/.exec(search.tag ?? '')?.[1]
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={canStart && <IxButton onClick={() => setAdding(true)}>{text.start}</IxButton>}
      />
      <Toolbar
        count={`${text.count(pagedList.total, formats.number(pagedList.total))}${pagedList.rows.some(({ parts }) => parts !== undefined) ? `. ${text.groupedHint}` : ''}`}
      >
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
        {isFiltered && (
          <button type="button" className="link-button" onClick={clear}>
            {text.clearFilters}
          </button>
        )}
      </Toolbar>
      {campaignId !== undefined && (
        <p className="quiet section-note">
          {text.ofCampaign} <Link to={`/updates/campaigns/${campaignId}`}>{text.toCampaign}</Link>
        </p>
      )}
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <PagedTable
        label={text.title}
        pagedList={pagedList}
        columns={columnsOf(text, {
          gateways,
          names,
          outcome,
          formats,
          runAgain,
        }).filter(
          // With one gateway, the column shows only whether the platform or the gateway runs a job.
          ({ id }) => (id !== 'gateway' || gateways.size > 1) && (id !== 'action' || canRunAgain),
        )}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/jobs/${id}` })}
        empty={
          <EmptyState icon={iconTasksAll} title={isFiltered ? text.noMatches : text.none}>
            <p>{isFiltered ? text.noMatchesHint : text.noneHint}</p>
            {isFiltered ? (
              <IxButton variant="secondary" onClick={clear}>
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

type Text = (typeof jobMessages)['en']

type ColumnContext = {
  gateways: ReadonlyMap<string, string>
  names: (typeof workflowNames)['en']
  outcome: OutcomeText
  formats: Formats
  runAgain: (scanId: string) => unknown
}

/** Returns whether a job is a scan that failed, which can be edited or run again. */
function isFailedScan(job: AnyJob): boolean {
  return job.phase === 'failed' && scanReference(job) !== undefined
}

function columnsOf(text: Text, { gateways, names, outcome, formats, runAgain }: ColumnContext): Column<AnyJob>[] {
  return [
    {
      id: 'type',
      header: text.type,
      width: 155,
      minWidth: 152,
      cell: ({ id, type }) => <Link to={`/jobs/${id}`}>{workflowName(type, names)}</Link>,
    },
    {
      id: 'phase',
      header: text.phase,
      width: 120,
      cell: (job) =>
        job.phase === 'running' && job.progress !== undefined ? (
          <Progress value={job.progress} label={text.progress} />
        ) : (
          <JobPhaseChip phase={job.phase} errors={errorsOf(job)} isShort />
        ),
    },
    {
      id: 'subject',
      header: text.subject,
      width: 255,
      minWidth: 235,
      cell: (job) => <JobSubjectLink job={job} />,
    },
    {
      id: 'outcome',
      header: text.outcome,
      width: 205,
      minWidth: 185,
      cell: (job) => <Outcome job={job} outcome={outcome} number={formats.number} />,
    },
    {
      id: 'gateway',
      header: text.gateway,
      width: 130,
      minWidth: 100,
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
      width: 110,
      cell: (job) => starterOf(job, text) ?? <span className="quiet">–</span>,
    },
    {
      id: 'created',
      header: text.created,
      width: 95,
      cell: (job) => <StartTime at={timesOf(job).started} formats={formats} />,
    },
    {
      id: 'duration',
      header: text.duration,
      width: 95,
      isNumber: true,
      cell: (job) => (hasEnded(job.phase) ? formats.duration(durationOf(job)) : ''),
    },
    {
      id: 'action',
      header: text.action,
      width: 125,
      cell: (job) =>
        isFailedScan(job) &&
        (isInvalidSettings(job.message) ? (
          <Link
            to={`/discovery/scans/${scanReference(job)}`}
            search={{ edit: editSettings } as never}
            aria-label={text.editScanOf(subjectNameOf(job, text) ?? text.scan)}
          >
            {text.editScan}
          </Link>
        ) : (
          <button
            type="button"
            className="link-button"
            aria-label={text.runAgainOf(subjectNameOf(job, text) ?? text.scan)}
            onClick={() => runAgain(scanReference(job) ?? '')}
          >
            {text.runAgain}
          </button>
        )),
    },
  ]
}

type OutcomeProps = {
  job: AnyJob
  outcome: OutcomeText
  number: (value: number) => string
}

/** `StartTime` shows the time of day with seconds, which distinguishes jobs of the same minute. Earlier days have a date. */
function StartTime({ at, formats }: { at: string; formats: Formats }) {
  const isToday = formats.date(at) === formats.date(new Date().toISOString())
  return (
    <time dateTime={at} title={formats.exact(at)}>
      {isToday ? formats.time(at) : formats.dateTime(at)}
    </time>
  )
}

/** The result can be longer than its cell, so that the tooltip contains it too. */
function Outcome({ job, outcome, number }: OutcomeProps) {
  if (job.phase === 'finished' && scanReference(job) !== undefined) return <ScanResult job={job} />
  if (job.parts !== undefined) {
    const shown = partsText(job.parts, outcome.text, number)
    const campaignId = /^update-campaign\/(.+)$/.exec(job.subject?.reference ?? '')?.[1]
    return (
      <Link to="/jobs" search={{ tag: `campaign/${campaignId}` } as never} title={shown}>
        {shown}
      </Link>
    )
  }
  const result = resultOf(job, outcome)
  return job.phase === 'failed' ? (
    <span title={result} className="grid-lines">
      {firstSentence(result)}
    </span>
  ) : (
    <span title={result}>{result}</span>
  )
}
