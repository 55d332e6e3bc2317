import type { View } from '../views/view-search.ts'

/**
 * Returns whether the table shows the filters with numbers. The numbers count all assets, so they are hidden while a search, a
 * group or another filter limits the table.
 */
export function hasQuickFilters({ q, filter, in: group }: View, quickFilters: readonly string[]): boolean {
  return q === '' && group === undefined && (filter === '' || quickFilters.includes(filter))
}
