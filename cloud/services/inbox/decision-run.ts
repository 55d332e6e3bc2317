import { hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import { noRights } from '../../platform/access/rights.ts'
import { isTransient } from '../../platform/database/transient.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import type { DecisionRow, ItemResult, ItemRow } from './decision-store.ts'
import * as store from './decision-store.ts'
import { listRules } from './rule-store.ts'

/**
 * Runs decisions. Each decision has one task, which handles its assets in portions, with the current rights of the
 * principal. For each portion it
 * 1. sets the management state and the access group with one write of the inventory,
 * 2. assigns the changed assets to their nodes,
 * 3. stores the results.
 *
 * The requests of a portion have idempotency keys. If the process dies, the next attempt repeats the portion and gets the
 * same results, so nothing happens twice.
 */

export const decisionTask = 'inbox.decide'
const portionSize = 500
const maxAttempts = 10
const leaseMs = 10_000
const statusWaitSeconds = 30

export function decisionTasks(context: Context): TaskKinds {
  return {
    [decisionTask]: {
      maxAttempts,
      leaseMs,
      async run({ tenantId, key: id, signal, attempt }) {
        try {
          while (!signal.aborted && (await runPortion(context, { tenantId, id })));
        } catch (error) {
          const isRefused = error instanceof Problem && error.status < 500 && error.code !== 'request_in_progress'
          if (!isRefused && (attempt < maxAttempts || signal.aborted || isTransient(error))) throw error
          if (!isRefused) context.log.warn({ error, decision: id }, 'A decision stopped after repeated errors')
          const problem = isRefused
            ? { code: error.code, detail: error.message }
            : { code: 'unavailable', detail: 'The decision stopped after repeated errors. Decide about the rest again' }
          await end(context, { tenantId, id }, { state: 'failed', problem })
        }
      },
    },
  }
}

type DecisionKey = { tenantId: string; id: string }

/** Handles the next assets of a decision. Returns false when the decision has ended. */
async function runPortion(context: Context, key: DecisionKey): Promise<boolean> {
  const { database } = context
  const { tenantId, id } = key
  const { row, items } = await database.read({ tenantId }, async (handle) => ({
    row: await store.findDecision(handle, id),
    items: await store.listItems(handle, id, { outcome: 'pending', limit: portionSize }),
  }))
  if (row === undefined || row.state !== 'running') return false
  const caller = await currentCaller(context, tenantId, row)
  if (caller.rights === noRights) {
    const detail = `${row.principalName} was disabled or deleted, so the decision stopped`
    await end(context, key, { state: 'failed', problem: { code: 'forbidden', detail } })
    return false
  }
  const [first] = items
  if (first === undefined) {
    await end(context, key, { state: 'finished', problem: null })
    return false
  }
  if (row.action === 'undo' && first.ordinal === 1) await undoAssignments(context, caller, row)
  const portionKey = `inbox.${id}.${first.ordinal}`
  const cause = await causeOf(context, key, row)
  const results = await writeStates(context, caller, { items, key: portionKey, cause })
  const assigned = await assignNodes(context, caller, { items, results, key: portionKey })
  const now = new Date().toISOString()
  await database.transaction({ tenantId }, async (tx) => {
    const current = await store.lockDecision(tx, id)
    if (current === undefined) return
    const assignments = [...new Set([...current.assignments, ...assigned.assignments])]
    await store.settleItems(tx, { id, results, notAssigned: assigned.notAssigned, assignments, now })
  })
  return true
}

async function end(
  { database }: Context,
  { tenantId, id }: DecisionKey,
  ending: { state: 'finished' | 'failed'; problem: DecisionRow['problem'] },
): Promise<void> {
  await database.transaction({ tenantId }, async (tx) => {
    const row = await store.endDecision(tx, id, { ...ending, now: new Date().toISOString() })
    if (row === undefined) return
    // An undo that failed can be repeated. It leaves the assets that the failed undo has returned.
    if (row.state === 'failed' && row.undoes !== null) await store.setUndoneBy(tx, row.undoes, null)
    await emitDecision(tx, row)
  })
}

export async function emitDecision(tx: Parameters<typeof emit>[0], row: DecisionRow): Promise<void> {
  const { id, action, state, principalId } = row
  await emit(tx, { type: 'inbox.decision.changed', subject: `decision/${id}`, data: { action, state, principalId } })
}

type Portion = { items: readonly ItemRow[]; key: string }

type DecisionCause = { kind: 'rule' | 'bulk_edit'; id: string; name?: string }

/** Returns the operation that the history shows for the changes of a decision. One asset is not a larger operation. */
async function causeOf(
  { database }: Context,
  { tenantId, id }: DecisionKey,
  { runId, ruleId, total }: DecisionRow,
): Promise<DecisionCause | undefined> {
  if (runId === null) return total > 1 ? { kind: 'bulk_edit', id } : undefined
  const rules = await database.read({ tenantId }, listRules)
  const name = rules.find((rule) => rule.id === ruleId)?.name
  return { kind: 'rule', id, ...(name === undefined ? {} : { name }) }
}

type StateResult = {
  assetId?: string
  previous?: { state: string; accessGroupId: string }
  code?: string
  detail?: string
}

/** Sets the states and access groups of assets, and waits until the inventory has applied the write. */
async function writeStates(
  { peers }: Context,
  caller: Caller,
  { items, key, cause }: Portion & { cause: DecisionCause | undefined },
): Promise<ItemResult[]> {
  const client = peers(inventory, caller)
  const { data } = await client.triageAssets({
    headers: { 'idempotency-key': key },
    body: {
      data: {
        ...(cause === undefined ? {} : { cause }),
        assets: items.map(({ assetId, expectedStates, expectedGroupId, state, accessGroupId }) => ({
          assetId,
          expectedStates: expectedStates as ('regarded' | 'ignored' | 'unknown')[],
          state: state as 'regarded' | 'ignored' | 'unknown',
          ...(expectedGroupId === null ? {} : { expectedAccessGroupId: expectedGroupId }),
          ...(accessGroupId === null ? {} : { accessGroupId }),
        })),
      },
    },
  })
  const status = { params: { id: data.statusId }, query: { wait: statusWaitSeconds } }
  const written = (await client.readStatus(status)).data
  if (written.state === 'queued')
    throw new Problem('unavailable', 'The inventory has not applied the decision yet. It is tried again')
  const { result } = written.detail
  const each = (Array.isArray(result) ? result : items.map(() => result)) as readonly StateResult[]
  return items.map(({ ordinal }, index) => resultOf(ordinal, each[index] ?? {}))
}

function resultOf(ordinal: number, { previous, code, detail }: StateResult): ItemResult {
  const isChanged = previous !== undefined
  return {
    ordinal,
    outcome: isChanged ? 'changed' : 'failed',
    previousState: previous?.state ?? null,
    previousGroupId: previous?.accessGroupId ?? null,
    code: isChanged ? null : (code ?? 'internal_error'),
    detail: isChanged ? null : (detail ?? 'The inventory refused the change'),
  }
}

type ChangedPortion = Portion & { results: ItemResult[] }

/** Assigns the changed assets to their nodes. A refusal is noted at the results of the assets, which stay changed. */
async function assignNodes(
  { peers }: Context,
  caller: Caller,
  { items, results, key }: ChangedPortion,
): Promise<{ assignments: string[]; notAssigned: number }> {
  const changed = items.filter((item, index) => item.nodeId !== null && results[index]?.outcome === 'changed')
  const byOrdinal = new Map(results.map((result) => [result.ordinal, result]))
  const assignments: string[] = []
  let notAssigned = 0
  const note = (item: ItemRow, code: string, detail: string) => {
    const result = byOrdinal.get(item.ordinal)
    if (result === undefined) return
    result.code = code
    result.detail = `Not assigned to the node: ${detail}`
    notAssigned++
  }
  for (const [nodeId, members] of Map.groupBy(changed, (item) => item.nodeId ?? '')) {
    try {
      const { data } = await peers(hierarchy, caller).assignAssets({
        params: { id: nodeId },
        headers: { 'idempotency-key': `${key}.${nodeId}` },
        body: { data: { assetIds: members.map(({ assetId }) => assetId) } },
      })
      if ('results' in data) {
        assignments.push(data.assignmentId)
        const refused = new Map(
          data.results.filter(({ outcome }) => outcome === 'failed').map((one) => [one.assetId, one]),
        )
        for (const item of members) {
          const result = refused.get(item.assetId)
          if (result !== undefined) note(item, result.code ?? 'conflict', result.detail ?? '')
        }
      }
    } catch (error) {
      if (!(error instanceof Problem) || error.status >= 500) throw error
      for (const item of members) note(item, error.code, error.message)
    }
  }
  return { assignments, notAssigned }
}

/** Starts the undo of the assignments of a decision. The hierarchy service runs it in the background. */
async function undoAssignments({ database, peers }: Context, caller: Caller, undo: DecisionRow): Promise<void> {
  const original = await database.read(caller, (handle) => store.findDecision(handle, undo.undoes ?? ''))
  for (const id of original?.assignments ?? []) {
    try {
      await peers(hierarchy, caller).undoAssignment({ params: { id } })
    } catch (error) {
      // An assignment that was undone, or that changed nothing, needs no undo.
      if (!(error instanceof Problem) || error.status >= 500) throw error
    }
  }
}
