import type { Discovery } from '@millwright/api/discovery.ts'
import { iconNetworkDevicePlay } from '@siemens/ix-icons/icons'
import { Link, useNavigate } from '@tanstack/react-router'
import { useGatewayNames } from '../../../app/api/gateways.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useLinkNames } from '../gateways/gateway-links.ts'
import { discoveryMessages } from '../messages.ts'
import { ScanState, whyNotCompared } from '../state-chips.tsx'

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
    { query: { ...(gatewayId !== undefined && { gatewayId }) } },
    { live: ['discovery', 'workflows.job'] },
  )
  const linkName = useLinkNames(pagedList.rows.map((row) => row.gatewayId))
  if (pagedList.error !== null) return <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
  if (pagedList.isLoading) return <Loading />
  return (
    <>
      {pagedList.rows.length > 0 && <p className="quiet section-note">{text.countsHint}</p>}
      <DataTable
        label={text.scans}
        columns={columnsOf(text, { linkName, gateways, number: formats.number }).filter(
          ({ id }) =>
            (id !== 'gateway' || (gatewayId === undefined && gateways.size > 1)) &&
            (id !== 'next' || pagedList.rows.some(({ schedule }) => schedule !== undefined)),
        )}
        rows={pagedList.rows}
        idOf={({ jobId }) => jobId}
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
type Count = 'found' | 'updated' | 'unchanged'
type ColumnContext = {
  linkName: ReturnType<typeof useLinkNames>
  gateways: ReadonlyMap<string, string>
  number: (value: number) => string
}

function columnsOf(text: Text, { linkName, gateways, number }: ColumnContext): Column<Discovery>[] {
  const count = (name: Count, header: string, width: number): Column<Discovery> => ({
    id: name,
    header,
    width,
    isNumber: true,
    cell: (row) => number(row[name]),
  })
  return [
    {
      id: 'link',
      header: text.link,
      width: 160,
      cell: (row) => <Link to={`/discovery/scans/${row.jobId}`}>{linkName(row.gatewayId, row.assetLinkId)}</Link>,
    },
    {
      id: 'scope',
      header: text.scope,
      width: 105,
      minWidth: 95,
      cell: (row) => <span title={scopeOf(row)}>{scopeOf(row) || text.allDevices}</span>,
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
    { id: 'state', header: text.state, width: 196, cell: (row) => <StateOrProgress scan={row} /> },
    count('found', text.found, 72),
    {
      id: 'created',
      header: text.isNew,
      width: 60,
      isNumber: true,
      cell: ({ created, runId }) =>
        created === 0 || runId === undefined ? (
          number(created)
        ) : (
          <Link to="/inbox" search={{ scan: runId } as never} aria-label={text.reviewNew(number(created))}>
            {number(created)}
          </Link>
        ),
    },
    count('updated', text.changed, 90),
    count('unchanged', text.unchanged, 112),
    {
      id: 'gone',
      header: text.missing,
      width: 108,
      isNumber: true,
      cell: (row) => {
        const reason = whyNotCompared(row, text)
        if (reason === undefined) {
          return row.gone === 0 ? (
            number(0)
          ) : (
            <Link to={`/discovery/scans/${row.jobId}`} search={{ view: 'gone' } as never}>
              {number(row.gone)}
            </Link>
          )
        }
        return (
          <span className="quiet" title={reason}>
            {isRunning(row) ? '–' : text.notChecked}
          </span>
        )
      },
    },
    {
      id: 'started',
      header: text.started,
      width: 115,
      cell: (row) => <Time at={row.startedTimestamp} isRelative isShort />,
    },
    { id: 'by', header: text.createdBy, width: 110, cell: ({ createdBy }) => createdBy },
    {
      id: 'next',
      header: text.next,
      width: 135,
      cell: ({ schedule }) =>
        schedule === undefined ? (
          <span className="quiet">{text.notScheduled}</span>
        ) : schedule.paused ? (
          text.paused
        ) : (
          <Time at={schedule.nextRuns[0]} isRelative />
        ),
    },
  ]
}

/** Returns the values of the filters of a scan, such as its address range. */
export function scopeOf({ discoveryFilters }: Discovery): string {
  return discoveryFilters.map(({ value }) => String(value)).join(', ')
}

function StateOrProgress({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  if (scan.state === 'running' && scan.progress > 0) return <Progress value={scan.progress} label={text.progress} />
  return <ScanState scan={scan} />
}

/** Returns whether a run of the scan waits or runs. */
export function isRunning({ state, runId }: Discovery): boolean {
  return runId !== undefined && (state === 'created' || state === 'running')
}
