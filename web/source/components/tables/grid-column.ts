import type { CSSProperties, ReactNode } from 'react'

export type GridColumn<Row> = {
  id: string
  header: string
  /** In pixels. */
  width: number
  cell: (row: Row) => ReactNode
  /** Numbers stand at the right. */
  isNumber?: boolean
  /** Stays at the left while the rest scrolls. Pinned columns come first. */
  isPinned?: boolean
  isSortable?: boolean
}

export type Sorting = { id: string; isDescending: boolean }

export type GridSelection = {
  isSelected: (id: string) => boolean
  /** With `isRange`, everything from the last one on. */
  onToggle: (index: number, isRange: boolean) => void
  isAll: boolean
  onAll: () => void
}

export type GridProps<Row> = {
  label: string
  columns: readonly GridColumn<Row>[]
  count: number
  /** Undefined while it is on its way. */
  rowAt: (index: number) => Row | undefined
  idOf: (row: Row) => string
  /** Told which rows are looked at, so that they can be asked for. */
  onRange?: (first: number, last: number) => void
  /** Enter, and a click beside links and controls. */
  onOpen?: (row: Row) => void
  selection?: GridSelection | undefined
  sorting?: Sorting | undefined
  onSort?: (id: string) => void
  onResize?: (id: string, width: number) => void
  /** Puts a column to another place among them. */
  onMove?: (id: string, to: number) => void
  /** Keeps a column at the left, or lets it go again. */
  onPin?: (id: string) => void
  /** Fills the height that the page leaves; otherwise as high as its rows, up to a limit. */
  isTall?: boolean
}

/** The column with the boxes. */
export const checkWidth = 44

/** Where a pinned column stays. */
export function pinnedLeft(columns: readonly { width: number }[], place: number, isSelectable: boolean): number {
  return columns.slice(0, place).reduce((sum, { width }) => sum + width, isSelectable ? checkWidth : 0)
}

/** What a column looks like; the last pinned one has an edge. A style sheet could find it, but for every cell of every row. */
export function cellClass(columns: readonly { isPinned?: boolean }[], place: number): string {
  if (!columns[place]?.isPinned) return 'grid-cell'
  return columns[place + 1]?.isPinned ? 'grid-cell grid-pinned' : 'grid-cell grid-pinned grid-pinned-last'
}

/** Where a pinned cell stays while the rest is scrolled aside; until then it stands where it stands. */
export function pinnedStyle(left: number): CSSProperties {
  return { '--grid-left': `${left}px` } as CSSProperties
}
