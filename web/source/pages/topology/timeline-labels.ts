/** The smallest distance between the numbers of two bars, as a part of the width of the timeline. */
const labelSpace = 0.04

/** A bar that has its number above it. Its place is the middle of the bar, from 0 to 1. */
type LabelledBar = { index: number; place: number }

/** Returns the bars whose numbers have space above them. The highest bars come first. `placeOf` returns the start of a bar. */
export function labelledBars(bars: readonly number[], placeOf: (position: number) => number): LabelledBar[] {
  const labelled: LabelledBar[] = []
  const order = bars.map((_, index) => index).toSorted((one, other) => (bars[other] ?? 0) - (bars[one] ?? 0))
  for (const index of order) {
    const place = (placeOf(index) + placeOf(index + 1)) / 2
    const isFree = labelled.every((other) => Math.abs(other.place - place) >= labelSpace)
    if ((bars[index] ?? 0) > 0 && isFree) labelled.push({ index, place })
  }
  return labelled
}
