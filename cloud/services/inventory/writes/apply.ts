import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../../../platform/access/cache.ts'
import { gatewayRights, noRights, type Rights } from '../../../platform/access/rights.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { isStatementTimeout, isTransient } from '../../../platform/database/transient.ts'
import { createYield, priorities } from '../../../platform/event-loop.ts'
import { emitLast } from '../../../platform/events/events.ts'
import { problemOf } from '../../../platform/http/problems.ts'
import type { Log } from '../../../platform/log.ts'
import type { PayloadCache } from '../../../platform/payload-cache.ts'
import type { Tasks } from '../../../platform/tasks/tasks.ts'
import { relationEvents } from '../relations/relation.ts'
import { blockRelationWrites } from '../relations/relation-store.ts'
import type { SchemaRegistry } from '../schemas/schema.ts'
import { writesTopic } from './accept.ts'
import { type Batch, loadBatch } from './batch.ts'
import { reportDeleted } from './deleted-assets.ts'
import { isOfGateway } from './gateway-scope.ts'
import { isFailure, refusalOf } from './item-result.ts'
import { applyWrite, isAlone, needsOf } from './kinds.ts'
import {
  type BatchLimits,
  finishWrites,
  lockQueue,
  type QueueEntry,
  type WriteOutcome,
  withPayloads,
} from './queue-store.ts'
import { assetRows, endRelationsOfDeleted, save } from './save.ts'
import type { StatusWaiters } from './status.ts'
import type { QueuedWrite, Sender, WriteKind } from './write.ts'
import { causeOf } from './write-cause.ts'
import type { Writing } from './writing.ts'

/**
 * The applier takes accepted writes from the queue of a tenant, in the order of their acceptance. It applies many of them
 * in one transaction.
 *
 * A batch goes through these steps: lock the oldest queued writes; load the rows that all of them need; compute the
 * changes of each write in memory; save the change set; set the final states; emit the events. A refused write adds no
 * changes to the change set.
 *
 * States of a write: `queued`, then `finished` or `failed`. Guarantees: a write is applied once. A write that is refused or
 * that cannot be applied fails alone. A transient error of the database leaves all writes of the batch queued.
 *
 * Two batches can be in flight: while the database saves the first batch, the applier computes the changes of the
 * second batch on top of it. The second batch is saved after the first batch is committed. If the first batch fails, the
 * second batch is rolled back and taken again. Only batches of puts and patches by users and programs overlap, because
 * other writes read rows that the previous batch may change.
 *
 * Limits: `batchLimits` limits one transaction. At most `relationsEnded` relations of deleted assets end in one
 * transaction. A deletion with more relations takes several transactions and stays at the head of the queue until the last
 * one.
 */

const batchLimits: BatchLimits = { writes: 500, items: 1_000, bytes: 4 * 1024 * 1024 }
const oneWrite: BatchLimits = { writes: 1, items: 0, bytes: 0 }

/** The number of statement timeouts after which a single write fails. */
const timeoutAttempts = 3

export type ApplierOptions = {
  database: Database
  access: AccessCache
  schemas: SchemaRegistry
  waiters: StatusWaiters
  payloads: PayloadCache<unknown>
  tasks: Pick<Tasks, 'enqueue'>
  log: Log
  /**
   * The time after which a run stops although more writes are queued, if other tasks wait for it. Without this time, a run
   * ends when the queue is empty.
   */
  sliceMs?: number
  /** Returns whether other tasks may wait for the end of this run. */
  mayDelayOthers?: () => boolean
  /** Resolves when a write of the tenant is accepted the next time. */
  nextWake?: () => Promise<void>
  /** The maximum number of relations that end in one transaction because their assets are deleted. */
  relationsEnded: number
  /** The maximum number of relations of an asset that is merged into another asset. */
  relationsMerged: number
}

/** How the next batch is taken from the queue. */
type BatchMode = {
  /** Whether deletions have their own batch, without other writes. */
  deletionsApart: boolean
  /** Whether the batch takes a lock that prevents other transactions of the tenant from writing relations. */
  relationsLocked: boolean
}

const normal: BatchMode = { deletionsApart: false, relationsLocked: false }

/** The result of one transaction. */
type BatchResult =
  /** The writes have their final states. The list is empty when the queue is empty. */
  | { type: 'applied'; outcomes: WriteOutcome[] }
  /** No write has its final state yet. The next batch is taken in this mode. */
  | { type: 'retry'; mode: BatchMode }
  /**
   * An unexpected error occurred, which one of the writes may cause. The writes are applied one at a time to find that
   * write.
   */
  | { type: 'isolate'; first: QueueEntry; error: unknown }

/** Applies queued writes until the queue is empty or the time of this run is over. Returns the number of applied writes. */
export async function applyQueued(options: ApplierOptions, tenantId: string, signal: AbortSignal): Promise<number> {
  let applied = 0
  let mode = normal
  let next: BatchRun | undefined
  const start = performance.now()
  const { sliceMs = Infinity, mayDelayOthers = () => true } = options
  const isTimeOver = () => performance.now() - start > sliceMs && mayDelayOthers()
  try {
    while (!signal.aborted || next !== undefined) {
      // Each run applies at least one batch, even if its time is very short.
      if (applied > 0 && isTimeOver() && mode === normal && next === undefined) {
        // The run stops, so that other tenants are served. The signal wakes the applier of this tenant again.
        await options.database.transaction({ tenantId }, async (tx) => tx.signal(writesTopic))
        return applied
      }
      const run: BatchRun = next ?? startBatch(options, tenantId, { limits: batchLimits, mode })
      next = undefined
      const decided = await run.decided
      if (decided?.mayOverlap && (await hasNext(run, decided)) && !signal.aborted && !isTimeOver())
        next = startBatch(options, tenantId, { limits: batchLimits, mode: normal, before: run })
      const result = await run.result
      if (result.type !== 'applied') next = await ended(options, next)
      const step =
        result.type === 'isolate' ? await applyIndividually(options, tenantId, { mode, error: result.error }) : result
      if (step.type === 'retry') mode = step.mode
      else if (step.outcomes.length === 0) return applied
      else {
        options.waiters.notify(step.outcomes.map(({ id }) => id))
        applied += step.outcomes.length
        mode = normal
      }
    }
    return applied
  } finally {
    await ended(options, next)
  }
}

/**
 * Returns whether writes are queued after a batch. If the batch is large, more writes probably follow soon, so this function
 * waits for them until the batch is saved. After a small batch, it does not wait, because the next writes cost less in one
 * larger batch.
 */
async function hasNext({ result, wake }: BatchRun, { hasMore, isLarge }: DecidedBatch): Promise<boolean> {
  if (hasMore || !isLarge || wake === undefined) return hasMore
  const isSaved = () => false
  return Promise.race([result.then(isSaved, isSaved), wake.then(() => true)])
}

/** Waits for the end of a batch that was started on top of a failed batch. Usually this batch is rolled back too. */
async function ended({ waiters }: ApplierOptions, run: BatchRun | undefined): Promise<undefined> {
  const result = await run?.result.catch(() => undefined)
  if (result?.type === 'applied') waiters.notify(result.outcomes.map(({ id }) => id))
}

type StepResult = Exclude<BatchResult, { type: 'isolate' }>

/** Applies the writes of a failed batch one at a time, so that only the write that causes the error fails. */
async function applyIndividually(
  options: ApplierOptions,
  tenantId: string,
  { mode, error }: { mode: BatchMode; error: unknown },
): Promise<StepResult> {
  options.log.warn({ tenantId, error }, 'a batch of writes failed; its writes are applied one at a time')
  const outcomes: WriteOutcome[] = []
  for (let count = 0; count < batchLimits.writes; count++) {
    const step = await applyFirst(options, tenantId, mode)
    // The previous writes have their final states. Their waiters are notified before the mode changes.
    if (step.type === 'retry') return outcomes.length === 0 ? step : { type: 'applied', outcomes }
    if (step.outcomes.length === 0) break
    outcomes.push(...step.outcomes)
  }
  return { type: 'applied', outcomes }
}

/**
 * Applies the oldest write. Statement timeouts may come from a slow server, so the write is tried a few times. The number
 * of attempts is limited, because the write blocks all later writes.
 */
async function applyFirst(options: ApplierOptions, tenantId: string, mode: BatchMode): Promise<StepResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await startBatch(options, tenantId, { limits: oneWrite, mode }).result
    if (result.type !== 'isolate') return result
    if (attempt === timeoutAttempts || !isStatementTimeout(result.error)) return reject(options, tenantId, result)
  }
}

type Rejection = { first: QueueEntry; error: unknown }

/** Sets a write to `failed`, unless another process has applied it meanwhile. */
async function reject(
  { database, log }: ApplierOptions,
  tenantId: string,
  { first, error }: Rejection,
): Promise<StepResult> {
  const { id, kind } = first
  log.error({ tenantId, operation: id, kind, error }, 'a write could not be applied')
  const outcome: WriteOutcome = { id, state: 'failed', result: problemOf(error).toDocument({ traceId: id }) }
  await database.transaction({ tenantId }, (tx) => finishWrites(tx, [outcome]))
  return { type: 'applied', outcomes: [outcome] }
}

type BatchOptions = {
  limits: BatchLimits
  mode: BatchMode
  /**
   * The previous batch, which is being saved. The writes of this batch are decided on top of the changes of that batch.
   */
  before?: BatchRun
}

/** A batch whose writes are decided, but not saved yet. */
type DecidedBatch = {
  batch: Batch
  ids: readonly string[]
  /** Whether the next batch may be decided before this one is committed. */
  mayOverlap: boolean
  hasMore: boolean
  /** Whether the batch has at least half of the items that a batch can have. */
  isLarge: boolean
}

/** A batch in flight. */
type BatchRun = {
  /** Resolves when the writes are decided. Resolves with `undefined` if the transaction ends before that. */
  decided: Promise<DecidedBatch | undefined>
  result: Promise<BatchResult>
  /**
   * The decisions of the last attempt. There are several attempts if the transaction conflicts with another one and is
   * repeated.
   */
  attempt?: DecidedBatch
  isEnded: boolean
  /** Resolves when a write is accepted after the start of the batch. */
  wake: Promise<void> | undefined
}

/** Rolls the transaction of a batch back when it is thrown. `startBatch` always catches it. */
class RollBack extends Error {
  readonly result: BatchResult

  constructor(result: BatchResult) {
    super('The batch is rolled back and processed again')
    this.result = result
  }
}

function startBatch(options: ApplierOptions, tenantId: string, batchOptions: BatchOptions): BatchRun {
  const wake = options.nextWake?.()
  const decided = Promise.withResolvers<DecidedBatch | undefined>()
  const onDecided = (attempt: DecidedBatch) => {
    run.attempt = attempt
    decided.resolve(attempt)
  }
  const result = applyBatch(options, tenantId, { ...batchOptions, onDecided }).finally(() => {
    run.isEnded = true
    decided.resolve(undefined)
  })
  // This handler prevents an unhandled rejection. The caller awaits the result later.
  result.catch(() => undefined)
  const run: BatchRun = { decided: decided.promise, result, isEnded: false, wake }
  return run
}

async function applyBatch(
  options: ApplierOptions,
  tenantId: string,
  { limits, mode, before, onDecided }: BatchOptions & { onDecided: (attempt: DecidedBatch) => void },
): Promise<BatchResult> {
  const { deletionsApart, relationsLocked } = mode
  let first: QueueEntry | undefined
  const work = async (tx: Transaction): Promise<BatchResult> => {
    const base = before?.isEnded ? undefined : before?.attempt
    const queue = await lockQueue(tx, limits, base?.ids)
    const entries = base === undefined ? compatible(queue.entries, mode) : overlapping(queue.entries)
    first = entries[0]
    // Another process may have applied the first writes while this transaction waited for their locks.
    if (entries.length === 0)
      return base === undefined && !queue.hasMore ? { type: 'applied', outcomes: [] } : { type: 'retry', mode }
    if (relationsLocked) await blockRelationWrites(tx)
    const writes = await withPayloads(tx, entries, (id) => options.payloads.take(id))
    const needs = writes.map((write) => ({ sender: write, needs: needsOf(write) }))
    const batch = await loadBatch(tx, needs, { relationsLocked, uncommitted: base?.batch.changes })
    if (batch === undefined) throw new RollBack({ type: 'retry', mode: { deletionsApart, relationsLocked: true } })
    const outcomes = await decideAll(options, tx, { writes, batch })
    const ids = entries.map(({ id }) => id)
    const items = outcomes.reduce((sum, { result }) => sum + (Array.isArray(result) ? result.length : 1), 0)
    onDecided({
      batch,
      ids,
      mayOverlap: mode === normal && entries.every(mayOverlap),
      hasMore: queue.hasMore,
      isLarge: items >= batchLimits.items / 2,
    })
    const rows = await assetRows(tx, batch)
    if (base !== undefined && !(await isCommitted(before, base))) throw new RollBack({ type: 'retry', mode })
    const { ended: endedRelations, isComplete } = await endRelationsOfDeleted(tx, batch, options.relationsEnded)
    const deletedRelations = relationEvents('deleted', endedRelations)
    if (!isComplete) {
      const retry: BatchResult = { type: 'retry', mode: { deletionsApart: true, relationsLocked } }
      // Writes before the deletion may still change the assets that it deletes. No relation ends before these writes are
      // applied.
      if (!entries.every(isDeletion)) throw new RollBack(retry)
      await emitLast(tx, deletedRelations)
      return retry
    }
    for (const event of deletedRelations) batch.changes.events.push(event)
    const last = [
      () => reportDeleted(tx, options.tasks, batch.deletedIds),
      () => finishWrites(tx, outcomes),
      () => emitLast(tx, batch.changes.events),
    ]
    await save(tx, batch, { rows, last })
    return { type: 'applied', outcomes }
  }
  try {
    return await options.database.transaction({ tenantId }, work)
  } catch (error) {
    if (error instanceof RollBack) return error.result
    const isRetried = isTransient(error) && !isStatementTimeout(error)
    if (first === undefined || isRetried) throw error
    return { type: 'isolate', first, error }
  }
}

/**
 * Waits for the previous batch. Returns whether the attempt that made the decisions in `base` is the attempt that was
 * committed.
 */
async function isCommitted(before: BatchRun | undefined, base: DecidedBatch): Promise<boolean> {
  const result = await before?.result.catch(() => undefined)
  return result?.type === 'applied' && before?.attempt === base
}

const overlappingKinds: ReadonlySet<WriteKind> = new Set(['put', 'put-many', 'import-rows', 'patch'])

/**
 * Returns whether the changes of a write may be computed on top of an uncommitted batch. Such a write reads no row that
 * the batch changes, except rows that the change set of the batch contains.
 */
function mayOverlap({ kind, principalKind }: QueueEntry): boolean {
  return overlappingKinds.has(kind) && !isOfGateway({ principalKind })
}

/**
 * Returns those writes at the head of the queue whose changes may be computed before the previous batch is committed.
 */
function overlapping(queued: readonly QueueEntry[]): readonly QueueEntry[] {
  const end = queued.findIndex((entry) => !mayOverlap(entry))
  return end < 0 ? queued : queued.slice(0, end)
}

function isDeletion({ kind }: { kind: string }): boolean {
  return kind === 'delete'
}

/** Returns those writes at the head of the queue that can share a transaction. */
function compatible(queued: readonly QueueEntry[], { deletionsApart }: BatchMode): readonly QueueEntry[] {
  const startsWithDeletion = queued.slice(0, 1).some(isDeletion)
  const end = queued.findIndex(
    (entry) => isAlone(entry) || (deletionsApart && isDeletion(entry) !== startsWithDeletion),
  )
  return end < 0 ? queued : queued.slice(0, Math.max(end, 1))
}

/** Decides the writes in order. Later writes see the changes of earlier writes. */
async function decideAll(
  { access, schemas, relationsMerged }: ApplierOptions,
  tx: Transaction,
  { writes, batch }: { writes: readonly QueuedWrite[]; batch: Batch },
): Promise<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = []
  const yieldTurn = createYield(tx.tenantId, { priority: priorities.decision })
  for (const write of writes) {
    await yieldTurn()
    const rights = await rightsOf(access, tx, { sender: write, batch })
    const sender = { ...write, cause: causeOf(write) }
    const writing = { tx, batch, id: write.id, sender, rights, schemas, relationsMerged, yieldTurn }
    outcomes.push(await decide(writing, write))
  }
  return outcomes
}

async function decide(writing: Writing, write: QueuedWrite): Promise<WriteOutcome> {
  try {
    if (isOfGateway(write) && writing.rights === noRights) throw gatewayRevoked()
    const result = await applyWrite(writing, write)
    const failed = Array.isArray(result) ? result.every(isFailure) : isFailure(result)
    return { id: write.id, state: failed ? 'failed' : 'finished', result }
  } catch (error) {
    return { id: write.id, state: 'failed', result: refusalOf(error).toDocument({ traceId: write.id }) }
  }
}

function gatewayRevoked(): Problem {
  return new Problem('gateway_revoked', 'The gateway was revoked or its asset was deleted, so its reports are rejected')
}

/**
 * Returns the current rights of the sender, limited to the roles and access groups of its token. A gateway has its grants
 * and the access group of its asset. A gateway without an asset has no rights.
 */
async function rightsOf(
  access: AccessCache,
  tx: Transaction,
  { sender, batch }: { sender: Sender; batch: Batch },
): Promise<Rights> {
  if (sender.principalKind === 'system') return systemCaller().rights
  const principalAccess = await access.within(tx, sender.principalId)
  if (principalAccess === undefined || principalAccess.principal.disabled) return noRights
  if (isOfGateway(sender)) {
    const gateway = batch.asset(sender.principalId)
    return gateway === undefined ? noRights : gatewayRights(principalAccess.rights, gateway.accessGroupId)
  }
  const { roles, grants } = sender
  return access.effective(principalAccess, { roles, ...(grants === null ? {} : { grants }) })
}
