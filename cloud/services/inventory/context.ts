import { LruMap } from 'toad-cache'
import { PayloadCache } from '../../platform/payload-cache.ts'
import type { Context } from '../../platform/service.ts'
import { SchemaRegistry } from './schemas/schema.ts'
import { findSchema } from './schemas/schema-store.ts'
import { WriteAcceptor } from './writes/accept.ts'
import { StatusWaiters } from './writes/status.ts'

/** The maximum number of tenants whose default access group is cached. */
const maxTenants = 10_000

/**
 * The limit of all cached payloads together, in characters of JSON text. As objects, the payloads need several times as
 * much memory.
 */
const payloadCharacters = 4 * 1024 * 1024

/** The state that the handlers and the background tasks of this service share. */
export type InventoryContext = {
  context: Context
  database: Context['database']
  acceptor: WriteAcceptor
  schemas: SchemaRegistry
  waiters: StatusWaiters
  payloads: PayloadCache<unknown>
  /** The id of the default access group of each tenant. */
  defaultGroups: LruMap<string>
}

/**
 * The inventory context for each platform context. The handlers and the applier of a process use the same inventory
 * context, so they share the waiting requests and the cached payloads.
 */
const contexts = new WeakMap<Context, InventoryContext>()

export function inventoryContext(context: Context): InventoryContext {
  const existing = contexts.get(context)
  if (existing !== undefined) return existing
  const { database } = context
  const payloads = new PayloadCache<unknown>({ capacity: payloadCharacters })
  const created = {
    context,
    database,
    payloads,
    acceptor: new WriteAcceptor({ database, payloads }),
    schemas: new SchemaRegistry({ load: findSchema }),
    waiters: new StatusWaiters(context.stopping),
    defaultGroups: new LruMap<string>(maxTenants),
  }
  contexts.set(context, created)
  return created
}
