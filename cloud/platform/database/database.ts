import { backOffMs, pause } from '@millwright/api/back-off.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { createYield } from '../event-loop.ts'
import type { Server } from './binding.ts'
import type { Connection } from './connection.ts'
import { type Address, openConnection, send, sessionSettings, timeouts } from './connection.ts'
import { DatabaseHealth } from './health.ts'
import { Pool } from './pool.ts'
import type { Statement } from './statement.ts'
import { asProblem, isConnectionLost, isLostRace, isTransient } from './transient.ts'

/** Whose rows: every caller is one. */
export type Scope = { readonly tenantId: string; readonly transaction?: Transaction }

/** Runs statements. `$1` is filled in with the tenant; `values` start at `$2`. */
export type Handle = {
  readonly tenantId: string
  rows<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row[]>
  row<Row>(statement: Statement<Row>, ...values: unknown[]): Promise<Row | undefined>
  /** For statements that yield nothing: how many rows they touched. */
  run(statement: Statement, ...values: unknown[]): Promise<number>
}

export type Transaction = Handle & {
  /** The same transaction, for tables that all tenants share: nothing is filled in. */
  readonly reference: ReferenceHandle
  /** Told to the process after the commit, and only then: wakes background work, drops caches. */
  signal(topic: string): void
  /**
   * One after the other, each asked while the server still works on what was asked before: much takes long to put
   * together, and neither should wait for the other.
   */
  pipeline(parts: Iterable<() => Promise<unknown>>): Promise<void>
}

export type ReferenceHandle = Omit<Handle, 'tenantId'>

export type CommitListener = (commit: { tenantId: string; topics: ReadonlySet<string> }) => void

/** Sees every statement as it is sent: query counts, traces, and the checks of the test kit. */
export type StatementListener = (sent: {
  text: string
  values: readonly unknown[]
  tenantId: string | undefined
  /** Who sent it: what was sent on one connection under one lease belongs together. */
  by: { readonly connection: object; readonly lease: number }
}) => void

type Options = {
  address: Address
  server: Server
  connections: number
  waitMs?: number
  /** How long a statement may take until the server is taken for one that is away. */
  answerMs?: number
  onStatement?: StatementListener
}

const attempts = 4
/** Between the attempts of a transaction that lost a race. */
const repeat = { firstMs: 20, longestMs: 80 } as const
/** Requests of one tenant with an Idempotency-Key that wait for a connection. */
const enclosingWaiting = 1_000
/** The part of the enclosing transactions that one tenant may hold. */
const enclosingShare = 0.75
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

export class Database {
  readonly server: Server
  readonly #pool: Pool
  readonly #enclosing: Semaphore
  readonly #listeners: CommitListener[] = []
  readonly #health: DatabaseHealth
  #onStatement: StatementListener | undefined

  constructor({ address, server, connections, waitMs = timeouts.lockMs, answerMs, onStatement }: Options) {
    this.server = server
    this.#onStatement = onStatement
    const capacity = Math.max(1, Math.floor(connections / 2))
    this.#enclosing = new Semaphore({
      capacity,
      perKey: Math.ceil(capacity * enclosingShare),
      waitingPerKey: enclosingWaiting,
      refusal: `${enclosingWaiting} requests of this tenant with an Idempotency-Key wait. Send fewer at once`,
    })
    this.#pool = new Pool({
      open: () =>
        openConnection(address, { settings: !server.pooled, answerMs }).catch((error: unknown) => {
          this.#health.noteError(error)
          throw cannotConnect(error)
        }),
      size: connections,
      waitMs,
    })
    this.#health = new DatabaseHealth({
      ping: () => this.#check(ping),
      probeWrite: () => this.#check(writeProbe).catch(unlessNotAllowed),
    })
  }

  /** The state of the database server while it does not work, such as `out of disk space`. Answers within the limit. */
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

  /** Adds a listener and answers how to take it away again. */
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
   * All or nothing, and the only handle to the database while it runs. Deadlocks and lost races are tried again, so
   * `work` has no effects besides its statements; those leave through the outbox.
   */
  async transaction<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    if (scope.transaction !== undefined) return work(scope.transaction)
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(scope.tenantId, work)
      } catch (error) {
        if (attempt === attempts || !isLostRace(error)) throw this.#failure(error)
        // Two that lost to each other must not meet again at the same moment.
        await pause(backOffMs(attempt, repeat))
      }
    }
  }

  /**
   * A transaction in which peers may be called that need connections of their own. At most half of the connections are
   * for enclosing transactions, so that they cannot block each other. Tenants take turns. Enclosing transactions are not
   * nested.
   */
  enclosing<Result>(scope: Scope, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    return this.#enclosing.run(scope.tenantId, () => this.transaction(scope, work))
  }

  /** Reads without a transaction where the server allows it: one statement, one round trip. */
  read<Result>(scope: Scope, work: (handle: Handle) => Promise<Result>): Promise<Result> {
    return this.#read(scope, work, { lookup: false })
  }

  /**
   * One quick look-up by key. Those of one turn of the event loop go out together on one connection, which costs less on
   * both ends; so nothing slow may be among them.
   */
  lookup<Result>(scope: Scope, work: (handle: Handle) => Promise<Result>): Promise<Result> {
    return this.#read(scope, work, { lookup: true })
  }

  /** For the tables that all tenants share, looked at before the tenant is known. */
  async reference<Result>(work: (handle: ReferenceHandle) => Promise<Result>): Promise<Result> {
    const connection = await this.#pool.acquire(undefined)
    try {
      const result = await work(this.#referenceHandle(connection))
      this.#health.noteAnswer()
      return result
    } catch (error) {
      throw this.#failure(error, connection)
    } finally {
      this.#pool.release(connection)
    }
  }

  async close(): Promise<void> {
    await this.#pool.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #read<Result>(
    scope: Scope,
    work: (handle: Handle) => Promise<Result>,
    how: { lookup: boolean },
  ): Promise<Result> {
    if (scope.transaction !== undefined) return work(scope.transaction)
    if (this.server.binding === 'transaction') return this.transaction(scope, work)
    const connection = await this.#pool.acquire(scope.tenantId, how)
    try {
      this.#bind(connection, scope.tenantId)
      const result = await work(this.#handle(connection, scope.tenantId))
      this.#health.noteAnswer()
      return result
    } catch (error) {
      throw this.#failure(error, connection)
    } finally {
      this.#pool.release(connection)
    }
  }

  async #attempt<Result>(tenantId: string, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
    const connection = await this.#pool.acquire(tenantId)
    const topics = new Set<string>()
    connection.firstError = undefined
    try {
      this.#begin(connection, tenantId)
      const result = await work({
        ...this.#handle(connection, tenantId),
        reference: this.#referenceHandle(connection),
        signal: (topic) => topics.add(topic),
        pipeline: (parts) => pipeline(connection, parts),
      })
      if (connection.broken) throw new Problem('unavailable', 'The transaction could not be begun', { retryAfter: 1 })
      const { command } = await connection.client.query('commit')
      if (command !== 'COMMIT')
        throw new Problem('internal', 'A transaction went on after one of its statements failed')
      this.#health.noteAnswer()
      if (topics.size > 0) for (const listener of this.#listeners) listener({ tenantId, topics })
      return result
    } catch (error) {
      await connection.client.query('rollback').catch(() => {
        connection.broken = true
      })
      throw causeOf(error, connection.firstError)
    } finally {
      this.#pool.release(connection)
    }
  }

  /** An error as callers get it. A connection that does not answer is not used again: its answer may still come. */
  #failure(error: unknown, connection?: Connection): unknown {
    this.#health.noteError(error)
    if (connection !== undefined && isConnectionLost(error)) connection.broken = true
    return asProblem(error)
  }

  /** Runs one command outside of any transaction. */
  async #check(text: string): Promise<void> {
    const connection = await this.#pool.acquire(undefined)
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
    const local = [
      'begin',
      ...(this.server.citus ? [`set local citus.propagate_set_commands = 'local'`] : []),
      `set local app.tenant = '${checked(tenantId)}'`,
      ...(this.server.pooled ? [sessionSettings('set local')] : []),
    ]
    unawaited(connection, local.join('; '))
  }

  /** Sent ahead of the statement that needs it, on the same wire; bound outside transactions, which could undo it. */
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
    // A branch that outlives its work must not write into the work of whoever has the connection now.
    if (connection.lease !== lease) throw new Error('The handle was used after its work was over')
    this.#onStatement?.({ text, values, tenantId: connection.tenantId, by: { connection, lease } })
    corkForTick(connection)
    const sent = { name: this.server.pooled || name === '' ? undefined : name, text, values }
    const found = send(connection.client, sent, (error) => {
      connection.firstError ??= error
    })
    flushLargeBuffer(connection)
    return found
  }
}

/**
 * What is sent in one turn of the event loop leaves in one write: a write costs more than all else that is done to ask,
 * and wakes the server each time.
 */
function corkForTick({ client }: Connection): void {
  const { stream } = client.connection
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

const flushBytes = 32_768

/** The server had better work on what is much while the rest is put together. */
function flushLargeBuffer(connection: Connection): void {
  if (bufferedBytes(connection) > flushBytes) connection.client.connection.stream.uncork()
}

async function pipeline(connection: Connection, parts: Iterable<() => Promise<unknown>>): Promise<void> {
  const asked: Promise<unknown>[] = []
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  const yieldTurn = createYield()
  for (const part of parts) {
    await yieldTurn()
    const answer = part()
    answer.catch(failure.reject)
    asked.push(answer)
    if (connection.client.connection.stream.writableNeedDrain)
      await Promise.race([drained(connection), failure.promise])
  }
  await Promise.all(asked)
}

function bufferedBytes({ client }: Connection): number {
  return client.connection.stream.writableLength
}

/** Waits until the socket has sent its buffer: the server reads more when it is done with the statements before. */
async function drained({ client }: Connection): Promise<void> {
  const { stream } = client.connection
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.on('drain', resolve).on('close', resolve)
  await promise
  stream.off('drain', resolve).off('close', resolve)
}

/** A statement whose failure shows in the one that follows it. */
function unawaited(connection: Connection, text: string): void {
  corkForTick(connection)
  connection.client.query(text).catch(() => {
    connection.broken = true
  })
}

function checked(tenantId: string): string {
  if (!uuid.test(tenantId)) throw new TypeError('A tenant id is a lower-case UUID')
  return tenantId
}

const failedTransaction = '25P02'

/**
 * Why a transaction failed. PostgreSQL refuses every statement after the first that failed, so an error may only be a
 * consequence of it; and work that ignored a transient error is not at fault either.
 */
function causeOf(error: unknown, firstError: unknown): unknown {
  return codeOf(error) === failedTransaction || isTransient(firstError) ? (firstError ?? error) : error
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code
}

/** The name of the unique or foreign key that a statement ran into, if that is what happened. */
export function violatedConstraint(error: unknown): string | undefined {
  const { code, constraint } = error as { code?: string; constraint?: string }
  return code === '23505' || code === '23503' || code === '23001' ? constraint : undefined
}

const ping = 'select 1'

/** Needs 256 KiB on the disk of the database and leaves nothing behind. */
const writeProbe = `create temporary table millwright_write_probe on commit drop as
  select md5(random()::text) as filler from generate_series(1, 4096)`

/** Where the application may not create temporary tables, a database that answers counts as one that works. */
function unlessNotAllowed(error: unknown): void {
  if (codeOf(error) !== '42501') throw error
}

/** Whatever keeps a connection from being opened: the database cannot be used without one. */
function cannotConnect(error: unknown): Problem {
  const problem = asProblem(error)
  if (problem instanceof Problem) return problem
  return new Problem('unavailable', 'The database is not reachable. Retry later', { retryAfter: 2, cause: error })
}
