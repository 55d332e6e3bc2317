import { useState } from 'react'
import type { PagedList } from '../../app/api/paged-list.ts'

/**
 * Returns whether a list has entries, or a filter that can hide them. An empty list shows no toolbar. While the list
 * loads, the last result applies, so that a search field keeps the focus.
 */
export function useHasEntries({ total, error, isLoading }: PagedList<unknown>, isFiltered = false): boolean {
  const [hasEntries, setHasEntries] = useState(isFiltered)
  const now = isFiltered || error !== null || total > 0
  if (!isLoading && now !== hasEntries) setHasEntries(now)
  return hasEntries
}
