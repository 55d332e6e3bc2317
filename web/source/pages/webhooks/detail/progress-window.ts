import { eventsBehind } from '../subscription.ts'

/** The number of events on the line of a subscription that is not far behind. */
const smallestWindow = 100

/**
 * Returns the part of the positions that the picture shows: the newest events, so many that the position of the
 * subscription is on the line. `share` is the handled part of the line in percent.
 */
export function progressWindow(positions: { position: number; newestPosition: number }): {
  start: number
  share: number
} {
  const behind = eventsBehind(positions)
  const wanted = Math.max(smallestWindow, 10 ** Math.ceil(Math.log10(Math.max(1, behind * 1.25))))
  if (positions.newestPosition === 0) return { start: 0, share: 100 }
  const size = Math.min(wanted, positions.newestPosition)
  return { start: positions.newestPosition - size, share: 100 * (1 - behind / size) }
}
