import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { type Context, type Handlers, service } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import { deviceHandlers } from './assets/devices.ts'
import { assetHandlers } from './assets/handlers.ts'
import { listMatching } from './assets/list-store.ts'
import { propertyHandlers } from './assets/property-handlers.ts'
import { selectionOf } from './assets/selection.ts'
import { inventoryContext } from './context.ts'
import { inventoryGauges } from './gauge-store.ts'
import { graphHandlers } from './graph/handlers.ts'
import { changeHandlers } from './history/change-handlers.ts'
import { retentionTasks } from './history/retention.ts'
import { settingsHandlers } from './history/settings-handlers.ts'
import { duplicateHandlers } from './identity/duplicate-handlers.ts'
import { identityConflictHandlers } from './identity/identity-conflict-handlers.ts'
import { impactHandlers } from './impact/handlers.ts'
import { relationHandlers } from './relations/handlers.ts'
import { nodeAssignmentHandlers } from './relations/node-assignments.ts'
import { parentHandlers } from './relations/parents.ts'
import { systemEventHandlers } from './relations/system-event-handlers.ts'
import { schemaHandlers } from './schemas/handlers.ts'
import { topologyGroupHandlers } from './topology/handlers.ts'
import { triageHandlers } from './triage/handlers.ts'
import { readableGroups } from './visibility.ts'
import { classifyAssets, describeAssets, describeGateways, listReadableGateways } from './visibility-store.ts'
import { writesTopic } from './writes/accept.ts'
import { applyQueued } from './writes/apply.ts'
import { deletedAssetTasks } from './writes/deleted-assets.ts'
import { documentWriteHandlers } from './writes/document-handlers.ts'
import { writeHandlers } from './writes/handlers.ts'
import { importRowHandlers } from './writes/import-handlers.ts'
import { mergeHandlers } from './writes/merge-handlers.ts'
import { anyQueued } from './writes/queue-store.ts'
import { statusHandlers, statusTasks } from './writes/status.ts'

/**
 * At most this many relations of deleted assets end in one transaction. Such a transaction holds its locks for about
 * 0.2 s.
 */
const relationsEnded = 2_000

/** The time for which the applier of one tenant runs before the appliers of other tenants run. */
const sliceMs = 1_000

export const inventoryService = service({
  contract: inventory,
  migrations: { module: 'inventory', folder: new URL('./migrations/', import.meta.url) },
  gauges: inventoryGauges,
  handlers(context): Handlers<typeof inventory> {
    const own = inventoryContext(context)
    return {
      ...assetHandlers(own),
      ...changeHandlers(own),
      ...writeHandlers(own),
      ...statusHandlers(own),
      ...relationHandlers(context),
      ...nodeAssignmentHandlers(context),
      ...duplicateHandlers(context),
      ...identityConflictHandlers(context),
      ...documentWriteHandlers(own),
      ...importRowHandlers(own),
      ...parentHandlers(context),
      ...mergeHandlers(own),
      ...triageHandlers(own),
      ...systemEventHandlers(context),
      ...visibilityHandlers(context),
      ...deviceHandlers(context),
      ...graphHandlers(context),
      ...topologyGroupHandlers(context),
      ...impactHandlers(context),
      ...propertyHandlers(context),
      ...settingsHandlers(context),
      ...schemaHandlers(own),
    }
  },
  beforeBody(context) {
    const { acceptor } = inventoryContext(context)
    const requireRoom = (caller: Caller) => acceptor.requireRoom(caller)
    return { createAssets: requireRoom, createAsset: requireRoom }
  },
  tasks(context) {
    const { database, access, log, tasks } = context
    const { schemas, waiters, payloads } = inventoryContext(context)
    return {
      'inventory.apply': {
        periodic: { everyMs: takeoverMs, wakeOn: writesTopic, pending: anyQueued },
        async run({ tenantId, signal, mayDelayOthers, nextWake }) {
          const { relationsMerged } = inventoryLimits
          const options = {
            schemas,
            waiters,
            payloads,
            relationsEnded,
            relationsMerged,
            sliceMs,
            mayDelayOthers,
            nextWake,
          }
          await applyQueued({ database, access, log, tasks, ...options }, tenantId, signal)
        },
      },
      ...deletedAssetTasks(context),
      ...statusTasks({ database }),
      ...retentionTasks({ database }),
    }
  },
})

function visibilityHandlers({
  database,
}: Context): Pick<
  Handlers<typeof inventory>,
  'listReadableGateways' | 'describeGateways' | 'describeAssets' | 'classifyAssets' | 'filterAssets'
> {
  return {
    async listReadableGateways(_request, caller) {
      return { data: await database.read(caller, (handle) => listReadableGateways(handle, readableGroups(caller))) }
    },

    async describeGateways({ body: { data } }, caller) {
      return { data: await database.read(caller, (handle) => describeGateways(handle, data.ids)) }
    },

    async describeAssets({ body: { data } }, caller) {
      return { data: await database.read(caller, (handle) => describeAssets(handle, data.ids)) }
    },

    async classifyAssets({ body: { data } }, caller) {
      return {
        data: await database.read(caller, (handle) => classifyAssets(handle, data.ids, readableGroups(caller))),
      }
    },

    async filterAssets({ body: { data } }, caller) {
      const { ids, filter } = data
      return {
        data: await database.read(caller, async (handle) =>
          listMatching(handle, await selectionOf(handle, { filter }, caller), ids),
        ),
      }
    },
  }
}
