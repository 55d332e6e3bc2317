import type { CSSProperties, ReactNode } from 'react'

export type GridColumn<Row> = {
  id: string
  header: string
  /** In pixels. */
  width: number
  cell: (row: Row) => ReactNode
  /** Aligns numbers to the right. */
  isNumber?: boolean
  /** Stays on the left while other columns scroll. Pinned columns come first. */
  isPinned?: boolean
  isSortable?: boolean
}

export type Sorting = { id: string; isDescending: boolean }

export type GridSelection = {
  isSelected: (id: string) => boolean
  /** With `isRange`, toggles all rows from the last toggled one. */
  onToggle: (index: number, isRange: boolean) => void
  isAll: boolean
  onAll: () => void
}

export type GridProps<Row> = {
  label: string
  columns: readonly GridColumn<Row>[]
  count: number
  /** Undefined while the row is loading. */
  rowAt: (index: number) => Row | undefined
  idOf: (row: Row) => string
  /** Called with the visible range, so that its rows can be loaded. */
  onRange?: (first: number, last: number) => void
  /** Called on Enter and on a click outside of links and controls. */
  onOpen?: (row: Row) => void
  selection?: GridSelection | undefined
  sorting?: Sorting | undefined
  onSort?: (id: string) => void
  onResize?: (id: string, width: number) => void
  /** Moves a column to another position. */
  onMove?: (id: string, to: number) => void
  /** Pins or unpins a column. */
  onPin?: (id: string) => void
  /** Fills the remaining height of the page. Otherwise the height follows the rows, up to a limit. */
  isTall?: boolean
}

/** Width of the column with the checkboxes. */
export const checkWidth = 44

/** The left offset of a pinned column. */
export function pinnedLeft(columns: readonly { width: number }[], place: number, isSelectable: boolean): number {
  return columns.slice(0, place).reduce((sum, { width }) => sum + width, isSelectable ? checkWidth : 0)
}

/**
 * The CSS classes of a cell. The last pinned column has an edge; a CSS selector for it would be slow in large tables.
 */
export function cellClass(columns: readonly { isPinned?: boolean }[], place: number): string {
  if (!columns[place]?.isPinned) return 'grid-cell'
  return columns[place + 1]?.isPinned ? 'grid-cell grid-pinned' : 'grid-cell grid-pinned grid-pinned-last'
}

/** The offset at which a pinned cell sticks while the table scrolls horizontally. */
export function pinnedStyle(left: number): CSSProperties {
  return { '--grid-left': `${left}px` } as CSSProperties
}
