import type { Static, TObject, TOptional, TSchema } from 'typebox'
import type { Permission } from './permission.ts'
import type { Problem, ProblemCode, ProblemDocument } from './problem.ts'

/**
 * `Operation` describes one operation. Types, validation, the permission check, routes, OpenAPI, the typed clients and the
 * generated tests are derived from it.
 */
export type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the contract's prefix, parameters in braces: `/users/{id}`. */
  path: string
  /** The path is at the root of the origin, outside the prefix (paths of RFCs such as `/oauth/token`). */
  atRoot?: true
  summary: string
  description?: string
  access: Access
  params?: TObject
  query?: TObject
  body?: TSchema
  /** The media type of the body; default: JSON. */
  bodyType?: BodyType
  /** The maximum size of the body in bytes, if it differs from the default. */
  bodyBytes?: number
  /**
   * JSON pointer to the array of a batch. A malformed item does not fail the request: the handler receives its problem in
   * `itemErrors` and reports it as the result of that item.
   */
  batchItems?: string
  /** Request headers that the handler reads, in lower case. */
  headers?: readonly string[]
  /** Success and redirect responses by status. */
  answers: Readonly<Record<number, TSchema | Media | Empty>>
  /** The response has an ETag, and the request can use If-None-Match. */
  tagged?: true
  /** Error codes in addition to those of all operations. */
  errors?: readonly ProblemCode[]
  /** The response contains a secret that is shown once. A repeated request with the same Idempotency-Key is refused. */
  answersSecret?: true
  /**
   * The handler can wait for an event outside its transaction: a gateway, an accepted write. The request is forwarded over
   * separate connections, and holds no database connection while it waits, also with an Idempotency-Key.
   */
  waits?: true
  /**
   * The handler can validate with an uploaded schema, and wait for the validation worker. With an Idempotency-Key it
   * holds no database connection while it waits.
   */
  validatesInWorker?: true
  /** The operation writes nothing, regardless of its method (a token request, a check). */
  readOnly?: true
  /** The operation reads credentials, accounts or sessions. Refused reads are on the audit trail, as refused writes are. */
  sensitive?: true
}

export type BodyType = 'application/json' | 'application/merge-patch+json' | 'application/x-www-form-urlencoded'

/** The accepted media types of a body, the preferred one first. A merge patch can also be sent as JSON. */
export function bodyTypesOf({ bodyType = 'application/json' }: Pick<Operation, 'bodyType'>): readonly BodyType[] {
  return bodyType === 'application/merge-patch+json' ? [bodyType, 'application/json'] : [bodyType]
}

/**
 * Who can call an operation. `public`: no token needed. `signed-in`: any token except that of a gateway. `known`: any token. `peer`: only
 * another service, for the platform itself. `on-behalf`: only another service, in the name of a user. Otherwise
 * a permission. A permission in one access group is sufficient to pass the front; the handler
 * then checks the group of each asset.
 */
export type Access = 'public' | 'signed-in' | 'known' | 'peer' | 'on-behalf' | Permission

/** A response that is not JSON. */
export type Media = { mediaType: string }

/** The media type of server-sent events: a response that ends when the client or the server disconnects. */
export const eventStreamType = 'text/event-stream'

/** A response without a body. */
export type Empty = { empty: true }

export const empty: Empty = { empty: true }

export function media(mediaType: string): Media {
  return { mediaType }
}

/** The error format of another API. */
export type ErrorWords = {
  schema: TSchema
  /** Converts a problem to the status and body of that API. */
  tell(problem: ProblemDocument): { status: number; body: unknown }
  /** Converts such a body to a problem, for our own clients. */
  hear(body: unknown): unknown
}

/** A prefix, the start of its deprecation and its end, as RFC 3339 dates. */
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
  /** The error format, if clients expect that of another API; default: RFC 9457. */
  errorWords?: ErrorWords
  /** Deprecated prefixes: the same operations are available, with deprecation headers. */
  formerPrefixes?: readonly Deprecated[]
  /** The whole contract is deprecated: the prefix of its successor. */
  succeededBy?: Deprecated
  operations: Operations
}

export function contract<const Operations extends Record<string, Operation>>(
  description: Contract<Operations>,
): Contract<Operations> {
  return description
}

type Part<Schema, Name extends string> = Schema extends TSchema ? { [K in Name]: Static<Schema> } : unknown
/** An optional body has an optional schema. */
type BodyPart<Schema> =
  Schema extends TOptional<infer Required extends TSchema> ? { body?: Static<Required> } : Part<Schema, 'body'>
type OptionalPart<Schema, Name extends string> = Schema extends TObject
  ? Record<string, never> extends Static<Schema>
    ? { [K in Name]?: Static<Schema> }
    : { [K in Name]: Static<Schema> }
  : unknown

/** The input of an operation, as the caller sends it. */
export type InputOf<O extends Operation> = Part<O['params'], 'params'> &
  OptionalPart<O['query'], 'query'> &
  BodyPart<O['body']> & { headers?: Record<string, string | undefined> }

/** The input of an operation, as the handler receives it, with defaults. */
export type RequestOf<O extends Operation> = Part<O['params'], 'params'> &
  Part<O['query'], 'query'> &
  BodyPart<O['body']> & { headers: Record<string, string | undefined>; itemErrors?: ItemErrors }

/** The malformed items of a batch, by index (see `batchItems` of an operation). */
export type ItemErrors = ReadonlyMap<number, Problem>

type BodyOf<A> = A extends Empty
  ? undefined
  : A extends Media
    ? string | AsyncIterable<string | Uint8Array>
    : A extends TSchema
      ? Static<A>
      : undefined

/** The result of a call: its success responses. Errors are thrown. */
export type ResultOf<O extends Operation> = {
  [S in keyof O['answers']]: `${S & number}` extends `4${string}` | `5${string}` ? never : BodyOf<O['answers'][S]>
}[keyof O['answers']]

/** A response of an operation. */
export type AnswerOf<O extends Operation> = { [S in keyof O['answers']]: BodyOf<O['answers'][S]> }[keyof O['answers']]

export function isMedia(answer: TSchema | Media | Empty): answer is Media {
  return 'mediaType' in answer
}

/** True if the response is a stream without an end. */
export function isLasting(answer: TSchema | Media | Empty | undefined): boolean {
  return answer !== undefined && isMedia(answer) && answer.mediaType === eventStreamType
}

export function isEmpty(answer: TSchema | Media | Empty): answer is Empty {
  return 'empty' in answer
}

/** The full path of an operation, with parameters in braces. */
export function pathOf(contract: Contract, operation: Operation): string {
  return operation.atRoot === true ? operation.path : contract.prefix + operation.path
}

/** True if only other services can call the operation. It is not in the public documents. */
export function isInternal({ access }: Operation): boolean {
  return access === 'peer' || access === 'on-behalf'
}

/** All paths of an operation. Operations for other services have one path. */
export function pathsOf(contract: Contract, operation: Operation): string[] {
  const own = pathOf(contract, operation)
  if (isInternal(operation) || operation.atRoot === true) return [own]
  return [own, ...(contract.alsoAt ?? []).map((prefix) => prefix + operation.path)]
}

/** True if the operation writes. */
export function writes(operation: Operation): boolean {
  return operation.method !== 'GET' && operation.readOnly !== true
}
