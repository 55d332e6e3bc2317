import { v7 } from 'uuid'
import type { Database, Handle, Transaction } from '../database/database.ts'
import { leaseMsOf } from './run.ts'
import { nextRun } from './schedule.ts'
import * as store from './store.ts'
import type { TaskKind } from './task.ts'

/**
 * `Lane` separates short and long tasks. Periodic tasks are short, and other work waits for them. Ordinary tasks can
 * take hours. Each lane has its own capacity, so that long tasks do not delay short tasks.
 */
export type Lane = 'periodic' | 'ordinary'

export type Capacity = Record<Lane, number>

/** The key of every periodic task. It is always the same, because a tenant has one task per periodic kind. */
export const periodicKey = ''

const schedulesAtOnce = 100

type Search = {
  tenantId: string
  kinds: ReadonlyMap<string, TaskKind>
  pendingKinds: store.PendingKinds
  /** The kinds of periodic tasks that a signal has woken. They are claimed even if they are not due. */
  woken: readonly string[]
  capacity: Capacity
  /**
   * The time at which each periodic kind last had no pending work. Such a kind is not checked again before its interval
   * ends.
   */
  idleSince: Map<string, number>
  /** Replaces the current time, so that tests can run future tasks. */
  at: Date | null
}

export type ClaimedWork = {
  tasks: store.ClaimedTask[]
  /** The lanes in which more tasks may be due than the capacity allowed to claim. */
  full: ReadonlySet<Lane>
  /** The time until the next task or schedule is due, or the next lease expires. Undefined if it is not known. */
  nextInMs: number | undefined
  /** True if another process runs a periodic task of the tenant. */
  periodicElsewhere: boolean
  /**
   * True if a woken kind could not be claimed, because it runs in another process. Its task is due now. If that run has
   * ended already, only a search finds the task.
   */
  missed: boolean
}

export function laneOf(kind: TaskKind): Lane {
  return kind.periodic === undefined ? 'ordinary' : 'periodic'
}

/** Creates the statement that returns which of these kinds have pending work. */
export function pendingKindsOf(kinds: ReadonlyMap<string, TaskKind>): store.PendingKinds {
  return store.pendingKinds(
    [...kinds].flatMap(([kind, { periodic }]) =>
      periodic?.pending === undefined ? [] : [{ kind, pending: periodic.pending }],
    ),
  )
}

export type DueWork = {
  due: store.Upcoming[]
  /** See `ClaimedWork`. */
  nextInMs: number | undefined
  periodicElsewhere: boolean
}

export const nothingDue: DueWork = { due: [], nextInMs: undefined, periodicElsewhere: false }

export const nothingClaimed = { tasks: [], full: new Set<Lane>(), missed: false }

/** Finds the due tasks of one tenant. It only reads. */
export async function findDue(
  database: Database,
  search: Pick<Search, 'tenantId' | 'kinds' | 'pendingKinds' | 'idleSince' | 'at'>,
): Promise<DueWork> {
  const { tenantId, kinds, at } = search
  const upcoming = await database.read({ tenantId }, async (handle) =>
    removeIdle(handle, await store.next(handle, { kinds: [...kinds.keys()], at }), search),
  )
  return {
    due: upcoming.filter((next) => next.inMs <= 0),
    nextInMs: upcoming.find((next) => next.inMs > 0)?.inMs,
    periodicElsewhere: upcoming.some(
      ({ what, kind, inMs }) => what === 'lease' && inMs > 0 && kinds.get(kind ?? '')?.periodic !== undefined,
    ),
  }
}

/** Claims the due tasks that `findDue` has found, up to the capacity. */
export async function claimWork(database: Database, search: Search, { due, ...next }: DueWork): Promise<ClaimedWork> {
  const { tenantId, woken, capacity } = search
  if (due.length === 0 && woken.length === 0) return { ...nothingClaimed, ...next }
  if (capacity.periodic <= 0 && capacity.ordinary <= 0)
    return { ...nothingClaimed, full: new Set<Lane>(['periodic', 'ordinary']), ...next }
  return { ...(await database.transaction({ tenantId }, (tx) => claimAll(tx, search, due))), ...next }
}

/** Removes from the list the periodic tasks that are due but have no pending work. */
async function removeIdle(
  handle: Handle,
  upcoming: store.Upcoming[],
  { kinds, pendingKinds, idleSince }: Pick<Search, 'kinds' | 'pendingKinds' | 'idleSince'>,
): Promise<store.Upcoming[]> {
  const now = performance.now()
  const conditional = upcoming.filter(
    ({ what, kind, inMs }) => what === 'task' && inMs <= 0 && kinds.get(kind ?? '')?.periodic?.pending !== undefined,
  )
  const checked = conditional
    .map(({ kind }) => kind ?? '')
    .filter((kind) => {
      const everyMs = kinds.get(kind)?.periodic?.everyMs ?? 0
      return now - (idleSince.get(kind) ?? -everyMs) >= everyMs
    })
  if (conditional.length === 0) return upcoming
  const pending = checked.length === 0 ? [] : ((await handle.row(pendingKinds, checked))?.kinds ?? [])
  for (const kind of checked) if (!pending.includes(kind)) idleSince.set(kind, now)
  return upcoming.filter((next) => !conditional.includes(next) || pending.includes(next.kind ?? ''))
}

async function claimAll(
  tx: Transaction,
  search: Search,
  due: store.Upcoming[],
): Promise<Pick<ClaimedWork, 'tasks' | 'full' | 'missed'>> {
  const { kinds, woken, at } = search
  const capacity = { ...search.capacity }
  const leaseId = v7()
  const tasks = woken.length === 0 ? [] : await claimWoken(tx, { woken, leaseId, kinds })
  const missed = tasks.length < woken.length
  capacity.periodic -= tasks.length

  const names = new Set(due.filter((next) => next.what === 'task').map((next) => next.kind ?? ''))
  if (due.some((next) => next.what === 'schedule')) {
    for (const kind of await fireSchedules(tx, at)) if (kinds.has(kind)) names.add(kind)
  }
  const full = new Set<Lane>()
  for (const name of names) {
    const kind = kinds.get(name)
    if (kind === undefined) continue
    const lane = laneOf(kind)
    const limit = Math.max(0, capacity[lane])
    const request = { kind: name, at, limit, leaseId, leaseMs: leaseMsOf(kind) }
    const taken = limit === 0 ? [] : await store.claimDue(tx, request)
    if (taken.length === limit) full.add(lane)
    capacity[lane] -= taken.length
    tasks.push(...taken)
  }
  if (!due.some((next) => next.what === 'lease')) return { tasks, full, missed }
  const abandoned = await claimAbandoned(tx, { kinds, capacity, leaseId })
  return { tasks: [...tasks, ...abandoned.tasks], full: full.union(abandoned.full), missed }
}

async function claimWoken(
  tx: Transaction,
  { woken, kinds, leaseId }: Pick<Search, 'woken' | 'kinds'> & { leaseId: string },
) {
  const claimed = await store.claimPeriodic(tx, { kinds: leasedKinds(woken, kinds), key: periodicKey, leaseId })
  // The kinds that could not be claimed run in another process at the moment. They become due now, so that they run
  // again afterwards.
  const missed = woken.filter((kind) => !claimed.some((task) => task.kind === kind))
  if (missed.length > 0) {
    await store.forwardPeriodic(tx, { ids: missed.map(() => v7()), kinds: missed, key: periodicKey })
  }
  return claimed
}

async function claimAbandoned(
  tx: Transaction,
  { kinds, capacity, leaseId }: Pick<Search, 'kinds' | 'capacity'> & { leaseId: string },
) {
  const tasks: store.ClaimedTask[] = []
  const full = new Set<Lane>()
  for (const lane of ['periodic', 'ordinary'] as const) {
    const ofLane = [...kinds].filter(([, kind]) => laneOf(kind) === lane).map(([name]) => name)
    const limit = Math.max(0, capacity[lane])
    const request = { kinds: leasedKinds(ofLane, kinds), limit, leaseId }
    const taken = limit === 0 ? [] : await store.claimExpired(tx, request)
    if (taken.length === limit) full.add(lane)
    tasks.push(...taken)
  }
  return { tasks, full }
}

function leasedKinds(names: readonly string[], kinds: Search['kinds']): store.LeasedKind[] {
  return names.map((kind) => ({ kind, leaseMs: leaseMsOf(kinds.get(kind) ?? {}) }))
}

/**
 * Creates a task for each due schedule and sets the next time of the schedule, in one transaction. So each time of a
 * schedule causes one run, even if several processes check the schedules. Several missed times cause only one run.
 */
async function fireSchedules(tx: Transaction, at: Date | null): Promise<string[]> {
  const due = await store.lockDueSchedules(tx, { at, limit: schedulesAtOnce })
  if (due.length === 0) return []
  await store.putTasks(
    tx,
    due.map(({ kind, key, payload }) => ({ id: v7(), kind, key, payload, runAt: null })),
  )
  await store.moveSchedules(
    tx,
    due.map((schedule) => ({ id: schedule.id, next: nextRun(schedule, new Date(schedule.now)) })),
  )
  return due.map((schedule) => schedule.kind)
}
