/**
 * The heights of the bars of a timeline. The highest selected bar sets the scale, so that a much higher bar outside the selection does not
 * flatten the selected bars. Such a bar is cut: it has the full height and a break mark.
 */

/** A bar with its height in percent of the timeline. */
export type TimelineBar = { count: number; height: number; isCut: boolean }

/** The height of the highest bar, and of the highest selected bar if other bars are cut, in percent. */
const fullHeight = 70
const scaledHeight = 45
const lowestHeight = 6
/** A bar is cut if it is this many times as high as the highest selected bar. */
const cutFactor = 2

/** Returns the bars from the numbers of changes. `since` and `at` are the positions of the selected range. */
export function timelineBars(
  counts: readonly number[],
  { since, at }: { since: number; at: number },
): readonly TimelineBar[] {
  const highest = Math.max(1, ...counts)
  const selected = Math.max(0, ...counts.filter((_, index) => isSelectedBar(index, { since, at })))
  const isScaled = selected > 0 && highest >= selected * cutFactor
  const unit = isScaled ? scaledHeight / selected : fullHeight / highest
  return counts.map((count) => {
    const isCut = count * unit > fullHeight
    const height = count === 0 ? 0 : Math.min(fullHeight, Math.max(lowestHeight, count * unit))
    return { count, height, isCut }
  })
}

/** Returns whether a bar is at least partly in the selected range. */
export function isSelectedBar(index: number, { since, at }: { since: number; at: number }): boolean {
  return index + 1 > since && index < at
}
