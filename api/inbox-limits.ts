/** The limits of the inbox service. */
export const inboxLimits = {
  /** The maximum number of assets of one decision. */
  assetsPerDecision: 10_000,
  /** The maximum number of decisions of a tenant that run in the background. */
  unfinishedDecisions: 50,
  /** The number of days in which a decision can be undone. Then the results of its assets are deleted. */
  undoDays: 7,
  /** The number of days for which decisions and the log of rules are stored. */
  retentionDays: 90,
  /** The maximum number of values of each facet. */
  facetValues: 50,
  /** The maximum number of assets in one request for proposals. */
  proposedAssets: 100,
  /** The number of assets of a decision that are listed with their names. */
  namedAssets: 3,
  /** The number of targets of a decision that are stored with their number of assets. */
  namedTargets: 3,
  rules: 50,
  rangesPerRule: 32,
  /** The maximum and the default number of assets that an automatic rule onboards after one scan. */
  cap: 10_000,
  defaultCap: 200,
  /** The number of matching assets that a preview lists. */
  previewAssets: 20,
  /** The longest time that a request waits for the end of a decision. */
  waitSeconds: 30,
} as const
