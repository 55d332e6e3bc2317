import pg, { type Client, type ClientConfig } from 'pg'
import { parserOf } from './parsing.ts'
import { PreparedQuery, type QueryResult } from './prepared-query.ts'

/** A connection of the pool. */
export type Connection = {
  client: Client
  /** The tenant this session is bound to, where tenants are bound per session. */
  tenantId: string | undefined
  /** The tenant that the connection is lent to: it counts towards the tenant's share. */
  holder: string | undefined
  /** How many use it at once: one, or a few that only lookup. */
  users: number
  /** Moves with every use, so that a handle of an earlier use is recognised. */
  lease: number
  /** Set when its state is unknown (a failed rollback, a lost socket): it is closed instead of reused. */
  broken: boolean
  /** The first error of its transaction: PostgreSQL answers every later statement with a consequence of it. */
  firstError: unknown
}

/** Where a server is and who connects; a URL or the parts of one. */
export type Address =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** The longest things may take before the database gives up on them. */
export const timeouts = {
  connectMs: 10_000,
  /** For starts and commands, which have no caller that waits for an answer. */
  commandConnectMs: 30_000,
  statementMs: 30_000,
  answerMs: 35_000,
  lockMs: 10_000,
  idleInTransactionMs: 60_000,
} as const

export function clientConfig(address: Address): ClientConfig {
  return {
    ...('url' in address ? { connectionString: address.url } : address),
    application_name: 'millwright',
    connectionTimeoutMillis: timeouts.connectMs,
    keepAlive: true,
    types: { getTypeParser: parserOf } as NonNullable<ClientConfig['types']>,
  }
}

/** A connection outside the pool. */
export async function openClient(
  address: Address,
  extra: ClientConfig & { pipeline?: boolean } = {},
): Promise<pg.Client> {
  const client = new pg.Client({
    ...clientConfig(address),
    connectionTimeoutMillis: timeouts.commandConnectMs,
    ...extra,
  })
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
export async function openConnection(
  address: Address,
  { settings, answerMs = timeouts.answerMs }: { settings: boolean; answerMs?: number | undefined },
): Promise<Connection> {
  const client = await openClient(address, {
    pipeline: true,
    query_timeout: answerMs,
    connectionTimeoutMillis: timeouts.connectMs,
  })
  const connection: Connection = {
    client,
    tenantId: undefined,
    holder: undefined,
    users: 1,
    lease: 0,
    broken: false,
    firstError: undefined,
  }
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

/** As `client.query(question)`, for less: most of what the driver does to ask is not needed to be answered. */
export async function send(client: pg.Client, sent: Sent, onError?: (error: unknown) => void): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
  client.query(new PreparedQuery(sent, (error, result) => (result === undefined ? reject(error) : resolve(result))))
  try {
    return await promise
  } catch (error) {
    // The error was made where the socket is read; whoever reads its trace wants to know who asked.
    if (error instanceof Error) Error.captureStackTrace(error)
    onError?.(error)
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
