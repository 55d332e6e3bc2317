/**
 * Calculates the visible rows of a very long list. Browsers limit the height of an element, so the scrolled height is
 * limited too, and an offset moves the rows against it. The mouse wheel moves by exact pixels; a jump with the scroll
 * bar goes to the same fraction of the list.
 */

export type Extent = { count: number; rowHeight: number; viewportHeight: number }

/** The scroll position: that of the scroll bar, and the offset by which rows are moved against it. */
export type Position = { scrollTop: number; offset: number }

export const startPosition: Position = { scrollTop: 0, offset: 0 }

/** Element height that every browser supports, with some margin. */
const maximumPixels = 8_000_000
const pages = 100
/**
 * Tolerances in viewport heights: `close` counts as near an end, `off` is the allowed error of the scroll bar
 * elsewhere. Correcting it redraws all rows.
 */
const heights = { close: 2, off: 8 } as const

export function contentHeight({ count, rowHeight }: Extent): number {
  return Math.min(count * rowHeight, maximumPixels)
}

/**
 * The position after the scroll bar moved. Its `scrollTop` differs from the given one if the bar has to be corrected.
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

/** Moves the scroll bar towards its proportional position if it is too far off. The visible rows stay the same. */
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

/** The visible rows plus the overscan. */
export function rowsAt(extent: Extent, { scrollTop, offset }: Position, overscan: number): Rows {
  const { count, rowHeight, viewportHeight } = extent
  const at = scrollTop + offset
  const first = Math.floor(at / rowHeight) - overscan
  const last = Math.ceil((at + viewportHeight) / rowHeight) + overscan
  return { first: Math.max(0, Math.min(first, count - 1)), last: Math.min(count - 1, last) }
}

/** The offset of a row from the top of the content. */
export function topOf({ rowHeight }: Extent, { offset }: Position, index: number): number {
  return index * rowHeight - offset
}

/** The nearest position at which a row is visible. */
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
