import type { Assignment, ItemResult } from '@millwright/api/hierarchy.ts'

/**
 * `AssignmentOutcome` contains the number of changed assets, how many of them were moved from another node, and the
 * assets that could not be changed with the reasons.
 */
export type AssignmentOutcome = {
  changed: number
  moved: number
  failures: { assetId: string; detail: string }[]
}

export function outcomeOf(results: readonly ItemResult[]): AssignmentOutcome {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  return {
    changed: results.filter(({ outcome }) => outcome !== 'failed' && outcome !== 'unchanged').length,
    moved: results.filter(({ outcome }) => outcome === 'moved').length,
    failures: failed.map(({ assetId, detail, code }) => ({ assetId, detail: detail ?? code ?? '' })),
  }
}

/** `UndoOutcome` contains how many assets an undo returned, left unchanged and could not change. */
export type UndoOutcome = { returned: number; unchanged: number; failed: number }

/** Adds up the counts of undos that have ended. An undo that was canceled or failed has assets that it did not reach. */
export function undoOutcome(
  undos: readonly Pick<Assignment, 'total' | 'assigned' | 'moved' | 'removed' | 'unchanged'>[],
): UndoOutcome {
  const sum = (count: (undo: (typeof undos)[number]) => number) => undos.reduce((all, undo) => all + count(undo), 0)
  const returned = sum(({ assigned, moved, removed }) => assigned + moved + removed)
  const unchanged = sum((undo) => undo.unchanged)
  return { returned, unchanged, failed: Math.max(0, sum(({ total }) => total) - returned - unchanged) }
}
