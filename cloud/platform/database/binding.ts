import type { Address } from './connection.ts'
import { openClient } from './connection.ts'

/**
 * How a tenant is bound to what the database sees: once per session (plain PostgreSQL: free), or in each transaction
 * (Citus passes only `set local` on to its workers; a transaction pooler gives every transaction another session).
 */
export type Binding = 'session' | 'transaction'

export type Server = { binding: Binding; pooled: boolean; citus: boolean; version: number }

/** Looks at the server and says what it is. A pooler shows itself by not passing startup options on. */
export async function inspectServer(address: Address, wanted: Binding | 'auto'): Promise<Server> {
  const pooled = await isPooled(address)
  const client = await openClient(address)
  try {
    const { rows } = await client.query<{ version: string; citus: boolean }>(
      `select current_setting('server_version_num') as version,
              exists (select from pg_extension where extname = 'citus') as citus`,
    )
    const version = Math.floor(Number(rows[0]?.version) / 10_000)
    const citus = rows[0]?.citus === true
    const binding = wanted === 'auto' ? (citus || pooled ? 'transaction' : 'session') : wanted
    return { binding, pooled, citus, version }
  } finally {
    await client.end()
  }
}

async function isPooled(address: Address): Promise<boolean> {
  const unsupportedStartupParameter = '08P01'
  try {
    const client = await openClient(address, { options: '-c app.probe=direct' })
    try {
      const { rows } = await client.query<{ probe: string | null }>(
        `select current_setting('app.probe', true) as probe`,
      )
      return rows[0]?.probe !== 'direct'
    } finally {
      await client.end()
    }
  } catch (error) {
    if ((error as { code?: string }).code === unsupportedStartupParameter) return true
    throw error
  }
}
