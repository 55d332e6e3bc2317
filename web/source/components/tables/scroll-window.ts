/**
 * Which rows of a very long list are in sight. Browsers cannot make an element as high as a million rows: the scrolled
 * height is bounded, and what is shown moves against it. Small steps of the wheel move by exactly as many pixels, a jump
 * with the scroll bar goes to the same share of the list.
 */

export type Extent = { count: number; rowHeight: number; viewportHeight: number }

/** Where somebody is: the position of the scroll bar, and how far the rows are moved up against it. */
export type Position = { scrollTop: number; offset: number }

export const startPosition: Position = { scrollTop: 0, offset: 0 }

/** The highest that every browser can make, with room to spare. */
const maximumPixels = 8_000_000
const pages = 100
/** So many heights of the window are close to an end, and so many the bar may be off further away: moving it redraws every row. */
const heights = { close: 2, off: 8 } as const

export function contentHeight({ count, rowHeight }: Extent): number {
  return Math.min(count * rowHeight, maximumPixels)
}

/** After the scroll bar moved; `scrollTop` of the answer differs when the bar has to be moved back. */
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

/** Far from where the share of the list says, the bar is moved a page towards it and the rows with it. */
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

/** The rows in sight and a few around them. */
export function rowsAt(extent: Extent, { scrollTop, offset }: Position, overscan: number): Rows {
  const { count, rowHeight, viewportHeight } = extent
  const at = scrollTop + offset
  const first = Math.floor(at / rowHeight) - overscan
  const last = Math.ceil((at + viewportHeight) / rowHeight) + overscan
  return { first: Math.max(0, Math.min(first, count - 1)), last: Math.min(count - 1, last) }
}

/** Where a row stands within the scrolled height. */
export function topOf({ rowHeight }: Extent, { offset }: Position, index: number): number {
  return index * rowHeight - offset
}

/** The position at which a row is in sight, moving as little as possible. */
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
