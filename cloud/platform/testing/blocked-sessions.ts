import { openClient } from '../database/connection.ts'
import type { TestDatabase } from './server.ts'

type Client = Awaited<ReturnType<typeof openClient>>

/**
 * Returns the process ids of the sessions that wait for a lock of the session of `client`. On a cluster, a session can
 * wait on a worker, so the coordinator asks all servers. The last ten digits of a global process id are the process id.
 */
export async function sessionsBlockedBy(client: Client, { server }: TestDatabase): Promise<number[]> {
  const text = server.citus
    ? `select distinct (waiting_gpid % 10000000000)::int as pid from citus_lock_waits
       where blocking_gpid = citus_backend_gpid()`
    : 'select pid from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))'
  return (await client.query<{ pid: number }>(text)).rows.map(({ pid }) => pid)
}

/** Ends sessions of the application, or cancels their statements. The owner of a cluster may not do this. */
export async function endSessions(
  { app }: TestDatabase,
  pids: readonly (number | undefined)[],
  { by = 'pg_terminate_backend' }: { by?: 'pg_terminate_backend' | 'pg_cancel_backend' } = {},
): Promise<void> {
  if (pids.length === 0) return
  const client = await openClient(app)
  try {
    await client.query(`select ${by}(pid) from unnest($1::int[]) as pid`, [pids])
  } finally {
    await client.end()
  }
}
