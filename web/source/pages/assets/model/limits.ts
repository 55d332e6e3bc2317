/** As in the contract of the inventory, whose schemas stay out of what the browser loads. */
export const inventoryLimits = { bulk: 100 } as const

/** What one may select and change at once here. */
export const maxSelected = 10_000
