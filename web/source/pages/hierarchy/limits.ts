/**
 * The limits of the hierarchy API. They are copied from its contract, because the browser does not load the schemas of
 * the contract.
 */
export const hierarchyLimits = {
  hierarchies: 100,
  assetsAssigned: 1_000,
  nodesImported: 20_000,
  importBytes: 8 * 1024 * 1024,
  rules: 200,
  /** The maximum time until the counts of nodes include a change. */
  lagMs: 2_000,
} as const
