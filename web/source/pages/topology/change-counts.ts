import {
  type ChangedKind,
  changedKinds,
  changeKinds,
  type TopologyGroup,
} from '@millwright/api/inventory/topology-groups.ts'

type Changes = TopologyGroup['changes']

/** Returns the number of assets that were added, changed or removed. */
export function changeCount({ added, changed, removed }: Changes): number {
  return added + changed + removed
}

/** Returns the kinds of changes that occurred. */
export function occurredKinds(changes: Changes): (typeof changeKinds)[number][] {
  return changeKinds.filter((kind) => changes[kind] > 0)
}

/** Returns what changed in at least one asset that existed before. */
export function occurredChangedKinds(kinds: TopologyGroup['changeKinds']): ChangedKind[] {
  return changedKinds.filter((kind) => (kinds?.[kind] ?? 0) > 0)
}
