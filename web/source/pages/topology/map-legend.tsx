import type { Impact } from '@millwright/api/inventory/impact.ts'
import type { TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import type { ReactNode } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useOutdatedShareText } from '../../components/values/outdated-share-text.ts'
import { occurredKinds } from './change-counts.ts'
import type { ProblemFact } from './map/problems.ts'
import { mapMessages } from './map-messages.ts'

type MapLegendProps = {
  /** The current group, and the total of the whole map. */
  data: TopologyGroups
  average: TopologyGroups['total']
  showsChanges: boolean
  /** The lines of the map: connections between its items, only those of the item that the pointer is at, a tree of switches, or none. */
  lines: 'groups' | 'hidden' | 'wires' | 'none'
  /** The problems whose signs are at groups. */
  signs: ReadonlySet<ProblemFact>
  /** Whether the groups show only problems. Then a problem without a sign is not explained. */
  hasOnlyProblems: boolean
  /** Whether all assets are drawn. */
  isAll: boolean
  /** Whether assets are shown as cards of several assets until the user zooms in. */
  areClustered: boolean
  /** The shown impact. Then the legend explains its marks. */
  impact: Pick<Impact, 'mode' | 'total' | 'asset'> | undefined
}

/** `MapLegend` explains the marks that are on the map. */
export function MapLegend(props: MapLegendProps) {
  const { data, average, showsChanges, lines, signs, hasOnlyProblems, isAll, areClustered, impact } = props
  const text = useText(mapMessages)
  const outdatedText = useOutdatedShareText()
  if (impact !== undefined) return <ImpactLegend impact={impact} />
  const { total, unavailable, groups, assets } = data
  const hasAssets = isAll || (groups.length === 0 && assets.length > 0)
  const hasGroups = !hasAssets
  const share = average.outdated / Math.max(1, average.assets)
  const { unreachable, reachable } = total.monitoring
  const isShown = (problem: ProblemFact, count: number) =>
    hasGroups && hasOnlyProblems ? signs.has(problem) : count > 0
  const hasMonitoring = !unavailable.includes('monitoring')
  const kinds = occurredKinds(total.changes)
  return (
    <div className="map-legend">
      <ul className="map-legend-entries" aria-label={text.legend}>
        {isAll && !showsChanges && <Entry>{text.legendRectangle}</Entry>}
        {areClustered && !showsChanges && <Entry>{text.legendZoomed}</Entry>}
        {showsChanges &&
          kinds.map((kind) => (
            <Entry key={kind} mark={hasAssets ? 'sign' : 'edge'} tone={kind} sign={changeSigns[kind]}>
              {text[kind]}
            </Entry>
          ))}
        {!showsChanges && isShown('failed', unreachable) && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="failed">
            {text.unreachable}
          </Entry>
        )}
        {!showsChanges && isShown('stopped', total.stoppedRead) && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="stopped">
            {text.inStop}
          </Entry>
        )}
        {!showsChanges && isShown('stoppedKnown', total.stopped - total.stoppedRead) && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="stopped-known">
            {hasGroups ? text.legendStoppedKnown : text.inStopKnown}
          </Entry>
        )}
        {!showsChanges && (hasGroups ? signs.has('outdated') : total.outdated > 0) && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="outdated">
            {hasGroups ? outdatedText(share) : text.outdated}
          </Entry>
        )}
        {!showsChanges && hasAssets && reachable > 0 && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="reached">
            {text.reachable}
          </Entry>
        )}
        {!showsChanges && hasAssets && hasMonitoring && (
          <Entry mark={isAll ? 'fill' : 'edge'} tone="others">
            {text.legendNormal}
          </Entry>
        )}
        {lines === 'wires' && <Entry mark="line">{text.legendWires}</Entry>}
        {lines === 'groups' && <Entry mark="line">{text.legendConnections}</Entry>}
        {lines === 'hidden' && !showsChanges && !isAll && <Entry>{text.legendHidden}</Entry>}
        {showsChanges && hasGroups && <Entry>{text.legendChanges}</Entry>}
      </ul>
    </div>
  )
}

const changeSigns = { added: '+', changed: 'Δ', removed: '−' } as const

type EntryProps = {
  mark?: 'edge' | 'fill' | 'line' | 'sign'
  tone?: string
  sign?: string
  children: ReactNode
}

function Entry({ mark, tone, sign, children }: EntryProps) {
  return (
    <li>
      {mark !== undefined && (
        <span className={`map-swatch map-swatch-${mark}`} data-tone={tone} aria-hidden="true">
          {mark === 'sign' && sign}
        </span>
      )}
      {children}
    </li>
  )
}

/** `ImpactLegend` explains the marks of a shown impact. */
function ImpactLegend({ impact: { mode, total, asset } }: { impact: Pick<Impact, 'mode' | 'total' | 'asset'> }) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const isFailure = mode === 'fails'
  const entries = [
    {
      label: `${isFailure ? text.failing : text.selected}: ${asset.name ?? text.unnamed}`,
      kind: isFailure ? 'failing' : 'selected',
    },
    { label: isFailure ? text.affected : text.dependent, kind: 'affected', count: total.affected },
    ...(total.degraded > 0 ? [{ label: text.degraded, kind: 'degraded', count: total.degraded }] : []),
    { label: isFailure ? text.notAffected : text.independent, kind: 'others' },
  ]
  return (
    <div className="map-legend">
      <ul className="map-legend-entries" aria-label={text.legend}>
        {entries.map(({ label, kind, count }) => (
          <li key={kind}>
            <span className="legend-mark" data-mark={kind} aria-hidden="true" />
            <span>{label}</span>
            {count !== undefined && <span className="quiet">{formats.number(count)}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}
