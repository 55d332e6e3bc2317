import type { AssetClass } from '@millwright/api/asset-class.ts'
import type { TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import type { ReactNode } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { assetClassIcons, assetClassName } from '../../components/values/asset-classes.ts'
import { Icon } from '../../components/values/icon.tsx'
import type { ImpactMarks } from './map/painter.ts'
import type { SceneItem } from './map/scene.ts'
import { mapMessages } from './map-messages.ts'

const states = ['reached', 'failed', 'unknown'] as const
const changes = ['added', 'changed', 'removed'] as const

/** The entry of the legend that is emphasized on the map. */
export type MapEmphasis =
  | { state: (typeof states)[number] }
  | { change: (typeof changes)[number] }
  | { class: AssetClass }
  | undefined

/** Returns whether an item has assets of the emphasized entry. In a comparison, only changed items are emphasized. */
export function isEmphasized(
  { key, group, asset }: SceneItem,
  { emphasis, showsChanges, marks }: { emphasis: MapEmphasis; showsChanges: boolean; marks: ImpactMarks | undefined },
): boolean {
  if (marks !== undefined) return marks.has(key)
  if (emphasis !== undefined) {
    if ('state' in emphasis)
      return group === undefined ? asset?.reachability_state === emphasis.state : group.reachability[emphasis.state] > 0
    if ('change' in emphasis)
      return group === undefined ? asset?.change === emphasis.change : group.changes[emphasis.change] > 0
    return group === undefined
      ? asset?.class === emphasis.class
      : group.classes.some(({ class: each }) => each === emphasis.class)
  }
  if (!showsChanges) return true
  return group === undefined
    ? asset?.change !== undefined
    : group.changes.added + group.changes.changed + group.changes.removed > 0
}

const stateColours = {
  reached: '--theme-color-success',
  failed: '--theme-color-alarm',
  unknown: '--theme-color-neutral',
  added: '--theme-color-success',
  changed: '--theme-color-warning',
  removed: '--theme-color-alarm',
} as const

type MapLegendProps = {
  total: TopologyGroups['total']
  classes: Pick<TopologyGroups, 'groups' | 'assets'>
  emphasis: MapEmphasis
  onEmphasis: (emphasis: MapEmphasis) => void
  showsChanges: boolean
}

/** `MapLegend` lists the states and classes with their numbers of assets. Choosing an entry fades all other items. */
export function MapLegend({ total, classes, emphasis, onEmphasis, showsChanges }: MapLegendProps) {
  const text = useText(mapMessages)
  const language = useLanguage()
  const counts = classCounts(classes)
  return (
    <div className="map-legend">
      <ul className="graph-legend" aria-label={text.legend}>
        {showsChanges
          ? changes.map((change) => (
              <Entry
                key={change}
                label={text[change]}
                count={total.changes[change]}
                mark={<Dot colour={stateColours[change]} />}
                isPressed={emphasis !== undefined && 'change' in emphasis && emphasis.change === change}
                onPress={(isPressed) => onEmphasis(isPressed ? { change } : undefined)}
              />
            ))
          : states.map((state) => (
              <Entry
                key={state}
                label={text[state]}
                count={total.reachability[state]}
                mark={<Dot colour={stateColours[state]} />}
                isPressed={emphasis !== undefined && 'state' in emphasis && emphasis.state === state}
                onPress={(isPressed) => onEmphasis(isPressed ? { state } : undefined)}
              />
            ))}
        {[...counts].map(([each, count]) => (
          <Entry
            key={each}
            label={assetClassName(each, language)}
            count={count}
            mark={<Icon name={assetClassIcons[each]} size={16} />}
            isPressed={emphasis !== undefined && 'class' in emphasis && emphasis.class === each}
            onPress={(isPressed) => onEmphasis(isPressed ? { class: each } : undefined)}
          />
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

function Dot({ colour }: { colour: string }) {
  return <span className="legend-dot" style={{ background: `var(${colour})` }} aria-hidden="true" />
}

type EntryProps = {
  label: string
  count: number
  mark: ReactNode
  isPressed: boolean
  onPress: (isPressed: boolean) => void
}

function Entry({ label, count, mark, isPressed, onPress }: EntryProps) {
  const formats = useFormats()
  return (
    <li>
      <button type="button" className="legend-entry" aria-pressed={isPressed} onClick={() => onPress(!isPressed)}>
        {mark}
        <span>{label}</span>
        <span className="quiet">{formats.number(count)}</span>
      </button>
    </li>
  )
}
