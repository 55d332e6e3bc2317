import { useCallback, useState } from 'react'
import type { Asset } from '../model/asset.ts'
import { type AssetPages, pageSize } from './asset-pages.ts'

/** The first and the last visible page of a list of assets. */
export type PageRange = { first: number; last: number }

/** Returns the visible pages, and a function that receives the range of the visible rows. */
export function usePageRange(): [PageRange, (first: number, last: number) => void] {
  const [range, setRange] = useState<PageRange>({ first: 0, last: 0 })
  const setRows = useCallback((first: number, last: number) => {
    const next = { first: Math.floor(first / pageSize), last: Math.floor(last / pageSize) }
    setRange((before) => (before.first === next.first && before.last === next.last ? before : next))
  }, [])
  return [range, setRows]
}

/** Returns the ids of each visible page of a list that is loaded completely. */
export function visibleIds(ids: readonly string[], { first, last }: PageRange): string[][] {
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * pageSize)
    .map((start) => ids.slice(start, start + pageSize))
    .filter((page) => page.length > 0)
}

/** Returns the loaded assets of each visible page. A page without loaded assets is left out. */
export function visiblePages(pages: AssetPages, { first, last }: PageRange): Asset[][] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
    .map((page) => [...pages.loaded(page * pageSize, (page + 1) * pageSize - 1)])
    .filter((assets) => assets.length > 0)
}
