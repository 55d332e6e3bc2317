import type { CSSProperties, ReactNode } from 'react'

export type GridColumn<Row> = {
  id: string
  header: string
  /** The meaning of the column, which the tooltip of the header shows. */
  hint?: string
  /** The width in pixels. */
  width: number
  /** The width down to which the column shrinks in a narrow table. Without it, the column shrinks to `width` after the other columns. */
  minWidth?: number | undefined
  /** Whether the column also takes the free width of the table. */
  isGrowing?: boolean
  /** Whether the user has set the width. The content of such a column does not change its width. */
  isFixed?: boolean
  cell: (row: Row) => ReactNode
  /** Whether the column contains numbers, which are aligned right. */
  isNumber?: boolean
  /**
   * Whether the column stays on the left while the other columns scroll. Pinned columns come before all other columns.
   */
  isPinned?: boolean
  isSortable?: boolean
}

export type Sorting = { id: string; isDescending: boolean }

export type GridSelection = {
  isSelected: (id: string) => boolean
  /**
   * Toggles the selection of a row. With `isRange`, all rows from the previously toggled row to this row are toggled.
   */
  onToggle: (index: number, isRange: boolean) => void
  isAll: boolean
  /** Whether some rows are selected, but not all. */
  isPartial: boolean
  onAll: () => void
}

export type GridProps<Row> = {
  label: string
  columns: readonly GridColumn<Row>[]
  count: number
  /** Returns the row at an index, or undefined while the row is loading. */
  rowAt: (index: number) => Row | undefined
  idOf: (row: Row) => string
  /** Receives the range of the visible rows, so that these rows can be loaded. */
  onRange?: (first: number, last: number) => void
  /** Opens a row. The table calls this function on Enter, and on a click outside of links and controls. */
  onOpen?: (row: Row) => void
  /** Is called when the user starts to drag a row. If it is not set, rows cannot be dragged. */
  onDrag?: ((row: Row) => void) | undefined
  /** Is called with the index of the row that becomes the current row. The table then marks the current row. */
  onCurrent?: ((index: number) => void) | undefined
  /** The row that gets the focus. A new object moves the focus again, also to the same row. */
  focus?: { readonly index: number } | undefined
  selection?: GridSelection | undefined
  sorting?: Sorting | undefined
  onSort?: (id: string) => void
  onResize?: (id: string, width: number) => void
  /** Moves a column to another position. */
  onMove?: (id: string, to: number) => void
  /** Pins or unpins a column. */
  onPin?: (id: string) => void
  /**
   * Whether the table fills the remaining height of the page. Otherwise its height depends on the number of rows, up to
   * a limit.
   */
  isTall?: boolean
  /** Whether the rows are higher, for cells with two lines. */
  isRoomy?: boolean
}

/** The width of the column with the checkboxes. */
export const checkWidth = 44

/**
 * Returns the widths of the grid's columns as a CSS track list, and the width below which the table scrolls. `widths` are
 * the widths for the contents of the columns, if they are known.
 */
export function gridTracks(
  columns: readonly Omit<GridColumn<never>, 'cell'>[],
  isSelectable: boolean,
  widths?: readonly number[],
): { tracks: string; minimum: number } {
  if (widths !== undefined) {
    const all = isSelectable ? [checkWidth, ...widths] : widths
    return {
      tracks: [...all.map((width) => `${width}px`), '1fr'].join(' '),
      minimum: all.reduce((sum, width) => sum + width, 0),
    }
  }
  const least = columns.map(({ width, minWidth, isPinned }, place) =>
    // The position of a pinned column depends on the widths of the columns before it.
    minWidth === undefined || (isPinned && columns[place + 1]?.isPinned) ? width : Math.min(width, minWidth),
  )
  const tracks = columns.map(({ width, isGrowing }, place) =>
    isGrowing ? `minmax(${least[place]}px, 1fr)` : `minmax(${least[place]}px, ${width}px)`,
  )
  const rest = columns.some(({ isGrowing }) => isGrowing) ? '0' : '1fr'
  const check = isSelectable ? checkWidth : 0
  return {
    tracks: [...(isSelectable ? [`${check}px`] : []), ...tracks, rest].join(' '),
    minimum: least.reduce((sum, width) => sum + width, check),
  }
}

/** Returns the distance of a pinned column from the left edge of the table. */
export function pinnedLeft(columns: readonly { width: number }[], place: number, isSelectable: boolean): number {
  return columns.slice(0, place).reduce((sum, { width }) => sum + width, isSelectable ? checkWidth : 0)
}

/**
 * Returns the CSS classes of a cell. The last pinned column has its own class, which draws its edge. A CSS selector
 * that finds the last pinned column would be slow in large tables.
 */
export function cellClass(columns: readonly { isPinned?: boolean }[], place: number): string {
  if (!columns[place]?.isPinned) return 'grid-cell'
  return columns[place + 1]?.isPinned ? 'grid-cell grid-pinned' : 'grid-cell grid-pinned grid-pinned-last'
}

/**
 * Returns the style of a pinned cell. It contains the distance from the left edge that the cell keeps while the table
 * scrolls horizontally.
 */
export function pinnedStyle(left: number): CSSProperties {
  return { '--grid-left': `${left}px` } as CSSProperties
}
