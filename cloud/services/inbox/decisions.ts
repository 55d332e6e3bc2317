import { setTimeout } from 'node:timers/promises'
import { type Decision, type DecisionAction, type inbox, inboxLimits } from '@millwright/api/inbox.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { storedPrincipal } from '../../platform/access/current-caller.ts'
import { maySomewhere } from '../../platform/access/rights.ts'
import { readsAllAssets } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { decisionTask, emitDecision } from './decision-run.ts'
import type { DecisionRow, NewItem } from './decision-store.ts'
import * as store from './decision-store.ts'
import { assetsOfRule, proposalsFor } from './proposals.ts'
import { namesOfTargets, requireTarget } from './target.ts'

type Names = 'createDecision' | 'listDecisions' | 'readDecision' | 'listDecisionResults' | 'undoDecision'

const dayMs = 24 * 3_600_000
/** The interval at which a waiting request reads the decision. */
const pollMs = 100

/** The states that assets have before and after a decision. */
const statesOf: Readonly<Record<DecisionAction, { expected: string[]; state: string }>> = {
  onboard: { expected: ['unknown', 'ignored'], state: 'regarded' },
  ignore: { expected: ['unknown'], state: 'ignored' },
  return: { expected: ['ignored'], state: 'unknown' },
}

export function decisionHandlers(context: Context): Pick<Handlers<typeof inbox>, Names> {
  const { database } = context
  const show = async (caller: Caller, row: DecisionRow): Promise<Decision> => {
    const [decision] = await showDecisions(context, caller, [row])
    if (decision === undefined) throw new TypeError('A decision was not returned')
    return decision
  }
  /** Returns a decision that is already stored. It lacks the names of its assets if they cannot be read now. */
  const showAccepted = (caller: Caller, row: DecisionRow): Promise<Decision> =>
    show(caller, row).catch((error: unknown) => {
      context.log.warn({ error, decision: row.id }, 'The names of the assets of a decision could not be read')
      return showDecision(caller, row, { assets: [], targets: [] })
    })
  return {
    async createDecision({ body: { data } }, caller) {
      const { action, accessGroupId, nodeId, ruleId, assetIds, useProposals = false } = data
      if ((assetIds === undefined) === (ruleId === undefined))
        throw fieldProblem('invalid_body', '/data/assetIds', 'Send either assetIds or ruleId')
      const hasTarget = accessGroupId !== undefined || nodeId !== undefined || useProposals || ruleId !== undefined
      if (action !== 'onboard' && hasTarget)
        throw fieldProblem('invalid_body', '/data/action', 'Only onboarded assets get an access group and a node')
      await requireTarget(context, caller, { accessGroupId, nodeId })
      const own = { accessGroupId: accessGroupId ?? null, nodeId: nodeId ?? null }
      const ids = assetIds ?? []
      const proposals = useProposals ? await proposalsFor(context, caller, ids) : new Map()
      const items =
        ruleId === undefined
          ? ids.map((assetId): NewItem => {
              const proposal = proposals.get(assetId)
              return newItem(assetId, action, proposal ?? own)
            })
          : await itemsOfRule(context, caller, ruleId)
      const rule = ruleId === undefined ? {} : { ruleId }
      const row = await database.transaction(caller, (tx) =>
        createDecision(context, tx, { caller, action, items, ...rule }),
      )
      return answer(202, { data: await showAccepted(caller, row) }, { location: locationOf(row.id) })
    },

    async listDecisions({ query: { ruleId = null, action = null, limit = 50, offset = 0 } }, caller) {
      const principalId = readsAllAssets(caller) ? null : caller.principal.id
      const { rows, total } = await database.read(caller, (handle) =>
        store.listDecisions(handle, { principalId, ruleId, action, limit, offset }),
      )
      const data = await showDecisions(context, caller, rows)
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async readDecision({ params: { id }, query: { wait = 0 } }, caller) {
      const deadline = performance.now() + wait * 1_000
      for (;;) {
        const row = await database.read(caller, (handle) => store.findDecision(handle, id))
        const visible = requireVisible(caller, id, row)
        const isOver = performance.now() >= deadline || context.stopping.aborted
        if (visible.state !== 'running' || isOver) return { data: await show(caller, visible) }
        await setTimeout(pollMs)
      }
    },

    async listDecisionResults({ params: { id }, query: { outcome = null, limit = 50, offset = 0 } }, caller) {
      const { row, items } = await database.read(caller, async (handle) => ({
        row: requireVisible(caller, id, await store.findDecision(handle, id)),
        items: await store.listItems(handle, id, { outcome, limit, offset }),
      }))
      const names = await namesOfAssets(
        context,
        caller,
        items.map(({ assetId }) => assetId),
      )
      const data = items
        .filter(({ assetId }) => names.has(assetId))
        .map(({ assetId, outcome: result, code, detail }) => {
          const name = names.get(assetId)
          return {
            assetId,
            ...(name === undefined ? {} : { name }),
            outcome: result,
            ...(code === null ? {} : { code }),
            ...(detail === null ? {} : { detail }),
          }
        })
      const { total, changed, failed } = row
      const totals = { changed, failed, pending: total - changed - failed }
      const totalElements = outcome === null ? total : totals[outcome]
      // Hidden assets count too, so that the next page starts after them.
      return { data, meta: { totalElements, elements: items.length, offset } }
    },

    async undoDecision({ params: { id } }, caller) {
      const row = await database.transaction(caller, async (tx) => {
        const original = requireVisible(caller, id, await store.lockDecision(tx, id))
        requireUndoable(original)
        const items = await store.listItems(tx, id, { outcome: 'changed', limit: inboxLimits.assetsPerDecision })
        const undo = await createDecision(context, tx, {
          caller,
          action: 'undo',
          items: items.map(undoItem),
          undoes: id,
        })
        await store.setUndoneBy(tx, id, undo.id)
        return undo
      })
      return answer(202, { data: await showAccepted(caller, row) }, { location: locationOf(row.id) })
    },
  }
}

/** Returns decisions with the names of their first assets. */
async function showDecisions(context: Context, caller: Caller, rows: readonly DecisionRow[]): Promise<Decision[]> {
  const ids = rows.map(({ id }) => id)
  const first = await context.database.read(caller, (handle) =>
    store.listFirstAssets(handle, ids, inboxLimits.namedAssets),
  )
  const assetIds = [...first.values()].flat().map(({ assetId }) => assetId)
  const stored = rows.flatMap(({ targets }) => targets)
  const [names, targetNames] = await Promise.all([
    namesOfAssets(context, caller, assetIds),
    namesOfTargets(context, caller, stored),
  ])
  const named = new Map(stored.map((target, index) => [target, { assets: target.assets, ...targetNames[index] }]))
  return rows.map((row) => {
    const assets = (first.get(row.id) ?? []).flatMap(({ assetId: id }) => {
      const name = names.get(id)
      return names.has(id) ? [{ id, ...(name === undefined ? {} : { name }) }] : []
    })
    const targets = row.targets
      .flatMap((target) => named.get(target) ?? [])
      .filter(({ accessGroup, nodePath }) => accessGroup !== undefined || nodePath !== undefined)
    return showDecision(caller, row, { assets, targets })
  })
}

/** Returns the names of the assets that the caller can read, by id. */
async function namesOfAssets(context: Context, caller: Caller, ids: readonly string[]) {
  if (ids.length === 0) return new Map<string, string | undefined>()
  const body = { data: { ids: [...new Set(ids)] } }
  const { devices } = (await context.peers(inventory, caller).selectDevices({ body })).data
  return new Map(devices.map(({ id, name }) => [id, name]))
}

async function itemsOfRule(context: Context, caller: Caller, ruleId: string): Promise<NewItem[]> {
  const { target, assets } = await assetsOfRule(context, caller, ruleId, inboxLimits.assetsPerDecision)
  if (assets.length === 0)
    throw new Problem('conflict', 'The rule proposes a target for no asset of the inbox now. Reload the inbox')
  return assets.map(({ id }) => newItem(id, 'onboard', target))
}

type Target = { accessGroupId?: string | null; nodeId?: string | null }

function newItem(assetId: string, action: DecisionAction, { accessGroupId, nodeId }: Target): NewItem {
  const { expected, state } = statesOf[action]
  return {
    assetId,
    expectedStates: expected,
    expectedGroupId: null,
    state,
    accessGroupId: accessGroupId ?? null,
    nodeId: nodeId ?? null,
  }
}

/** Returns the items of an automatic rule. Only assets without a decision are changed. */
export function itemOfRule(assetId: string, target: Target): NewItem {
  return { ...newItem(assetId, 'onboard', target), expectedStates: ['unknown'] }
}

/** Returns the item that reverts a changed item. An asset that was changed since then stays as it is. */
function undoItem(item: store.ItemRow): NewItem {
  const previousGroupId = item.previousGroupId
  const currentGroupId = item.accessGroupId ?? previousGroupId
  return {
    assetId: item.assetId,
    expectedStates: [item.state],
    expectedGroupId: currentGroupId,
    state: item.previousState ?? 'unknown',
    accessGroupId: currentGroupId === previousGroupId ? null : previousGroupId,
    nodeId: null,
  }
}

type DecisionInput = {
  caller: Caller
  action: DecisionRow['action']
  items: readonly NewItem[]
  ruleId?: string
  runId?: string
  undoes?: string
}

/** Stores a decision with its task, audit entry and event. Throws if too many decisions of the tenant are running. */
export async function createDecision(
  { tasks }: Context,
  tx: Transaction,
  { caller, action, items, ruleId, runId, undoes }: DecisionInput,
): Promise<DecisionRow> {
  await requireCapacity(tx)
  const now = Date.now()
  const row = await store.insertDecision(
    tx,
    {
      ...storedPrincipal(caller),
      id: newId(),
      action,
      ruleId: ruleId ?? null,
      runId: runId ?? null,
      undoes: undoes ?? null,
      undoUntil: new Date(now + inboxLimits.undoDays * dayMs).toISOString(),
      createdAt: new Date(now).toISOString(),
    },
    items,
  )
  await tasks.enqueue(tx, { kind: decisionTask, key: row.id })
  const detail = {
    assets: items.length,
    ...(ruleId === undefined ? {} : { ruleId }),
    ...(runId === undefined ? {} : { runId }),
    ...(undoes === undefined ? {} : { undoes }),
  }
  await record(tx, caller, {
    action: action === 'undo' ? 'inbox.undoDecision' : 'inbox.createDecision',
    target: `decision/${row.id}`,
    detail: { action, ...detail },
  })
  await emitDecision(tx, row)
  return row
}

async function requireCapacity(tx: Transaction): Promise<void> {
  const running = await store.countRunning(tx)
  if (running < inboxLimits.unfinishedDecisions) return
  throw new Problem(
    'conflict',
    `The tenant has ${running} running decisions. The limit is ${inboxLimits.unfinishedDecisions}. Wait until one ends`,
  )
}

function requireVisible(caller: Caller, id: string, row: DecisionRow | undefined): DecisionRow {
  if (row !== undefined && (row.principalId === caller.principal.id || readsAllAssets(caller))) return row
  throw new Problem('not_found', `Decision ${id} does not exist`)
}

function requireUndoable(row: DecisionRow): void {
  const problem = undoProblem(row)
  if (problem !== undefined) throw new Problem('conflict', problem)
}

/** Returns why a decision cannot be undone, or undefined. */
function undoProblem({ action, state, undoneBy, undoUntil, changed }: DecisionRow): string | undefined {
  if (action === 'undo') return 'An undo cannot be undone. Decide about the assets again'
  if (state === 'running') return 'The decision is still running. Wait for its end, then undo it'
  if (undoneBy !== null) return `The decision was already undone by decision ${undoneBy}`
  if (changed === 0) return 'The decision has changed no assets, so there is nothing to undo'
  if (Date.parse(undoUntil) < Date.now()) return `A decision can be undone for ${inboxLimits.undoDays} days`
  return undefined
}

function locationOf(id: string): string {
  return `/inbox/v1/decisions/${id}`
}

function showDecision(
  caller: Caller,
  row: DecisionRow,
  { assets, targets }: Pick<Decision, 'assets' | 'targets'>,
): Decision {
  const { id, action, state, total, changed, failed, notAssigned, problem, ruleId, runId, undoes, undoneBy } = row
  return {
    id,
    action,
    state,
    total,
    changed,
    failed,
    notAssigned,
    ...(problem === null ? {} : { problem }),
    ...(ruleId === null ? {} : { ruleId }),
    ...(runId === null ? {} : { runId }),
    ...(undoes === null ? {} : { undoes }),
    ...(undoneBy === null ? {} : { undoneBy }),
    canUndo: undoProblem(row) === undefined && maySomewhere(caller, 'inventory_write_asset_data'),
    undoUntilTimestamp: row.undoUntil,
    assets,
    targets,
    principalName: row.principalName,
    createdTimestamp: row.createdAt,
    lastModifiedTimestamp: row.modifiedAt,
  }
}
