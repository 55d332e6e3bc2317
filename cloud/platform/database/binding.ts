import type { Address } from './connection.ts'
import { openClient } from './connection.ts'

/**
 * `Binding` defines when a tenant is bound to a connection. `session` sets the tenant once per session and is for plain
 * PostgreSQL. `transaction` sets the tenant in each transaction. Citus needs `transaction`, because it forwards only
 * `set local` to its workers. A transaction pooler needs it too, because each transaction can use another session.
 */
export type Binding = 'session' | 'transaction'

export type Server = { binding: Binding; pooled: boolean; citus: boolean; version: number }

/** Reads the version and the kind of the server. A pooler is recognized because it does not forward startup options. */
export async function inspectServer(address: Address, requested: Binding | 'auto'): Promise<Server> {
  const pooled = await isPooled(address)
  const client = await openClient(address)
  try {
    const { rows } = await client.query<{ version: string; citus: boolean }>(
      `select current_setting('server_version_num') as version,
              exists (select from pg_extension where extname = 'citus') as citus`,
    )
    const version = Math.floor(Number(rows[0]?.version) / 10_000)
    const citus = rows[0]?.citus === true
    const binding = requested === 'auto' ? (citus || pooled ? 'transaction' : 'session') : requested
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
