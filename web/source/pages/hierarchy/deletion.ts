import { isFailure } from '../../app/api/failure.ts'

/** `DeletionCounts` contains the numbers of nodes and assigned assets that a deletion affects. */
export type DeletionCounts = { nodes: number; assets: number }

/** Returns the counts of a problem with the code `hierarchy_not_empty`, or undefined for other failures. */
export function deletionCounts(error: unknown): DeletionCounts | undefined {
  if (!isFailure(error, 'hierarchy_not_empty')) return undefined
  const { childNodes: nodes = 0, assignedAssets: assets = 0 } = error
  return { nodes, assets }
}
