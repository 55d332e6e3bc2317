import pg, { type ClientConfig, type QueryResult } from 'pg'
import type { Connection } from './pool.ts'

/** Where a server is and who connects; a URL or the parts of one. */
export type Address =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** The longest things may take before the database gives up on them. */
export const timeouts = { connectMs: 5_000, statementMs: 30_000, lockMs: 10_000, idleInTransactionMs: 60_000 } as const

const int8 = 20
const timestamptz = 1184

/** Times travel as RFC 3339 text and big integers as numbers: nothing of ours counts beyond 2^53. */
const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === int8) return Number
    if (oid === timestamptz) return rfc3339
    return pg.types.getTypeParser(oid, format)
  },
}

const toTheMillisecond = '2026-01-31 12:00:00.123+00'.length

/** Sessions run in UTC, so most texts need no arithmetic; milliseconds that end in 0 are printed shorter. */
function rfc3339(text: string): string {
  if (text.length === toTheMillisecond && text.endsWith('+00')) return `${text.slice(0, 10)}T${text.slice(11, -3)}Z`
  return new Date(`${text.slice(0, 10)}T${text.slice(11).replace('+00', 'Z')}`).toISOString()
}

export function clientConfig(address: Address): ClientConfig {
  return {
    ...('url' in address ? { connectionString: address.url } : address),
    application_name: 'millwright',
    connectionTimeoutMillis: timeouts.connectMs,
    keepAlive: true,
    types: types as NonNullable<ClientConfig['types']>,
  }
}

export async function openClient(
  address: Address,
  extra: ClientConfig & { pipeline?: boolean } = {},
): Promise<pg.Client> {
  const client = new pg.Client({ ...clientConfig(address), ...extra })
  // Without a listener an error of an idle connection would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/** A connection for the pool: pipelined, so that `begin` or a change of tenant costs no round trip of its own. */
export async function openConnection(address: Address, { settings }: { settings: boolean }): Promise<Connection> {
  const client = await openClient(address, { pipeline: true, query_timeout: timeouts.statementMs + timeouts.connectMs })
  const connection: Connection = { client, tenantId: undefined, users: 1, lease: 0, broken: false }
  client.on('error', () => {
    connection.broken = true
  })
  client.on('end', () => {
    connection.broken = true
  })
  // Behind a pooler the session is not ours to set; `set local` in the transaction does it there.
  if (settings) await client.query(sessionSettings('set'))
  return connection
}

type Sent = { name: string | undefined; text: string; values: unknown[] }

/** As `client.query(question)`, which copies the question property by property: that costs more than sending it. */
export async function send(client: pg.Client, { name, text, values }: Sent): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
  const query = new pg.Query(text, values, (error, result) => (error ? reject(error) : resolve(result)))
  client.query(Object.assign(query, { name }))
  try {
    return await promise
  } catch (error) {
    // The error was made where the socket is read; whoever reads its trace wants to know who asked.
    if (error instanceof Error) Error.captureStackTrace(error)
    throw error
  }
}

export function sessionSettings(verb: 'set' | 'set local'): string {
  return [
    `${verb} timezone = 'UTC'`,
    `${verb} statement_timeout = ${timeouts.statementMs}`,
    `${verb} lock_timeout = ${timeouts.lockMs}`,
    `${verb} idle_in_transaction_session_timeout = ${timeouts.idleInTransactionMs}`,
  ].join('; ')
}
