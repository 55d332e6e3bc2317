import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { Sparkline } from '../../components/values/sparkline.tsx'
import { startMessages } from './messages.ts'
import {
  seenFilter,
  stoppedFilter,
  unreachableFilter,
  useGatewayStates,
  useJobs,
  useMonitoringCount,
  useTotalQuery,
} from './plant-queries.ts'
import { totalsByDay, trendDays, trendStart } from './trends.ts'

/** `PlantFigures` shows the main figures of the plant. Each figure links to the page with the details. */
export function PlantFigures() {
  const text = useText(startMessages)
  const formats = useFormats()
  const canReadJobs = usePermission('glb_jobs_read')
  const canOpenInbox = usePermission('inventory_read_asset_data')
  const all = useQuery(useTotalQuery()).data?.meta.totalElements
  const newAssets = useQuery(useTotalQuery(inboxFilter({}))).data?.meta.totalElements
  const failed = useQuery(useTotalQuery(unreachableFilter)).data?.meta.totalElements
  const seenCount = useQuery(useTotalQuery(seenFilter)).data?.meta.totalElements
  const stoppedCount = useQuery(useTotalQuery(stoppedFilter)).data?.meta.totalElements ?? 0
  const isMonitored = useMonitoringCount(canReadJobs && canOpenInbox) !== 0
  // Without monitoring, the number of unreachable devices is not known.
  const isUnknown = failed === 0 && !isMonitored
  const share = (count: number | undefined) =>
    count === undefined || all === undefined ? '' : text.shareOf(formats.percent(count / Math.max(1, all)))
  return (
    <ul className="start-figures">
      <Tile to="/assets" name={text.assets} value={all} hint={<AssetTrend current={all} />} />
      {canOpenInbox && (
        <Tile
          to="/assets"
          search={{ filter: isUnknown ? seenFilter : unreachableFilter }}
          name={isUnknown ? text.seen : text.unreachable}
          value={isUnknown ? seenCount : failed}
          tone={failed === undefined || failed === 0 ? undefined : 'bad'}
          hint={isUnknown ? text.notMonitored : failed === 0 ? text.noneUnreachable : share(failed)}
        />
      )}
      {stoppedCount > 0 && (
        <Tile
          to="/assets"
          search={{ filter: stoppedFilter }}
          name={text.stopped}
          value={stoppedCount}
          tone="warning"
          hint={text.notInRun}
        />
      )}
      {canOpenInbox && (
        <Tile
          to="/inbox"
          name={text.toReview}
          value={newAssets}
          hint={newAssets === 0 ? text.inboxEmpty : share(newAssets)}
        />
      )}
      {canReadJobs && <WorkFigures />}
    </ul>
  )
}

/** `AssetTrend` shows the number of assets in the last days. */
function AssetTrend({ current }: { current: number | undefined }) {
  const text = useText(startMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const [start] = useState(() => trendStart(new Date()))
  const histogram = useQuery(
    query(['activity', 'readHistogram'], { query: { from: start.toISOString(), bucket: 'day' } }),
  ).data?.data
  if (current === undefined || histogram === undefined) return null
  const totals = totalsByDay(current, histogram, start)
  const difference = current - (totals[0] ?? current)
  const sign = difference > 0 ? '+' : difference < 0 ? '−' : '±'
  return (
    <>
      {text.trend(`${sign}${formats.number(Math.abs(difference))}`, formats.number(trendDays))}
      <Sparkline values={totals} />
    </>
  )
}

function WorkFigures() {
  const text = useText(startMessages)
  const formats = useFormats()
  const gateways = useGatewayStates().data?.data
  const running = useJobs('running').data?.meta.totalElements
  const waiting = useJobs('waiting').data?.meta.totalElements
  const online = gateways?.filter(({ state }) => state === 'online').length ?? 0
  const isComplete = gateways === undefined || online === gateways.length
  return (
    <>
      <Tile
        to="/discovery"
        name={text.gatewaysOnline}
        value={gateways === undefined ? undefined : text.of(formats.number(online), formats.number(gateways.length))}
        tone={isComplete ? undefined : 'bad'}
        hint={
          gateways !== undefined &&
          (gateways.length === 0
            ? text.noGateways
            : isComplete
              ? text.allOnline
              : text.notOnline(formats.number(gateways.length - online)))
        }
      />
      <Tile
        to="/jobs"
        name={text.runningJobs}
        value={running}
        hint={waiting !== undefined && (waiting === 0 ? text.noneWaiting : text.waitingJobs(formats.number(waiting)))}
      />
    </>
  )
}

type TileProps = {
  to: string
  search?: Record<string, string>
  name: string
  /** The figure. It is undefined until it is loaded. */
  value: number | string | undefined
  tone?: 'bad' | 'warning' | undefined
  /** The share or the trend of the figure. */
  hint?: ReactNode
}

function Tile({ to, search, name, value, tone, hint }: TileProps) {
  const formats = useFormats()
  return (
    <li>
      <Link to={to} {...(search && { search: search as never })} className="start-figure" data-tone={tone}>
        <span className="start-figure-name">{name}</span>
        <span className="start-figure-value">{typeof value === 'number' ? formats.number(value) : (value ?? '–')}</span>
        <span className="start-figure-hint">{hint}</span>
      </Link>
    </li>
  )
}
