import type { DeliveryQueue, Item, Line } from './queue.ts'
import { requestsAtOnce } from './runner-limits.ts'

/** The events of one request: the first events of some lines. */
export type Parts = { line: Line; count: number }[]

type BatchOptions = {
  batchSize: number
  /** Returns whether an event can be sent without reading it again. */
  isFresh: (item: Item) => boolean
  /** Gets the lines whose first event must be read again. */
  stale: Line[]
}

/**
 * Takes the first events of ready lines, up to the size of a batch. An event that failed before is sent alone. Otherwise
 * an event that the receiver always refuses would repeatedly fail together with the others.
 */
export function takeBatch(queue: DeliveryQueue, { batchSize, isFresh, stale }: BatchOptions): Parts {
  const isNew = (item: Item) => isFresh(item) && attemptsOf(item) === 0
  const parts: Parts = []
  let room = batchSize
  while (room > 0 && stale.length < requestsAtOnce) {
    const line = queue.take()
    if (line === undefined) break
    const first = line.items[0] as Item
    const isAlone = attemptsOf(first) > 0
    if (isAlone && parts.length > 0) {
      queue.release(line, { isPrepared: true })
      break
    }
    if (!isFresh(first)) {
      stale.push(line)
      continue
    }
    const most = isAlone ? 1 : Math.min(room, line.items.length)
    let count = 1
    while (count < most && isNew(line.items[count] as Item)) count++
    parts.push({ line, count })
    room = isAlone ? 0 : room - count
  }
  return parts
}

export function attemptsOf({ stored }: Item): number {
  return stored?.attemptCount ?? 0
}
