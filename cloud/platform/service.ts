import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket as TcpSocket } from 'node:net'
import type { Client } from '@millwright/api/client.ts'
import type { AnswerOf, Contract, Operation, RequestOf, SocketOperation } from '@millwright/api/contract.ts'
import type { Tracer } from '@millwright/api/tracing.ts'
import type { Client as Owner } from 'pg'
import type { AccessCache } from './access/cache.ts'
import type { Caller } from './access/caller.ts'
import type { Database } from './database/database.ts'
import type { MigrationSource } from './database/migrations.ts'
import type { Feed } from './events/feed.ts'
import type { Socket } from './http/socket.ts'
import type { Log } from './log.ts'
import type { Outbound } from './outbound.ts'
import type { Safe } from './secrets/safe.ts'
import type { SealedColumn } from './secrets/sealed-column.ts'
import type { Secrets } from './secrets/secrets.ts'
import type { SharedCounts } from './shared-counts.ts'
import type { TaskKinds, Tasks } from './tasks/tasks.ts'
import type { TenantGauge } from './tenant-gauge.ts'
import type { TenantDirectory } from './tenants/tenants.ts'
import type { PeerConnections } from './tls/peer-connections.ts'

/** The dependencies of a service. */
export type Context = {
  readonly database: Database
  /** Undefined if no traces are exported. */
  readonly tracer: Tracer | undefined
  readonly access: AccessCache
  readonly tenants: TenantDirectory
  /** Seals and authenticates secrets of the platform. */
  readonly secrets: Secrets
  /** Seals secrets of a tenant. */
  readonly safe: Safe
  readonly tasks: Tasks
  /** The source of event streams. */
  readonly feed: Feed
  /** Sends the counts of limits to the other processes of the platform. */
  readonly sharedCounts: SharedCounts
  readonly peers: Peers
  /**
   * Returns the header `Authorization` for a WebSocket to another process of the platform, on behalf of the caller. It is
   * valid for a few seconds.
   */
  readonly peerAuthorization: (caller: Caller) => Promise<string>
  /** Makes connections to other processes of the platform. */
  readonly peerConnections: PeerConnections
  readonly settings: Settings
  /** Makes connections to other systems. Services use no other way to reach an address outside of the platform. */
  readonly outbound: Outbound
  readonly log: Log
  /** Aborted when the process stops. A waiting operation then responds with the data that it has. */
  readonly stopping: AbortSignal
}

/**
 * `Peers` returns a client for the contract of another service. Calls work in the same way in this process and over
 * HTTP.
 */
export type Peers = <C extends Contract>(contract: C, caller: Caller) => Client<C>

/** The configuration that services can read. */
export type Settings = {
  /**
   * The origin of the platform. It is the issuer of tokens and the base of links. It is defined once the server
   * listens.
   */
  baseUrl: string
  readonly tokenLifetimeSeconds: number
  /** The address at which other processes of the platform reach this process. It is defined once the server listens. */
  internalUrl: string
  /** The host names of web pages of devices, such as `*.remote.example.com`. Undefined if there are none. */
  remoteAccessHost: string | undefined
  /** Where the contents of artefacts are stored. */
  readonly artefacts: ArtefactSettings
  /**
   * Returns the private authority of the certificate that gateways see at the base URL, as PEM text. Undefined if the
   * platform does not know it, for example behind a proxy.
   */
  readonly gatewayAuthority: () => string | undefined
  /** The folder that contains the gateway package. */
  readonly packageFolder: string
}

export type ArtefactSettings = {
  /** The folder of the contents, of partial uploads, and of parts that wait for the S3-compatible store. */
  folder: string
  /** The S3-compatible store of new contents. Undefined if they are stored in the folder. */
  s3: S3Settings | undefined
}

export type S3Settings = {
  /** The URL of the service. The platform connects to no other address. */
  endpoint: string
  region: string
  bucket: string
  /** The start of the names of all objects, without slashes at its ends. It can be empty. */
  prefix: string
  accessKey: string
  secretKey: string
}

/** A caller without a token. Only public operations accept it. */
export type AnonymousCaller = { readonly request: Caller['request'] }

/**
 * `Answer` is a response with its own status or headers. A handler that needs neither can return only the body. The
 * status is then the first status of its contract.
 */
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
 * `JsonText` is a body that is already JSON text. Documents are stored as text, so they need no parsing. In strict mode
 * the text is validated against the contract.
 */
export class JsonText {
  readonly #parts: readonly string[]

  /** Takes the text in parts, so that large texts need not be joined. */
  constructor(...parts: readonly string[]) {
    this.#parts = parts
  }

  get text(): string {
    return this.#parts.join('')
  }

  /**
   * The content to send. Joining many parts into one string would copy them, and store every character with the width
   * of the widest one. Sending a page of assets with one umlaut would then take eight times as long.
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

/**
 * `CustomShape` is a body in a format that the caller chose. It is sent unchanged and is not validated against the
 * contract.
 */
export class CustomShape extends JsonText {}

/** Converts a body in any representation to plain data. */
export function plainBody(body: unknown): unknown {
  return body instanceof JsonText ? JSON.parse(body.text) : body
}

export type Handler<O extends Operation> = (
  request: RequestOf<O>,
  caller: O['access'] extends 'public' ? AnonymousCaller : Caller,
) => Promise<AnswerOf<O> | Answer<AnswerOf<O>> | JsonText | Answer<JsonText>>

/** The handlers of a contract. Operations that are WebSockets have a `SocketHandler` instead. */
export type Handlers<C extends Contract> = {
  [Name in keyof C['operations'] as C['operations'][Name] extends SocketOperation ? never : Name]: Handler<
    C['operations'][Name]
  >
}

/**
 * `SocketHandler` opens a WebSocket in two steps. First it checks the request: a problem that it throws is the response.
 * It returns a function that receives the open socket. The signal is aborted if the socket cannot be opened, for example
 * because the client disconnected. The handler then releases what it has opened.
 */
export type SocketHandler<O extends Operation> = (
  request: RequestOf<O>,
  caller: Caller,
  signal: AbortSignal,
) => Promise<(socket: Socket) => void>

export type SocketHandlers<C extends Contract> = {
  [Name in keyof C['operations'] as C['operations'][Name] extends SocketOperation ? Name : never]: SocketHandler<
    C['operations'][Name]
  >
}

/**
 * `TicketCaller` redeems a ticket and returns its caller, with the rights that the caller has now. It throws
 * `unauthenticated` if the ticket is not valid for the path. The parameters of the path are validated.
 */
export type TicketCaller = (use: {
  ticket: string
  params: Readonly<Record<string, string>>
  request: Caller['request']
}) => Promise<Caller>

/**
 * `HostHandler` answers all requests to its host names. These requests do not reach the API, the console and their
 * checks.
 */
export type HostHandler = {
  /** The host name is in lower case and has no port. */
  owns(hostname: string): boolean
  request(request: IncomingMessage, response: ServerResponse): void
  upgrade(request: IncomingMessage, connection: TcpSocket, head: Buffer): void
}

/** `BeforeBody` runs before the body of a request is read. It throws a problem to refuse the request. */
export type BeforeBody = (caller: Caller) => void

/** `Service` is a service with its contract, its tables and its background tasks. */
export type Service<C extends Contract = Contract> = {
  readonly contract: C
  readonly migrations?: MigrationSource
  readonly handlers: (context: Context) => Handlers<C>
  readonly beforeBody?: (context: Context) => { readonly [Name in keyof C['operations']]?: BeforeBody }
  /** The handlers of the operations that are WebSockets. */
  readonly sockets?: (context: Context) => SocketHandlers<C>
  readonly ticketCaller?: (context: Context) => TicketCaller
  /** Answers the requests to the host names of the service. */
  readonly hosts?: (context: Context) => HostHandler
  readonly tasks?: (context: Context) => TaskKinds
  /** Prepares the database for the service. It runs as the owner of the database, at every start. */
  readonly prepare?: (owner: Owner, secrets: Secrets) => Promise<void>
  /** The metrics of the service with one value per tenant. */
  readonly gauges?: readonly TenantGauge[]
  /** The columns with sealed values. They are declared here, so that key rotation finds all of them. */
  readonly sealed?: readonly SealedColumn[]
}

export function service<C extends Contract>(description: Service<C>): Service<C> {
  return description
}
