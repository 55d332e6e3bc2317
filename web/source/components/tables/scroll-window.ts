/**
 * This file calculates the visible rows of a very long list. Browsers limit the height of an element, so the height of
 * the content is limited too. If all rows together are higher than this limit, an offset moves the rows relative to the
 * scroll bar. The mouse wheel scrolls by exact pixels. Dragging the scroll bar goes to the corresponding fraction of
 * the list.
 */

export type Extent = { count: number; rowHeight: number; viewportHeight: number }

/**
 * `Position` is the scroll position: the position of the scroll bar, and the offset by which the rows are moved
 * relative to the scroll bar.
 */
export type Position = { scrollTop: number; offset: number }

export const startPosition: Position = { scrollTop: 0, offset: 0 }

/** The maximum height of the content in pixels. Every browser supports a larger height. */
const maximumPixels = 8_000_000
const pages = 100
/**
 * Tolerances, as a number of viewport heights. A position is close to an end of the list within `close`. Elsewhere,
 * `off` limits the error of the scroll bar. The limit is high, because correcting the scroll bar redraws all rows.
 */
const heights = { close: 2, off: 8 } as const

export function contentHeight({ count, rowHeight }: Extent): number {
  return Math.min(count * rowHeight, maximumPixels)
}

/**
 * Returns the position after the user moved the scroll bar. The returned `scrollTop` differs from the given one if the
 * scroll bar must be corrected.
 */
export function positionAfterScroll(extent: Extent, before: Position, scrollTop: number): Position {
  const fullHeight = extent.count * extent.rowHeight
  const height = contentHeight(extent)
  if (fullHeight === height) return { scrollTop, offset: 0 }
  const isJump = Math.abs(scrollTop - before.scrollTop) > extent.viewportHeight
  const surplus = fullHeight - height
  if (isJump) {
    const share = scrollTop / Math.max(1, height - extent.viewportHeight)
    return { scrollTop, offset: Math.round(Math.min(1, share) * surplus) }
  }
  return adjustedPosition({ height, surplus }, { scrollTop, offset: before.offset }, extent)
}

type Sizes = { height: number; surplus: number }

/**
 * Moves the scroll bar to the position that corresponds to the visible rows, if its error exceeds the tolerance. The
 * visible rows do not change.
 */
function adjustedPosition({ height, surplus }: Sizes, { scrollTop, offset }: Position, extent: Extent): Position {
  const room = Math.max(1, height - extent.viewportHeight)
  const page = height / pages
  const targetTop = Math.round(((scrollTop + offset) / (room + surplus)) * room)
  const isNearEnd = scrollTop < page || scrollTop > room - page
  const isAtEnd = scrollTop <= 0 || scrollTop >= room
  const close = heights.close * extent.viewportHeight
  const isClose = scrollTop < close || scrollTop > room - close
  const off = (isClose ? 1 : heights.off) * extent.viewportHeight
  const tolerance = isAtEnd ? 1 : isNearEnd ? Math.min(page, off) : page
  if (Math.abs(targetTop - scrollTop) < tolerance) return { scrollTop, offset }
  const movedOffset = Math.min(surplus, Math.max(0, scrollTop + offset - targetTop))
  return { scrollTop: scrollTop + offset - movedOffset, offset: movedOffset }
}

export type Rows = { first: number; last: number }

/** Returns the range of the visible rows, extended by the overscan rows. */
export function rowsAt(extent: Extent, { scrollTop, offset }: Position, overscan: number): Rows {
  const { count, rowHeight, viewportHeight } = extent
  const at = scrollTop + offset
  const first = Math.floor(at / rowHeight) - overscan
  const last = Math.ceil((at + viewportHeight) / rowHeight) + overscan
  return { first: Math.max(0, Math.min(first, count - 1)), last: Math.min(count - 1, last) }
}

/** Returns the distance of a row from the top of the content, in pixels. */
export function topOf({ rowHeight }: Extent, { offset }: Position, index: number): number {
  return index * rowHeight - offset
}

/** Returns the position nearest to the given position at which the row is visible. */
export function positionFor(extent: Extent, position: Position, index: number): Position {
  const { rowHeight, viewportHeight } = extent
  const at = position.scrollTop + position.offset
  const rowTop = index * rowHeight
  const target = rowTop < at ? rowTop : Math.max(at, rowTop + rowHeight - viewportHeight)
  const fullHeight = extent.count * rowHeight
  const surplus = fullHeight - contentHeight(extent)
  const share = fullHeight <= viewportHeight ? 0 : Math.min(1, target / (fullHeight - viewportHeight))
  const offset =
    Math.abs(target - at) <= viewportHeight && target - position.offset >= 0
      ? position.offset
      : Math.round(share * surplus)
  return { scrollTop: target - offset, offset }
}
