import pg, { type Client, type ClientConfig } from 'pg'
import { parserOf } from './parsing.ts'
import { PreparedQuery, type QueryResult } from './prepared-query.ts'

/** A connection of the pool. */
export type Connection = {
  client: Client
  /** The tenant that this session is bound to. Only set if tenants are bound per session. */
  tenantId: string | undefined
  /** The tenant that uses the connection. The connection counts towards the share of this tenant. */
  holder: string | undefined
  /** The number of callers that use the connection at the moment. Only lookups share a connection. */
  users: number
  /**
   * The number of the current use. It increases when the connection is returned, so that a handle of an earlier use is
   * detected.
   */
  lease: number
  /**
   * True if the state of the connection is unknown, for example after a failed rollback or a lost socket. Such a
   * connection is closed and not reused.
   */
  broken: boolean
  /** True if the pool closed the connection because the worker of its tenant does not respond. */
  lostWorker: boolean
  /** The first error of the transaction. PostgreSQL refuses every later statement because of this error. */
  firstError: unknown
}

/** The address and the user of a server, as a URL or in parts. */
export type Address =
  | { url: string }
  | { host: string; port: number; user: string; database: string; password?: string }

/** Time limits for the database. */
export const timeouts = {
  connectMs: 10_000,
  /** How long the coordinator of a cluster waits for a connection to a worker. */
  workerConnectMs: 5_000,
  /** The connection timeout for starts and commands, where no caller waits for a response. */
  commandConnectMs: 30_000,
  statementMs: 30_000,
  responseMs: 35_000,
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

/** Opens a connection outside the pool. */
export async function openClient(
  address: Address,
  extra: ClientConfig & { pipeline?: boolean } = {},
): Promise<pg.Client> {
  const client = new pg.Client({
    ...clientConfig(address),
    connectionTimeoutMillis: timeouts.commandConnectMs,
    ...extra,
  })
  // Without a listener, an error of an idle connection would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    client.end().catch(() => {})
    throw error
  }
}

/**
 * Opens a connection for the pool. The connection is pipelined, so that `begin` or a change of the tenant needs no
 * extra round trip.
 */
export async function openConnection(
  address: Address,
  { settings, responseMs = timeouts.responseMs }: { settings: string[]; responseMs?: number | undefined },
): Promise<Connection> {
  const client = await openClient(address, {
    pipeline: true,
    query_timeout: responseMs,
    connectionTimeoutMillis: timeouts.connectMs,
  })
  const connection: Connection = {
    client,
    tenantId: undefined,
    holder: undefined,
    users: 1,
    lease: 0,
    broken: false,
    lostWorker: false,
    firstError: undefined,
  }
  client.on('error', () => {
    connection.broken = true
  })
  client.on('end', () => {
    connection.broken = true
  })
  // A pooler shares its sessions between clients. With a pooler, each transaction sets these settings with `set local`.
  await Promise.all(settings.map((command) => client.query(command)))
  return connection
}

type QueryInput = { name: string | undefined; text: string; values: unknown[] }

type SendOptions = {
  onError?: (error: unknown) => void
  /** Called when the response has arrived, with the number of its rows. The number is undefined after an error. */
  onResponse?: (rows: number | undefined) => void
}

/** Runs a query like `client.query`, but skips steps of the driver that do not affect the result. */
export async function send(
  client: pg.Client,
  query: QueryInput,
  { onError, onResponse }: SendOptions = {},
): Promise<QueryResult> {
  const { promise, resolve, reject } = Promise.withResolvers<QueryResult>()
  client.query(
    new PreparedQuery(query, (error, result) => {
      onResponse?.(result?.rowCount)
      if (result === undefined) reject(error)
      else resolve(result)
    }),
  )
  try {
    return await promise
  } catch (error) {
    // The error was created in the reader of the socket. The new stack trace shows the code that sent the statement.
    if (error instanceof Error) Error.captureStackTrace(error)
    onError?.(error)
    throw error
  }
}

export function sessionSettings(verb: 'set' | 'set local'): string[] {
  return [
    `${verb} timezone = 'UTC'`,
    `${verb} statement_timeout = ${timeouts.statementMs}`,
    `${verb} lock_timeout = ${timeouts.lockMs}`,
    `${verb} idle_in_transaction_session_timeout = ${timeouts.idleInTransactionMs}`,
  ]
}
