import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../../../platform/access/cache.ts'
import { gatewayRights, noRights, type Rights } from '../../../platform/access/rights.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import type { Database, Transaction } from '../../../platform/database/database.ts'
import { isStatementTimeout, isTransient } from '../../../platform/database/transient.ts'
import { createYield } from '../../../platform/event-loop.ts'
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
import { endRelationsOfDeleted, save } from './save.ts'
import type { StatusWaiters } from './status.ts'
import type { QueuedWrite, Sender } from './write.ts'
import type { Writing } from './writing.ts'

/**
 * The applier takes accepted writes from the queue of a tenant, in the order of their acceptance, and applies many of them
 * in one transaction.
 *
 * A batch goes through these steps: lock the oldest queued writes; load the rows that all of them need; decide each write in
 * memory, which adds its changes to the change set, or nothing if the write is refused; save the change set; set the final
 * states; emit the events.
 *
 * States of a write: `queued`, then `finished` or `failed`. Guarantees: a write is applied once; a write that is refused or
 * that cannot be applied fails alone; a transient error of the database leaves all writes of the batch queued.
 *
 * Limits: `batchLimits` for one transaction; `relationsEnded` relations of deleted assets end in one transaction, so that
 * a deletion with many relations takes several, and stays at the head of the queue until the last one.
 */

const batchLimits: BatchLimits = { writes: 500, items: 1_000, bytes: 4 * 1024 * 1024 }
const oneWrite: BatchLimits = { writes: 1, items: 0, bytes: 0 }

/** How often a single write may exceed the time limit of a statement before it fails. */
const timeoutAttempts = 3

export type ApplierOptions = {
  database: Database
  access: AccessCache
  schemas: SchemaRegistry
  waiters: StatusWaiters
  payloads: PayloadCache<unknown>
  tasks: Pick<Tasks, 'enqueue'>
  log: Log
  /** How long one run applies writes while more are queued; until the queue is empty unless given. */
  sliceMs?: number
  /** How many relations end in one transaction because their assets are deleted. */
  relationsEnded: number
  /** How many relations an asset may have that is merged into another. */
  relationsMerged: number
}

/** How the next batch is taken from the queue. */
type BatchMode = {
  /** Deletions are not mixed with other writes. */
  deletionsApart: boolean
  /** No other transaction of the tenant can write relations meanwhile. */
  relationsLocked: boolean
}

const normal: BatchMode = { deletionsApart: false, relationsLocked: false }

/** What one transaction came to. */
type BatchResult =
  /** The writes have their final states. There are none when the queue is empty. */
  | { type: 'applied'; outcomes: WriteOutcome[] }
  /** Nothing is final yet: the next batch is taken in this mode. */
  | { type: 'retry'; mode: BatchMode }
  /** An unexpected error that may come from one of the writes: they are applied one at a time to find it. */
  | { type: 'isolate'; first: QueueEntry; error: unknown }

/** Applies queued writes until the queue is empty or the time of this run is over. Returns how many were applied. */
export async function applyQueued(options: ApplierOptions, tenantId: string, signal: AbortSignal): Promise<number> {
  let applied = 0
  let mode = normal
  const start = performance.now()
  while (!signal.aborted) {
    // At least one batch is applied, however short the time is.
    if (applied > 0 && performance.now() - start > (options.sliceMs ?? Infinity) && mode === normal) {
      // Other tenants get their turn; the signal wakes the applier of this tenant again.
      await options.database.transaction({ tenantId }, async (tx) => tx.signal(writesTopic))
      return applied
    }
    const result = await applyBatch(options, tenantId, { limits: batchLimits, mode })
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
}

type StepResult = Exclude<BatchResult, { type: 'isolate' }>

/** Applies the writes of a batch that failed one at a time: only the write that causes the error fails. */
async function applyIndividually(
  options: ApplierOptions,
  tenantId: string,
  { mode, error }: { mode: BatchMode; error: unknown },
): Promise<StepResult> {
  options.log.warn({ tenantId, error }, 'a batch of writes failed; its writes are applied one at a time')
  const outcomes: WriteOutcome[] = []
  for (let count = 0; count < batchLimits.writes; count++) {
    const step = await applyFirst(options, tenantId, mode)
    // The writes so far are final: their waiters are notified before the mode changes.
    if (step.type === 'retry') return outcomes.length === 0 ? step : { type: 'applied', outcomes }
    if (step.outcomes.length === 0) break
    outcomes.push(...step.outcomes)
  }
  return { type: 'applied', outcomes }
}

/**
 * Applies the oldest write. Statement timeouts may come from a slow server, so the write is tried a few times; it is not
 * tried for ever, since that would block every write behind it.
 */
async function applyFirst(options: ApplierOptions, tenantId: string, mode: BatchMode): Promise<StepResult> {
  for (let attempt = 1; ; attempt++) {
    const result = await applyBatch(options, tenantId, { limits: oneWrite, mode })
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

type BatchOptions = { limits: BatchLimits; mode: BatchMode }

/** Thrown to roll the transaction of a batch back; never leaves `applyBatch`. */
class RollBack extends Error {
  readonly result: BatchResult

  constructor(result: BatchResult) {
    super('The batch is taken again')
    this.result = result
  }
}

async function applyBatch(
  options: ApplierOptions,
  tenantId: string,
  { limits, mode }: BatchOptions,
): Promise<BatchResult> {
  const { deletionsApart, relationsLocked } = mode
  let first: QueueEntry | undefined
  const work = async (tx: Transaction): Promise<BatchResult> => {
    const entries = compatible(await lockQueue(tx, limits), mode)
    first = entries[0]
    if (entries.length === 0) return { type: 'applied', outcomes: [] }
    if (relationsLocked) await blockRelationWrites(tx)
    const writes = await withPayloads(tx, entries, (id) => options.payloads.take(id))
    const needs = writes.map((write) => ({ sender: write, needs: needsOf(write) }))
    const batch = await loadBatch(tx, needs, { relationsLocked })
    if (batch === undefined) throw new RollBack({ type: 'retry', mode: { deletionsApart, relationsLocked: true } })
    const outcomes = await decideAll(options, tx, { writes, batch })
    const { ended, isComplete } = await endRelationsOfDeleted(tx, batch, options.relationsEnded)
    const deletedRelations = relationEvents('deleted', ended)
    if (!isComplete) {
      const retry: BatchResult = { type: 'retry', mode: { deletionsApart: true, relationsLocked } }
      // Writes before the deletion may still change what it deletes, so no relation ends yet.
      if (!entries.every(isDeletion)) throw new RollBack(retry)
      await emitLast(tx, deletedRelations)
      return retry
    }
    for (const event of deletedRelations) batch.changes.events.push(event)
    await save(tx, batch)
    await reportDeleted(tx, options.tasks, batch.deletedIds)
    await finishWrites(tx, outcomes)
    await emitLast(tx, batch.changes.events)
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

function isDeletion({ kind }: { kind: string }): boolean {
  return kind === 'delete'
}

/** The writes at the head of the queue that can share a transaction. */
function compatible(queued: readonly QueueEntry[], { deletionsApart }: BatchMode): readonly QueueEntry[] {
  const startsWithDeletion = queued.slice(0, 1).some(isDeletion)
  const end = queued.findIndex(
    (entry) => isAlone(entry) || (deletionsApart && isDeletion(entry) !== startsWithDeletion),
  )
  return end < 0 ? queued : queued.slice(0, Math.max(end, 1))
}

/** Decides each write in turn: later writes see the changes of earlier ones. */
async function decideAll(
  { access, schemas, relationsMerged }: ApplierOptions,
  tx: Transaction,
  { writes, batch }: { writes: readonly QueuedWrite[]; batch: Batch },
): Promise<WriteOutcome[]> {
  const outcomes: WriteOutcome[] = []
  const yieldTurn = createYield()
  for (const write of writes) {
    await yieldTurn()
    const rights = await rightsOf(access, tx, { sender: write, batch })
    const writing = { tx, batch, id: write.id, sender: write, rights, schemas, relationsMerged, yieldTurn }
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
  return new Problem(
    'gateway_revoked',
    'The gateway was revoked or its asset was deleted: nothing it reports is written',
  )
}

/**
 * The rights of the sender now, limited to the roles and access groups that its token had. A gateway has its grants and the
 * access group of its asset; without its asset it has no rights.
 */
async function rightsOf(
  access: AccessCache,
  tx: Transaction,
  { sender, batch }: { sender: Sender; batch: Batch },
): Promise<Rights> {
  if (sender.principalKind === 'system') return systemCaller().rights
  const found = await access.within(tx, sender.principalId)
  if (found === undefined || found.principal.disabled) return noRights
  if (isOfGateway(sender)) {
    const gateway = batch.asset(sender.principalId)
    return gateway === undefined ? noRights : gatewayRights(found.rights, gateway.accessGroupId)
  }
  const { roles, grants } = sender
  return access.effective(found, { roles, ...(grants === null ? {} : { grants }) })
}
