import { changeKinds, type TopologyGroup } from '@millwright/api/inventory/topology-groups.ts'
import type { timelineMessages } from './timeline-messages.ts'

type Changes = TopologyGroup['changes']

/** Returns the number of assets that were added, changed or removed. */
export function changeCount({ added, changed, removed }: Changes): number {
  return added + changed + removed
}

/** Returns the kinds of changes that occurred. */
export function occurredKinds(changes: Changes): (typeof changeKinds)[number][] {
  return changeKinds.filter((kind) => changes[kind] > 0)
}

/** Returns the number of assets of each kind of change that occurred. With several kinds, their sum comes first. */
export function changesText(
  changes: Changes,
  text: (typeof timelineMessages)['en'],
  numberText: (value: number) => string,
): string {
  const kinds = occurredKinds(changes)
  const [first, ...others] = kinds
  if (first === undefined) return text.none
  if (others.length === 0) return text[`${first}Only`](numberText(changes[first]))
  const shown = kinds.map((kind) => text[kind](numberText(changes[kind]))).join(' · ')
  return text.sum(numberText(changeCount(changes)), shown)
}
