import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../../platform/access/cache.ts'
import { gatewayRights, noRights, type Rights } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { isStatementTimeout, isTransient } from '../../platform/database/transient.ts'
import { createYield } from '../../platform/event-loop.ts'
import { emitLast } from '../../platform/events/events.ts'
import { problemOf } from '../../platform/http/problems.ts'
import { operationsTopic } from './acceptance.ts'
import type { ApplierParts, Applying } from './applying.ts'
import { reportDeleted } from './deleted-assets.ts'
import { isOfGateway } from './gateway-scope.ts'
import { applyMerge, applySplit, applyUndo } from './merges.ts'
import {
  type Batch,
  finishOperations,
  lockQueue,
  type Outcome,
  type QueuedOperation,
  withPayloads,
} from './operation-store.ts'
import { applyPatch, isPatch } from './patches.ts'
import { isDelete, isReshaping, type MergePayload, type SplitPayload, type UndoPayload } from './payload.ts'
import { applyDelete, applyPut, type DeletePayload, type PutPayload } from './puts.ts'
import { refusalOf } from './refused-item.ts'
import { relationEvents } from './relation.ts'
import { stopRelating } from './relation-store.ts'
import { deletedIn, endOfGone, loadWorkspace, StillRelated, saveWorkspace, type Workspace } from './workspace.ts'

/** How many accepted writes share a transaction, how many assets they may be about, and how much they may say. */
const batch = { operations: 500, items: 1_000, bytes: 16 * 1024 * 1024 } as const
const alone = { operations: 1, items: 0, bytes: 0 } as const
/** How often a single write may exceed the time limit of a statement before it fails. */
const timeoutAttempts = 3

/** How the next writes are taken: deletions apart from others, and while nobody relates anything. */
type How = { deletesApart?: boolean; relatingStopped?: boolean }

const first: How = {}

/**
 * What one transaction came to. Where the assets to be deleted have more relations than may end in one, some of them have
 * ended, or none; where somebody is just relating them, nothing has happened: then they are taken again, in this way.
 */
type Step = { outcomes: Outcome[]; again?: How }

/** Takes back what has ended: writes that wait before a deletion come first, and may still change what it comes to. */
class Crowded extends Error {}

/** Something unforeseen about these writes, or about one of them. */
class Unappliable extends Error {
  readonly first: Head

  constructor(first: Head, cause: unknown) {
    super(`The write ${first.id} could not be applied`, { cause })
    this.first = first
  }
}

/**
 * Applies accepted writes in the order of their acceptance, many in one transaction: what they need is loaded at once,
 * decided in memory, and written at once. One that fails in an unforeseen way must not take its neighbours with it, so
 * the batch is then applied one by one, and only the culprit fails. Deletions of assets with many relations stay at the
 * head of the queue, apart from other writes, until few are left.
 */
export async function applyQueued(parts: ApplierParts, tenantId: string, signal: AbortSignal): Promise<number> {
  let applied = 0
  let how = first
  const start = performance.now()
  while (!signal.aborted) {
    // At least one batch is applied, however short the time is.
    if (applied > 0 && performance.now() - start > (parts.sliceMs ?? Infinity) && how === first) {
      // Other tenants get their turn; the signal wakes the applier of this tenant again.
      await parts.database.transaction({ tenantId }, async (tx) => tx.signal(operationsTopic))
      return applied
    }
    const step: Step = await applyBatch(parts, tenantId, { ...batch, ...how }).catch(async (error: unknown) => {
      if (!(error instanceof Unappliable)) throw error
      parts.log.warn({ tenantId, error: error.cause }, 'a batch of writes failed and is applied one by one')
      return applyOneByOne(parts, tenantId, how)
    })
    parts.waiters.tell(step.outcomes.map(({ id }) => id))
    applied += step.outcomes.length
    how = step.again ?? first
    if (step.outcomes.length === 0 && step.again === undefined) return applied
  }
  return applied
}

async function applyOneByOne(parts: ApplierParts, tenantId: string, how: How): Promise<Step> {
  const done: Outcome[] = []
  for (let i = 0; i < batch.operations; i++) {
    const step = await applyAlone(parts, tenantId, how)
    if (step.outcomes.length === 0) return { ...step, outcomes: done }
    done.push(...step.outcomes)
  }
  return { outcomes: done }
}

/**
 * Applies the oldest write. Statement timeouts may come from a slow server, so the write is tried a few times; it is not
 * tried for ever, since that would block every write behind it.
 */
async function applyAlone(parts: ApplierParts, tenantId: string, how: How): Promise<Step> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await applyBatch(parts, tenantId, { ...alone, ...how })
    } catch (error) {
      if (!(error instanceof Unappliable)) throw error
      if (attempt === timeoutAttempts || !isStatementTimeout(error.cause)) return fail(parts, tenantId, error)
    }
  }
}

/** It fails, and the queue moves on; unless somebody else has applied it by now. */
async function fail({ database, log }: ApplierParts, tenantId: string, error: Unappliable): Promise<Step> {
  const { id, kind } = error.first
  log.error({ tenantId, operation: id, kind, error: error.cause }, 'a write could not be applied')
  const outcome: Outcome = { id, state: 'failed', result: problemOf(error.cause).toDocument({ traceId: id }) }
  await database.transaction({ tenantId }, (tx) => finishOperations(tx, [outcome]))
  return { outcomes: [outcome] }
}

type Taken = Batch & How

async function applyBatch(parts: ApplierParts, tenantId: string, taken: Taken): Promise<Step> {
  const { deletesApart = false, relatingStopped = false } = taken
  const crowded: Step = { outcomes: [], again: { deletesApart: true, relatingStopped } }
  let first: Head | undefined
  const work = async (tx: Transaction): Promise<Step> => {
    const heads = togetherOf(await lockQueue(tx, taken), taken)
    first = heads[0]
    if (heads.length === 0) return { outcomes: [] }
    if (relatingStopped) await stopRelating(tx)
    const operations = await withPayloads(tx, heads, (id) => parts.handover.take(id))
    const workspace = await loadWorkspace(tx, operations, { relatingStopped })
    const outcomes: Outcome[] = []
    const yieldTurn = createYield()
    for (const operation of operations) {
      await yieldTurn()
      const rights = await rightsOf(parts.access, tx, { operation, workspace })
      outcomes.push(await applyOne(parts, { tx, workspace, operation, rights, yieldTurn }))
    }
    const { ended, isAll } = await endOfGone(tx, workspace, parts.endedAtOnce)
    const told = relationEvents('deleted', ended)
    if (!isAll) {
      if (!heads.every(isDelete)) throw new Crowded()
      await emitLast(tx, told)
      return crowded
    }
    workspace.tell(told)
    await saveWorkspace(tx, workspace)
    await reportDeleted(tx, parts.jobs, deletedIn(workspace))
    await finishOperations(tx, outcomes)
    await emitLast(tx, workspace.events)
    return { outcomes }
  }
  return parts.database.transaction({ tenantId }, work).catch((error: unknown) => {
    if (error instanceof Crowded) return crowded
    if (error instanceof StillRelated) return { outcomes: [], again: { deletesApart, relatingStopped: true } }
    const isPassing = isTransient(error) && !isStatementTimeout(error)
    throw first === undefined || isPassing ? error : new Unappliable(first, error)
  })
}

type Head = { id: string; kind: string }

/** Those at the head of the queue that can share a transaction. */
function togetherOf<Queued extends Head>(
  queued: readonly Queued[],
  { deletesApart = false }: Taken,
): readonly Queued[] {
  const startsWithDelete = queued.slice(0, 1).some(isDelete)
  const end = queued.findIndex((head) => isReshaping(head) || (deletesApart && isDelete(head) !== startsWithDelete))
  return end < 0 ? queued : queued.slice(0, Math.max(end, 1))
}

async function applyOne(parts: ApplierParts, applying: Applying): Promise<Outcome> {
  const { operation, workspace } = applying
  const mark = workspace.mark()
  try {
    const results = await resultsOf(parts, applying)
    const single = !Array.isArray(results)
    const failed = single ? isFailure(results) : results.every(isFailure)
    return { id: operation.id, state: failed ? 'failed' : 'finished', result: results }
  } catch (error) {
    const refusal = refusalOf(error)
    workspace.undoTo(mark)
    return { id: operation.id, state: 'failed', result: refusal.toDocument({ traceId: operation.id }) }
  }
}

async function resultsOf(parts: ApplierParts, applying: Applying): Promise<unknown> {
  const { operation } = applying
  if (isOfGateway(operation) && applying.rights === noRights)
    throw new Problem(
      'gateway_revoked',
      'The gateway was revoked or its asset was deleted: nothing it reports is written',
    )
  if (operation.kind === 'put' || operation.kind === 'put-whole') {
    const [only] = await applyPut(parts, applying, operation.payload as PutPayload)
    return only
  }
  if (operation.kind === 'put-many') return applyPut(parts, applying, operation.payload as PutPayload)
  if (operation.kind === 'delete') return applyDelete(applying, operation.payload as DeletePayload)
  if (operation.kind === 'merge') return applyMerge(parts, applying, operation.payload as MergePayload)
  if (operation.kind === 'undo-merge') return applyUndo(parts, applying, operation.payload as UndoPayload)
  if (operation.kind === 'split') return applySplit(parts, applying, operation.payload as SplitPayload)
  if (isPatch(operation)) return applyPatch(parts, applying, operation)
  throw new Problem('internal', `There is no kind of write ${operation.kind}`)
}

function isFailure(result: unknown): boolean {
  return typeof result === 'object' && result !== null && 'code' in result && 'status' in result
}

type Sender = { operation: QueuedOperation; workspace: Workspace }

/**
 * What the sender may do now, with the roles that the token had then, and where it had them. A gateway has its grants and
 * the access group that its asset is in now; without its asset it has nothing.
 */
async function rightsOf(access: AccessCache, tx: Transaction, { operation, workspace }: Sender): Promise<Rights> {
  if (operation.principalKind === 'system') return systemCaller().rights
  const found = await access.within(tx, operation.principalId)
  if (found === undefined || found.principal.disabled) return noRights
  if (isOfGateway(operation)) {
    const gateway = workspace.asset(operation.principalId)
    return gateway === undefined ? noRights : gatewayRights(found.rights, gateway.accessGroupId)
  }
  const { roles, grants } = operation
  return access.effective(found, { roles, ...(grants === null ? {} : { grants }) })
}
