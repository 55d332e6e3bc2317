import type { Handle, ReferenceHandle, Transaction } from '../database/database.ts'
import { jsonText } from '../database/json.ts'
import { type Statement, statement, timePlus } from '../database/statement.ts'

/**
 * `NewTask` is a task to insert. `runAt: null` means the current time of the database. This time is truncated to
 * milliseconds and not rounded, so that the task is due at once.
 */
export type NewTask = {
  id: string
  kind: string
  key: string
  payload: unknown
  runAt: Date | null
  /** The trace that the task continues. */
  traceparent?: string | undefined
}

export type ClaimedTask = {
  id: string
  kind: string
  key: string
  payload: unknown
  attempts: number
  leaseId: string
  createdAt: string
  traceparent: string | null
}

export type TaskRow = {
  id: string
  kind: string
  key: string
  state: 'waiting' | 'running' | 'failed'
  runAt: string
  attempts: number
  lastError: string | null
  createdAt: string
}

export type ScheduleRow = {
  id: string
  kind: string
  key: string
  payload: unknown
  cron: string
  timezone: string
  paused: boolean
  nextRunAt: string | null
  lastRunAt: string | null
}

/**
 * Returns SQL for the current time, unless a test passes another time. It is a sub-select, because with row-level
 * security a plain `coalesce` cannot use the index.
 */
function timeOrNow(parameter: string): string {
  return `(select coalesce(${parameter}::timestamptz, now()))`
}

const activeTenantsStatement = statement<{ id: string }>(`select id from tenants where state = 'active' order by id`)

export async function activeTenants(handle: ReferenceHandle): Promise<string[]> {
  return (await handle.rows(activeTenantsStatement)).map((row) => row.id)
}

const putTasksStatement = statement<{ id: string }>(
  `insert into jobs (tenant_id, id, kind, key, payload, run_at, traceparent)
   select $1, j.id, j.kind, j.key, j.payload, coalesce(j.run_at, date_trunc('milliseconds', now())), j.traceparent
   from unnest($2::uuid[], $3::text[], $4::text[], $5::jsonb[], $6::timestamptz[], $7::text[])
     as j (id, kind, key, payload, run_at, traceparent)
   on conflict (tenant_id, kind, key) where state = 'waiting' do update
   set payload = excluded.payload, run_at = least(jobs.run_at, excluded.run_at), attempts = 0, last_error = null,
       traceparent = excluded.traceparent
   returning id`,
)

/**
 * Inserts tasks. If a task with the same kind and key already waits, no task is inserted. The waiting task gets the new
 * payload and the earlier of both times.
 */
export async function putTasks(tx: Transaction, tasks: readonly NewTask[]): Promise<string[]> {
  const rows = await tx.rows(
    putTasksStatement,
    tasks.map((task) => task.id),
    tasks.map((task) => task.kind),
    tasks.map((task) => task.key),
    tasks.map((task) => jsonText(task.payload ?? {})),
    tasks.map((task) => task.runAt),
    tasks.map((task) => task.traceparent ?? null),
  )
  return rows.map((row) => row.id)
}

const forwardPeriodicStatement = statement(
  `insert into jobs (tenant_id, id, kind, key, run_at)
   select $1, j.id, j.kind, $4, date_trunc('milliseconds', now()) from unnest($2::uuid[], $3::text[]) as j (id, kind)
   on conflict (tenant_id, kind, key) where state = 'waiting' do update
   set run_at = least(jobs.run_at, excluded.run_at)`,
)

/** Makes periodic tasks due now, and creates them for a tenant that does not have them yet. */
export async function forwardPeriodic(
  tx: Transaction,
  { ids, kinds, key }: { ids: string[]; kinds: string[]; key: string },
) {
  await tx.run(forwardPeriodicStatement, ids, kinds, key)
}

export type Upcoming = { what: 'task' | 'lease' | 'schedule'; kind: string | null; inMs: number }

const nextStatement = statement<Upcoming>(
  `with timeOrNow as (select coalesce($3::timestamptz, now()) as now)
   select n.what, n.kind, (extract(epoch from n.at - timeOrNow.now) * 1000)::float8 as "inMs"
   from timeOrNow, (
     select 'task' as what, k.kind, j.run_at as at
     from unnest($2::text[]) as k (kind)
     cross join lateral (
       select run_at from jobs where tenant_id = $1 and kind = k.kind and state = 'waiting' order by run_at limit 1
     ) j
     union all
     (select 'lease', kind, lease_until from jobs
      where tenant_id = $1 and state = 'running' and kind = any($2) order by lease_until limit 1)
     union all
     (select 'schedule', null, next_run_at from schedules
      where tenant_id = $1 and not paused and next_run_at is not null order by next_run_at limit 1)
   ) n
   order by n.at`,
)
/** The state of a tenant is a separate statement, because a cluster stores it on another server than the tasks. */
const activeTenantStatement = statement(`select from tenants where id = $1 and state = 'active'`)

/**
 * Returns the next due times of a tenant, soonest first: the first task of each kind, the first lease to expire, the
 * first schedule. A suspended tenant has none.
 */
export async function next(handle: Handle, { kinds, at }: { kinds: string[]; at: Date | null }): Promise<Upcoming[]> {
  const [tenant, upcoming] = await Promise.all([
    handle.row(activeTenantStatement),
    handle.rows(nextStatement, kinds, at),
  ])
  return tenant === undefined ? [] : upcoming
}

/**
 * `PendingKinds` is a statement that returns the periodic kinds with pending work. `$2` contains the kinds to check. It
 * replaces a statement for each kind, because a sweep checks many kinds of many tenants.
 */
export type PendingKinds = Statement<{ kinds: string[] }>

/** The start of the text of a `PendingKinds` statement. */
export const pendingKindsStart = 'select array_remove(array['

/**
 * Combines the statements that return a row if a kind has pending work. `exists` would ignore the order of a statement,
 * and then read a whole table instead of the first entry of an index.
 */
export function pendingKinds(kinds: readonly { kind: string; pending: Statement }[]): PendingKinds {
  const checks = kinds.map(({ kind, pending }) => {
    const name = `'${kind.replaceAll("'", "''")}'`
    return `case when ${name} = any($2::text[]) and (select true from (${pending.text}) as found limit 1) then ${name} end`
  })
  return statement(`${pendingKindsStart}${checks.join(', ')}]::text[], null) as kinds where $1::uuid is not null`)
}

const claimed = `returning id, kind, key, payload, attempts, lease_id as "leaseId", created_at as "createdAt", traceparent`

const claimDueStatement = statement<ClaimedTask>(
  `update jobs set state = 'running', attempts = attempts + 1, lease_id = $5,
          lease_until = now() + $6 * interval '1 millisecond'
   where tenant_id = $1 and id = any(array(
     select w.id from jobs w
     where w.tenant_id = $1 and w.kind = $2 and w.state = 'waiting' and w.run_at <= ${timeOrNow('$3')}
       and not exists (select from jobs r
                       where r.tenant_id = $1 and r.kind = w.kind and r.key = w.key and r.state = 'running')
     order by w.run_at, w.id limit $4 for update skip locked))
   ${claimed}`,
)

/**
 * `Lease` is the lease of a claim. The application creates its id, because a distributed database accepts no random
 * values in an update.
 */
export type Lease = { leaseId: string; leaseMs: number }

/** A kind of tasks with the duration of its leases. */
export type LeasedKind = { kind: string; leaseMs: number }

type DueClaim = Lease & { kind: string; limit: number; at: Date | null }

export function claimDue(tx: Transaction, { kind, at, limit, leaseId, leaseMs }: DueClaim): Promise<ClaimedTask[]> {
  return tx.rows(claimDueStatement, kind, at, limit, leaseId, leaseMs)
}

/** The end of a new lease. `$2` contains the kinds and `$5` the durations of their leases. */
const leaseOfKindEnd = timePlus('now()', `($5::float8[])[array_position($2::text[], kind)] * interval '1 millisecond'`)

const claimPeriodicStatement = statement<ClaimedTask>(
  `update jobs set state = 'running', attempts = attempts + 1, lease_id = $4,
          lease_until = ${leaseOfKindEnd}
   where tenant_id = $1 and id = any(array(
     select w.id from jobs w
     where w.tenant_id = $1 and w.kind = any($2) and w.key = $3 and w.state = 'waiting'
       and not exists (select from jobs r
                       where r.tenant_id = $1 and r.kind = w.kind and r.key = w.key and r.state = 'running')
     for update skip locked))
   ${claimed}`,
)

/**
 * Claims woken periodic tasks, also before they are due. One statement replaces two, which would make them due and then
 * claim them.
 */
export function claimPeriodic(
  tx: Transaction,
  { kinds, key, leaseId }: Pick<Lease, 'leaseId'> & { kinds: readonly LeasedKind[]; key: string },
) {
  return tx.rows(
    claimPeriodicStatement,
    kinds.map(({ kind }) => kind),
    key,
    leaseId,
    kinds.map(({ leaseMs }) => leaseMs),
  )
}

const claimExpiredStatement = statement<ClaimedTask>(
  `update jobs set attempts = attempts + 1, lease_id = $4,
          lease_until = ${leaseOfKindEnd}
   where tenant_id = $1 and id = any(array(
     select id from jobs where tenant_id = $1 and state = 'running' and kind = any($2) and lease_until < now()
     order by lease_until limit $3 for update skip locked))
   ${claimed}`,
)

/**
 * Claims tasks whose worker did not renew the lease. Each task gets the lease of its own kind: if the new worker dies too,
 * no task waits for a longer lease than that of its kind.
 */
export function claimExpired(
  tx: Transaction,
  { kinds, limit, leaseId }: Pick<Lease, 'leaseId'> & { kinds: readonly LeasedKind[]; limit: number },
): Promise<ClaimedTask[]> {
  return tx.rows(
    claimExpiredStatement,
    kinds.map(({ kind }) => kind),
    limit,
    leaseId,
    kinds.map(({ leaseMs }) => leaseMs),
  )
}

const renewStatement = statement(
  `update jobs set lease_until = now() + $4 * interval '1 millisecond'
   where tenant_id = $1 and id = $2 and lease_id = $3 and state = 'running'`,
)

export async function renew(handle: Handle, task: { id: string; leaseId: string; leaseMs: number }): Promise<boolean> {
  return (await handle.run(renewStatement, task.id, task.leaseId, task.leaseMs)) === 1
}

const endStatement = statement(
  `delete from jobs where tenant_id = $1 and id = $2 and lease_id = $3 and state = 'running'`,
)

/** Deletes a task that has ended. Returns false if another worker holds the lease now. */
export async function end(tx: Handle, task: { id: string; leaseId: string }): Promise<boolean> {
  return (await tx.run(endStatement, task.id, task.leaseId)) === 1
}

const waitStatement = statement<{ id: string }>(
  `insert into jobs (tenant_id, id, kind, key, payload, created_at, attempts, last_error, run_at, traceparent)
   values ($1, $2, $3, $4, $5::jsonb, $6, $7, $8,
           coalesce($9::timestamptz, date_trunc('milliseconds', now()) + $10 * interval '1 millisecond'), $11)
   on conflict (tenant_id, kind, key) where state = 'waiting' do update
   set run_at = least(jobs.run_at, excluded.run_at), last_error = coalesce(excluded.last_error, jobs.last_error)
   returning id`,
)

export type Wait = { attempts: number; lastError: string | null; at: Date | null; inMs: number }

/**
 * Inserts a task again that `end` has deleted. An update is not possible, because a task with the same kind and key may
 * have been enqueued meanwhile. In this case, that waiting task replaces this one, and the result is true.
 */
export async function wait(tx: Handle, task: ClaimedTask, wait: Wait): Promise<boolean> {
  const { id, kind, key, payload, createdAt, traceparent } = task
  const { attempts, lastError, at, inMs } = wait
  const values = [id, kind, key, jsonText(payload), createdAt, attempts, lastError, at, inMs, traceparent]
  return (await tx.row(waitStatement, ...values))?.id !== id
}

const failStatement = statement(
  `update jobs set state = 'failed', last_error = $4, lease_id = null, lease_until = null
   where tenant_id = $1 and id = $2 and lease_id = $3 and state = 'running'`,
)

export async function fail(handle: Handle, task: { id: string; leaseId: string; lastError: string }): Promise<boolean> {
  return (await handle.run(failStatement, task.id, task.leaseId, task.lastError)) === 1
}

const taskColumns = `id, kind, key, state, run_at as "runAt", attempts, last_error as "lastError",
                    created_at as "createdAt"`

const listTasksStatement = statement<TaskRow>(
  `select ${taskColumns} from jobs
   where tenant_id = $1 and ($2::text is null or kind = $2) and ($3::text is null or state = $3)
   order by id desc limit $4`,
)

export function listTasks(handle: Handle, { kind, state, limit }: { kind?: string; state?: string; limit: number }) {
  return handle.rows(listTasksStatement, kind ?? null, state ?? null, limit)
}

const takeFailedStatement = statement<ClaimedTask>(
  `delete from jobs where tenant_id = $1 and id = $2 and state = 'failed' ${claimed}`,
)

export function takeFailed(tx: Transaction, id: string): Promise<ClaimedTask | undefined> {
  return tx.row(takeFailedStatement, id)
}

const pruneFailedStatement = statement(
  `delete from jobs where tenant_id = $1 and id = any(array(
     select id from jobs where tenant_id = $1 and state = 'failed' and id < $2 order by id limit $3))`,
)

export function pruneFailed(handle: Handle, { before, limit }: { before: string; limit: number }): Promise<number> {
  return handle.run(pruneFailedStatement, before, limit)
}

const cancelStatement = statement(
  `delete from jobs where tenant_id = $1 and kind = $2 and key = $3 and state = 'waiting'`,
)

export async function cancel(tx: Transaction, { kind, key }: { kind: string; key: string }): Promise<boolean> {
  return (await tx.run(cancelStatement, kind, key)) === 1
}

const pruneRequestsStatement = statement(
  `delete from idempotent_requests where tenant_id = $1 and (principal_id, key) in (
     select principal_id, key from idempotent_requests
     where tenant_id = $1 and created_at < now() - $2 * interval '1 millisecond' order by created_at limit $3)`,
)

export function pruneRequests(handle: Handle, { olderThanMs, limit }: { olderThanMs: number; limit: number }) {
  return handle.run(pruneRequestsStatement, olderThanMs, limit)
}

/** A statement that returns a row if there are rows to prune. */
export const pruneable = statement(
  `select 1 as one from (
     (select 1 from idempotent_requests
      where tenant_id = $1 and created_at < now() - interval '1 day' order by created_at limit 1)
     union all
     (select 1 from jobs where tenant_id = $1 and state = 'failed' order by id limit 1)
     union all
     (select 1 from data_keys
      where tenant_id = $1 and retired_at < now() - interval '1 hour' order by version limit 1)) as found limit 1`,
)

const scheduleColumns = `id, kind, key, payload, cron, timezone, paused, next_run_at as "nextRunAt",
                         last_run_at as "lastRunAt"`

const putScheduleStatement = statement(
  `insert into schedules (tenant_id, id, kind, key, payload, cron, timezone, next_run_at)
   values ($1, $2, $3, $4, $5::jsonb, $6, $7, $8)
   on conflict on constraint schedules_once do update
   set payload = excluded.payload, cron = excluded.cron, timezone = excluded.timezone,
       next_run_at = excluded.next_run_at`,
)

export type NewSchedule = Pick<ScheduleRow, 'id' | 'kind' | 'key' | 'payload' | 'cron' | 'timezone'> & { next: Date }

export async function putSchedule(tx: Transaction, schedule: NewSchedule): Promise<void> {
  const { id, kind, key, payload, cron, timezone, next } = schedule
  await tx.run(putScheduleStatement, id, kind, key, jsonText(payload ?? {}), cron, timezone, next)
}

const deleteScheduleStatement = statement(`delete from schedules where tenant_id = $1 and kind = $2 and key = $3`)

export async function deleteSchedule(tx: Transaction, { kind, key }: { kind: string; key: string }) {
  return (await tx.run(deleteScheduleStatement, kind, key)) === 1
}

const lockScheduleStatement = statement<ScheduleRow>(
  `select ${scheduleColumns} from schedules where tenant_id = $1 and kind = $2 and key = $3 for update`,
)

export function lockSchedule(tx: Transaction, { kind, key }: { kind: string; key: string }) {
  return tx.row(lockScheduleStatement, kind, key)
}

const pauseScheduleStatement = statement(
  `update schedules set paused = $3, next_run_at = $4 where tenant_id = $1 and id = $2`,
)

export async function pauseSchedule(tx: Transaction, schedule: { id: string; paused: boolean; next: Date }) {
  await tx.run(pauseScheduleStatement, schedule.id, schedule.paused, schedule.next)
}

const listSchedulesStatement = statement<ScheduleRow>(
  `select ${scheduleColumns} from schedules where tenant_id = $1 order by kind, key`,
)
const listSchedulesOfKindStatement = statement<ScheduleRow>(
  `select ${scheduleColumns} from schedules where tenant_id = $1 and kind = $2 order by kind, key`,
)

export function listSchedules(handle: Handle, kind: string | undefined): Promise<ScheduleRow[]> {
  return kind === undefined ? handle.rows(listSchedulesStatement) : handle.rows(listSchedulesOfKindStatement, kind)
}

export type DueSchedule = ScheduleRow & { now: string }

const lockDueSchedulesStatement = statement<DueSchedule>(
  `select ${scheduleColumns}, coalesce($2::timestamptz, now()) as now from schedules
   where tenant_id = $1 and not paused and next_run_at is not null and next_run_at <= ${timeOrNow('$2')}
   order by next_run_at limit $3 for update skip locked`,
)

export function lockDueSchedules(tx: Transaction, { at, limit }: { at: Date | null; limit: number }) {
  return tx.rows(lockDueSchedulesStatement, at, limit)
}

const moveSchedulesStatement = statement(
  `update schedules set last_run_at = next_run_at, next_run_at = m.next
   from unnest($2::uuid[], $3::timestamptz[]) as m (id, next)
   where tenant_id = $1 and schedules.id = m.id`,
)

export async function moveSchedules(tx: Transaction, moves: { id: string; next: Date | null }[]): Promise<void> {
  await tx.run(
    moveSchedulesStatement,
    moves.map((move) => move.id),
    moves.map((move) => move.next),
  )
}
