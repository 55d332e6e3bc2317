import type { Database } from '../../platform/database/database.ts'
import type { Log } from '../../platform/log.ts'
import { type Wake, wakeOf } from './job-change.ts'
import { findOffered, findStates } from './lease-store.ts'

/** How exact the end of a wait is. */
const tickMs = 250
/** How often to look for what another process did, and for leases that have run out: every so many ticks. */
const ticksPerLook = 4

/** For a job that somebody may take, or for the end of one; also for its leaving a state. */
type Wish = { clientId: string; workflows: readonly string[] } | { jobId: string; unlike?: string | undefined }

type Waiter = { wish: Wish; until: number; wake: () => void; offer?: Wake }

type Place = { woken: Promise<void>; passOn: () => void; leave: () => void }

/** Those of one tenant, each in the line of its client or job, the oldest first. */
type Room = { lines: Map<string, Waiter[]>; looking: boolean }

type Options = { database: Database; log: Log; stopping: AbortSignal }

/**
 * Those who wait, however many, at the cost of one timer and one or two statements per tenant and second. What this
 * process commits wakes them at once.
 */
export class Waiters {
  readonly #options: Options
  readonly #rooms = new Map<string, Room>()
  #timer: NodeJS.Timeout | undefined
  #ticks = 0

  constructor(options: Options) {
    this.#options = options
    options.database.onCommit(({ tenantId, topics }) => {
      const room = this.#rooms.get(tenantId)
      if (room === undefined) return
      for (const topic of topics) {
        const wake = wakeOf(topic)
        if (wake !== undefined) notify(room, wake)
      }
    })
    options.stopping.addEventListener('abort', () => this.#sweep(Number.POSITIVE_INFINITY), { once: true })
  }

  /**
   * Joins before it looks, so that nothing that happens in between is missed. `woken` resolves when it is worth looking
   * again, or when the time is over. Whoever does not look again passes on what was offered to it in the meantime.
   */
  join(tenantId: string, wish: Wish, until: number): Place {
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter: Waiter = { wish, until, wake: resolve }
    const room = this.#rooms.get(tenantId) ?? { lines: new Map<string, Waiter[]>(), looking: false }
    const line = lineOf(wish)
    room.lines.set(line, [...(room.lines.get(line) ?? []), waiter])
    this.#rooms.set(tenantId, room)
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    if (this.#options.stopping.aborted) resolve()
    return {
      woken: promise,
      passOn: () => this.#passOn(tenantId, waiter),
      leave: () => this.#leave(tenantId, room, waiter),
    }
  }

  get isStopping(): boolean {
    return this.#options.stopping.aborted
  }

  #passOn(tenantId: string, { offer }: Waiter): void {
    const room = this.#rooms.get(tenantId)
    if (offer !== undefined && room !== undefined) notify(room, offer)
  }

  #leave(tenantId: string, room: Room, waiter: Waiter): void {
    remove(room, waiter)
    if (room.lines.size > 0 || this.#rooms.get(tenantId) !== room) return
    this.#rooms.delete(tenantId)
    if (this.#rooms.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    this.#sweep(performance.now())
    this.#ticks = (this.#ticks + 1) % ticksPerLook
    if (this.#ticks === 0) for (const [tenantId, room] of this.#rooms) void this.#look(tenantId, room)
  }

  #sweep(now: number): void {
    for (const room of this.#rooms.values())
      for (const line of [...room.lines.values()]) for (const waiter of line) if (waiter.until <= now) waiter.wake()
  }

  async #look(tenantId: string, room: Room): Promise<void> {
    if (room.looking) return
    room.looking = true
    try {
      for (const wake of await this.#news(tenantId, room)) notify(room, wake)
    } catch (error) {
      this.#options.log.warn({ error, tenantId }, 'Jobs could not be looked for')
    } finally {
      room.looking = false
    }
  }

  async #news(tenantId: string, room: Room): Promise<Wake[]> {
    const wishes = [...room.lines.values()].flat().map(({ wish }) => wish)
    const clientIds = [...new Set(wishes.flatMap((wish) => ('clientId' in wish ? [wish.clientId] : [])))]
    const left = new Map<string, string | undefined>()
    for (const wish of wishes) if ('jobId' in wish) left.set(wish.jobId, wish.unlike ?? left.get(wish.jobId))
    const { database } = this.#options
    const offered =
      clientIds.length === 0 ? [] : await database.read({ tenantId }, (handle) => findOffered(handle, clientIds))
    const states =
      left.size === 0 ? [] : await database.read({ tenantId }, (handle) => findStates(handle, [...left.keys()]))
    const moved = states.filter(({ id, state, isFinal }) => isFinal || (left.get(id) ?? state) !== state)
    return [
      ...offered.map((offer): Wake => ({ kind: 'offered', ...offer })),
      ...moved.map(({ id }): Wake => ({ kind: 'moved', jobId: id })),
    ]
  }
}

/**
 * Of those who wait for a job of a client the one that came last: a gateway whose line broke asks again, and the wait that
 * nobody listens to any more must not get the job.
 */
function notify(room: Room, wake: Wake): void {
  if (wake.kind === 'moved') {
    for (const waiter of room.lines.get(lineOf(wake)) ?? []) waiter.wake()
    return
  }
  const line = room.lines.get(lineOf({ clientId: wake.clientId, workflows: [] })) ?? []
  const waiter = line.findLast(({ wish }) => 'workflows' in wish && wish.workflows.includes(wake.workflow))
  if (waiter === undefined) return
  // It is about to look: the next thing to take is for the next in line.
  remove(room, waiter)
  waiter.offer = wake
  waiter.wake()
}

function remove(room: Room, waiter: Waiter): void {
  const line = lineOf(waiter.wish)
  const left = (room.lines.get(line) ?? []).filter((other) => other !== waiter)
  if (left.length === 0) room.lines.delete(line)
  else room.lines.set(line, left)
}

function lineOf(wish: Wish | { jobId: string }): string {
  return 'jobId' in wish ? `job ${wish.jobId}` : `client ${wish.clientId}`
}
