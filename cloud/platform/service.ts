import type { Client } from '@millwright/api/client.ts'
import type { AnswerOf, Contract, Operation, RequestOf } from '@millwright/api/contract.ts'
import type { Client as Owner } from 'pg'
import type { AccessCache } from './access/cache.ts'
import type { Caller } from './access/caller.ts'
import type { Database } from './database/database.ts'
import type { MigrationSource } from './database/migrations.ts'
import type { Feed } from './events/feed.ts'
import type { Log } from './log.ts'
import type { Safe } from './secrets/safe.ts'
import type { SealedColumn } from './secrets/sealed-column.ts'
import type { Secrets } from './secrets/secrets.ts'
import type { TaskKinds, Tasks } from './tasks/tasks.ts'
import type { TenantDirectory } from './tenants/tenants.ts'

/** What a service is given to stand on. */
export type Context = {
  readonly database: Database
  readonly access: AccessCache
  readonly tenants: TenantDirectory
  /** Seals and authenticates what belongs to the platform itself. */
  readonly secrets: Secrets
  /** Seals what belongs to a tenant. */
  readonly safe: Safe
  readonly tasks: Tasks
  /** What streams of events read from. */
  readonly feed: Feed
  readonly peers: Peers
  readonly settings: Settings
  readonly log: Log
  /** Aborted when the process stops: whoever waits for something answers with what there is. */
  readonly stopping: AbortSignal
}

/** Calls another service through its contract, in this process or over HTTP: the caller cannot tell which. */
export type Peers = <C extends Contract>(contract: C, caller: Caller) => Client<C>

/** What services may know of the configuration. */
export type Settings = {
  /** The origin under which the platform is reached: issuer of tokens, base of links. Known once it listens. */
  baseUrl: string
  readonly tokenLifetimeSeconds: number
}

/** Somebody without a token, at an operation that is open to all. */
export type AnonymousCaller = { readonly request: Caller['request'] }

/** An answer with a status or headers of its own; a handler may return the bare body where one status is declared. */
export class Answer<Body = unknown> {
  readonly status: number
  readonly body: Body
  readonly headers: Readonly<Record<string, string | string[]>>

  constructor(status: number, body: Body, headers: Record<string, string | string[]> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

export function answer<Body = undefined>(status: number, body?: Body, headers?: Record<string, string | string[]>) {
  return new Answer(status, body as Body, headers)
}

/**
 * A body that is JSON text already: documents are stored as they are read, and not parsed only to be printed again.
 * Its text is checked against the contract where answers are.
 */
export class JsonText {
  readonly #parts: readonly string[]

  /** In parts, where it has many: they need not become one text first. */
  constructor(...parts: readonly string[]) {
    this.#parts = parts
  }

  get text(): string {
    return this.#parts.join('')
  }

  /**
   * As it is sent. One text of many parts would be copied to become one, and be as wide as its widest character: a page of
   * assets with one umlaut would take eight times as long.
   */
  get sent(): string | Buffer {
    const [only, ...others] = this.#parts
    if (only !== undefined && others.length === 0) return only
    const bytes = Buffer.allocUnsafe(this.#parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0))
    let end = 0
    for (const part of this.#parts) end += bytes.write(part, end)
    return bytes
  }
}

/** A body in the shape that the caller asked for: sent as it is, and held to no contract. */
export class Shaped extends JsonText {}

/** A body as plain data, whichever way it was answered. */
export function plainBody(body: unknown): unknown {
  return body instanceof JsonText ? JSON.parse(body.text) : body
}

export type Handler<O extends Operation> = (
  request: RequestOf<O>,
  caller: O['access'] extends 'public' ? AnonymousCaller : Caller,
) => Promise<AnswerOf<O> | Answer<AnswerOf<O>> | JsonText | Answer<JsonText>>

export type Handlers<C extends Contract> = { [Name in keyof C['operations']]: Handler<C['operations'][Name]> }

/** Throws a problem to refuse a request of the caller before its body is read. */
export type BeforeBody = (caller: Caller) => void

/** A service: what it offers, what it keeps, what it does in the background. */
export type Service<C extends Contract = Contract> = {
  readonly contract: C
  readonly migrations?: MigrationSource
  readonly handlers: (context: Context) => Handlers<C>
  readonly beforeBody?: (context: Context) => { readonly [Name in keyof C['operations']]?: BeforeBody }
  readonly tasks?: (context: Context) => TaskKinds
  /** What must be there before the service starts, made by the owner of the database. Runs at every start. */
  readonly prepare?: (owner: Owner, secrets: Secrets) => Promise<void>
  /** Where it keeps what was sealed, so that rotating keys reaches all of it. */
  readonly sealed?: readonly SealedColumn[]
}

export function service<C extends Contract>(description: Service<C>): Service<C> {
  return description
}
