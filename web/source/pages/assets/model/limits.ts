/**
 * The limits of the inventory API. They are copied from the contract, because its schemas are not loaded in the
 * browser.
 */
export const inventoryLimits = { bulk: 100 } as const

/** The maximum number of selected assets for a bulk change. */
export const maxSelected = 10_000
