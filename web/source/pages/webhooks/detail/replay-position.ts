/** `StoredEvent` is the position and the time of an event. */
export type StoredEvent = { position: number; time: string }

/** The positions of the oldest and the newest stored event. */
export type StoredRange = { oldest: number; newest: number }

/**
 * Returns the position of the first event at or after a time, or undefined if there is none. `firstFrom` reads the first
 * event at or after a position. The times of events increase with their positions, so that few reads are sufficient.
 */
export async function positionAt(
  time: string,
  { oldest, newest }: StoredRange,
  firstFrom: (position: number) => Promise<StoredEvent | undefined>,
): Promise<number | undefined> {
  const limit = Date.parse(time)
  let [low, high] = [oldest, newest + 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const event = await firstFrom(middle)
    if (event === undefined || Date.parse(event.time) >= limit) high = middle
    else low = Math.max(middle, event.position) + 1
  }
  return low > newest ? undefined : low
}
