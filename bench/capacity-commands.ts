import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import type { Database } from '@millwright/cloud/platform/database/database.ts'
import { list } from '@millwright/cloud/platform/events/store.ts'
import { createTenant } from '@millwright/cloud/platform/tenants/tenants.ts'
import { findOffered } from '@millwright/cloud/services/workflows/lease-store.ts'
import { measureCalls, type Round } from './measurement.ts'
import type { DatabaseTarget } from './reference-process.ts'

type Owner = DatabaseTarget['owner']

/** `DatabaseVolume` contains the bytes of the database on disk, and the bytes of its write-ahead log since its creation. */
export type DatabaseVolume = { diskBytes: number; logBytes: number }

/** Creates tenants without users and returns their ids. */
export async function createTenants(owner: Owner, count: number): Promise<string[]> {
  const client = await openClient(owner)
  const ids: string[] = []
  try {
    for (let number = 1; number <= count; number++)
      ids.push((await createTenant(client, { name: `empty-${number}` })).id)
  } finally {
    await client.end()
  }
  return ids
}

export async function databaseVolume(owner: Owner): Promise<DatabaseVolume> {
  const client = await openClient(owner)
  try {
    const { rows } = await client.query<{ disk: string; log: string }>(
      `select pg_database_size(current_database()) as disk, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as log`,
    )
    return { diskBytes: Number(rows[0]?.disk), logBytes: Number(rows[0]?.log) }
  } finally {
    await client.end()
  }
}

/** Returns the memory of all live objects in bytes. The process must run with `--expose-gc`. */
export function liveBytes(): number {
  if (globalThis.gc === undefined) throw new TypeError('The process must run with --expose-gc')
  globalThis.gc()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** The number of gateways of a tenant whose jobs one poll looks for. */
const polledGateways = 10
const callers = 4

/** Repeats the statement with which a process looks for jobs of the waiting gateways of a tenant, over all tenants. */
export function pollForJobs(
  database: Database,
  { tenants, ms }: { tenants: readonly string[]; ms: number },
): Promise<Round> {
  const clientIds = Array.from({ length: polledGateways }, (_, number) => `gateway-${number}`)
  return overTenants(tenants, ms, (tenantId) => database.read({ tenantId }, (handle) => findOffered(handle, clientIds)))
}

/** Repeats the statement with which a process looks for new events of a tenant, over all tenants. */
export function pollForEvents(
  database: Database,
  { tenants, ms }: { tenants: readonly string[]; ms: number },
): Promise<Round> {
  return overTenants(tenants, ms, (tenantId) =>
    database.read({ tenantId }, (handle) => list(handle, { after: 0, limit: 100 })),
  )
}

function overTenants(
  tenants: readonly string[],
  ms: number,
  read: (tenantId: string) => Promise<unknown>,
): Promise<Round> {
  let sent = 0
  return measureCalls({ callers, ms, call: () => read(tenants[sent++ % tenants.length] ?? '') })
}
