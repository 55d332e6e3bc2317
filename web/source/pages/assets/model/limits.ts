/** Copied from the inventory contract, whose schemas are not loaded in the browser. */
export const inventoryLimits = { bulk: 100 } as const

/** Largest selection for a bulk change. */
export const maxSelected = 10_000
