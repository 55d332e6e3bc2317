import { BackOff } from '@millwright/api/back-off.ts'
import { inventory, inventoryLimits, type OperationStatus } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { may } from '../../../platform/access/rights.ts'
import type { Database, Scope } from '../../../platform/database/database.ts'
import { etagOf } from '../../../platform/http/etag.ts'
import { type Answer, answer, type Context, type Handlers } from '../../../platform/service.ts'
import type { TaskKinds } from '../../../platform/tasks/tasks.ts'
import { findStatus, pruneWrites, type StatusRow } from './queue-store.ts'

/**
 * The status is polled at this interval, because another process may apply the write and cannot notify this process.
 */
const poll = { firstMs: 20, longestMs: 250 } as const

/**
 * `StatusWaiters` holds the requests that wait for writes. The applier of this process notifies these requests at once.
 */
export class StatusWaiters {
  readonly #waiting = new Map<string, Set<() => void>>()
  readonly #stopping: AbortSignal

  constructor(stopping: AbortSignal) {
    this.#stopping = stopping
    stopping.addEventListener('abort', () => this.notify([...this.#waiting.keys()]), { once: true })
  }

  /** Whether the process is stopping. Requests must then no longer wait. */
  get isStopping(): boolean {
    return this.#stopping.aborted
  }

  /** Wakes the requests that wait for one of these writes. */
  notify(ids: readonly string[]): void {
    for (const id of ids) for (const wake of this.#waiting.get(id) ?? []) wake()
  }

  /** Resolves when `notify` is called for the id, or when the time is over. */
  async wait(id: string, ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const waiters = this.#waiting.get(id) ?? new Set()
      const wake = () => {
        clearTimeout(timer)
        waiters.delete(wake)
        if (waiters.size === 0) this.#waiting.delete(id)
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#waiting.set(id, waiters.add(wake))
    })
  }
}

export type StatusContext = Pick<Context, 'database'> & { waiters: StatusWaiters }

/** Returns the final status of a write, or its current status when the time is over. */
export async function awaitStatus(
  own: StatusContext,
  scope: Scope,
  { id, ms }: { id: string; ms: number },
): Promise<StatusRow | undefined> {
  const deadline = performance.now() + ms
  const backOff = new BackOff(poll)
  for (;;) {
    const row = await read(own.database, scope, id)
    const left = deadline - performance.now()
    if (row === undefined || row.state !== 'queued' || left <= 0 || own.waiters.isStopping) return row
    await own.waiters.wait(id, Math.min(backOff.nextMs(), left))
  }
}

function read(database: Database, { tenantId }: Scope, id: string): Promise<StatusRow | undefined> {
  return database.read({ tenantId }, (handle) => findStatus(handle, id))
}

/**
 * Returns the milliseconds of `Prefer: wait=n` (RFC 7240), limited to a maximum. The header may contain other preferences,
 * in upper or lower case.
 */
export function preferredWaitMs(header = ''): number {
  const [seconds = 0] = header.split(',').flatMap((preference) => {
    const [, wait] = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;|$)/i.exec(preference) ?? []
    return wait === undefined ? [] : [Number(wait)]
  })
  return Math.min(seconds, inventoryLimits.statusWaitSeconds) * 1000
}

/**
 * Returns the 202 response of an accepted write. If the caller waits for the write, the response contains the final state.
 */
export async function acceptedAnswer(
  own: StatusContext,
  caller: Caller,
  accepted: { id: string; prefer: string | undefined },
) {
  const { id, prefer } = accepted
  const location = `${inventory.prefix}/status/${id}`
  const ms = preferredWaitMs(prefer)
  if (ms === 0 || caller.transaction !== undefined) return answer(202, { data: { statusId: id } }, { location })
  const row = await awaitStatus(own, caller, { id, ms })
  const final = row === undefined || row.state === 'queued' ? {} : { state: row.state, detail: { result: row.result } }
  return answer(202, { data: { statusId: id, ...final } }, { location, 'preference-applied': `wait=${ms / 1000}` })
}

export type AcceptedAnswer = Answer<{ data: { statusId: string } }>

export function statusHandlers(own: StatusContext): Pick<Handlers<typeof inventory>, 'readStatus'> {
  return {
    async readStatus({ params: { id }, query: { wait = 0 } }, caller) {
      const first = await read(own.database, caller, id)
      if (first === undefined || !isVisible(first, caller)) throw missing(id)
      const isFinal = first.state !== 'queued' || wait === 0
      const row = isFinal ? first : await awaitStatus(own, caller, { id, ms: wait * 1000 })
      if (row === undefined) throw missing(id)
      return answer(200, { data: shown(row) }, { etag: etagOf(row.state) })
    },
  }
}

const pruning = { everyMs: 3_600_000, limit: 1_000 } as const

/** Deletes the status of old writes in batches, so that transactions stay short. */
export function statusTasks({ database }: { database: Database }): TaskKinds {
  const { statusDays: days } = inventoryLimits
  const { everyMs, limit } = pruning
  return {
    'inventory.prune': {
      periodic: { everyMs },
      async run({ tenantId, signal }) {
        const prune = () => database.transaction({ tenantId }, (tx) => pruneWrites(tx, { days, limit }))
        while (!signal.aborted && (await prune()) === limit);
      },
    },
  }
}

function missing(id: string): Problem {
  return new Problem(
    'not_found',
    `Status ${id} does not exist. A status is deleted ${inventoryLimits.statusDays} days after its write`,
  )
}

/** Returns whether the caller can see a status: the principal that sent the write and administrators of the tenant can. */
function isVisible({ principalId }: StatusRow, caller: Caller): boolean {
  return principalId === caller.principal.id || may(caller, 'glb_access_manage')
}

function shown({ id, state, result, createdAt, modifiedAt }: StatusRow): OperationStatus {
  return {
    id,
    state,
    detail: { result: result ?? null },
    createdTimestamp: createdAt,
    lastModifiedTimestamp: modifiedAt,
  }
}
