import type { Static, TObject, TOptional, TSchema } from 'typebox'
import type { Permission } from './permission.ts'
import type { Problem, ProblemCode, ProblemDocument } from './problem.ts'

/**
 * One description per operation. Types, validation, the permission check, routes, OpenAPI, the typed clients and the
 * generated tests all derive from it; nothing about an operation is said twice.
 */
export type Operation = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the contract's prefix, parameters in braces: `/users/{id}`. */
  path: string
  /** The path stands at the root of the origin, outside the prefix (RFC-given paths such as `/oauth/token`). */
  atRoot?: true
  summary: string
  description?: string
  access: Access
  params?: TObject
  query?: TObject
  body?: TSchema
  /** How the body is written; JSON unless said otherwise. */
  bodyType?: BodyType
  /** The largest body in bytes, where the usual limit does not fit what the operation is for. */
  bodyBytes?: number
  /**
   * JSON pointer to the array of a batch. A malformed item does not fail the request: the handler receives its problem in
   * `itemErrors` and reports it as the result of that item.
   */
  batchItems?: string
  /** Request headers the handler reads, lower-case. */
  headers?: readonly string[]
  /** Success and redirect answers by status. */
  answers: Readonly<Record<number, TSchema | Media | Empty>>
  /** What is read comes with an ETag, and may be asked for with If-None-Match. */
  tagged?: true
  /** What may go wrong beyond what may go wrong everywhere. */
  errors?: readonly ProblemCode[]
  /** The answer holds a secret that is shown once: a repeat with the same Idempotency-Key is refused, not repeated. */
  answersSecret?: true
  /**
   * The handler may wait for something outside its own transaction: a gateway, an accepted write. It is forwarded over
   * connections of its own, and holds no database connection while it waits, also with an Idempotency-Key.
   */
  waits?: true
  /**
   * The handler may validate with an uploaded schema, which can wait for the validation worker. With an Idempotency-Key it
   * holds no database connection meanwhile.
   */
  validatesInWorker?: true
  /** Writes nothing although its method might (a token request, a check). */
  readOnly?: true
  /** Shows credentials, accounts or sessions: a refused read is put on the audit trail, as refused writes are. */
  sensitive?: true
}

export type BodyType = 'application/json' | 'application/merge-patch+json' | 'application/x-www-form-urlencoded'

/** The types that a body may be sent as, the best first: a merge patch is JSON too. */
export function bodyTypesOf({ bodyType = 'application/json' }: Pick<Operation, 'bodyType'>): readonly BodyType[] {
  return bodyType === 'application/merge-patch+json' ? [bodyType, 'application/json'] : [bodyType]
}

/**
 * Who may call: `public` anybody, `signed-in` any valid token but that of a gateway, `known` that one too, `peer` only
 * another service of ours for the platform itself, `on-behalf` only another service of ours in the name of somebody, or
 * a permission. A permission that is held per access group is enough in any one group to pass the front; the handler
 * then looks at the group of each asset.
 */
export type Access = 'public' | 'signed-in' | 'known' | 'peer' | 'on-behalf' | Permission

/** An answer that is not JSON. */
export type Media = { mediaType: string }

/** The media type of server-sent events: an answer that ends when its reader or the server goes away. */
export const eventStreamType = 'text/event-stream'

/** An answer without a body. */
export type Empty = { empty: true }

export const empty: Empty = { empty: true }

export function media(mediaType: string): Media {
  return { mediaType }
}

/** The words in which another engine refuses. */
export type ErrorWords = {
  schema: TSchema
  /** The status and the body that its clients know. */
  tell(problem: ProblemDocument): { status: number; body: unknown }
  /** The problem that such a body tells of, for clients of ours. */
  hear(body: unknown): unknown
}

/** A prefix, since when something is deprecated and when it is gone: RFC 3339 dates. */
export type Deprecated = { prefix: string; deprecatedOn: string; sunsetOn: string }

export type Contract<Operations extends Record<string, Operation> = Record<string, Operation>> = {
  name: string
  title: string
  description: string
  version: string
  /** Where the operations live, e.g. `/iam/v1`. */
  prefix: string
  /** Other prefixes where the same operations answer, because clients know them there. */
  alsoAt?: readonly string[]
  /** How a refusal reads, where clients expect the words of another engine; RFC 9457 unless given. */
  errorWords?: ErrorWords
  /** Prefixes of before: the same operations answer there, and say that they have moved. */
  formerPrefixes?: readonly Deprecated[]
  /** The whole contract is on its way out: the prefix of the one that took its place. */
  succeededBy?: Deprecated
  operations: Operations
}

export function contract<const Operations extends Record<string, Operation>>(
  description: Contract<Operations>,
): Contract<Operations> {
  return description
}

type Part<Schema, Name extends string> = Schema extends TSchema ? { [K in Name]: Static<Schema> } : unknown
/** A body that may be left out is an optional schema. */
type BodyPart<Schema> =
  Schema extends TOptional<infer Required extends TSchema> ? { body?: Static<Required> } : Part<Schema, 'body'>
type OptionalPart<Schema, Name extends string> = Schema extends TObject
  ? Record<string, never> extends Static<Schema>
    ? { [K in Name]?: Static<Schema> }
    : { [K in Name]: Static<Schema> }
  : unknown

/** What a caller gives an operation. */
export type InputOf<O extends Operation> = Part<O['params'], 'params'> &
  OptionalPart<O['query'], 'query'> &
  BodyPart<O['body']> & { headers?: Record<string, string | undefined> }

/** What a handler receives: as the caller gave it, with defaults filled in. */
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

/** What a call to an operation yields: its answers but for the refusals, which are thrown. */
export type ResultOf<O extends Operation> = {
  [S in keyof O['answers']]: `${S & number}` extends `4${string}` | `5${string}` ? never : BodyOf<O['answers'][S]>
}[keyof O['answers']]

/** What an operation may answer with. */
export type AnswerOf<O extends Operation> = { [S in keyof O['answers']]: BodyOf<O['answers'][S]> }[keyof O['answers']]

export function isMedia(answer: TSchema | Media | Empty): answer is Media {
  return 'mediaType' in answer
}

/** True when the answer has no end of its own. */
export function isLasting(answer: TSchema | Media | Empty | undefined): boolean {
  return answer !== undefined && isMedia(answer) && answer.mediaType === eventStreamType
}

export function isEmpty(answer: TSchema | Media | Empty): answer is Empty {
  return 'empty' in answer
}

/** The full path of an operation, parameters still in braces. */
export function pathOf(contract: Contract, operation: Operation): string {
  return operation.atRoot === true ? operation.path : contract.prefix + operation.path
}

/** True when only our own services may call it: nobody else knows that it is there. */
export function isInternal({ access }: Operation): boolean {
  return access === 'peer' || access === 'on-behalf'
}

/** Everywhere that an operation answers. What services say to each other has one place. */
export function pathsOf(contract: Contract, operation: Operation): string[] {
  const own = pathOf(contract, operation)
  if (isInternal(operation) || operation.atRoot === true) return [own]
  return [own, ...(contract.alsoAt ?? []).map((prefix) => prefix + operation.path)]
}

/** True when the operation changes something. */
export function writes(operation: Operation): boolean {
  return operation.method !== 'GET' && operation.readOnly !== true
}
