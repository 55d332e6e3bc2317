/**
 * The limits of the hierarchy API. They are copied from the contract, because its schemas are not loaded in the
 * browser.
 */
export const hierarchyLimits = {
  hierarchies: 100,
  assetsAssigned: 1_000,
  nodesImported: 20_000,
  importBytes: 8 * 1024 * 1024,
  rules: 200,
  /** The time after which the counts of nodes contain a change. */
  lagMs: 2_000,
} as const
