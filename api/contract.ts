import { IsOptional, type Static, type TObject, type TOptional, type TSchema } from 'typebox'
import type { Permission } from './permission.ts'
import type { Problem, ProblemCode, ProblemDocument } from './problem.ts'
import type { StepUpAction } from './sign-in-limits.ts'

/**
 * `Operation` describes one operation of a contract. Types, validation, the permission check, routes, OpenAPI, the typed
 * clients and the generated tests are derived from it.
 */
export type Operation = {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** The path below the contract's prefix, with parameters in braces: `/users/{id}`. */
  path: string
  /**
   * Whether the path starts at the root of the origin, outside the prefix. This is used for OAuth and well-known paths
   * such as `/oauth/token`.
   */
  atRoot?: true
  summary: string
  description?: string
  access: Access
  params?: TObject
  query?: TObject
  body?: TSchema
  /** The media type of the body. The default is JSON. */
  bodyType?: BodyType
  /**
   * The media types of a file that the body can have, instead of a form with the field `file`. Only operations with the
   * body type `multipart/form-data` have it. Their handlers read the file while it arrives.
   */
  fileTypes?: readonly string[]
  /** The maximum size of the body in bytes, if it differs from the default. */
  bodyBytes?: number
  /**
   * The JSON pointer to the array of items in the body of a batch request. A malformed item does not fail the request.
   * The handler receives the problem of the item in `itemErrors` and reports it as the result of that item.
   */
  batchItems?: string
  /** The request headers that the handler reads, in lower case. */
  headers?: readonly string[]
  /** The success and redirect responses, by status. */
  answers: Readonly<Record<number, TSchema | Media | Empty>>
  /** Whether the response has an ETag. The request can then use `If-None-Match`. */
  tagged?: true
  /** The error codes of this operation, in addition to the codes that every operation can return. */
  errors?: readonly ProblemCode[]
  /**
   * Whether the response contains a secret that is shown only once. A repeated request with the same Idempotency-Key is
   * then refused.
   */
  answersSecret?: true
  /**
   * Whether the handler can wait for an event outside its transaction, for example for a gateway or for an accepted
   * write, or sends a large file to a client that can be slow. If such a request is forwarded to another process, it uses
   * separate connections. It holds no database connection while it waits, even with an Idempotency-Key.
   */
  waits?: true
  /**
   * Whether the handler can validate with an uploaded schema, and therefore can wait for the validation worker. With an
   * Idempotency-Key, the request holds no database connection while it waits.
   */
  validatesInWorker?: true
  /** Whether the operation writes nothing, although its method suggests a write (a token request, a check). */
  readOnly?: true
  /**
   * Whether the operation is a WebSocket, with its subprotocol. `acceptsTicket`: the query can contain a ticket of the
   * service instead of an access token, because a browser cannot send headers with a WebSocket.
   */
  socket?: { protocol: string; acceptsTicket?: true }
  /**
   * Whether the operation reads credentials, accounts or sessions. The audit trail then records refused reads in the same
   * way as refused writes.
   */
  sensitive?: true
  /** The kind of dangerous action. The sign-in policy can require that users confirmed their identity recently. */
  stepUp?: StepUpAction
}

export type BodyType =
  | 'application/json'
  | 'application/merge-patch+json'
  | 'application/x-www-form-urlencoded'
  | 'multipart/form-data'
  | 'application/octet-stream'

/**
 * Returns the accepted media types of a body, the preferred type first. A merge patch can also be sent as JSON, and a file
 * without a form.
 */
export function bodyTypesOf({
  bodyType = 'application/json',
  fileTypes = [],
}: Pick<Operation, 'bodyType' | 'fileTypes'>): readonly string[] {
  return bodyType === 'application/merge-patch+json' ? [bodyType, 'application/json'] : [bodyType, ...fileTypes]
}

/** Returns whether the body of the operation is a file. */
export function takesFile({ bodyType }: Pick<Operation, 'bodyType'>): boolean {
  return bodyType === 'multipart/form-data' || bodyType === 'application/octet-stream'
}

/** Returns whether a request must have a body. */
export function isBodyRequired({ body }: Pick<Operation, 'body'>): boolean {
  return body !== undefined && !IsOptional(body)
}

/** A file that a client sends. */
export type SentFile = {
  mediaType: string
  /** The content. A stream is sent while it is read, and is not kept in memory. */
  content: string | Blob | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>
}

/** A file that a handler receives. The handler reads its content while it arrives. */
export type ReceivedFile = {
  /** The length of the request body, if the client sent it. */
  bytes: number | undefined
  open(): Promise<{ name: string | undefined; mediaType: string; content: AsyncIterable<Uint8Array> }>
}

/** An operation that is a WebSocket. It has no ordinary handler, and typed clients do not contain it. */
export type SocketOperation = { socket: { protocol: string } }

type FileOperation = { bodyType: 'multipart/form-data' | 'application/octet-stream' }

/**
 * The callers that can call an operation. `public`: no token is needed. `signed-in`: any token except the token of a
 * gateway. `known`: any token. `peer`: only another service, in the name of the platform. `on-behalf`: only another
 * service, in the name of a user. Any other value is a permission. The HTTP front accepts a caller that has the
 * permission in at least one access group. The handler then checks the access group of each asset.
 */
export type Access = 'public' | 'signed-in' | 'known' | 'peer' | 'on-behalf' | Permission

/** A response that is not JSON. */
export type Media = {
  mediaType: string
  /** Further media types. The handler sends one of them with the `Content-Type` header. */
  alternatives: readonly string[]
}

/** The media type of server-sent events. Such a response ends when the client or the server disconnects. */
export const eventStreamType = 'text/event-stream'

/** A response without a body. */
export type Empty = { empty: true }

export const empty: Empty = { empty: true }

export function media(mediaType: string, ...alternatives: readonly string[]): Media {
  return { mediaType, alternatives }
}

/** `ErrorFormat` is the error format of another API, for a contract whose clients do not expect problem documents. */
export type ErrorFormat = {
  schema: TSchema
  /** Converts a problem to the status and the body of the other API. */
  fromProblem(problem: ProblemDocument): { status: number; body: unknown }
  /** Converts an error body of the other API to a problem document, for our own clients. */
  toProblem(body: unknown): unknown
}

/** A deprecated prefix, with the dates on which its deprecation starts and its support ends (RFC 3339). */
export type Deprecated = { prefix: string; deprecatedOn: string; sunsetOn: string }

export type Contract<Operations extends Record<string, Operation> = Record<string, Operation>> = {
  name: string
  title: string
  description: string
  version: string
  /** The path prefix of the operations, for example `/iam/v1`. */
  prefix: string
  /** Further prefixes of the same operations, for existing clients. */
  alsoAt?: readonly string[]
  /** The error format, if clients expect the format of another API. The default is RFC 9457. */
  errorFormat?: ErrorFormat
  /** The HTTP statuses of errors of this contract that differ from the usual status of their code. */
  errorStatuses?: Readonly<Partial<Record<ProblemCode, number>>>
  /** Deprecated prefixes. They offer the same operations, with deprecation headers. */
  formerPrefixes?: readonly Deprecated[]
  /** The prefix of the successor and the dates of the deprecation, if the whole contract is deprecated. */
  succeededBy?: Deprecated
  operations: Operations
}

export function contract<const Operations extends Record<string, Operation>>(
  description: Contract<Operations>,
): Contract<Operations> {
  return description
}

type Part<Schema, Name extends string> = Schema extends TSchema ? { [K in Name]: Static<Schema> } : unknown
/** The type of the `body` member. An optional schema makes the body optional. */
type BodyPart<Schema> =
  Schema extends TOptional<infer Required extends TSchema> ? { body?: Static<Required> } : Part<Schema, 'body'>
type OptionalPart<Schema, Name extends string> = Schema extends TObject
  ? Record<string, never> extends Static<Schema>
    ? { [K in Name]?: Static<Schema> }
    : { [K in Name]: Static<Schema> }
  : unknown

/** The input of an operation in the form in which the caller sends it. */
export type InputOf<O extends Operation> = Part<O['params'], 'params'> &
  OptionalPart<O['query'], 'query'> &
  (O extends FileOperation ? { body: SentFile } : BodyPart<O['body']>) & {
    headers?: Record<string, string | undefined>
  }

/** The input of an operation in the form in which the handler receives it, with default values. */
export type RequestOf<O extends Operation> = Part<O['params'], 'params'> &
  Part<O['query'], 'query'> &
  (O extends FileOperation ? { body: ReceivedFile } : BodyPart<O['body']>) & {
    headers: Record<string, string | undefined>
    itemErrors?: ItemErrors
  }

/** The problems of the malformed items of a batch, by index (see `batchItems` of `Operation`). */
export type ItemErrors = ReadonlyMap<number, Problem>

type BodyOf<A> = A extends Empty
  ? undefined
  : A extends Media
    ? string | AsyncIterable<string | Uint8Array>
    : A extends TSchema
      ? Static<A>
      : undefined

/** The result of a call: one of its success responses. Errors are thrown. */
export type ResultOf<O extends Operation> = {
  [S in keyof O['answers']]: `${S & number}` extends `4${string}` | `5${string}` ? never : BodyOf<O['answers'][S]>
}[keyof O['answers']]

/** A response of an operation: the body of one of its statuses. */
export type AnswerOf<O extends Operation> = { [S in keyof O['answers']]: BodyOf<O['answers'][S]> }[keyof O['answers']]

export function isMedia(answer: TSchema | Media | Empty): answer is Media {
  return 'mediaType' in answer
}

/** Returns whether the response is a stream of server-sent events. */
export function isEventStream(answer: TSchema | Media | Empty | undefined): boolean {
  return answer !== undefined && isMedia(answer) && answer.mediaType === eventStreamType
}

export function isEmpty(answer: TSchema | Media | Empty): answer is Empty {
  return 'empty' in answer
}

/** Returns the full path of an operation, with parameters in braces. */
export function pathOf(contract: Contract, operation: Operation): string {
  return operation.atRoot === true ? operation.path : contract.prefix + operation.path
}

/**
 * Returns whether only other services can call the operation. Such an operation is not part of the public API
 * documents.
 */
export function isInternal({ access }: Operation): boolean {
  return access === 'peer' || access === 'on-behalf'
}

/**
 * Returns all paths of an operation: under the prefix and under each prefix in `alsoAt`. An internal operation and an
 * operation at the root have only one path.
 */
export function pathsOf(contract: Contract, operation: Operation): string[] {
  const own = pathOf(contract, operation)
  if (isInternal(operation) || operation.atRoot === true) return [own]
  return [own, ...(contract.alsoAt ?? []).map((prefix) => prefix + operation.path)]
}

/** Returns whether the contract has its own operation for `HEAD` at the path of an operation. */
export function hasHead(contract: Contract, { path }: Operation): boolean {
  return Object.values(contract.operations).some((other) => other.method === 'HEAD' && other.path === path)
}

/** Returns whether the operation writes. */
export function writes(operation: Operation): boolean {
  return operation.method !== 'GET' && operation.method !== 'HEAD' && operation.readOnly !== true
}
