import { v7 } from 'uuid'
import type { Database, Handle, Transaction } from '../database/database.ts'
import type { JobKind } from './job.ts'
import { leaseMsOf } from './run.ts'
import { nextRun } from './schedule.ts'
import * as store from './store.ts'

/** Standing jobs are short and everything waits for them; the others may take hours. Neither holds up the other. */
export type Lane = 'standing' | 'ordinary'

export type Room = Record<Lane, number>

/** The key of a job that a tenant has once. */
export const standingKey = ''

const schedulesAtOnce = 100

type Search = {
  tenantId: string
  kinds: ReadonlyMap<string, JobKind>
  /** Standing kinds to be taken whether they are due or not. */
  woken: readonly string[]
  room: Room
  /** When standing kinds were last found to have nothing to do; they are not asked again before their time. */
  askedAt: Map<string, number>
  /** Stands in for the present, so that tests can look ahead. */
  at: Date | null
}

export type Found = {
  claimed: store.Claimed[]
  /** There may be more that is due, for which there was no room. */
  more: boolean
  /** When the next thing is due, as far as is known. */
  nextInMs: number | undefined
  /** Another process is at a standing job of the tenant. */
  standingElsewhere: boolean
}

export function laneOf(kind: JobKind): Lane {
  return kind.standing === undefined ? 'ordinary' : 'standing'
}

/** Looks for work in one tenant and claims as much as there is room for. Costs one read when there is none. */
export async function claimWork(database: Database, search: Search): Promise<Found> {
  const { tenantId, kinds, at } = search
  const coming = await database.read({ tenantId }, async (handle) =>
    withoutIdle(handle, await store.next(handle, { kinds: [...kinds.keys()], at }), search),
  )
  const due = coming.filter((next) => next.inMs <= 0)
  const nextInMs = coming.find((next) => next.inMs > 0)?.inMs
  const standingElsewhere = coming.some(
    ({ what, kind, inMs }) => what === 'lease' && inMs > 0 && kinds.get(kind ?? '')?.standing !== undefined,
  )
  if (due.length === 0 && search.woken.length === 0) return { claimed: [], more: false, nextInMs, standingElsewhere }
  const { claimed, more } = await database.transaction({ tenantId }, (tx) => claimAll(tx, search, due))
  return { claimed, more, nextInMs, standingElsewhere }
}

/** Leaves out standing jobs whose time has come but that have nothing to do. */
async function withoutIdle(handle: Handle, coming: store.Next[], { kinds, askedAt }: Search): Promise<store.Next[]> {
  const kept: store.Next[] = []
  for (const next of coming) {
    const { pending, everyMs } = kinds.get(next.kind ?? '')?.standing ?? {}
    if (next.what !== 'job' || next.inMs > 0 || pending === undefined || everyMs === undefined) kept.push(next)
    else if (performance.now() - (askedAt.get(next.kind ?? '') ?? -everyMs) < everyMs) continue
    else if ((await handle.row(pending)) !== undefined) kept.push(next)
    else askedAt.set(next.kind ?? '', performance.now())
  }
  return kept
}

async function claimAll(tx: Transaction, search: Search, due: store.Next[]): Promise<Pick<Found, 'claimed' | 'more'>> {
  const { kinds, woken, at } = search
  const room = { ...search.room }
  const leaseId = v7()
  const claimed = woken.length === 0 ? [] : await claimWoken(tx, { woken, leaseId, kinds })
  room.standing -= claimed.length

  const names = new Set(due.filter((next) => next.what === 'job').map((next) => next.kind ?? ''))
  if (due.some((next) => next.what === 'schedule')) {
    for (const kind of await fireSchedules(tx, at)) if (kinds.has(kind)) names.add(kind)
  }
  let more = false
  for (const name of names) {
    const kind = kinds.get(name)
    if (kind === undefined) continue
    const limit = Math.max(0, room[laneOf(kind)])
    const request = { kind: name, at, limit, leaseId, leaseMs: leaseMsOf(kind) }
    const taken = limit === 0 ? [] : await store.claimDue(tx, request)
    more ||= taken.length === limit
    room[laneOf(kind)] -= taken.length
    claimed.push(...taken)
  }
  if (!due.some((next) => next.what === 'lease')) return { claimed, more }
  const abandoned = await claimAbandoned(tx, { kinds, room, leaseId })
  return { claimed: [...claimed, ...abandoned.claimed], more: more || abandoned.more }
}

async function claimWoken(
  tx: Transaction,
  { woken, kinds, leaseId }: Pick<Search, 'woken' | 'kinds'> & { leaseId: string },
) {
  const leaseMs = longestLeaseMs(woken, kinds)
  const claimed = await store.claimStanding(tx, { kinds: [...woken], key: standingKey, leaseId, leaseMs })
  // The rest runs elsewhere at the moment: who ends it finds the next run due.
  const missed = woken.filter((kind) => !claimed.some((job) => job.kind === kind))
  if (missed.length > 0) {
    await store.forwardStanding(tx, { ids: missed.map(() => v7()), kinds: missed, key: standingKey })
  }
  return claimed
}

async function claimAbandoned(
  tx: Transaction,
  { kinds, room, leaseId }: Pick<Search, 'kinds' | 'room'> & { leaseId: string },
) {
  const claimed: store.Claimed[] = []
  let more = false
  for (const lane of ['standing', 'ordinary'] as const) {
    const ofLane = [...kinds].filter(([, kind]) => laneOf(kind) === lane).map(([name]) => name)
    const limit = Math.max(0, room[lane])
    const request = { kinds: ofLane, limit, leaseId, leaseMs: longestLeaseMs(ofLane, kinds) }
    const taken = limit === 0 ? [] : await store.claimExpired(tx, request)
    more ||= taken.length === limit
    claimed.push(...taken)
  }
  return { claimed, more }
}

/** For a claim over several kinds; the first renewal sets it right for each. */
function longestLeaseMs(names: readonly string[], kinds: Search['kinds']): number {
  return Math.max(0, ...names.map((name) => leaseMsOf(kinds.get(name) ?? {})))
}

/**
 * Turns the schedules whose time has come into jobs and moves them on, in one transaction: one run per time, whoever
 * looks first. Runs that were missed while nobody looked are made up for by one.
 */
async function fireSchedules(tx: Transaction, at: Date | null): Promise<string[]> {
  const due = await store.lockDueSchedules(tx, { at, limit: schedulesAtOnce })
  if (due.length === 0) return []
  await store.putJobs(
    tx,
    due.map(({ kind, key, payload }) => ({ id: v7(), kind, key, payload, runAt: null })),
  )
  await store.moveSchedules(
    tx,
    due.map((schedule) => ({ id: schedule.id, next: nextRun(schedule, new Date(schedule.now)) })),
  )
  return due.map((schedule) => schedule.kind)
}
