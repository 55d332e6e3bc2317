/** The one error of the platform: RFC 9457 on the wire, thrown and caught as itself everywhere else. */

type Description = { status: number; title: string }

/**
 * Every code the platform may answer with. A code is a promise to programs: it is never renamed or reused.
 * The table of codes in the docs is generated from here.
 */
export const problemCodes = {
  invalid_body: { status: 400, title: 'The body does not fit the contract' },
  invalid_json: { status: 400, title: 'The body is not valid JSON' },
  invalid_query: { status: 400, title: 'A query parameter does not fit the contract' },
  invalid_path: { status: 400, title: 'A path parameter does not fit the contract' },
  invalid_header: { status: 400, title: 'A header does not fit the contract' },
  unknown_parameter: { status: 400, title: 'There is no such query parameter' },
  invalid_filter: { status: 400, title: 'The filter cannot be read' },
  invalid_cursor: { status: 400, title: 'The cursor is not one of ours, or belongs to another query' },
  unknown_property: { status: 400, title: 'There is no such property' },
  sort_on_array: { status: 400, title: 'Arrays cannot be sorted by' },
  filter_not_narrow: { status: 400, title: 'The filter would match too much' },
  graph_too_large: { status: 400, title: 'More of the graph is reached than can be gone through' },
  invalid_asset: { status: 400, title: 'The asset does not fit its schema' },
  invalid_workflow: { status: 400, title: 'The workflow is no sound state machine' },
  unsupported_parameter: { status: 400, title: 'The link does not have this filter or option, or not with this value' },
  invalid_values: { status: 400, title: 'The values do not fit the schema of the credential' },
  invalid_range: { status: 400, title: 'This is no range of IP addresses' },
  invalid_schema: { status: 400, title: 'The schema cannot be used' },
  weak_password: { status: 400, title: 'The password is too weak' },
  unauthenticated: { status: 401, title: 'A valid access token is needed' },
  forbidden: { status: 403, title: 'Permission denied' },
  would_escalate: { status: 403, title: 'You cannot give away rights that you do not have' },
  enrolment_refused: { status: 403, title: 'The gateway cannot be enrolled with this file' },
  tenant_suspended: { status: 403, title: 'The tenant is suspended' },
  application_not_provisioned: { status: 403, title: 'The tenant does not have this application' },
  wrong_password: { status: 403, title: 'The current password is not right' },
  not_found: { status: 404, title: 'There is no such resource' },
  method_not_allowed: { status: 405, title: 'The resource does not support this method' },
  not_acceptable: { status: 406, title: 'The resource has no such form' },
  request_timeout: { status: 408, title: 'The request was not sent in time' },
  conflict: { status: 409, title: 'The request conflicts with the current state' },
  already_exists: { status: 409, title: 'It exists already' },
  already_answered: { status: 409, title: 'This request was answered before, with a secret that is shown once' },
  idempotency_key_reused: { status: 409, title: 'The idempotency key was used with another request' },
  request_in_progress: { status: 409, title: 'The same request is being worked on' },
  last_administrator: { status: 409, title: 'The last administrator of a tenant cannot be removed' },
  access_group_not_empty: { status: 409, title: 'The access group is in use' },
  role_in_use: { status: 409, title: 'The role is in use' },
  built_in: { status: 409, title: 'Built-in things cannot be changed' },
  system_managed_predicate: { status: 409, title: 'This predicate is written by the system alone' },
  invalid_transition: { status: 409, title: 'The job cannot move there from where it is' },
  lease_lost: { status: 409, title: 'The job is not held by this lease any more' },
  gateway_revoked: { status: 409, title: 'The gateway was revoked' },
  gateway_not_ready: { status: 409, title: 'The gateway has not enrolled, or was revoked' },
  link_not_compatible: { status: 409, title: 'Asset link not compatible with the gateway' },
  no_device_link: { status: 409, title: 'No running link can ask this device' },
  schema_in_use: { status: 409, title: 'The schema has instances' },
  instance_not_for_monitoring: { status: 409, title: 'The credential is for discovery alone' },
  link_without_schema: { status: 409, title: 'The link brings no such credential schema' },
  ambiguous_identity: { status: 409, title: 'The identifiers belong to several assets' },
  identity_taken: { status: 409, title: 'An identifier belongs to an asset that you may not change' },
  too_many_relations: { status: 409, title: 'The asset has more relations than can be moved at once' },
  events_gone: { status: 410, title: 'The events after this position are not kept any more' },
  history_gone: { status: 410, title: 'What was at this time is not kept any more' },
  precondition_failed: { status: 412, title: 'It was changed by somebody else in the meantime' },
  body_too_large: { status: 413, title: 'The body is too large' },
  url_too_long: { status: 414, title: 'The URL is too long' },
  unsupported_media_type: { status: 415, title: 'The body has a type that is not understood here' },
  principal_not_found: { status: 422, title: 'The body refers to a principal that does not exist' },
  role_not_found: { status: 422, title: 'The body refers to a role that does not exist' },
  access_group_not_found: { status: 422, title: 'The body refers to an access group that does not exist' },
  permission_not_found: { status: 422, title: 'The body refers to a permission that does not exist' },
  asset_not_found: { status: 422, title: 'The request refers to an asset that does not exist' },
  link_not_found: { status: 422, title: 'The gateway has no such link' },
  schema_not_found: { status: 422, title: 'The body names a schema that is not registered' },
  property_not_found: { status: 422, title: 'The body refers to a custom property that does not exist' },
  invalid_reference: { status: 422, title: 'The body refers to something that does not exist' },
  too_many_requests: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  internal: { status: 500, title: 'Something went wrong on our side' },
  unavailable: { status: 503, title: 'Something that is needed here cannot be reached right now' },
  device_unreachable: { status: 503, title: 'The device cannot be reached' },
  overloaded: { status: 503, title: 'There is more to do than can be done right now' },
} as const satisfies Record<string, Description>

export type ProblemCode = keyof typeof problemCodes

export type FieldError = { pointer: string; code: string; detail: string }

export type ProblemDocument = {
  type: string
  title: string
  status: number
  detail: string
  code: ProblemCode
  instance?: string
  errors?: FieldError[]
  traceId?: string
}

type Extras = {
  errors?: FieldError[]
  /** Seconds after which it is worth trying again: becomes `Retry-After`. */
  retryAfter?: number
  headers?: Record<string, string>
  cause?: unknown
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly errors: FieldError[] | undefined
  readonly headers: Record<string, string>

  constructor(code: ProblemCode, detail: string, extras: Extras = {}) {
    super(detail, { cause: extras.cause })
    this.name = 'Problem'
    this.code = code
    this.status = problemCodes[code].status
    this.title = problemCodes[code].title
    this.errors = extras.errors
    this.headers = {
      ...(extras.retryAfter === undefined ? {} : { 'retry-after': String(Math.ceil(extras.retryAfter)) }),
      ...extras.headers,
    }
  }

  toDocument(place: { instance?: string; traceId?: string } = {}): ProblemDocument {
    return {
      type: `/docs/problems#${this.code}`,
      title: this.title,
      status: this.status,
      detail: this.message,
      code: this.code,
      ...(this.errors === undefined ? {} : { errors: this.errors }),
      ...place,
    }
  }
}

/** A problem document that came over the wire, as the error it was on the other side. */
export function problemFrom(document: unknown, status: number): Problem {
  const given = (typeof document === 'object' && document !== null ? document : {}) as Partial<ProblemDocument>
  if (given.code !== undefined && given.code in problemCodes) {
    return new Problem(given.code, given.detail ?? '', given.errors === undefined ? {} : { errors: given.errors })
  }
  return new Problem(status === 503 || status === 502 ? 'unavailable' : 'internal', `The answer was ${status}`)
}
