import type { Database, Transaction } from '../database/database.ts'
import { lowestIdAt } from '../database/id.ts'
import type { TaskKinds } from '../tasks/task.ts'
import * as store from './store.ts'

const batch = 500
/** The topic that is signalled when events got their positions: now they can be read. */
export const placedTopic = 'events.placed'
/** The topic that is signalled for events that wait for a position. */
export const eventsTopic = 'events'
/** Then others of the same process have their turn. */
const batchesAtOnce = 20
const sweepMs = 15_000
const hourMs = 3_600_000
const keptMs = 30 * 24 * hourMs

/** The tasks that give committed events their position, and that forget them after a month. */
export function eventTasks({ database }: { database: Database }): TaskKinds {
  return {
    'events.relay': {
      periodic: { everyMs: sweepMs, wakeOn: eventsTopic, pending: store.anyWaiting },
      leaseMs: 30_000,
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
 * Gives positions to the oldest events that have been committed without one; answers how many. An event whose
 * transaction commits late gets a later position, so a reader that goes by positions misses nothing.
 */
export async function relayBatch(tx: Transaction): Promise<number> {
  const held = await holdPositions(tx)
  const placed = await placeWaiting(tx, held)
  if (placed > 0) await store.movePosition(tx, held.last + placed)
  if (placed > 0) tx.signal(placedTopic)
  return placed
}

/** The last position that was given, and what waits for the next ones. */
type Held = { last: number; waiting: readonly string[] }

/** Both are asked for at once: what waits is looked up after the position was got hold of, because it was asked second. */
async function holdPositions(tx: Transaction): Promise<Held> {
  const [last, waiting] = await Promise.all([store.lockPosition(tx), store.waiting(tx, batch)])
  if (last !== undefined) return { last, waiting }
  await store.makePosition(tx)
  return holdPositions(tx)
}

/** Gives the positions after the last one; answers how many. */
async function placeWaiting(tx: Transaction, { last, waiting }: Held): Promise<number> {
  if (waiting.length === 0) return 0
  const placed = waiting.map((id, index) => ({ id, position: last + 1 + index }))
  if ((await store.place(tx, placed)) !== waiting.length) throw new Error('Events were placed by somebody else')
  return waiting.length
}

/**
 * Inserts events together with their positions, which spares them a second writing. What waits for a position was
 * committed before, so it comes first; where too much waits, these wait behind it. Nobody gets a position until this
 * transaction ends, so call it last.
 */
export async function insertPlaced(
  tx: Transaction,
  events: readonly Omit<store.NewEvent, 'position' | 'ordinal'>[],
): Promise<void> {
  const held = await holdPositions(tx)
  const before = await placeWaiting(tx, held)
  const mustWait = before === batch
  const next = held.last + before + 1
  const ordinal = mustWait ? await store.nextOrdinal(tx) : 0
  const rows = events.map((event, index) => ({ ...event, position: mustWait ? null : next + index, ordinal }))
  await Promise.all([store.insertAll(tx, rows), store.movePosition(tx, next - 1 + (mustWait ? 0 : events.length))])
  tx.signal(placedTopic)
  if (mustWait) tx.signal(eventsTopic)
}
