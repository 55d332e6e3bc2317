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
import type { Language } from '../../app/language/language.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { firstSentence, isInvalidSettings } from '../../app/language/link-message.ts'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { CheckField, SelectField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { TwoLines } from '../../components/tables/two-lines.tsx'
import { Elapsed, Time } from '../../components/values/time.tsx'
import { invalidSettingOf } from '../discovery/built-in-links.ts'
import { editSettings } from '../discovery/scans/edit-settings.ts'
import { causeCountsText } from '../discovery/scans/error-cause.ts'
import { errorMessages } from '../discovery/scans/error-messages.ts'
import { CancelScan, FoundSoFar, RunningState } from '../discovery/scans/running-scan.tsx'
import { useScanActions } from '../discovery/scans/scan-actions.ts'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { hasUnreachable } from './check-counts.ts'
import { CheckResult } from './check-result.tsx'
import { errorsOf } from './job-errors.ts'
import { jobNameOf, subjectNameOf } from './job-name.ts'
import { JobPhaseChip } from './job-phase.tsx'
import { type OutcomeText, partsText, resultOf, scanResultText } from './job-result.ts'
import { progressOf, runTimesOf, timesOf, waitMsOf, workMsOf } from './job-times.ts'
import { jobMessages } from './messages.ts'
import { useOutcomeText } from './outcome-text.ts'
import { scanReference, starterOf } from './scan-result.tsx'
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
  const [search, setSearch] = useSearchState<'type' | 'phase' | 'gateway' | 'range' | 'tag' | 'runs'>()
  const [openedAt] = useState(() => Date.now())
  usePageTitle(text.title)
  const phase = phases.find((each) => each === search.phase)
  const range = ranges.find((each) => each === search.range)
  // A campaign has its own type, state, time and gateway, so these filters select the jobs of its devices instead.
  const filters = [search.type, search.phase, search.gateway, search.tag, search.range]
  const isGrouped = filters.every((each) => each === undefined)
  // A monitoring task can have hundreds of runs a day, so the list shows only those in progress and those that failed.
  const hidesRuns = isGrouped && search.runs !== 'all'
  const pagedList = usePagedList(
    ['jobs', 'listJobs'],
    {
      query: {
        ...(search.type && { type: search.type }),
        ...(phase && { phase }),
        ...(search.gateway && { gatewayId: search.gateway }),
        ...(search.tag && { tag: search.tag }),
        ...(isGrouped && { grouped: true }),
        ...(hidesRuns && { withoutMonitoring: true }),
        ...(range && { since: new Date(openedAt - rangeMs[range]).toISOString() }),
      },
    },
    { live: ['workflows.job'] },
  )
  const { runAgain, cancel, failure } = useScanActions()
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
        {isGrouped && (
          <CheckField
            label={text.showRuns}
            isChecked={!hidesRuns}
            onChange={(isShown) => setSearch({ runs: isShown ? 'all' : undefined })}
          />
        )}
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
          scanActions: canScan ? { runAgain, cancel } : undefined,
        }).filter(
          // With one gateway, the column shows only whether the platform or the gateway runs a job.
          ({ id }) => id !== 'gateway' || gateways.size > 1,
        )}
        sorting={{ id: 'created', isDescending: true }}
        isRoomy={pagedList.rows.some(hasDetails)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/jobs/${id}` })}
        empty={
          isFiltered ? (
            <EmptyState icon={iconTasksAll} title={text.noMatches}>
              <p>{text.noMatchesHint}</p>
              <IxButton variant="secondary" onClick={clear}>
                {text.clearFilters}
              </IxButton>
            </EmptyState>
          ) : (
            <NoJobs onShowRuns={() => setSearch({ runs: 'all' })} hidesRuns={hidesRuns} />
          )
        }
      />
      {isAdding && canManage && types.length > 0 && <StartJob workflows={types} onClose={() => setAdding(false)} />}
    </>
  )
}

type NoJobsProps = { hidesRuns: boolean; onShowRuns: () => void }

/** `NoJobs` is the list without a job. If the list leaves out the finished runs of monitoring, it offers to show them. */
function NoJobs({ hidesRuns, onShowRuns }: NoJobsProps) {
  const text = useText(jobMessages)
  const query = useOperationQuery()
  const canScan = usePermission('glb_discovery_run')
  const runs = query(['jobs', 'listJobs'], { query: { type: 'monitoring', limit: 1 } })
  const isHidden = (useQuery({ ...runs, enabled: hidesRuns }).data?.meta.totalElements ?? 0) > 0
  return (
    <EmptyState icon={iconTasksAll} title={isHidden ? text.noOthers : text.none}>
      <p>{isHidden ? text.noOthersHint : text.noneHint}</p>
      {isHidden && (
        <IxButton variant="secondary" onClick={onShowRuns}>
          {text.showRuns}
        </IxButton>
      )}
      {!isHidden && canScan && (
        <Link to="/discovery" search={{ scan: 'any' } as never}>
          {text.startScan}
        </Link>
      )}
    </EmptyState>
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
  /** Is undefined if the user cannot run scans. */
  scanActions: ScanActions | undefined
}

type ScanActions = Pick<ReturnType<typeof useScanActions>, 'runAgain' | 'cancel'>

/** Returns whether the result or the duration of a job can have a second line. */
function hasDetails(job: AnyJob): boolean {
  return scanReference(job) !== undefined || waitMsOf(job) !== undefined
}

/** Returns whether a job is a scan that failed, which can be edited or run again. */
function isFailedScan(job: AnyJob): boolean {
  return job.phase === 'failed' && scanReference(job) !== undefined
}

function columnsOf(text: Text, { gateways, names, outcome, formats, scanActions }: ColumnContext): Column<AnyJob>[] {
  return [
    {
      id: 'job',
      header: text.job,
      width: 360,
      minWidth: 290,
      isGrowing: true,
      cell: (job) => {
        const name = jobNameOf(job, { text, names })
        return (
          <Link to={`/jobs/${job.id}`} title={name}>
            {name}
          </Link>
        )
      },
    },
    {
      id: 'phase',
      header: text.phase,
      width: 165,
      cell: (job) =>
        job.phase === 'running' && (job.progress !== undefined || scanReference(job) !== undefined) ? (
          <RunningState gatewayId={job.gatewayId} progress={progressOf(job)} />
        ) : (
          <JobPhaseChip phase={job.phase} errors={errorsOf(job)} isShort />
        ),
    },
    {
      id: 'outcome',
      header: text.outcome,
      width: 300,
      minWidth: 270,
      cell: (job) => <Outcome job={job} outcome={outcome} number={formats.number} scanActions={scanActions} />,
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
      width: 130,
      cell: ({ createdTimestamp }) => <Time at={createdTimestamp} isCompact />,
    },
    {
      id: 'duration',
      header: text.duration,
      width: 110,
      isNumber: true,
      cell: (job) => <Duration job={job} formats={formats} />,
    },
  ]
}

/**
 * `Duration` shows how long the work on a job took and, in a second line, how long the job waited before. For a job in progress, it
 * shows the time since its start.
 */
function Duration({ job, formats }: { job: AnyJob; formats: Formats }) {
  const text = useText(jobMessages)
  const [workMs, waitMs] = [workMsOf(job), waitMsOf(job)]
  const work = workMs !== undefined && formats.duration(workMs)
  const { started } = timesOf(job)
  if (job.phase === 'running' && started !== undefined) {
    return (
      <span title={text.soFar}>
        <Elapsed since={started} />
      </span>
    )
  }
  if (waitMs === undefined) return work || <span className="quiet">–</span>
  return <TwoLines second={text.waitedFor(formats.duration(waitMs))}>{work || '–'}</TwoLines>
}

type OutcomeProps = {
  job: AnyJob
  outcome: OutcomeText
  number: (value: number) => string
  /** Is undefined if the user cannot run scans. */
  scanActions: ScanActions | undefined
}

/**
 * `Outcome` shows the result of a job as text, because the page of the job has the links to it. The second line shows the causes of
 * errors of a scan, or what the user can do. The result can be longer than its cell, so that the tooltip contains it too.
 */
function Outcome({ job, outcome, number, scanActions }: OutcomeProps) {
  const { text } = outcome
  const language = useLanguage()
  const causes = useText(errorMessages)
  const { phase, scan, message } = job
  const scanId = scanReference(job)
  if (phase === 'finished' && scan !== undefined) {
    const shown = scanResultText(scan, { text, number })
    const errors = causeCountsText(scan.errorCauses ?? [], { text: causes, number })
    return (
      <TwoLines title={[shown, errors].filter(Boolean).join('\n')} second={errors}>
        {shown}
      </TwoLines>
    )
  }
  if (hasUnreachable(job) && errorsOf(job) === undefined) return <CheckResult job={job} />
  if (job.parts !== undefined) {
    const shown = partsText(job.parts, text, number)
    return <span title={shown}>{shown}</span>
  }
  if (phase === 'running' && scan !== undefined && scanId !== undefined) {
    const cancel = scanActions && (
      <CancelScan name={subjectNameOf(job, text) ?? text.scan} onCancel={() => scanActions.cancel(scanId)} />
    )
    return <FoundSoFar run={{ ...runTimesOf(job), found: scan.found }} second={cancel} />
  }
  const result = resultOf(job, outcome)
  if (phase !== 'failed') return <span title={result}>{result}</span>
  const remedy = isFailedScan(job) && scanActions !== undefined && (
    <ScanRemedy job={job} runAgain={scanActions.runAgain} />
  )
  if (isFailedScan(job) && isInvalidSettings(message)) {
    const setting = invalidSettingOfJob(job, language)
    return (
      <TwoLines
        title={setting}
        second={
          <>
            {setting}
            {setting !== undefined && remedy && ' · '}
            {remedy}
          </>
        }
      >
        {setting === undefined ? text.invalidSettings : text.invalidSetting}
      </TwoLines>
    )
  }
  return (
    <>
      <span title={result} className="grid-lines">
        {firstSentence(result)}
      </span>
      {remedy}
    </>
  )
}

/** Returns the label of the setting that made a scan fail, or undefined if the message of its job names no setting. */
function invalidSettingOfJob({ message, scan }: AnyJob, language: Language): string | undefined {
  const { assetLinkId = '', parameters = [] } = scan ?? {}
  const discoveryOptions = parameters.map((key) => ({ key }))
  return invalidSettingOf({ assetLinkId, discoveryFilters: [], discoveryOptions, message }, language)
}

type ScanRemedyProps = { job: AnyJob; runAgain: (scanId: string) => unknown }

/** `ScanRemedy` leads to the settings of a scan if they are the cause of its failure, and runs other scans again. */
function ScanRemedy({ job, runAgain }: ScanRemedyProps) {
  const text = useText(jobMessages)
  const scanId = scanReference(job) ?? ''
  const name = subjectNameOf(job, text) ?? text.scan
  return isInvalidSettings(job.message) ? (
    <Link
      to={`/discovery/scans/${scanId}`}
      search={{ edit: editSettings } as never}
      className="cell-action"
      aria-label={text.editScanOf(name)}
    >
      {text.editScanShort}
    </Link>
  ) : (
    <button
      type="button"
      className="link-button cell-action"
      aria-label={text.runAgainOf(name)}
      onClick={() => runAgain(scanId)}
    >
      {text.runAgain}
    </button>
  )
}
