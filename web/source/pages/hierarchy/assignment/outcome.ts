import type { ItemResult } from '@millwright/api/hierarchy.ts'

/**
 * `AssignmentOutcome` contains the number of changed assets, and the assets that could not be changed with the reasons.
 */
export type AssignmentOutcome = { changed: number; failures: { assetId: string; detail: string }[] }

export function outcomeOf(results: readonly ItemResult[]): AssignmentOutcome {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  return {
    changed: results.filter(({ outcome }) => outcome !== 'failed' && outcome !== 'unchanged').length,
    failures: failed.map(({ assetId, detail, code }) => ({ assetId, detail: detail ?? code ?? '' })),
  }
}
