import type { Database, Transaction } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import { type TaskKinds, takeoverMs } from '../tasks/task.ts'
import * as store from './store.ts'

const batch = 500
/** The topic that is signalled when events have got their positions and can be read. */
export const placedTopic = 'events.placed'
/** The topic that is signalled when events wait for a position. */
export const eventsTopic = 'events'
/** After this many batches, the task lets other tasks of the process run. */
const batchesAtOnce = 20
/**
 * After this time without a renewal, another process continues. The lease is short, because all readers of events wait for
 * the task. Two processes that run it at the same time wait for each other in each batch, so no event gets two positions.
 */
const leaseMs = 3_000
const hourMs = 3_600_000
const keptMs = 30 * 24 * hourMs

/** Creates the tasks that give positions to committed events, and delete events after thirty days. */
export function eventTasks({ database }: { database: Database }): TaskKinds {
  return {
    'events.relay': {
      periodic: { everyMs: takeoverMs, wakeOn: eventsTopic, pending: store.anyWaiting },
      leaseMs,
      async run(task) {
        for (let round = 1; !task.signal.aborted; round++) {
          const ended = await database.transaction(task, async (tx) => {
            const placed = await relayBatch(tx)
            if (placed < batch) await task.complete(tx)
            else if (round >= batchesAtOnce) await task.complete(tx, { runAgainAt: new Date() })
            else return false
            return true
          })
          if (ended) return
        }
        task.signal.throwIfAborted()
      },
    },
    'events.prune': {
      periodic: { everyMs: hourMs, pending: store.anyOld },
      async run({ tenantId, signal }) {
        const before = lowestIdAt(Date.now() - keptMs)
        const prune = () => database.transaction({ tenantId }, (tx) => store.prune(tx, { before, limit: batch }))
        while (!signal.aborted && (await prune()) === batch);
      },
    },
  }
}

/**
 * Gives positions to the oldest committed events without a position. Returns the number of these events. An event whose
 * transaction commits late gets a later position, so a client that reads by position misses no event.
 */
export async function relayBatch(tx: Transaction): Promise<number> {
  const held = await lockPositions(tx)
  const placed = await placeWaiting(tx, held)
  if (placed > 0) await store.movePosition(tx, held.last + placed)
  if (placed > 0) tx.signal(placedTopic)
  return placed
}

/** The last assigned position, and the ids of the events that wait for a position. */
type LockedPosition = { last: number; waiting: readonly string[] }

/**
 * Locks the last position and reads the waiting events. Both statements are sent at once. The second one runs after the
 * first has locked the position.
 */
async function lockPositions(tx: Transaction): Promise<LockedPosition> {
  const [last, waiting] = await Promise.all([store.lockPosition(tx), store.waiting(tx, batch)])
  if (last !== undefined) return { last, waiting }
  await store.createPosition(tx)
  return lockPositions(tx)
}

/** Gives the waiting events the next positions. Returns their number. */
async function placeWaiting(tx: Transaction, { last, waiting }: LockedPosition): Promise<number> {
  if (waiting.length === 0) return 0
  const placed = waiting.map((id, index) => ({ id, position: last + 1 + index }))
  if ((await store.place(tx, placed)) !== waiting.length)
    throw new Error('Another relay gave positions to the same events')
  return waiting.length
}

/**
 * Inserts events together with their positions, which saves a second write. Waiting events were committed earlier, so
 * they get their positions first. If too many events wait, the new events wait too. No other transaction gets a
 * position before this transaction ends, so call this function last.
 */
export async function insertPlaced(
  tx: Transaction,
  events: readonly Omit<store.PrintedEvent, 'position' | 'ordinal'>[],
): Promise<void> {
  const held = await lockPositions(tx)
  const before = await placeWaiting(tx, held)
  const mustWait = before === batch
  const next = held.last + before + 1
  const ordinal = mustWait ? await store.nextOrdinal(tx) : 0
  const rows = events.map((event, index) => ({ ...event, position: mustWait ? null : next + index, ordinal }))
  await Promise.all([store.insertAll(tx, rows), store.movePosition(tx, next - 1 + (mustWait ? 0 : events.length))])
  tx.signal(placedTopic)
  if (mustWait) tx.signal(eventsTopic)
}
