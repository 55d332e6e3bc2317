/**
 * The limits of the inventory API. They are copied from its contract, because the browser does not load the schemas of
 * the contract.
 */
export const inventoryLimits = { bulk: 100 } as const

/** The maximum number of assets that can be selected for a bulk change. */
export const maxSelected = 10_000
