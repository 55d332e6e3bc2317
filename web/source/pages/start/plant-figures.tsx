import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { FigureTile, FigureTiles } from '../../components/values/figure-tiles.tsx'
import { Sparkline } from '../../components/values/sparkline.tsx'
import { useCoverage } from '../monitoring/monitoring-data.ts'
import { startMessages } from './messages.ts'
import {
  stoppedFilter,
  unreachableFilter,
  useGatewayStates,
  useJobs,
  useMonitoringCount,
  useTotalQuery,
} from './plant-queries.ts'
import { useStoppedControllers } from './stopped-controllers.ts'
import { totalsByDay, trendDays, trendOf, trendStart } from './trends.ts'

/** `PlantFigures` shows the main figures of the plant. Each figure links to the page with the details. */
export function PlantFigures() {
  const text = useText(startMessages)
  const formats = useFormats()
  const canReadJobs = usePermission('glb_jobs_read')
  const canOpenInbox = usePermission('inventory_read_asset_data')
  const all = useQuery(useTotalQuery()).data?.meta.totalElements
  const newAssets = useQuery(useTotalQuery(inboxFilter({}))).data?.meta.totalElements
  const failed = useQuery(useTotalQuery(unreachableFilter)).data?.meta.totalElements
  const stopped = useStoppedControllers()
  const isMonitored = useMonitoringCount(canReadJobs && canOpenInbox) !== 0
  // Without monitoring, the number of unreachable devices is not known.
  const isUnknown = failed === 0 && !isMonitored
  const coverage = useCoverage()
  const share = (count: number | undefined) =>
    count === undefined || all === undefined ? '' : text.shareOf(formats.percent(count / Math.max(1, all)))
  return (
    <FigureTiles>
      <FigureTile to="/assets" name={text.assets} value={all} hint={<AssetTrend current={all} />} />
      {canOpenInbox && (
        <FigureTile
          to={isUnknown ? '/monitoring' : '/assets'}
          {...(!isUnknown && { search: { filter: unreachableFilter } })}
          name={isUnknown ? text.unmonitoredDevices : text.unreachable}
          value={isUnknown ? coverage?.unmonitored : failed}
          tone={failed === undefined || failed === 0 ? undefined : 'bad'}
          hint={isUnknown ? text.notMonitored : <MonitoredShare failed={failed} />}
        />
      )}
      {stopped !== undefined && stopped.count > 0 && (
        <FigureTile
          to="/assets"
          search={{ filter: stoppedFilter }}
          name={text.stopped}
          value={stopped.count}
          tone="critical"
          hint={
            <span title={text.stoppedHint}>
              {[
                stopped.recent > 0 && text.stoppedNow(formats.number(stopped.recent)),
                stopped.known > 0 && text.stoppedNotRead(formats.number(stopped.known)),
              ]
                .filter(Boolean)
                .join(', ')}
            </span>
          }
        />
      )}
      {canOpenInbox && (
        <FigureTile
          to="/inbox"
          name={text.toReview}
          value={newAssets}
          hint={newAssets === 0 ? text.inboxEmpty : share(newAssets)}
        />
      )}
      {canReadJobs && <WorkFigures />}
    </FigureTiles>
  )
}

/** `MonitoredShare` shows how many devices are monitored. The state of the others is not known. */
function MonitoredShare({ failed }: { failed: number | undefined }) {
  const text = useText(startMessages)
  const formats = useFormats()
  const coverage = useCoverage()
  if (coverage === undefined || coverage.monitored === 0) return failed === 0 && text.noneUnreachable
  const { monitored, unmonitored } = coverage
  return (
    <span title={unmonitored > 0 ? text.unmonitored(unmonitored, formats.number(unmonitored)) : undefined}>
      {/* An import or an API client can set the state of devices that are not monitored. */}
      {(failed === coverage.failed ? text.ofMonitored : text.monitored)(formats.number(monitored))}
    </span>
  )
}

/** `AssetTrend` shows the number of assets in the last days: the first and the current number, and their course. */
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
  const trend = trendOf(totals)
  if (trend === undefined) {
    const added = histogram.reduce((sum, { created }) => sum + created, 0)
    return added > 0 && text.addedIn(formats.number(added), trendDays)
  }
  const day = new Date(start.getFullYear(), start.getMonth(), start.getDate() + trend.firstDay)
  return (
    <>
      <span>{text.trend(formats.change(current - (trend.values[0] ?? 0)), formats.dayMonth(day.toISOString()))}</span>
      <Sparkline values={trend.values} />
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
      <FigureTile
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
      <FigureTile
        to="/jobs"
        name={text.runningJobs}
        value={running}
        hint={waiting !== undefined && (waiting === 0 ? text.noneWaiting : text.waitingJobs(formats.number(waiting)))}
      />
    </>
  )
}
