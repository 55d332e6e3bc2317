import {
  type RecordingMode,
  type RemotePolicy,
  type RemoteService,
  remoteAccessLimits,
  type SessionEnding,
  type SessionState,
} from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { type StoredPrincipal, storedPrincipal } from '../../platform/access/current-caller.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../platform/database/statement.ts'

/** Statements on remote sessions. */

export type SessionRow = StoredPrincipal & {
  id: string
  jobId: string
  state: SessionState
  assetId: string
  assetName: string
  accessGroupId: string
  gatewayId: string
  service: RemoteService
  address: string | null
  /** Whether the asset was found at this address first. */
  isOwnAddress: boolean
  port: number
  credentialInstanceId: string | null
  reason: string | null
  decidedById: string | null
  decidedByName: string | null
  needsApproval: boolean
  recording: RecordingMode
  durationMinutes: number
  idleMinutes: number
  streams: number
  sentBytes: number
  receivedBytes: number
  recordingBytes: number
  recordingParts: number
  recordingChain: Buffer | null
  recordingDigest: string | null
  isRecordingDeleted: boolean
  ending: SessionEnding | null
  endingDetail: string | null
  endedById: string | null
  endedByName: string | null
  createdAt: string
  openedAt: string | null
  activeAt: string
  expiresAt: string
  endedAt: string | null
  closedAt: string | null
}

const assetColumns = `s.asset_id as "assetId", s.asset_name as "assetName", s.access_group_id as "accessGroupId",
  s.gateway_id as "gatewayId", s.service, s.address, s.is_own_address as "isOwnAddress", s.port`
const userColumns = `s.credential_instance_id as "credentialInstanceId", s.reason, s.principal_id as "principalId",
  s.principal_kind as "principalKind", s.principal_name as "principalName", s.roles`
const approvalColumns = `s.decided_by_id as "decidedById", s.decided_by_name as "decidedByName",
  s.needs_approval as "needsApproval", s.duration_minutes as "durationMinutes", s.idle_minutes as "idleMinutes"`
const trafficColumns = `s.streams, s.sent_bytes as "sentBytes", s.received_bytes as "receivedBytes"`
const recordingColumns = `s.recording, s.recording_bytes as "recordingBytes", s.recording_parts as "recordingParts",
  s.recording_chain as "recordingChain", s.recording_digest as "recordingDigest",
  s.is_recording_deleted as "isRecordingDeleted"`
const endColumns = `s.ending, s.ending_detail as "endingDetail", s.ended_by_id as "endedById",
  s.ended_by_name as "endedByName"`
const timeColumns = `s.created_at as "createdAt", s.opened_at as "openedAt", s.active_at as "activeAt",
  s.expires_at as "expiresAt", s.ended_at as "endedAt", s.closed_at as "closedAt"`
const columns = `s.id, s.job_id as "jobId", s.state, ${assetColumns}, ${userColumns},
  ${approvalColumns}, ${trafficColumns}, ${recordingColumns}, ${endColumns}, ${timeColumns}`

const insertStatement = statement<SessionRow>(
  `insert into remote_sessions as s (tenant_id, id, job_id, state, asset_id, asset_name, access_group_id, gateway_id,
     service, address, is_own_address, port, credential_instance_id, reason, principal_id, principal_kind,
     principal_name, roles, needs_approval, recording, duration_minutes, idle_minutes, created_at, active_at,
     expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18::json, $19, $20, $21, $22,
     $23, $23, $24)
   returning ${columns}`,
)

export type NewSession = Pick<
  SessionRow,
  | 'id'
  | 'jobId'
  | 'state'
  | 'assetId'
  | 'assetName'
  | 'accessGroupId'
  | 'gatewayId'
  | 'service'
  | 'address'
  | 'isOwnAddress'
  | 'port'
  | 'credentialInstanceId'
  | 'reason'
  | 'durationMinutes'
  | 'createdAt'
  | 'expiresAt'
> & { policy: RemotePolicy }

export async function insertSession(tx: Transaction, caller: Caller, session: NewSession): Promise<SessionRow> {
  const { principalId, principalKind, principalName, roles } = storedPrincipal(caller)
  const { id, jobId, state, assetId, assetName, accessGroupId, gatewayId, service, address, isOwnAddress } = session
  const { port, credentialInstanceId, reason, durationMinutes, createdAt, expiresAt, policy } = session
  const row = await tx.row(
    insertStatement,
    ...[id, jobId, state, assetId, assetName, accessGroupId, gatewayId, service, address, isOwnAddress, port],
    ...[credentialInstanceId, reason, principalId, principalKind, principalName, jsonText(roles)],
    ...[policy.approval === 'required', policy.recording, durationMinutes, policy.idleMinutes, createdAt, expiresAt],
  )
  if (row === undefined) throw new TypeError('A remote session was not stored')
  return row
}

const findStatement = statement<SessionRow>(
  `select ${columns} from remote_sessions s where s.tenant_id = $1 and s.id = $2`,
)
const lockStatement = statement<SessionRow>(
  `select ${columns} from remote_sessions s where s.tenant_id = $1 and s.id = $2 for update`,
)

export function findSession(handle: Handle, id: string): Promise<SessionRow | undefined> {
  return handle.row(findStatement, id)
}

/** Returns a session, and locks it until the end of the transaction. */
export function lockSession(tx: Transaction, id: string): Promise<SessionRow | undefined> {
  return tx.row(lockStatement, id)
}

const countLockStatement = statement(`select pg_advisory_xact_lock(hashtextextended($1::text, 7262))`)
const countUnendedStatement = statement<{ ofTenant: number; ofGateway: number }>(
  `select count(*) as "ofTenant", count(*) filter (where s.gateway_id = $2) as "ofGateway" from remote_sessions s
   where s.tenant_id = $1 and s.state in ('pending-approval', 'connecting', 'open')`,
)

/**
 * Returns the number of sessions of the tenant and of a gateway that have not ended. Other transactions that count them wait
 * until the end of this one, so that none exceeds a limit.
 */
export async function countUnended(tx: Transaction, gatewayId: string) {
  await tx.run(countLockStatement)
  return (await tx.row(countUnendedStatement, gatewayId)) ?? { ofTenant: 0, ofGateway: 0 }
}

const unendedByGatewayStatement = statement<{ gatewayId: string; sessions: number }>(
  `select s.gateway_id as "gatewayId", count(*) as sessions from remote_sessions s
   where s.tenant_id = $1 and s.gateway_id = any($2::uuid[]) and s.state in ('pending-approval', 'connecting', 'open')
   group by s.gateway_id`,
)

/** Returns the number of sessions that have not ended, by gateway. */
export async function countByGateway(handle: Handle, gatewayIds: readonly string[]): Promise<Map<string, number>> {
  const rows = await handle.rows(unendedByGatewayStatement, arrayOf('uuid', gatewayIds))
  return new Map(rows.map(({ gatewayId, sessions }) => [gatewayId, sessions]))
}

const assetIdsStatement = statement<{ assetId: string }>(
  `select distinct s.asset_id as "assetId" from remote_sessions s where s.tenant_id = $1`,
)

/** Returns the assets of all stored sessions. */
export async function assetsOfSessions(handle: Handle): Promise<string[]> {
  return (await handle.rows(assetIdsStatement)).map(({ assetId }) => assetId)
}

/** Which sessions a caller sees: its own ones of the assets in `ownOf`, and all sessions of the assets in `allOf`. */
export type SessionVisibility = {
  principalId: string
  /** Null means all assets. */
  ownOf: readonly string[] | null
  allOf: readonly string[] | null
}

export type SessionFilter = {
  state?: SessionState | undefined
  assetId?: string | undefined
  gatewayId?: string | undefined
  /** Only sessions that wait for an approval by another user than this one. */
  awaits?: string | undefined
}

/** Builds only the conditions of the requested filters, so that PostgreSQL can use the matching index. */
function conditionsFor({ principalId, ownOf, allOf }: SessionVisibility, filter: SessionFilter) {
  const values: unknown[] = []
  const place = (value: unknown) => `$${values.push(value) + 1}`
  const conditions = ['s.tenant_id = $1']
  if (allOf !== null) {
    const own = `s.principal_id = ${place(principalId)}`
    const ofOwn = ownOf === null ? own : `(${own} and s.asset_id = any(${place(arrayOf('uuid', ownOf))}::uuid[]))`
    const others = allOf.length === 0 ? '' : ` or s.asset_id = any(${place(arrayOf('uuid', allOf))}::uuid[])`
    conditions.push(`(${ofOwn}${others})`)
  }
  if (filter.state !== undefined) conditions.push(`s.state = ${place(filter.state)}`)
  if (filter.assetId !== undefined) conditions.push(`s.asset_id = ${place(filter.assetId)}`)
  if (filter.gatewayId !== undefined) conditions.push(`s.gateway_id = ${place(filter.gatewayId)}`)
  if (filter.awaits !== undefined)
    conditions.push(`s.state = 'pending-approval' and s.principal_id <> ${place(filter.awaits)}`)
  return { where: conditions.join(' and '), values }
}

type Page = { limit: number; offset: number }

/** Returns a page of the sessions that a caller sees, newest first. */
export async function listSessions(
  handle: Handle,
  { visible, filter, page }: { visible: SessionVisibility; filter: SessionFilter; page: Page },
): Promise<{ rows: SessionRow[]; total: number }> {
  const { where, values } = conditionsFor(visible, filter)
  const next = values.length + 2
  const rows = await handle.rows(
    dynamicStatement<SessionRow>(
      `select ${columns} from remote_sessions s where ${where} order by s.id desc limit $${next} offset $${next + 1}`,
    ),
    ...values,
    page.limit,
    page.offset,
  )
  const counted = await handle.row(
    dynamicStatement<{ total: number }>(`select count(*) as total from remote_sessions s where ${where}`),
    ...values,
  )
  return { rows, total: counted?.total ?? 0 }
}

const approveStatement = statement<SessionRow>(
  `update remote_sessions s set state = 'connecting', is_reported = false, decided_by_id = $3, decided_by_name = $4, active_at = $5,
     expires_at = $6
   where s.tenant_id = $1 and s.id = $2 and s.state = 'pending-approval' returning ${columns}`,
)

/** Approves a session. Its duration starts at the approval. */
export function approveSession(
  tx: Transaction,
  id: string,
  { by, now, expiresAt }: { by: { id: string; name: string }; now: string; expiresAt: string },
): Promise<SessionRow | undefined> {
  return tx.row(approveStatement, id, by.id, by.name, now, expiresAt)
}

const openStatement = statement<SessionRow>(
  `update remote_sessions s set state = 'open', is_reported = false, gateway_id = $3, address = $4, is_own_address = $5, opened_at = $6,
     active_at = $6
   where s.tenant_id = $1 and s.id = $2 and s.state = 'connecting' returning ${columns}`,
)

export type SessionTarget = Pick<SessionRow, 'gatewayId' | 'isOwnAddress'> & { address: string }

/** Opens a session that connects. Returns undefined if it has ended. */
export function openSession(tx: Transaction, id: string, target: SessionTarget, now: string) {
  return tx.row(openStatement, id, target.gatewayId, target.address, target.isOwnAddress, now)
}

const extendStatement = statement<SessionRow>(
  `update remote_sessions s set expires_at = $3, duration_minutes = $4
   where s.tenant_id = $1 and s.id = $2 and s.state = 'open' returning ${columns}`,
)

export function extendSession(
  tx: Transaction,
  id: string,
  { expiresAt, durationMinutes }: Pick<SessionRow, 'expiresAt' | 'durationMinutes'>,
): Promise<SessionRow | undefined> {
  return tx.row(extendStatement, id, expiresAt, durationMinutes)
}

export type SessionEnd = {
  ending: SessionEnding
  detail?: string | undefined
  by?: { id: string; name: string } | undefined
  /** Whether the person decided about the approval. */
  isDecision?: boolean
}

const endStatement = statement<SessionRow>(
  `update remote_sessions s set state = 'ended', is_reported = false, ending = $3, ending_detail = $4, ended_by_id = $5, ended_by_name = $6,
     ended_at = $7, decided_by_id = coalesce($8, s.decided_by_id), decided_by_name = coalesce($9, s.decided_by_name)
   where s.tenant_id = $1 and s.id = $2 and s.state <> 'ended' returning ${columns}`,
)

/** Ends a session. Returns undefined if it has ended already. */
export function endSession(
  tx: Transaction,
  id: string,
  { ending, detail, by, isDecision = false }: SessionEnd,
  now: string,
): Promise<SessionRow | undefined> {
  const decision = isDecision ? [by?.id ?? null, by?.name ?? null] : [null, null]
  return tx.row(endStatement, id, ending, detail ?? null, by?.id ?? null, by?.name ?? null, now, ...decision)
}

const unendedOfGroupStatement = statement<SessionRow>(
  `select ${columns} from remote_sessions s where s.tenant_id = $1 and s.access_group_id = $2
     and s.state in ('pending-approval', 'connecting', 'open') order by s.id for update`,
)

/** Returns the sessions of an access group that have not ended, and locks them until the end of the transaction. */
export function lockUnendedOfGroup(tx: Transaction, accessGroupId: string): Promise<SessionRow[]> {
  return tx.rows(unendedOfGroupStatement, accessGroupId)
}

const setLimitsStatement = statement(
  `update remote_sessions s set expires_at = $3, duration_minutes = $4, idle_minutes = $5
   where s.tenant_id = $1 and s.id = $2`,
)

export type SessionLimits = Pick<SessionRow, 'expiresAt' | 'durationMinutes' | 'idleMinutes'>

export async function setLimits(tx: Transaction, id: string, limits: SessionLimits): Promise<void> {
  await tx.run(setLimitsStatement, id, limits.expiresAt, limits.durationMinutes, limits.idleMinutes)
}

/** A statement that returns a row if the tenant has a session that has not ended, or whose end is not recorded. */
export const anyUnclosed = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1 and s.closed_at is null limit 1`,
)

const unclosedStatement = statement<SessionRow>(
  `select ${columns} from remote_sessions s where s.tenant_id = $1 and s.closed_at is null order by s.id`,
)

/** Returns the sessions that have not ended, or whose end is not recorded. Their number is limited. */
export function listUnclosed(handle: Handle): Promise<SessionRow[]> {
  return handle.rows(unclosedStatement)
}

const unendedStatement = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1 and s.state in ('pending-approval', 'connecting', 'open')
     and ($2::uuid is null or s.gateway_id = $2) and ($3::uuid is null or s.principal_id = $3) order by s.id`,
)

export type SessionOwner = { gatewayId?: string | undefined; principalId?: string | undefined }

/** Returns the sessions of a gateway or of a user that have not ended. Without an owner, it returns those of the tenant. */
export async function listUnended(handle: Handle, { gatewayId, principalId }: SessionOwner): Promise<string[]> {
  return (await handle.rows(unendedStatement, gatewayId ?? null, principalId ?? null)).map(({ id }) => id)
}

const endedAmongStatement = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1 and s.id = any($2::uuid[]) and s.state = 'ended'`,
)

/** Returns those of the sessions that have ended. */
export async function endedAmong(handle: Handle, ids: readonly string[]): Promise<string[]> {
  return (await handle.rows(endedAmongStatement, arrayOf('uuid', ids))).map(({ id }) => id)
}

const setGroupStatement = statement(
  `update remote_sessions s set access_group_id = $3 where s.tenant_id = $1 and s.id = $2`,
)

/** Stores the access group to which the asset of a session was moved. */
export async function setAccessGroup(tx: Transaction, id: string, accessGroupId: string): Promise<void> {
  await tx.run(setGroupStatement, id, accessGroupId)
}

const addStreamStatement = statement<SessionRow>(
  `update remote_sessions s set streams = s.streams + 1, active_at = greatest(s.active_at, $4)
   where s.tenant_id = $1 and s.id = $2 and s.state = 'open' and s.streams < $3 returning ${columns}`,
)

/** Counts a new stream. Returns undefined if the session is not open, or has as many streams as allowed. */
export function addStream(tx: Transaction, id: string, limit: number, now: string): Promise<SessionRow | undefined> {
  return tx.row(addStreamStatement, id, limit, now)
}

export type Traffic = { sentBytes: number; receivedBytes: number }

const addTrafficStatement = statement(
  `update remote_sessions s set sent_bytes = s.sent_bytes + $3, received_bytes = s.received_bytes + $4,
     active_at = greatest(s.active_at, $5), streams = greatest(0, s.streams - $6)
   where s.tenant_id = $1 and s.id = $2 and s.closed_at is null`,
)

/** Adds the bytes of streams to a session, and removes ended streams. */
export async function addTraffic(
  tx: Transaction,
  id: string,
  { sentBytes, receivedBytes, activeAt, endedStreams }: Traffic & { activeAt: string; endedStreams: number },
): Promise<void> {
  await tx.run(addTrafficStatement, id, sentBytes, receivedBytes, activeAt, endedStreams)
}

const clearStreamsStatement = statement(
  `update remote_sessions s set streams = 0 where s.tenant_id = $1 and s.gateway_id = $2 and s.streams > 0`,
)

/** Removes the streams of a gateway whose former tunnel is lost. */
export async function clearStreams(tx: Transaction, gatewayId: string): Promise<void> {
  await tx.run(clearStreamsStatement, gatewayId)
}

const closeStatement = statement<SessionRow>(
  `update remote_sessions s set closed_at = $3, streams = 0, recording_digest = $4
   where s.tenant_id = $1 and s.id = $2 and s.state = 'ended' and s.closed_at is null and s.recording_parts = $5
   returning ${columns}`,
)

/**
 * Records that all bytes of an ended session are counted. Returns undefined if this is recorded already, or if the recording
 * has other parts than those of the digest.
 */
export function closeSession(
  tx: Transaction,
  id: string,
  { now, digest, recordingParts }: { now: string; digest: string | null; recordingParts: number },
) {
  return tx.row(closeStatement, id, now, digest, recordingParts)
}

const setReportedStatement = statement(
  `update remote_sessions s set is_reported = true where s.tenant_id = $1 and s.id = $2 and s.state = $3`,
)

/** Records that the job of a session has this state, unless the session has another state now. */
export async function setReported(tx: Transaction, id: string, state: SessionState): Promise<void> {
  await tx.run(setReportedStatement, id, state)
}

const unreportedStatement = statement<SessionRow>(
  `select ${columns} from remote_sessions s where s.tenant_id = $1 and not s.is_reported
   order by s.id limit $2`,
)
/** A statement that returns a row if the job of a session does not have its state. */
export const anyUnreported = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1 and not s.is_reported limit 1`,
)

export function listUnreported(handle: Handle, limit: number): Promise<SessionRow[]> {
  return handle.rows(unreportedStatement, limit)
}

/** A statement that returns a row if a recording or a session is older than its retention. */
export const anyExpired = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1
     and (s.ended_at < now() - interval '${remoteAccessLimits.recordingDays} days' and not s.is_recording_deleted
       or s.ended_at < now() - interval '${remoteAccessLimits.sessionDays} days')
   limit 1`,
)

const expiredRecordingStatement = statement<{ id: string }>(
  `select s.id from remote_sessions s where s.tenant_id = $1 and s.ended_at < $2 and not s.is_recording_deleted
   order by s.ended_at limit 1`,
)

export async function nextExpiredRecording(handle: Handle, before: string): Promise<string | undefined> {
  return (await handle.row(expiredRecordingStatement, before))?.id
}

const markRecordingStatement = statement(
  `update remote_sessions s set is_recording_deleted = true, recording_parts = 0 where s.tenant_id = $1 and s.id = $2`,
)

export async function markRecordingDeleted(tx: Transaction, id: string): Promise<void> {
  await tx.run(markRecordingStatement, id)
}

const deleteExpiredStatement = statement<{ id: string }>(
  `delete from remote_sessions s where s.tenant_id = $1 and s.id = any(array(
     select o.id from remote_sessions o where o.tenant_id = $1 and o.ended_at < $2 and o.is_recording_deleted
     order by o.ended_at limit $3)) returning s.id`,
)

/** Deletes old sessions whose recordings are deleted. Returns the number of deleted sessions. */
export async function deleteExpired(tx: Transaction, before: string, limit: number): Promise<number> {
  return (await tx.rows(deleteExpiredStatement, before, limit)).length
}
