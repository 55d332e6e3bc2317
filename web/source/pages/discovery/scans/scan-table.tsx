import type { Discovery } from '@millwright/api/discovery.ts'
import { iconNetworkDevicePlay } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { firstSentence, isInvalidSettings, reasonOf } from '../../../app/language/link-message.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { TwoLines } from '../../../components/tables/two-lines.tsx'
import { Time } from '../../../components/values/time.tsx'
import { invalidSettingOf, withParameterLabels } from '../built-in-links.ts'
import { useLinkNames } from '../gateways/gateway-links.ts'
import { discoveryMessages } from '../messages.ts'
import { ScanState } from '../state-chips.tsx'
import { editSchedule, editSettings } from './edit-settings.ts'
import { notComparedOf } from './not-compared.ts'
import { CancelScan, FoundSoFar, RunningState } from './running-scan.tsx'
import { useScanActions } from './scan-actions.ts'
import { useIntervalText, useScheduleText } from './schedule-text.ts'

/**
 * `ScanTable` lists the scans with their latest run and their next run. Events update the list. The column for the gateway is
 * shown only if there are several gateways, and the column for the next run only if a scan has a schedule.
 */
export function ScanTable({ gatewayId }: { gatewayId?: string }) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const gateways = useGatewayNames()
  const pagedList = usePagedList(
    ['discovery', 'listDiscoveries'],
    { query: { sort: '-latestRun', ...(gatewayId !== undefined && { gatewayId }) } },
    { live: ['discovery', 'workflows.job'] },
  )
  const canRun = usePermission('glb_discovery_run')
  const { runAgain, cancel, failure } = useScanActions()
  const linkName = useLinkNames(pagedList.rows.map((row) => row.gatewayId))
  if (pagedList.error !== null) return <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
  if (pagedList.isLoading) return <Loading />
  return (
    <>
      {failure !== undefined && <ProblemMessage failure={failure} />}
      <DataTable
        label={text.scans}
        columns={columnsOf(text, {
          linkName,
          gateways,
          number: formats.number,
          day: formats.dayMonth,
          canRun,
          runAgain,
          cancel,
        }).filter(
          ({ id }) =>
            (id !== 'gateway' || (gatewayId === undefined && gateways.size > 1)) &&
            (id !== 'action' || canRun) &&
            (id !== 'next' || pagedList.rows.some(({ schedule }) => schedule !== undefined)),
        )}
        rows={pagedList.rows}
        sorting={{ id: 'started', isDescending: true }}
        idOf={({ jobId }) => jobId}
        // The columns for the result, for missing devices and for the next run have a second line.
        isRoomy
        onEnd={pagedList.next}
        onOpen={({ jobId }) => navigate({ to: `/discovery/scans/${jobId}` })}
        empty={
          <EmptyState icon={iconNetworkDevicePlay} title={text.noScan}>
            <p>{text.noScanHint}</p>
          </EmptyState>
        }
      />
    </>
  )
}

type Text = (typeof discoveryMessages)['en']
type ColumnContext = {
  linkName: ReturnType<typeof useLinkNames>
  gateways: ReadonlyMap<string, string>
  number: (value: number) => string
  day: (timestamp: string) => string
  canRun: boolean
  runAgain: (scanId: string) => void
  cancel: (scanId: string) => void
}

function columnsOf(text: Text, context: ColumnContext): Column<Discovery>[] {
  const { linkName, gateways, number, day, canRun, runAgain, cancel } = context
  const nameOf = (scan: Pick<Discovery, 'gatewayId' | 'assetLinkId' | 'discoveryFilters'>) =>
    text.scanName(linkName(scan.gatewayId, scan.assetLinkId), scopeOf(scan) || text.allDevices)
  return [
    {
      id: 'scan',
      header: text.scan,
      width: 240,
      minWidth: 225,
      cell: (row) => {
        const name = nameOf(row)
        return (
          <Link to={`/discovery/scans/${row.jobId}`} title={name}>
            {name}
          </Link>
        )
      },
    },
    {
      id: 'gateway',
      header: text.gateway,
      width: 125,
      cell: ({ gatewayId }) => (
        <Link to={`/discovery/gateways/${gatewayId}`} title={gateways.get(gatewayId)}>
          {gateways.get(gatewayId) ?? gatewayId}
        </Link>
      ),
    },
    {
      id: 'state',
      header: text.state,
      width: 185,
      minWidth: 175,
      cell: (row) =>
        row.state === 'running' ? (
          <RunningState gatewayId={row.gatewayId} progress={row.progress} />
        ) : (
          <ScanState scan={row} isShort />
        ),
    },
    {
      id: 'result',
      header: text.latestResult,
      hint: text.resultHint,
      width: 300,
      minWidth: 250,
      cell: (row) => <ScanOutcome scan={row} number={number} />,
    },
    {
      id: 'gone',
      header: text.missing,
      hint: text.missingHint,
      width: 145,
      cell: (row) => {
        const reason = notComparedOf(row, text)
        if (reason !== undefined) {
          return (
            <span className="quiet" title={reason.detail}>
              {row.runId === undefined ? '–' : reason.name}
            </span>
          )
        }
        if (row.gone === 0) return number(0)
        const { newlyGone, startedTimestamp, comparedRun = 0 } = row
        return (
          <TwoLines
            second={
              newlyGone > 0 &&
              startedTimestamp !== undefined && (
                <span title={text.newlyMissingHint(number(newlyGone), number(comparedRun))}>
                  {text.missingSince(
                    newlyGone === row.gone ? text.allMissing : number(newlyGone),
                    day(startedTimestamp),
                  )}
                </span>
              )
            }
          >
            <Link to={`/discovery/scans/${row.jobId}`} search={{ view: 'gone' } as never}>
              {number(row.gone)}
            </Link>
          </TwoLines>
        )
      },
    },
    {
      id: 'started',
      header: text.latestStart,
      width: 110,
      cell: (row) => <Time at={row.startedTimestamp} isRelative isShort />,
    },
    {
      id: 'next',
      header: text.next,
      width: 145,
      cell: (row) => <NextRun scan={row} name={nameOf(row)} canRun={canRun} />,
    },
    {
      id: 'action',
      header: text.action,
      width: 130,
      cell: (row) => {
        const name = nameOf(row)
        if (isRunning(row)) return <CancelScan name={name} onCancel={() => cancel(row.jobId)} />
        return hasInvalidSettings(row) ? (
          <Link
            to={`/discovery/scans/${row.jobId}`}
            search={{ edit: editSettings } as never}
            aria-label={text.editScanOf(name)}
          >
            {text.editScan}
          </Link>
        ) : (
          <button
            type="button"
            className="link-button cell-action"
            aria-label={text.runAgainOf(name)}
            onClick={() => runAgain(row.jobId)}
          >
            {text.runAgain}
          </button>
        )
      },
    },
  ]
}

type NextRunProps = { scan: Discovery; name: string; canRun: boolean }

/** `NextRun` shows when a scan runs next and how often, with a link to its schedule. */
function NextRun({ scan: { jobId, schedule }, name, canRun }: NextRunProps) {
  const text = useText(discoveryMessages)
  const intervalText = useIntervalText()
  const scheduleText = useScheduleText()
  const isScheduled = schedule !== undefined
  const link = canRun && (
    <Link
      to={`/discovery/scans/${jobId}`}
      search={{ edit: editSchedule } as never}
      aria-label={isScheduled ? text.changeScheduleOf(name) : text.scheduleScanOf(name)}
    >
      {isScheduled ? text.changeSchedule : text.scheduleScan}
    </Link>
  )
  if (!isScheduled) {
    return (
      <TwoLines second={link}>
        <span className="quiet">{text.notScheduled}</span>
      </TwoLines>
    )
  }
  return (
    <TwoLines
      second={
        <>
          <span title={scheduleText(schedule.cron)}>{intervalText(schedule.cron)}</span>
          {link && ' · '}
          {link}
        </>
      }
    >
      {schedule.paused ? text.paused : <Time at={schedule.nextRuns[0]} isCompact />}
    </TwoLines>
  )
}

/** The number of runs among which the last complete run of a running scan is. */
const earlierRuns = 10

/** `LastCompleteRun` shows what the last complete run of a running scan found. */
function LastCompleteRun({ jobId }: Pick<Discovery, 'jobId'>) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const { data } = useQuery(query(['discovery', 'listRuns'], { params: { jobId }, query: { limit: earlierRuns } }))
  const complete = data?.data.find(({ state }) => state === 'finished')
  return complete === undefined ? null : text.lastComplete(formats.number(complete.found))
}

/** `ScanOutcome` shows what the latest run found, or why it has no result. Numbers of a run that did not finish are partial. */
function ScanOutcome({ scan, number }: { scan: Discovery; number: (value: number) => string }) {
  const text = useText(discoveryMessages)
  const language = useLanguage()
  const { state, message, runId, found, created, updated } = scan
  if (runId === undefined) return <span className="quiet">–</span>
  if (state === 'failed') {
    const reason = message === undefined ? text.noReason : withParameterLabels(reasonOf(message), scan, language)
    const setting = invalidSettingOf(scan, language)
    if (setting === undefined) {
      return (
        <span title={reason} className="grid-lines">
          {firstSentence(reason)}
        </span>
      )
    }
    return (
      <TwoLines title={reason} second={setting}>
        {text.invalidSetting}
      </TwoLines>
    )
  }
  if (state === 'canceled') return text.canceledAfter(found, number(found))
  if (state !== 'finished') {
    const hasEarlier = scan.runs > 1 && scan.restartedTimestamp === undefined
    return <FoundSoFar run={scan} {...(hasEarlier && { second: <LastCompleteRun jobId={scan.jobId} /> })} />
  }
  return (
    <>
      {text.foundCount(number(found))},{' '}
      {created === 0 ? (
        text.newCount(number(0))
      ) : (
        <Link
          to="/inbox"
          search={{ scan: runId } as never}
          className="link-in-text"
          title={text.reviewNew(number(created))}
        >
          {text.newCount(number(created))}
        </Link>
      )}
      {updated > 0 && `, ${text.changedCount(number(updated))}`}
    </>
  )
}

/** Returns the values of the filters of a scan, such as its address range. */
export function scopeOf({ discoveryFilters }: Pick<Discovery, 'discoveryFilters'>): string {
  return discoveryFilters.map(({ value }) => String(value)).join(', ')
}

/** Returns whether the latest run failed because of the settings of the scan. */
export function hasInvalidSettings({ state, message }: Discovery): boolean {
  return state === 'failed' && isInvalidSettings(message)
}

/** Returns whether a run of the scan waits or runs. */
export function isRunning({ state, runId }: Discovery): boolean {
  return runId !== undefined && (state === 'created' || state === 'running')
}
