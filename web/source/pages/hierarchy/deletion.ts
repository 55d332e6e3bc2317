import { isFailure } from '../../app/api/failure.ts'

/** `DeletionCounts` is the number of nodes and assignments that a deletion affects. */
export type DeletionCounts = { nodes: number; assets: number }

/**
 * Returns the counts in a problem of the code `hierarchy_not_empty`. Returns undefined for other failures. The detail of
 * the problem has the number of nodes first and the number of assigned assets second.
 */
export function deletionCounts(error: unknown): DeletionCounts | undefined {
  if (!isFailure(error, 'hierarchy_not_empty')) return undefined
  const [, nodes = '0', assets = '0'] = /(\d+) nodes .*?(\d+) assigned assets/.exec(error.message) ?? []
  return { nodes: Number(nodes), assets: Number(assets) }
}
