import type { TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import type { ReactNode } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { FigureTile, FigureTiles } from '../../components/values/figure-tiles.tsx'
import { stoppedFilter, unreachableFilter } from '../start/plant-queries.ts'
import type { MapQuery } from './map-data.ts'
import { mapMessages } from './map-messages.ts'
import { listOf, withFilter } from './place-links.ts'

type PlaceFiguresProps = {
  query: MapQuery
  place: string
  data: TopologyGroups
  /** The tile with the number of changes. */
  changes: ReactNode
}

/** `PlaceFigures` shows the main numbers of the current group. Each number with a problem links to the page that solves it. */
export function PlaceFigures({ query, place, data, changes }: PlaceFiguresProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const { assets, monitoring, stopped, stoppedRead, outdated } = data.total
  const { unreachable, unmonitored } = monitoring
  const monitored = monitoring.reachable + unreachable + monitoring.unchecked
  const devices = monitored + unmonitored
  const isPast = query.at !== undefined
  const hasOutdated = !data.unavailable.includes('outdated')
  const canOpen = usePermission('glb_jobs_read') && unmonitored > 0
  const hasMonitoring = !data.unavailable.includes('monitoring')
  const failed = unreachable > 0 && !isPast ? withFilter(listOf(query, place), unreachableFilter) : undefined
  const inStop = stopped > 0 && !isPast ? withFilter(listOf(query, place), stoppedFilter) : undefined
  const stoppedFacts = [
    ...(stoppedRead > 0 ? [text.stoppedReadCount(formats.number(stoppedRead))] : []),
    ...(stopped > stoppedRead ? [text.stoppedKnownCount(formats.number(stopped - stoppedRead))] : []),
  ]
  const linked = (link: ReturnType<typeof listOf>) =>
    link === undefined ? {} : { to: link.to, search: link.search as never }
  return (
    <div className="map-figures">
      <FigureTiles label={text.figures}>
        {(monitored > 0 || unreachable > 0) && (
          <FigureTile
            name={text.unreachable}
            value={unreachable}
            tone={unreachable > 0 ? 'bad' : undefined}
            hint={
              <TileHint
                facts={hasMonitoring ? text.allMonitored(formats.number(monitored)) : undefined}
                action={failed && text.showDevices}
              />
            }
            {...linked(failed)}
          />
        )}
        {stopped > 0 && (
          <FigureTile
            name={text.controllersInStop}
            value={stopped}
            tone={stoppedRead > 0 ? 'critical' : undefined}
            hint={
              <TileHint
                facts={stoppedFacts.join(', ')}
                title={text.stoppedHint}
                action={inStop && text.showControllers}
              />
            }
            {...linked(inStop)}
          />
        )}
        {hasOutdated && (
          <FigureTile
            name={text.outdated}
            value={outdated}
            tone={outdated > 0 ? 'warning' : undefined}
            hint={
              <TileHint
                facts={text.ofAssets(formats.percent(outdated / Math.max(1, assets)))}
                action={outdated > 0 ? text.planUpdates : undefined}
              />
            }
            {...(outdated > 0 ? { to: '/updates', search: { view: 'drift' } } : {})}
          />
        )}
        {hasMonitoring && devices > 0 && (
          <FigureTile
            name={text.notMonitored}
            value={unmonitored}
            hint={
              <TileHint
                facts={text.ofDevices(formats.percent(unmonitored / devices), formats.number(devices))}
                action={canOpen ? text.startMonitoring : undefined}
              />
            }
            {...(canOpen ? { to: '/monitoring' } : {})}
          />
        )}
        {changes}
      </FigureTiles>
      {!isPast && !hasOutdated && <p role="status">{text.noOutdated}</p>}
      {!isPast && !hasMonitoring && <p role="status">{text.noMonitoring}</p>}
    </div>
  )
}

type TileHintProps = {
  facts: string | undefined
  /** The tooltip of the facts. */
  title?: string
  action: string | undefined
}

/** `TileHint` relates the number of a tile to a whole, and names the page that the tile opens. */
export function TileHint({ facts, title, action }: TileHintProps) {
  return (
    <span className="map-tile-hint">
      {facts !== undefined && <span title={title}>{facts}</span>}
      {action !== undefined && <span className="map-tile-action">{action}</span>}
    </span>
  )
}
