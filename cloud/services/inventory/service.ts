import { inventory, inventoryLimits } from '@millwright/api/inventory.ts'
import { type Context, type Handlers, service } from '../../platform/service.ts'
import { Acceptance, operationsTopic } from './acceptance.ts'
import { applyQueued } from './apply.ts'
import { assetWriteHandlers } from './asset-writes.ts'
import { assetHandlers } from './assets.ts'
import { deletedAssetJobs } from './deleted-assets.ts'
import { duplicateHandlers } from './duplicates.ts'
import { graphHandlers } from './graphs.ts'
import { Handover } from './handover.ts'
import { identityConflictHandlers } from './identity-conflicts.ts'
import { mergeWriteHandlers } from './merge-writes.ts'
import { anyQueued } from './operation-store.ts'
import { propertyHandlers } from './properties.ts'
import { relationHandlers } from './relations.ts'
import { retentionJobs } from './retention.ts'
import { SchemaRegistry } from './schema.ts'
import { findSchema } from './schema-store.ts'
import { schemaHandlers } from './schemas.ts'
import { settingsHandlers } from './settings.ts'
import { StatusWaiters, statusHandlers, statusJobs } from './statuses.ts'
import { systemEventHandlers } from './system-events.ts'
import { readableGroups } from './visibility.ts'
import { classifyAssets, listReadableGateways } from './visibility-store.ts'
import { wholeWriteHandlers } from './whole-writes.ts'

/** About a fifth of a second's work: nobody waits long for what is held meanwhile. */
const endedAtOnce = 2_000

/** How long the applier of one tenant runs before the appliers of other tenants get their turn. */
const sliceMs = 1_000

/** What the handlers of this service share. */
export type Desk = {
  context: Context
  database: Context['database']
  acceptance: Acceptance
  schemas: SchemaRegistry
  waiters: StatusWaiters
  handover: Handover
  /** The access group of each tenant where things are that nobody put anywhere else. */
  defaultGroups: Map<string, string>
}

/** In one process there is one desk: who waits for a write is told by who applies it. */
const desks = new WeakMap<Context, Desk>()

function deskOf(context: Context): Desk {
  const known = desks.get(context)
  if (known !== undefined) return known
  const { database } = context
  const handover = new Handover()
  const desk = {
    context,
    database,
    handover,
    acceptance: new Acceptance({ database, handover }),
    schemas: new SchemaRegistry({ load: findSchema }),
    waiters: new StatusWaiters(context.stopping),
    defaultGroups: new Map<string, string>(),
  }
  desks.set(context, desk)
  return desk
}

export const inventoryService = service({
  contract: inventory,
  migrations: { module: 'inventory', folder: new URL('./migrations/', import.meta.url) },
  handlers(context): Handlers<typeof inventory> {
    const desk = deskOf(context)
    return {
      ...assetHandlers(desk),
      ...assetWriteHandlers(desk),
      ...statusHandlers(desk),
      ...relationHandlers(context),
      ...duplicateHandlers(context),
      ...identityConflictHandlers(context),
      ...wholeWriteHandlers(desk),
      ...mergeWriteHandlers(desk),
      ...systemEventHandlers(context),
      ...visibilityHandlers(context),
      ...graphHandlers(context),
      ...propertyHandlers(context),
      ...settingsHandlers(context),
      ...schemaHandlers(desk),
    }
  },
  jobs(context) {
    const { database, access, log, jobs } = context
    const { schemas, waiters, handover } = deskOf(context)
    return {
      'inventory.apply': {
        standing: { everyMs: 5_000, wakeOn: operationsTopic, pending: anyQueued },
        async run({ tenantId, signal }) {
          const { relationsMerged } = inventoryLimits
          const own = { schemas, waiters, handover, endedAtOnce, relationsMerged, sliceMs }
          await applyQueued({ database, access, log, jobs, ...own }, tenantId, signal)
        },
      },
      ...deletedAssetJobs(context),
      ...statusJobs({ database }),
      ...retentionJobs({ database }),
    }
  },
})

function visibilityHandlers({
  database,
}: Context): Pick<Handlers<typeof inventory>, 'listReadableGateways' | 'classifyAssets'> {
  return {
    async listReadableGateways(_request, caller) {
      return { data: await database.read(caller, (handle) => listReadableGateways(handle, readableGroups(caller))) }
    },

    async classifyAssets({ body: { data } }, caller) {
      return {
        data: await database.read(caller, (handle) => classifyAssets(handle, data.ids, readableGroups(caller))),
      }
    },
  }
}
