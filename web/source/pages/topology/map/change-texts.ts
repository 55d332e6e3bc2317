import {
  type ChangedKind,
  changedKinds,
  changeKinds,
  type TopologyGroup,
} from '@millwright/api/inventory/topology-groups.ts'

/** What changed in a group, in words. */

export type ChangeTexts = {
  /** The number of assets with a change, in words. */
  change: (kind: (typeof changeKinds)[number] | ChangedKind, count: number) => string
  /** The number of all changed assets, in words. */
  allChanges: (count: number) => string
  noChange: string
}

/**
 * Returns the texts about the changes of a group, from the longest to the shortest: with the kinds of changes, with all changes in one
 * number, and the sum. The kinds are in the first text only if they are known.
 */
export function changeTexts(
  {
    changes,
    changeKinds: known,
  }: Pick<TopologyGroup, 'changes'> & { changeKinds?: TopologyGroup['changeKinds'] | undefined },
  texts: ChangeTexts,
): string[][] {
  const occurred = changeKinds.filter((kind) => changes[kind] > 0)
  const kinds = known === undefined ? [] : changedKinds.filter((kind) => known[kind] > 0)
  const words = (kind: (typeof changeKinds)[number]) => texts.change(kind, changes[kind])
  const ofKinds = kinds.map((kind) => texts.change(kind, known?.[kind] ?? 0))
  const detailed = [
    ...occurred.filter((kind) => kind === 'added').map(words),
    ...(ofKinds.length > 0 ? ofKinds : occurred.filter((kind) => kind === 'changed').map(words)),
    ...occurred.filter((kind) => kind === 'removed').map(words),
  ]
  if (detailed.length === 0) return [[texts.noChange]]
  const sum = changes.added + changes.changed + changes.removed
  const short = occurred.map(words)
  return [detailed, ...(short.length > 0 ? [short] : []), ...(sum > 0 ? [[texts.allChanges(sum)]] : [])]
}
