/** `Problem` is the error type of the platform. Over HTTP it is a problem document (RFC 9457). */

type Description = { status: number; title: string }

/**
 * All error codes. A code is never renamed or reused.
 * The reference page of problem codes is generated from this table.
 */
export const problemCodes = {
  invalid_body: { status: 400, title: 'Invalid request body' },
  invalid_json: { status: 400, title: 'Invalid JSON in the request body' },
  invalid_query: { status: 400, title: 'Invalid query parameter' },
  invalid_path: { status: 400, title: 'Invalid path parameter' },
  invalid_header: { status: 400, title: 'Invalid request header' },
  unknown_parameter: { status: 400, title: 'Unknown query parameter' },
  invalid_filter: { status: 400, title: 'Invalid filter' },
  invalid_cursor: { status: 400, title: 'Invalid cursor' },
  unknown_property: { status: 400, title: 'Unknown property' },
  sort_on_array: { status: 400, title: 'Sorting by an array is not supported' },
  filter_not_narrow: { status: 400, title: 'Filter not specific enough' },
  graph_too_large: { status: 400, title: 'Graph query exceeds the limit' },
  invalid_asset: { status: 400, title: 'Invalid asset' },
  invalid_node_type: { status: 400, title: 'Node type not allowed at this place' },
  invalid_receipt: { status: 400, title: 'Invalid receipt' },
  invalid_workflow: { status: 400, title: 'Invalid workflow definition' },
  unsupported_parameter: { status: 400, title: 'Filter or option not supported by the asset link' },
  invalid_signature: { status: 400, title: 'Invalid signature' },
  invalid_trust_anchor: { status: 400, title: 'Invalid trust anchor' },
  invalid_version_range: { status: 400, title: 'Invalid range of versions' },
  invalid_window: { status: 400, title: 'Invalid maintenance window' },
  invalid_values: { status: 400, title: 'Invalid credential values' },
  invalid_range: { status: 400, title: 'Invalid IP address range' },
  invalid_schema: { status: 400, title: 'Invalid schema' },
  unsupported_file: { status: 400, title: 'File format not supported' },
  damaged_file: { status: 400, title: 'File damaged' },
  encrypted_file: { status: 400, title: 'File encrypted' },
  file_with_macros: { status: 400, title: 'File contains macros' },
  file_with_formulas: { status: 400, title: 'File contains formulas' },
  file_with_external_links: { status: 400, title: 'File contains links to other files' },
  file_too_large: { status: 400, title: 'File exceeds a limit' },
  file_without_rows: { status: 400, title: 'File without rows' },
  invalid_certificate: { status: 400, title: 'Invalid certificate' },
  invalid_topic: { status: 400, title: 'Invalid MQTT topic' },
  outbound_not_allowed: { status: 400, title: 'Connection not allowed by the installation' },
  provider_unusable: { status: 400, title: 'Identity provider not usable' },
  passkey_refused: { status: 400, title: 'Passkey refused' },
  weak_password: { status: 400, title: 'Password too weak' },
  unauthenticated: { status: 401, title: 'Valid access token required' },
  step_up_required: { status: 401, title: 'Confirm your identity' },
  forbidden: { status: 403, title: 'Permission denied' },
  would_escalate: { status: 403, title: 'Permission denied: cannot grant permissions that you do not have' },
  enrolment_refused: { status: 403, title: 'Gateway enrolment refused' },
  tenant_suspended: { status: 403, title: 'Tenant suspended' },
  application_not_provisioned: { status: 403, title: 'Application not provisioned for the tenant' },
  wrong_password: { status: 403, title: 'Wrong current password' },
  wrong_code: { status: 403, title: 'Wrong code' },
  not_found: { status: 404, title: 'Not found' },
  package_not_built: { status: 404, title: 'Gateway package not built' },
  run_not_finished: { status: 404, title: 'Receipt not available before the end of the run' },
  link_not_budgeted: { status: 404, title: 'No receipt: asset link not budgeted' },
  receipt_not_sent: { status: 404, title: 'No receipt from the gateway' },
  method_not_allowed: { status: 405, title: 'Method not allowed' },
  not_acceptable: { status: 406, title: 'Requested media type is not available' },
  request_timeout: { status: 408, title: 'Request timeout' },
  conflict: { status: 409, title: 'Conflict with the current state' },
  already_exists: { status: 409, title: 'Already exists' },
  already_answered: { status: 409, title: 'Request already answered with a secret' },
  idempotency_key_reused: { status: 409, title: 'Idempotency key used with another request' },
  request_in_progress: { status: 409, title: 'Request already in progress' },
  second_factor_required: { status: 409, title: 'Second factor required by the sign-in policy' },
  last_administrator: { status: 409, title: 'Last administrator cannot be removed' },
  access_group_not_empty: { status: 409, title: 'Access group not empty' },
  role_in_use: { status: 409, title: 'Role in use' },
  built_in: { status: 409, title: 'Built-in object cannot be changed' },
  system_managed_predicate: { status: 409, title: 'Predicate managed by the system' },
  invalid_transition: { status: 409, title: 'Transition not allowed from the current state of the job' },
  lease_lost: { status: 409, title: 'Lease lost' },
  gateway_revoked: { status: 409, title: 'Gateway revoked' },
  gateway_not_ready: { status: 409, title: 'Gateway revoked or not enrolled' },
  link_not_compatible: { status: 409, title: 'Asset link not compatible with the gateway' },
  no_device_link: { status: 409, title: 'No running asset link can read this device' },
  device_protected: { status: 409, title: 'Device requires credentials' },
  hierarchy_not_empty: { status: 409, title: 'Hierarchy or node not empty' },
  not_proposed: { status: 409, title: 'Not proposed by the rules' },
  node_below_itself: { status: 409, title: 'Node cannot be moved below itself' },
  schema_in_use: { status: 409, title: 'Schema in use' },
  instance_not_for_monitoring: { status: 409, title: 'Credential instance not for monitoring' },
  link_without_schema: { status: 409, title: 'Asset link without this credential schema' },
  ambiguous_identity: { status: 409, title: 'Identifiers belong to several assets' },
  identity_taken: { status: 409, title: 'Identifier belongs to an asset that you cannot change' },
  update_in_progress: { status: 409, title: 'Device in use by a campaign' },
  artefact_in_use: { status: 409, title: 'Artefact in use' },
  artefact_not_usable: { status: 409, title: 'Artefact cannot be installed' },
  offset_mismatch: { status: 409, title: 'Part does not start at the stored offset' },
  too_many_targets: { status: 409, title: 'Too many targets' },
  too_many_artefacts: { status: 409, title: 'Too many artefacts' },
  too_many_campaigns: { status: 409, title: 'Too many open campaigns' },
  too_many_windows: { status: 409, title: 'Too many maintenance windows' },
  too_many_monitorings: { status: 409, title: 'Too many monitoring tasks' },
  too_many_subscriptions: { status: 409, title: 'Too many webhooks and MQTT publishers' },
  too_many_relations: { status: 409, title: 'Too many relations' },
  gateway_offline: { status: 409, title: 'Gateway not connected' },
  target_not_allowed: { status: 409, title: 'Target not allowed' },
  no_address: { status: 409, title: 'Asset without a known address' },
  remote_access_off: { status: 409, title: 'Remote access switched off' },
  web_access_off: { status: 409, title: 'Web sessions not configured' },
  host_key_changed: { status: 409, title: 'Host key of the device changed' },
  recording_damaged: { status: 409, title: 'Recording damaged' },
  events_gone: { status: 410, title: 'Events have been deleted' },
  history_gone: { status: 410, title: 'History has been deleted' },
  precondition_failed: { status: 412, title: 'Modified by another request (ETag mismatch)' },
  body_too_large: { status: 413, title: 'Request body too large' },
  url_too_long: { status: 414, title: 'URL too long' },
  unsupported_media_type: { status: 415, title: 'Unsupported media type' },
  range_not_satisfiable: { status: 416, title: 'Range outside the content' },
  principal_not_found: { status: 422, title: 'Principal not found' },
  role_not_found: { status: 422, title: 'Role not found' },
  access_group_not_found: { status: 422, title: 'Access group not found' },
  permission_not_found: { status: 422, title: 'Permission not found' },
  asset_not_found: { status: 422, title: 'Asset not found' },
  link_not_found: { status: 422, title: 'Asset link not found' },
  node_not_found: { status: 422, title: 'Node not found' },
  hierarchy_not_found: { status: 422, title: 'Hierarchy not found' },
  schema_not_found: { status: 422, title: 'Schema not found' },
  mapping_not_found: { status: 422, title: 'Mapping not found' },
  property_not_found: { status: 422, title: 'Custom property not found' },
  artefact_not_found: { status: 422, title: 'Artefact not found' },
  hash_mismatch: { status: 422, title: 'Content does not match its SHA-256' },
  invalid_reference: { status: 422, title: 'Referenced object not found' },
  upgrade_required: { status: 426, title: 'WebSocket required' },
  too_many_sessions: { status: 429, title: 'Too many remote sessions' },
  too_many_requests: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'Request headers too large' },
  internal: { status: 500, title: 'Internal error' },
  unavailable: { status: 503, title: 'Service temporarily unavailable' },
  device_unreachable: { status: 503, title: 'Device unreachable' },
  overloaded: { status: 503, title: 'Server overloaded' },
  storage_full: { status: 507, title: 'No storage space left' },
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
} & ProblemCounts

/** Extension members of a problem: numbers of the objects that prevent the operation. */
type ProblemCounts = {
  /** The number of nodes below a node or in a hierarchy that is not empty. */
  childNodes?: number
  /** The number of assets that are assigned to these nodes and that the caller can read. */
  assignedAssets?: number
  /** The number of assignment rules of these nodes. */
  assignmentRules?: number
}

type Extras = {
  /** The status of the response, if a contract uses another status for this code. */
  status?: number
  errors?: FieldError[]
  counts?: ProblemCounts
  /** The number of seconds after which the caller can retry. It is sent as the `Retry-After` header. */
  retryAfter?: number
  headers?: Record<string, string>
  cause?: unknown
}

export class Problem extends Error {
  readonly code: ProblemCode
  readonly status: number
  readonly title: string
  readonly errors: FieldError[] | undefined
  readonly counts: ProblemCounts
  readonly headers: Record<string, string>

  constructor(code: ProblemCode, detail: string, extras: Extras = {}) {
    super(detail, { cause: extras.cause })
    this.name = 'Problem'
    this.code = code
    this.status = extras.status ?? problemCodes[code].status
    this.title = problemCodes[code].title
    this.errors = extras.errors
    this.counts = extras.counts ?? {}
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
      ...this.counts,
      ...place,
    }
  }
}

/** Returns the numbers in a problem document. */
function problemCounts({ childNodes, assignedAssets, assignmentRules }: ProblemCounts): ProblemCounts {
  return {
    ...(childNodes === undefined ? {} : { childNodes }),
    ...(assignedAssets === undefined ? {} : { assignedAssets }),
    ...(assignmentRules === undefined ? {} : { assignmentRules }),
  }
}

/** Converts a received problem document to a `Problem`. */
export function problemFrom(document: unknown, status: number): Problem {
  const problem = (typeof document === 'object' && document !== null ? document : {}) as Partial<ProblemDocument>
  if (problem.code !== undefined && problem.code in problemCodes) {
    return new Problem(problem.code, problem.detail ?? '', {
      ...(problem.status === undefined ? {} : { status: problem.status }),
      ...(problem.errors === undefined ? {} : { errors: problem.errors }),
      counts: problemCounts(problem),
    })
  }
  return new Problem(
    status === 503 || status === 502 ? 'unavailable' : 'internal',
    `The server responded with HTTP status ${status} and no known problem code`,
  )
}
