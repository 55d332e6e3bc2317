import { changeKinds, type TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'

/** What changed in a group, in words. */

export type ChangeTexts = {
  /** The number of assets with a change, in words. */
  change: (kind: (typeof changeKinds)[number] | 'connection', count: number) => string
  /** The number of all changed assets, in words. */
  allChanges: (count: number) => string
}

/**
 * Returns the texts about the changes of a group, from the longest to the shortest: the numbers of added, changed and removed assets, and
 * their sum. A group in which only connections between its assets changed has the number of these assets. A group without changes has no text.
 */
export function changeTexts(
  {
    changes,
    changeKinds: known,
  }: Pick<TopologyGroup, 'changes'> & { changeKinds?: TopologyGroup['changeKinds'] | undefined },
  texts: ChangeTexts,
): string[][] {
  const occurred = changeKinds.filter((kind) => changes[kind] > 0)
  const connection = known?.connection ?? 0
  if (occurred.length === 0) return connection > 0 ? [[texts.change('connection', connection)]] : []
  const sum = changes.added + changes.changed + changes.removed
  return [occurred.map((kind) => texts.change(kind, changes[kind])), [texts.allChanges(sum)]]
}
