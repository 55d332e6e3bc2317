import type { AssetClass } from '@millwright/api/asset-class.ts'
import {
  type ChangedKind,
  changedKinds,
  type changeKinds,
  type monitoringCounts,
  type TopologyGroup,
} from '@millwright/api/inventory/topology-groups.ts'
import { changeCount } from './change-counts.ts'
import type { ImpactMarks } from './map/map-pen.ts'
import type { SceneItem } from './map/scene.ts'

/** What the user highlights on the map. */
export type MapEmphasis =
  | { state: (typeof monitoringCounts)[number] }
  | 'stopped'
  | 'stoppedRead'
  | 'outdated'
  | { change: (typeof changeKinds)[number] }
  | { changed: ChangedKind }
  | { class: AssetClass }
  | undefined

/** Returns what is highlighted: changes only in a comparison, and states and classes only outside of it. */
export function shownEmphasis(
  emphasis: MapEmphasis,
  { isComparison, showsChanges }: { isComparison: boolean; showsChanges: boolean },
): MapEmphasis {
  const isChange = typeof emphasis === 'object' && ('change' in emphasis || 'changed' in emphasis)
  return (isChange ? isComparison : !showsChanges) ? emphasis : undefined
}

type EmphasisOptions = { emphasis: MapEmphasis; showsChanges: boolean; marks: ImpactMarks | undefined }

/** Returns whether an item has highlighted assets. In a comparison, only changed items are highlighted at first. */
export function isEmphasized(
  { key, group, asset }: SceneItem,
  { emphasis, showsChanges, marks }: EmphasisOptions,
): boolean {
  if (marks !== undefined) return marks.has(key)
  if (emphasis === 'stopped') return group === undefined ? asset?.stopped === true : group.stopped > 0
  if (emphasis === 'stoppedRead') return group === undefined ? asset?.stoppedRead === true : group.stoppedRead > 0
  if (emphasis === 'outdated') return group === undefined ? asset?.outdated === true : group.outdated > 0
  if (emphasis !== undefined) {
    if ('state' in emphasis)
      return group === undefined ? asset?.monitoring === emphasis.state : group.monitoring[emphasis.state] > 0
    if ('change' in emphasis)
      return group === undefined ? asset?.change === emphasis.change : group.changes[emphasis.change] > 0
    if ('changed' in emphasis)
      return group === undefined
        ? asset?.changed?.includes(emphasis.changed) === true
        : (group.changeKinds?.[emphasis.changed] ?? 0) > 0
    return group === undefined
      ? asset?.class === emphasis.class
      : group.classes.some(({ class: each }) => each === emphasis.class)
  }
  if (!showsChanges) return true
  return group === undefined ? asset?.change !== undefined || asset?.changed !== undefined : isChangedGroup(group)
}

/** Returns whether a group has assets that were added, changed or removed, or whose connections changed. */
export function isChangedGroup({
  changes,
  changeKinds: kinds,
}: Pick<TopologyGroup, 'changes' | 'changeKinds'>): boolean {
  return changeCount(changes) > 0 || changedKinds.some((kind) => (kinds?.[kind] ?? 0) > 0)
}
