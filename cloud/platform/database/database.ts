import { backOffMs, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { Span } from '@millwright/api/tracing.ts'
import { createYield, priorities } from '../event-loop.ts'
import { currentWork } from '../work.ts'
import type { Server } from './binding.ts'
import type { Connection } from './connection.ts'
import { type Address, openConnection, send, sessionSettings, timeouts } from './connection.ts'
import { DatabaseHealth } from './health.ts'
import { isId } from './id.ts'
import { Pool } from './pool.ts'
import { nameOf, type Statement } from './statement.ts'
import {
  asProblem,
  isConnectionLost,
  isLostRace,
  isStatementTimeout,
  isTransient,
  lostWorkerProblem,
} from './transient.ts'
import { WorkerWatch } from './worker-watch.ts'

/**
 * `Scope` names the tenant whose rows are read or written, and the current transaction, if any. A `Caller` is also a
 * valid scope.
 */
export type Scope = { readonly tenantId: string; readonly transaction?: Transaction }

/** `Handle` runs statements of one tenant. It passes the tenant as `$1`, so `values` start at `$2`. */
export type Handle = {
  readonly tenantId: string
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  row<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row | undefined>
  /**
   * Runs a statement that returns no rows. Returns the number of affected rows. For an `insert … select` with `on conflict`,
   * a distributed database returns the number of selected rows, so a store that needs the number uses `returning`.
   */
  run(statement: Statement, ...values: unknown[]): Promise<number>
}

export type Transaction = Handle & {
  /** A handle for tables that all tenants share. It uses the same transaction, and passes no tenant. */
  readonly reference: ReferenceHandle
  /** Signals the topic to this process after the commit. A signal wakes background tasks and clears caches. */
  signal(topic: string): void
  /**
   * Runs the parts in order without waiting for each response. The next part is prepared while the server still runs
   * the statements of earlier parts.
   */
  pipeline(parts: Iterable<() => Promise<unknown>>): Promise<void>
}

export type ReferenceHandle = Omit<Handle, 'tenantId'>

export type CommitListener = (commit: { tenantId: string; topics: ReadonlySet<string> }) => void

/** `StatementListener` is called for every statement that is sent. Tests use it to check statements. */
export type StatementListener = (sent: {
  text: string
  values: readonly unknown[]
  tenantId: string | undefined
  /**
   * The sender of the statement. Statements with the same connection and lease belong to the same use of the
   * connection.
   */
  by: { readonly connection: object; readonly lease: number }
}) => void

/** `SlowStatement` is a statement that took longer than the threshold. It contains no values. */
export type SlowStatement = {
  name: string
  text: string
  ms: number
  /** The number of rows that the statement returned or changed. Undefined if it failed. */
  rows: number | undefined
  tenantId: string | undefined
  /** The span of the request or task that sent the statement. */
  span: Span | undefined
}

/** `SlowStatements` receives the statements that take at least `slowMs`. With 0, it receives none. */
export type SlowStatements = { slowMs: number; onSlow: (statement: SlowStatement) => void }

type Options = {
  address: Address
  server: Server
  /** The maximum number of connections. */
  connections: number
  waitMs?: number
  /** How long the client waits for the response to a statement before it treats the server as unreachable. */
  responseMs?: number
  onStatement?: StatementListener
}

const attempts = 4
/** The pauses before a transaction is repeated after a deadlock or a serialization failure. */
const repeat = { firstMs: 20, longestMs: 80 } as const
/** The maximum number of requests with an Idempotency-Key that wait for one tenant. */
const enclosingWaiting = 1_000
/** The fraction of the enclosing transactions (see `Database.enclosing`) that one tenant can hold. */
const enclosingShare = 0.75

/**
 * `Database` runs the statements of stores in the scope of one tenant. It binds the tenant to the connection, repeats a
 * transaction after a deadlock or a serialization failure, and turns outages of the server into problems.
 */
export class Database {
  readonly server: Server
  readonly #pool: Pool
  readonly #enclosing: Semaphore
  readonly #listeners: CommitListener[] = []
  readonly #health: DatabaseHealth
  readonly #watch: WorkerWatch | undefined
  /** The maximum number of connections. */
  readonly size: number
  /** The number of statements, and the sum of their durations. */
  readonly counts = { statements: 0, statementMs: 0 }
  #slow: SlowStatements = { slowMs: 0, onSlow: () => {} }
  #onStatement: StatementListener | undefined

  constructor({ address, server, connections, waitMs = timeouts.lockMs, responseMs, onStatement }: Options) {
    this.server = server
    this.size = connections
    this.#onStatement = onStatement
    const capacity = Math.max(1, Math.floor(connections / 2))
    this.#enclosing = new Semaphore({
      capacity,
      perKey: Math.ceil(capacity * enclosingShare),
      waitingPerKey: enclosingWaiting,
      refusal: `${enclosingWaiting} requests of this tenant with an Idempotency-Key are already waiting. Send fewer requests at the same time`,
    })
    this.#pool = new Pool({
      open: () =>
        openConnection(address, { settings: server.pooled ? [] : settingsOf(server, 'set'), responseMs }).catch(
          (error: unknown) => {
            this.#health.noteError(error)
            throw cannotConnect(error)
          },
        ),
      size: connections,
      waitMs,
      onWait: () => this.#watch?.check(),
    })
    if (server.citus)
      this.#watch = new WorkerWatch({
        address,
        tenants: () => this.#pool.tenants,
        refuse: (tenants) => this.#pool.refuse(tenants),
      })
    this.#health = new DatabaseHealth({
      ping: () => this.#check(ping),
      probeWrite: () => this.#check(writeProbe).catch(unlessNotAllowed),
    })
  }

  /**
   * Returns the state of the database server during an outage, such as `out of disk space`. Returns undefined if the
   * server works. The check takes at most `limitMs`.
   */
  outage(limitMs: number): Promise<string | undefined> {
    return this.#health.outage(limitMs)
  }

  get inUse(): number {
    return this.#pool.inUse
  }

  get waiting(): number {
    return this.#pool.waiting
  }

  onCommit(listener: CommitListener): void {
    this.#listeners.push(listener)
  }

  /** Sets the receiver of slow statements. */
  reportSlow(slow: SlowStatements): void {
    this.#slow = slow
  }

  /** Adds a listener. Returns a function that removes it. */
  observe(listener: StatementListener): () => void {
    const before = this.#onStatement
    this.#onStatement = (sent) => {
      before?.(sent)
      listener(sent)
    }
    return () => {
      this.#onStatement = before
    }
  }

  /**
   * Runs `work` in a transaction and passes the handle of this transaction to it. After a deadlock or a serialization
   * failure `work` runs again, so its only effects must be its statements. Write all other effects to the outbox.
   */
  async transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    if (scope.transaction !== undefined) return work(scope.transaction)
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(scope.tenantId, work)
      } catch (error) {
        if (attempt === attempts || !isLostRace(error)) throw this.#failure(error)
        // The pause is random. Otherwise two transactions that blocked each other would start at the same time again.
        await pause(backOffMs(attempt, repeat))
      }
    }
  }

  /**
   * Runs a transaction whose work calls other services, which need their own connections. Enclosing transactions use at
   * most half of the connections, so that they cannot block each other. Tenants take turns. Enclosing transactions
   * cannot be nested.
   */
  enclosing<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#enclosing.run(scope.tenantId, () => this.transaction(scope, work))
  }

  /**
   * Reads data of one tenant. If the tenant is set per database session, the read needs no transaction, and each
   * statement needs only one round trip. If the tenant is set per transaction, the read runs in a transaction.
   */
  read<Result>(scope: Scope, work: (handle: Handle) => Promise<Result>): Promise<Result> {
    return this.#read(scope, work, { lookup: false })
  }

  /**
   * Reads one row by its key. The lookups of one turn of the event loop share a connection and one write to the socket,
   * which costs client and server less. A slow statement would delay the other lookups, so it must use `read`.
   */
  lookup<Result>(scope: Scope, work: (handle: Handle) => Promise<Result>): Promise<Result> {
    return this.#read(scope, work, { lookup: true })
  }

  /** Reads tables that all tenants share, before the tenant is known. */
  async reference<Result>(work: (handle: ReferenceHandle) => Promise<Result>): Promise<Result> {
    const connection = await this.#acquire(undefined)
    try {
      const result = await work(this.#referenceHandle(connection))
      this.#health.noteResponse()
      return result
    } catch (error) {
      throw this.#failure(error, connection)
    } finally {
      this.#pool.release(connection)
    }
  }

  async close(): Promise<void> {
    this.#watch?.close()
    await this.#pool.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #read<Result>(
    scope: Scope,
    work: (handle: Handle) => Promise<Result>,
    options: { lookup: boolean },
  ): Promise<Result> {
    if (scope.transaction !== undefined) return work(scope.transaction)
    if (this.server.binding === 'transaction') return this.transaction(scope, work)
    const connection = await this.#acquire(scope.tenantId, options)
    try {
      this.#bind(connection, scope.tenantId)
      const result = await work(this.#handle(connection, scope.tenantId))
      this.#health.noteResponse()
      return result
    } catch (error) {
      throw this.#failure(error, connection)
    } finally {
      this.#pool.release(connection)
    }
  }

  async #attempt<Result>(tenantId: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const connection = await this.#acquire(tenantId)
    const topics = new Set<string>()
    connection.firstError = undefined
    try {
      this.#begin(connection, tenantId)
      const result = await work({
        ...this.#handle(connection, tenantId),
        reference: this.#referenceHandle(connection),
        signal: (topic) => topics.add(topic),
        pipeline: (parts) => pipeline(connection, tenantId, parts),
      })
      if (connection.broken)
        throw new Problem('unavailable', 'The database did not start the transaction. Retry the request', {
          retryAfter: 1,
        })
      const { command } = await connection.client.query('commit')
      if (command !== 'COMMIT')
        throw new Problem('internal', 'The operation ignored a failed statement, so its transaction was rolled back')
      this.#health.noteResponse()
      if (topics.size > 0) for (const listener of this.#listeners) listener({ tenantId, topics })
      return result
    } catch (error) {
      await connection.client.query('rollback').catch(() => {
        connection.broken = true
      })
      throw connection.lostWorker ? lostWorkerProblem() : causeOf(error, connection.firstError)
    } finally {
      this.#pool.release(connection)
    }
  }

  /**
   * Turns an error into the error that callers receive. A connection that did not respond is not used again, because
   * the response may still arrive.
   */
  #failure(error: unknown, connection?: Connection): unknown {
    if (connection?.lostWorker) return lostWorkerProblem()
    this.#health.noteError(error)
    // Background work waits for a worker that does not respond, even if the pool has free connections.
    if (isStatementTimeout(error)) this.#watch?.check()
    if (connection !== undefined && isConnectionLost(error)) connection.broken = true
    if (isTenantDeleted(error)) return new Problem('not_found', 'The tenant no longer exists', { cause: error })
    return asProblem(error)
  }

  /** Runs one command outside any transaction. */
  async #check(text: string): Promise<void> {
    const connection = await this.#acquire(undefined)
    try {
      await connection.client.query(text)
    } catch (error) {
      throw this.#failure(error, connection)
    } finally {
      this.#pool.release(connection)
    }
  }

  #begin(connection: Connection, tenantId: string): void {
    if (this.server.binding === 'session') {
      this.#bind(connection, tenantId)
      unawaited(connection, 'begin')
      return
    }
    // Each command is a separate message of the same write. Citus forwards a message with `set local` to its workers, so
    // the message must contain no other command.
    const setTenant = `set local app.tenant = '${checked(tenantId)}'`
    unawaited(connection, 'begin')
    if (this.server.pooled) for (const command of settingsOf(this.server, 'set local')) unawaited(connection, command)
    unawaited(connection, setTenant)
  }

  /**
   * Sends the tenant before the statement that needs it, without waiting for a response. The tenant is set outside
   * transactions, because a rollback would undo the setting.
   */
  #bind(connection: Connection, tenantId: string): void {
    if (connection.tenantId === tenantId) return
    unawaited(connection, `set app.tenant = '${checked(tenantId)}'`)
    connection.tenantId = tenantId
  }

  #handle(connection: Connection, tenantId: string): Handle {
    const { lease } = connection
    const query = (statement: Statement, values: unknown[]) =>
      this.#query(connection, statement, { lease, values: [tenantId, ...values] })
    return {
      tenantId,
      rows: async (statement, ...values) => (await query(statement, values)).rows,
      row: async (statement, ...values) => (await query(statement, values)).rows[0],
      run: async (statement, ...values) => (await query(statement, values)).rowCount,
    } as Handle
  }

  #referenceHandle(connection: Connection): ReferenceHandle {
    const { lease } = connection
    const query = (statement: Statement, values: unknown[]) => this.#query(connection, statement, { lease, values })
    return {
      rows: async (statement, ...values) => (await query(statement, values)).rows,
      row: async (statement, ...values) => (await query(statement, values)).rows[0],
      run: async (statement, ...values) => (await query(statement, values)).rowCount,
    } as ReferenceHandle
  }

  #query(connection: Connection, { name, text }: Statement, { lease, values }: { lease: number; values: unknown[] }) {
    // If work continues after its connection was returned, it must not use the connection, because other work may use
    // it now.
    if (connection.lease !== lease) throw new Error('The database handle was used after the end of its transaction')
    this.#onStatement?.({ text, values, tenantId: connection.tenantId, by: { connection, lease } })
    corkForTick(connection)
    const sent = { name: this.server.pooled || name === '' ? undefined : name, text, values }
    const onError = (error: unknown) => {
      connection.firstError ??= error
    }
    const onResponse = this.#measure({ name, text }, connection)
    const result = send(connection.client, sent, { onError, onResponse })
    flushLargeBuffer(connection)
    return result
  }

  /** Returns the function that counts a statement when its response arrives. */
  #measure({ name, text }: Statement, { holder }: Connection): (rows: number | undefined) => void {
    const work = currentWork()
    const since = performance.now()
    return (rows) => {
      const ms = performance.now() - since
      this.counts.statements += 1
      this.counts.statementMs += ms
      if (work !== undefined) {
        work.statements += 1
        work.databaseMs += ms
      }
      const { slowMs, onSlow } = this.#slow
      if (slowMs > 0 && ms >= slowMs)
        onSlow({ name: name === '' ? nameOf(text) : name, text, ms, rows, tenantId: holder, span: work?.span })
    }
  }

  /** Returns a connection. An idle connection is returned directly, because a promise would cost time. */
  #acquire(tenantId: string | undefined, options?: { lookup: boolean }): Connection | Promise<Connection> {
    const acquired = this.#pool.acquire(tenantId, options)
    return acquired instanceof Promise ? measureWait(acquired) : acquired
  }
}

/** Returns a connection of the pool, and adds the time of waiting to the current work. */
async function measureWait(connection: Promise<Connection>): Promise<Connection> {
  const work = currentWork()
  const since = performance.now()
  try {
    return await connection
  } finally {
    if (work !== undefined) work.connectionWaitMs += performance.now() - since
  }
}

/**
 * Sends all statements of one tick in one write to the socket. A write is the most expensive part of sending a
 * statement, and each write wakes the server.
 */
function corkForTick({ client }: Connection): void {
  const { stream } = client.connection
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

const flushBytes = 32_768

/** Sends a large buffer at once, so that the server can start while the next statements are prepared. */
function flushLargeBuffer(connection: Connection): void {
  if (bufferedBytes(connection) > flushBytes) connection.client.connection.stream.uncork()
}

async function pipeline(
  connection: Connection,
  tenantId: string,
  parts: Iterable<() => Promise<unknown>>,
): Promise<void> {
  const sent: Promise<unknown>[] = []
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  const yieldTurn = createYield(tenantId, { priority: priorities.statement })
  for (const part of parts) {
    await yieldTurn()
    const answer = part()
    answer.catch(failure.reject)
    sent.push(answer)
    if (connection.client.connection.stream.writableNeedDrain)
      await Promise.race([drained(connection), failure.promise])
  }
  await Promise.all(sent)
}

function bufferedBytes({ client }: Connection): number {
  return client.connection.stream.writableLength
}

/** Waits until the socket has sent its buffer. The server reads more data when it has finished earlier statements. */
async function drained({ client }: Connection): Promise<void> {
  const { stream } = client.connection
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.on('drain', resolve).on('close', resolve)
  await promise
  stream.off('drain', resolve).off('close', resolve)
}

/** Returns the commands that prepare a session or, with a pooler, a transaction. */
function settingsOf({ citus }: Server, verb: 'set' | 'set local'): string[] {
  // Without this setting, Citus does not forward `set local`, so that the workers would not know the tenant.
  const forwarding = `${verb} citus.propagate_set_commands = 'local'`
  const connecting = `${verb} citus.node_connection_timeout = ${timeouts.workerConnectMs}`
  return [...sessionSettings(verb), ...(citus ? [forwarding, connecting] : [])]
}

/** Sends a statement without waiting for its response. If the statement fails, the next statement fails too. */
function unawaited(connection: Connection, text: string): void {
  corkForTick(connection)
  connection.client.query(text).catch(() => {
    connection.broken = true
  })
}

function checked(tenantId: string): string {
  if (!isId(tenantId)) throw new TypeError('A tenant id is a lower-case UUID')
  return tenantId
}

const failedTransaction = '25P02'

/**
 * Returns the cause of a failed transaction. PostgreSQL refuses every statement after the first failed one, so `error`
 * may only be a consequence of `firstError`. A transient first error is the cause even if the work ignored it.
 */
function causeOf(error: unknown, firstError: unknown): unknown {
  return codeOf(error) === failedTransaction || isTransient(firstError) ? (firstError ?? error) : error
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code
}

/** The message for the foreign key to the tenant, which every table of tenants has. A shard has its number in the name. */
const tenantKey = /violates foreign key constraint "\w+_tenant_id_fkey(?:_\d+)?"/

/** Returns true if a row was inserted for a tenant that was deleted at the same time. */
function isTenantDeleted(error: unknown): boolean {
  return codeOf(error) === '23503' && tenantKey.test((error as Error).message)
}

/**
 * Returns the name of the violated unique or foreign key, or undefined for any other error. The foreign key to the tenant
 * does not count: no store can handle a deleted tenant.
 */
export function violatedConstraint(error: unknown): string | undefined {
  if (isTenantDeleted(error)) return undefined
  const { code, constraint, message } = error as { code?: string; constraint?: string; message?: string }
  if (code !== '23505' && code !== '23503' && code !== '23001') return undefined
  return constraint ?? constraintOfShard(message ?? '')
}

/**
 * Returns the name of a constraint from the message of a shard, such as `… violates unique constraint "name_102008"`.
 * Citus returns the error of a worker without the name in a separate field, and appends the number of the shard to it.
 */
function constraintOfShard(message: string): string | undefined {
  return /\bconstraint "([^"]+)"/.exec(message)?.[1]?.replace(/_\d+$/, '')
}

const ping = 'select 1'

/** A statement that writes 256 KiB to the disk of the database and then removes the data. */
const writeProbe = `create temporary table millwright_write_probe on commit drop as
  select md5(random()::text) as filler from generate_series(1, 4096)`

/**
 * Ignores the error if the application has no right to create temporary tables. Then a database that responds counts as
 * working.
 */
function unlessNotAllowed(error: unknown): void {
  if (codeOf(error) !== '42501') throw error
}

/**
 * Returns the problem for an error while opening a connection. Any such error means that the database cannot be used.
 */
function cannotConnect(error: unknown): Problem {
  const problem = asProblem(error)
  if (problem instanceof Problem) return problem
  return new Problem('unavailable', 'The database is not reachable. Retry later', { retryAfter: 2, cause: error })
}
