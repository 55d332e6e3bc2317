import type { Impact } from '@millwright/api/inventory/impact.ts'
import type { ImpactMark, ImpactMarks } from './map-pen.ts'
import { pathOf, type Scene } from './scene.ts'
import { assetItemKey, groupKey } from './scene-keys.ts'

type MarkedMap = {
  scene: Scene
  treeName: string | undefined
  /** The keys of the groups that contain the asset of the question. */
  around: readonly string[]
}

/** Returns the marks of the asset of the question, of the impacted assets, and of the groups that contain them. */
export function marksOf(impact: Impact, { scene, treeName, around }: MarkedMap): ImpactMarks {
  const marks = new Map<string, ImpactMark>()
  const effect = impact.mode === 'fails' ? 'failing' : 'selected'
  if (treeName === undefined) markLoaded(marks, impact, scene)
  else markNodes(marks, impact, { scene, treeName })
  const groups = [...around.map(groupKey), ...groupsOf(impact.asset.id, scene)]
  for (const key of groups) marks.set(key, { ...none, ...marks.get(key), effect })
  for (const each of impact.assets) marks.set(assetItemKey(each.id), { ...none, effect: each.effect })
  marks.set(assetItemKey(impact.asset.id), { ...none, effect })
  return marks
}

const none = { affected: 0, degraded: 0 } as const

/** Marks the groups whose path of names is the start of the path of an affected node, and the group of the rest. */
function markNodes(
  marks: Map<string, ImpactMark>,
  { total, byNode }: Impact,
  { scene, treeName }: { scene: Scene; treeName: string },
): void {
  const nodes = byNode.filter(({ nodeId, names }) => nodeId !== undefined && names[0] === treeName)
  for (const item of scene.items.values()) {
    if (item.group === undefined) continue
    const above = pathOf(item).flatMap(({ key }) => scene.items.get(groupKey(key))?.group?.name ?? [])
    const path = [treeName, ...above, item.group.name]
    const inside = nodes.filter(({ names }) => path.every((name, index) => names[index] === name))
    const counts = item.group.kind === 'rest' ? difference(total, sum(nodes)) : sum(inside)
    mark(marks, item.key, counts)
  }
}

/** Marks the loaded groups that contain marked assets. The groups of an asset that is not loaded are unknown. */
function markLoaded(marks: Map<string, ImpactMark>, impact: Impact, scene: Scene): void {
  for (const { id, effect } of impact.assets)
    for (const key of groupsOf(id, scene)) mark(marks, key, sum([marks.get(key) ?? none, { ...none, [effect]: 1 }]))
}

/** Returns the keys of the groups that contain an asset, if it is loaded. */
function groupsOf(id: string, scene: Scene): string[] {
  const item = scene.items.get(assetItemKey(id))
  return item === undefined ? [] : pathOf(item).map(({ key }) => groupKey(key))
}

type Counts = { affected: number; degraded: number }

function mark(marks: Map<string, ImpactMark>, key: string, { affected, degraded }: Counts): void {
  if (affected + degraded === 0) return
  marks.set(key, { effect: affected > 0 ? 'affected' : 'degraded', affected, degraded })
}

function sum(counts: readonly Counts[]): Counts {
  return counts.reduce<Counts>(
    (one, other) => ({ affected: one.affected + other.affected, degraded: one.degraded + other.degraded }),
    none,
  )
}

function difference(one: Counts, other: Counts): Counts {
  return {
    affected: Math.max(0, one.affected - other.affected),
    degraded: Math.max(0, one.degraded - other.degraded),
  }
}
