import type { View } from '../views/view-search.ts'

/**
 * Returns the change of the view after a click on a filter with a number. The search and the group are removed, so that the table
 * shows as many assets as the number names. A click on the active filter shows all assets again.
 */
export function quickFilterChange(view: Pick<View, 'filter'>, filter: string): Partial<View> {
  return { filter: view.filter === filter ? '' : filter, q: '', match: undefined, by: '', in: undefined }
}
