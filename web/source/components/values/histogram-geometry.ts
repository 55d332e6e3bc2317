/** The geometry of a histogram and its selection, as pure functions. */

type Bucket = { time: number; counts: readonly number[] }

/** The first and the last selected bucket. `from` is the bucket at which a selection with the mouse started. */
export type Selection = { first: number; last: number; from?: number }

type Bar = { bucket: number; series: number; x: number; width: number; y: number; size: number }

/** The height of a bar that is too small to be seen, in pixels. */
const smallest = 3

/**
 * Returns the end of the scale: the smallest number with one digit other than zero, or an even number of tens, that is not
 * below the highest bar. Its half is a whole number.
 */
export function scaleEnd(buckets: readonly Bucket[]): number {
  const most = Math.max(2, ...buckets.map(({ counts }) => counts.reduce((sum, count) => sum + count, 0)))
  const unit = 10 ** Math.floor(Math.log10(most))
  const factors = unit === 1 ? [2, 4, 6, 8, 10] : [1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10]
  return Math.round(unit * (factors.find((factor) => factor * unit >= most) ?? 10))
}

/** Returns the height of a count over the base line, in pixels. Very small counts of a stacked bar need some of the space. */
export function heightOf(
  count: number,
  { most, height, series }: { most: number; height: number; series: number },
): number {
  return (count / most) * (height - smallest * series)
}

/** Returns the rectangles of the stacked bars. `x` and `width` are percentages, `y` and `size` are pixels. */
export function barsOf(buckets: readonly Bucket[], height: number): Bar[] {
  const most = scaleEnd(buckets)
  const step = 100 / Math.max(1, buckets.length)
  return buckets.flatMap(({ counts }, bucket) => {
    let top = height
    return counts.flatMap((count, series) => {
      if (count === 0) return []
      const size = Math.max(smallest, heightOf(count, { most, height, series: counts.length }))
      top -= size
      return [{ bucket, series, x: step * (bucket + 0.1), width: step * 0.8, y: Math.max(0, top), size }]
    })
  })
}

/** Returns the bucket at a position between 0 and 1. */
export function bucketAt(position: number, count: number): number {
  return Math.min(count - 1, Math.max(0, Math.floor(position * count)))
}

/** The largest number of labels at the axis. */
const maxTicks = 9

/** Returns the labelled buckets with the centres of their bars. If too many buckets can have a label, every second, third … of them has one. */
export function ticksOf(buckets: readonly Bucket[], isTick: (time: number) => boolean): { time: number; x: number }[] {
  const all = buckets.flatMap(({ time }, index) =>
    isTick(time) ? [{ time, x: ((index + 0.5) / buckets.length) * 100 }] : [],
  )
  const step = Math.ceil(all.length / maxTicks)
  // A label at an edge would be cut off.
  return all.filter(({ x }, index) => index % step === 0 && x > 2 && x < 98)
}

type KeyState = { cursor: number; selection: Selection | undefined; count: number }
type Moved = { cursor: number; isSelecting: boolean; selection: Selection | undefined }

const steps: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }

/** Returns the state after a key. Returns undefined for keys that the histogram does not use. */
export function movedSelection(
  { key, shiftKey }: { key: string; shiftKey: boolean },
  { cursor, selection, count }: KeyState,
): Moved | undefined {
  if (key === 'Escape') return selection && { cursor, isSelecting: true, selection: undefined }
  if (key === 'Enter' || key === ' ') return { cursor, isSelecting: true, selection: { first: cursor, last: cursor } }
  const step = steps[key]
  const target = key === 'Home' ? 0 : key === 'End' ? count - 1 : step === undefined ? undefined : cursor + step
  if (target === undefined) return undefined
  const next = Math.min(count - 1, Math.max(0, target))
  if (!shiftKey) return { cursor: next, isSelecting: false, selection }
  // The end of the selection at the cursor moves, and the other end stays.
  const anchor = selection === undefined ? cursor : cursor === selection.first ? selection.last : selection.first
  return {
    cursor: next,
    isSelecting: true,
    selection: { first: Math.min(anchor, next), last: Math.max(anchor, next) },
  }
}
