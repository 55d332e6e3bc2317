import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import { Problem } from '@millwright/api/problem.ts'
import { type NodeWindow, updateLimits, type updates } from '@millwright/api/updates.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { nextStart, requireWindow } from './open-window.ts'
import * as store from './window-store.ts'

/** The interval of the task that deletes the windows of deleted nodes. */
const cleanupMs = 24 * 60 * 60_000

/** The maintenance windows of hierarchy nodes. A window also applies to all nodes below its node. */
export function windowHandlers(
  context: Context,
): Pick<Handlers<typeof updates>, 'listWindows' | 'readWindow' | 'putWindow' | 'deleteWindow'> {
  const { database } = context
  return {
    async listWindows({ query: { limit = 50, offset = 0 } }, caller) {
      const all = await database.read(caller, store.listWindows)
      const data = await showWindows(context, caller, all.slice(offset, offset + limit))
      return { data, meta: { totalElements: all.length, elements: data.length, offset } }
    },

    async readWindow({ params: { nodeId } }, caller) {
      const found = await database.read(caller, (handle) => store.findWindow(handle, nodeId))
      if (found === undefined) throw missing(nodeId)
      return { data: await showWindow(context, caller, found) }
    },

    async putWindow({ params: { nodeId }, body: { data: window } }, caller) {
      requireWindow(window, '/data')
      if (!(await existingNodes(context, caller, [nodeId])).has(nodeId)) {
        throw new Problem('not_found', `Hierarchy node ${nodeId} does not exist`)
      }
      await database.transaction(caller, async (tx) => {
        if ((await store.countOtherWindows(tx, nodeId)) >= updateLimits.nodeWindows) {
          throw new Problem(
            'too_many_windows',
            `The tenant has ${updateLimits.nodeWindows} nodes with a maintenance window. Delete windows that are not needed, or set the window of a node above`,
          )
        }
        const before = await store.findWindow(tx, nodeId)
        await store.putWindow(tx, { nodeId, window }, new Date().toISOString())
        const detail = { ...(before === undefined ? {} : { before: before.window }), after: window }
        await reportWindow(tx, caller, { nodeId, action: 'putWindow', detail })
      })
      return { data: await showWindow(context, caller, { nodeId, window }) }
    },

    async deleteWindow({ params: { nodeId } }, caller) {
      await database.transaction(caller, async (tx) => {
        const before = await store.findWindow(tx, nodeId)
        if (before === undefined) throw missing(nodeId)
        await store.deleteWindows(tx, [nodeId])
        await reportWindow(tx, caller, { nodeId, action: 'deleteWindow', detail: { before: before.window } })
      })
      return answer(204)
    },
  }
}

export function windowTasks(context: Context): TaskKinds {
  const { database, tenants } = context
  return {
    'updates.windows': {
      periodic: { everyMs: cleanupMs },
      async run({ tenantId }) {
        const system = systemCaller({ tenantId, tenantName: (await tenants.byId(tenantId))?.name ?? '' })
        const windows = await database.read(system, store.listWindows)
        const existing = await existingNodes(
          context,
          system,
          windows.map(({ nodeId }) => nodeId),
        )
        const deleted = windows.filter(({ nodeId }) => !existing.has(nodeId))
        if (deleted.length === 0) return
        await database.transaction(system, async (tx) => {
          const removed = new Set(
            await store.deleteWindows(
              tx,
              deleted.map(({ nodeId }) => nodeId),
            ),
          )
          for (const { nodeId, window } of deleted) {
            if (!removed.has(nodeId)) continue
            await reportWindow(tx, system, { nodeId, action: 'deleteWindow', detail: { before: window } })
          }
        })
      },
    },
  }
}

type WindowChange = { nodeId: string; action: 'putWindow' | 'deleteWindow'; detail: Record<string, unknown> }

async function reportWindow(tx: Transaction, caller: Caller, { nodeId, action, detail }: WindowChange): Promise<void> {
  const target = `node/${nodeId}`
  await record(tx, caller, { action: `updates.${action}`, target, detail })
  const type = action === 'putWindow' ? 'updates.window.changed' : 'updates.window.deleted'
  await emit(tx, { type, subject: target, data: { nodeId, ...('after' in detail ? { window: detail.after } : {}) } })
}

async function showWindow(context: Context, caller: Caller, stored: store.StoredWindow): Promise<NodeWindow> {
  const [shown] = await showWindows(context, caller, [stored])
  return shown ?? stored
}

/** Adds the paths of the nodes, if the caller can read hierarchies, and the next starts. */
async function showWindows(
  context: Context,
  caller: Caller,
  stored: readonly store.StoredWindow[],
): Promise<NodeWindow[]> {
  const nodeIds = stored.map(({ nodeId }) => nodeId)
  const paths = may(caller, 'glb_hierarchy_read') ? await existingNodes(context, caller, nodeIds) : new Map()
  const now = new Date()
  return stored.map(({ nodeId, window }) => {
    const [path, start] = [paths.get(nodeId), nextStart(window, now)]
    return {
      nodeId,
      ...(path === undefined ? {} : { nodePath: path }),
      window,
      ...(start === undefined ? {} : { nextStart: start.toISOString() }),
    }
  })
}

/** Returns the paths of those nodes that exist. */
async function existingNodes(
  { peers }: Context,
  { tenantId, tenantName }: Caller,
  nodeIds: readonly string[],
): Promise<Map<string, string>> {
  const paths = new Map<string, string>()
  const client = peers(hierarchy, systemCaller({ tenantId, tenantName }))
  for (let start = 0; start < nodeIds.length; start += hierarchyLimits.nodesPerBatch) {
    const part = nodeIds.slice(start, start + hierarchyLimits.nodesPerBatch)
    const { data } = await client.describeNodePaths({ body: { data: { nodeIds: part } } })
    for (const { nodeId, names } of data) paths.set(nodeId, joinPath(names))
  }
  return paths
}

function missing(nodeId: string): Problem {
  return new Problem('not_found', `Hierarchy node ${nodeId} has no maintenance window`)
}
