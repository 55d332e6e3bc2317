import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { Impact } from '@millwright/api/inventory/impact.ts'
import type { TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { iconChevronDownSmall, iconChevronUpSmall } from '@siemens/ix-icons/icons'
import { type ReactNode, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetClassIcons, assetClassName } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import { exceptionalShare } from '../../components/values/outdated-share.ts'
import { changeCount } from './change-counts.ts'
import type { ImpactMarks } from './map/map-pen.ts'
import type { SceneItem } from './map/scene.ts'
import { mapMessages } from './map-messages.ts'

const states = ['unreachable', 'reachable', 'unchecked', 'unmonitored'] as const
const changes = ['added', 'changed', 'removed'] as const

/** The entry of the legend that is emphasized on the map. */
export type MapEmphasis =
  | { state: (typeof states)[number] }
  | 'outdated'
  | { change: (typeof changes)[number] }
  | { class: AssetClass }
  | undefined

/** Returns whether an item has assets of the emphasized entry. In a comparison, only changed items are emphasized. */
export function isEmphasized(
  { key, group, asset }: SceneItem,
  { emphasis, showsChanges, marks }: { emphasis: MapEmphasis; showsChanges: boolean; marks: ImpactMarks | undefined },
): boolean {
  if (marks !== undefined) return marks.has(key)
  if (emphasis === 'outdated') return group === undefined ? asset?.outdated === true : group.outdated > 0
  if (emphasis !== undefined) {
    if ('state' in emphasis)
      return group === undefined ? asset?.monitoring === emphasis.state : group.monitoring[emphasis.state] > 0
    if ('change' in emphasis)
      return group === undefined ? asset?.change === emphasis.change : group.changes[emphasis.change] > 0
    return group === undefined
      ? asset?.class === emphasis.class
      : group.classes.some(({ class: each }) => each === emphasis.class)
  }
  if (!showsChanges) return true
  return group === undefined ? asset?.change !== undefined : changeCount(group.changes) > 0
}

const stateColours = {
  reachable: '--theme-color-neutral',
  unreachable: '--theme-color-alarm',
  unchecked: '--theme-color-weak-bdr',
  unmonitored: '--theme-color-weak-bdr',
  outdated: '--theme-color-warning',
  added: '--theme-color-info',
  changed: '--theme-color-warning',
  removed: '--theme-color-std-text',
} as const

const changeSigns = { added: '+', changed: 'Δ', removed: '−' } as const

type MapLegendProps = {
  total: TopologyGroups['total']
  classes: Pick<TopologyGroups, 'groups' | 'assets'>
  emphasis: MapEmphasis
  onEmphasis: (emphasis: MapEmphasis) => void
  showsChanges: boolean
  /** The lines of the map: connections between its items, uplinks in a tree of switches, or none. */
  lines: 'edges' | 'wires' | 'none'
  /** Whether lines are drawn only for the box that the user points at. */
  areLinesHidden: boolean
  /** Whether all assets are drawn. */
  isAll: boolean
  /** The numbers that are not known. */
  unavailable: TopologyGroups['unavailable']
  /** The shown impact. Then the legend explains its marks. */
  impact: Pick<Impact, 'mode' | 'total' | 'asset'> | undefined
}

/**
 * `MapLegend` lists the states and, on request, the classes with their numbers of assets, and explains the marks of the map.
 * Choosing an entry fades all other items.
 */
export function MapLegend(props: MapLegendProps) {
  const { total, classes, emphasis, onEmphasis, showsChanges, lines, areLinesHidden, isAll, impact } = props
  const hasOutdated = !props.unavailable.includes('outdated')
  const hasMonitoring = !props.unavailable.includes('monitoring')
  const text = useText(mapMessages)
  const language = useLanguage()
  const formats = useFormats()
  const counts = classCounts(classes)
  const [hasClasses, setClasses] = useState(false)
  const areClassesShown = hasClasses || isClass(emphasis)
  if (impact !== undefined) return <ImpactLegend impact={impact} />
  return (
    <div className="map-legend">
      <ul className="graph-legend" aria-label={text.legend}>
        {showsChanges
          ? changes
              .filter((change) => total.changes[change] > 0)
              .map((change) => (
                <Entry
                  key={change}
                  label={text[change]}
                  count={total.changes[change]}
                  mark={<Dot colour={stateColours[change]} sign={changeSigns[change]} />}
                  isPressed={typeof emphasis === 'object' && 'change' in emphasis && emphasis.change === change}
                  onPress={(isPressed) => onEmphasis(isPressed ? { change } : undefined)}
                />
              ))
          : states
              .filter((state) => hasMonitoring || state === 'unreachable')
              .filter((state) => state !== 'unchecked' || total.monitoring.unchecked > 0)
              .map((state) => (
                <Entry
                  key={state}
                  label={state === 'unmonitored' ? text.unmonitoredDevices : text[state]}
                  count={total.monitoring[state]}
                  mark={<Dot colour={stateColours[state]} />}
                  isPressed={typeof emphasis === 'object' && 'state' in emphasis && emphasis.state === state}
                  onPress={(isPressed) => onEmphasis(isPressed ? { state } : undefined)}
                />
              ))}
        {!showsChanges && hasOutdated && (
          <Entry
            label={text.outdated}
            hint={text.outdatedHint}
            count={total.outdated}
            mark={isAll ? <Dot colour={stateColours.outdated} /> : <span className="legend-share" aria-hidden="true" />}
            isPressed={emphasis === 'outdated'}
            onPress={(isPressed) => onEmphasis(isPressed ? 'outdated' : undefined)}
          />
        )}
      </ul>
      <div className="map-hints">
        <p className="quiet">
          {[
            showsChanges ? text.changesHint : !isAll && text.boxHint(formats.percent(exceptionalShare - 1)),
            !showsChanges && areLinesHidden && text.lineHint,
            !showsChanges && !areLinesHidden && lines === 'edges' && text.edgesHint,
            lines === 'wires' && text.wiresHint,
            isAll && text.allHint,
          ]
            .filter(Boolean)
            .join(' ')}
        </p>
        {counts.size > 0 && (
          <button
            type="button"
            className="legend-entry"
            aria-expanded={areClassesShown}
            onClick={() => {
              setClasses(!areClassesShown)
              if (areClassesShown && isClass(emphasis)) onEmphasis(undefined)
            }}
          >
            {text.classes}
            <Icon name={areClassesShown ? iconChevronDownSmall : iconChevronUpSmall} size={16} />
          </button>
        )}
      </div>
      {areClassesShown && (
        <ul className="graph-legend" aria-label={text.classes}>
          {[...counts].map(([each, count]) => (
            <Entry
              key={each}
              label={assetClassName(each, language)}
              count={count}
              mark={<Icon name={assetClassIcons[each]} size={16} />}
              isPressed={isClass(emphasis) && emphasis.class === each}
              onPress={(isPressed) => onEmphasis(isPressed ? { class: each } : undefined)}
            />
          ))}
        </ul>
      )}
    </div>
  )
}

function isClass(emphasis: MapEmphasis): emphasis is { class: AssetClass } {
  return typeof emphasis === 'object' && 'class' in emphasis
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
      <ul className="graph-legend" aria-label={text.legend}>
        {entries.map(({ label, kind, count }) => (
          <li key={kind} className="legend-entry">
            <span className="legend-mark" data-mark={kind} aria-hidden="true" />
            <span>{label}</span>
            {count !== undefined && <span className="quiet">{formats.number(count)}</span>}
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Returns the number of assets of each class, most frequent first. */
export function classCounts({ groups, assets }: Pick<TopologyGroups, 'groups' | 'assets'>): Map<AssetClass, number> {
  const counts = new Map<AssetClass, number>()
  const add = (each: AssetClass, count: number) => counts.set(each, (counts.get(each) ?? 0) + count)
  for (const group of groups) for (const { class: each, assets: count } of group.classes) add(each, count)
  for (const asset of assets) if (asset.change !== 'removed') add(asset.class, 1)
  return new Map([...counts].toSorted(([, one], [, other]) => other - one))
}

function Dot({ colour, sign }: { colour: string; sign?: string }) {
  return (
    <span className="legend-dot" style={{ background: `var(${colour})` }} aria-hidden="true">
      {sign}
    </span>
  )
}

type EntryProps = {
  label: string
  /** The definition of the label, as a tooltip. */
  hint?: string
  count: number
  mark: ReactNode
  isPressed: boolean
  onPress: (isPressed: boolean) => void
}

function Entry({ label, hint, count, mark, isPressed, onPress }: EntryProps) {
  const formats = useFormats()
  return (
    <li>
      <button
        type="button"
        className="legend-entry"
        title={hint}
        aria-pressed={isPressed}
        onClick={() => onPress(!isPressed)}
      >
        {mark}
        <span>{label}</span>
        <span className="quiet">{formats.number(count)}</span>
      </button>
    </li>
  )
}
