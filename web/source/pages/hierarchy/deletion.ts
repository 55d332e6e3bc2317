import { isFailure } from '../../app/api/failure.ts'

/** `DeletionCounts` contains the numbers of nodes and assigned assets that a deletion affects. */
export type DeletionCounts = { nodes: number; assets: number }

/**
 * Returns the counts in the detail of a problem with the code `hierarchy_not_empty`. The detail names first the number
 * of nodes, then the number of assigned assets. Returns undefined for other failures.
 */
export function deletionCounts(error: unknown): DeletionCounts | undefined {
  if (!isFailure(error, 'hierarchy_not_empty')) return undefined
  const [, nodes = '0', assets = '0'] = /nodes(?: below it)?: (\d+), assigned assets: (\d+)/.exec(error.message) ?? []
  return { nodes: Number(nodes), assets: Number(assets) }
}
