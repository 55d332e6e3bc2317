import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { OpaqueToken } from '../oauth/opaque-token.ts'

export type SessionRow = {
  id: string
  principalId: string
  clientId: string
  userAgent: string
  address: string | null
  methods: string[]
  createdAt: string
  lastUsedAt: string
  authenticatedAt: string
  expiresAt: string
  unfamiliar: boolean
}

export type ListedSessionRow = SessionRow & { provider: string | null }

const columns = `s.id, s.principal_id as "principalId", s.client_id as "clientId", s.user_agent as "userAgent",
  s.address, s.methods, s.created_at as "createdAt", s.last_used_at as "lastUsedAt",
  s.authenticated_at as "authenticatedAt", s.expires_at as "expiresAt", s.unfamiliar`

const newSession = statement(
  `insert into sessions (tenant_id, id, hash, principal_id, client_id, user_agent, address, methods, unfamiliar,
     created_at, last_used_at, authenticated_at, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::timestamptz, $10::timestamptz, $10::timestamptz,
     $11::timestamptz)`,
)
const sessionByHash = statement<SessionRow>(
  `select ${columns} from sessions s where s.tenant_id = $1 and s.hash = $2 and s.expires_at > $3::timestamptz`,
)
const sessionById = statement<SessionRow>(
  `select ${columns} from sessions s where s.tenant_id = $1 and s.id = $2 and s.expires_at > $3::timestamptz`,
)
const usedSession = statement(
  `update sessions set last_used_at = $3::timestamptz, address = coalesce($5, address)
   where tenant_id = $1 and id = $2 and last_used_at <= $4::timestamptz`,
)
const authenticatedSession = statement(
  `update sessions set authenticated_at = $3::timestamptz, methods = $4
   where tenant_id = $1 and id = $2`,
)
const familiarSession = statement('update sessions set unfamiliar = false where tenant_id = $1 and id = $2')

export type NewSession = {
  id: string
  token: OpaqueToken
  principalId: string
  clientId: string
  userAgent: string
  address: string | undefined
  methods: readonly string[]
  unfamiliar: boolean
  now: string
  expiresAt: string
}

export async function insertSession(tx: Transaction, session: NewSession): Promise<void> {
  const { id, token, principalId, clientId, userAgent, address, methods, unfamiliar, now } = session
  const values = [clientId, userAgent, address ?? null, methods, unfamiliar, now, session.expiresAt]
  await tx.run(newSession, id, token.hash, principalId, ...values)
}

export function findSession(handle: Handle, hash: Buffer): Promise<SessionRow | undefined> {
  return handle.row(sessionByHash, hash, new Date().toISOString())
}

export function findSessionById(handle: Handle, id: string): Promise<SessionRow | undefined> {
  return handle.row(sessionById, id, new Date().toISOString())
}

type SessionUse = { now: string; address: string | undefined; unlessUsedAfter: string }

/** Stores the time and the address of the use of a session, unless a use after the given time is stored already. */
export async function useSession(tx: Transaction, id: string, use: SessionUse): Promise<void> {
  await tx.run(usedSession, id, use.now, use.unlessUsedAfter, use.address ?? null)
}

/** Stores that the user of a session proved their identity again. Returns false if the session has ended. */
export async function setAuthenticated(
  tx: Transaction,
  id: string,
  { now, methods }: { now: string; methods: readonly string[] },
): Promise<boolean> {
  return (await tx.run(authenticatedSession, id, now, methods)) > 0
}

export async function setFamiliar(tx: Transaction, id: string): Promise<void> {
  await tx.run(familiarSession, id)
}

/** The times that a session must satisfy so that it is within the limits of the policy. */
export type SessionWindow = { now: string; createdAfter: string; usedAfter: string }

const live = (first: number) => `s.expires_at > $${first}::timestamptz and s.created_at > $${first + 1}::timestamptz
  and s.last_used_at > $${first + 2}::timestamptz`

const sessionsPage = statement<ListedSessionRow>(
  `select ${columns}, i.title as provider from sessions s
   left join identity_providers i on i.tenant_id = $1 and i.id = s.provider_id
   where s.tenant_id = $1 and s.principal_id = $2 and ${live(3)}
   order by s.last_used_at desc, s.id desc limit $6 offset $7`,
)
const sessionCount = statement<{ total: number }>(
  `select count(*) as total from sessions s where s.tenant_id = $1 and s.principal_id = $2 and ${live(3)}`,
)

const familiarSessions = statement<{ exists: boolean }>(
  `select exists (select from sessions s where s.tenant_id = $1 and s.principal_id = $2 and not s.unfamiliar
     and ${live(3)}) as exists`,
)

type SessionQuery = { window: SessionWindow; limit: number; offset: number }

/** Lists the sessions of a user that have not ended, the last used first. */
export async function listSessions(
  handle: Handle,
  principalId: string,
  { window: { now, createdAfter, usedAfter }, limit, offset }: SessionQuery,
): Promise<{ rows: ListedSessionRow[]; total: number }> {
  const window = [now, createdAfter, usedAfter]
  const rows = await handle.rows(sessionsPage, principalId, ...window, limit, offset)
  return { rows, total: (await handle.row(sessionCount, principalId, ...window))?.total ?? 0 }
}

export async function hasFamiliarSession(
  handle: Handle,
  principalId: string,
  { now, createdAfter, usedAfter }: SessionWindow,
): Promise<boolean> {
  return (await handle.row(familiarSessions, principalId, now, createdAfter, usedAfter))?.exists === true
}

const deleteSessionsById = statement('delete from sessions where tenant_id = $1 and id = any($2::uuid[])')
const deleteSessionsOf = statement<{ id: string }>(
  'delete from sessions where tenant_id = $1 and principal_id = $2 and id is distinct from $3::uuid returning id',
)
const deleteCodesOf = statement(
  'delete from authorization_codes where tenant_id = $1 and principal_id = $2 and session_id is distinct from $3::uuid',
)
const deleteTokensOf = statement<{ id: string }>(
  `delete from refresh_tokens where tenant_id = $1 and principal_id = $2 and session_id is distinct from $3::uuid
   returning session_id as id`,
)
const deletePendingOf = statement('delete from pending_sign_ins where tenant_id = $1 and principal_id = $2')
const deleteTokensOfSessions = statement(
  'delete from refresh_tokens where tenant_id = $1 and session_id = any($2::uuid[])',
)

/** Deletes sessions and all their refresh tokens. */
export async function deleteSessions(tx: Transaction, ids: readonly string[]): Promise<void> {
  await tx.run(deleteSessionsById, ids)
  await tx.run(deleteTokensOfSessions, ids)
}

/**
 * Ends all sessions of a user, except the session `except`, and all sign-ins that wait for the second factor. Returns the
 * ids of the ended sessions.
 */
export async function endSessionsOf(
  tx: Transaction,
  principalId: string,
  { except }: { except?: string | undefined } = {},
): Promise<string[]> {
  const sessions = await tx.rows(deleteSessionsOf, principalId, except ?? null)
  await tx.run(deleteCodesOf, principalId, except ?? null)
  await tx.run(deletePendingOf, principalId)
  const tokens = await tx.rows(deleteTokensOf, principalId, except ?? null)
  return [...new Set([...sessions, ...tokens].map(({ id }) => id))]
}

export type EndedSession = { id: string; principalId: string }

const surplusSessions = statement<EndedSession>(
  `select id, principal_id as "principalId" from sessions where tenant_id = $1 and principal_id = $2
   order by last_used_at desc, id desc offset $3`,
)
const exceedingSessions = statement<EndedSession>(
  `select id, principal_id as "principalId" from sessions
   where tenant_id = $1 and (expires_at <= $2::timestamptz or created_at <= $3::timestamptz
     or last_used_at <= $4::timestamptz)
   order by id`,
)
const sessionsWithoutSecondFactor = statement<EndedSession>(
  `select s.id, s.principal_id as "principalId" from sessions s
   join principals p on p.tenant_id = $1 and p.id = s.principal_id and p.kind = 'user'
   where s.tenant_id = $1 and not ('mfa' = any(s.methods)) order by s.id`,
)

/** Returns the sessions of a user except the last used ones. */
export function listSurplusSessions(handle: Handle, principalId: string, most: number): Promise<EndedSession[]> {
  return handle.rows(surplusSessions, principalId, most)
}

/** Returns sessions that have ended by the limits of the policy. */
export function listExceedingSessions(
  handle: Handle,
  { now, createdAfter, usedAfter }: SessionWindow,
): Promise<EndedSession[]> {
  return handle.rows(exceedingSessions, now, createdAfter, usedAfter)
}

/** Returns the sessions of local accounts that started without a second factor. */
export function listSessionsWithoutSecondFactor(handle: Handle): Promise<EndedSession[]> {
  return handle.rows(sessionsWithoutSecondFactor)
}

const knownDevices = statement<{ device: Buffer }>(
  `select device from known_devices
   where tenant_id = $1 and principal_id = $2 and expires_at > $3::timestamptz order by expires_at desc`,
)
const upsertDevice = statement(
  `insert into known_devices (tenant_id, principal_id, device, expires_at) values ($1, $2, $3, $4::timestamptz)
   on conflict (tenant_id, principal_id, device) do update set expires_at = excluded.expires_at`,
)
const deleteDevice = statement(
  'delete from known_devices where tenant_id = $1 and principal_id = $2 and device = any($3::bytea[])',
)

/** Returns the hashes of the devices with which a user signed in, the last used first. */
export async function listKnownDevices(handle: Handle, principalId: string): Promise<Buffer[]> {
  const rows = await handle.rows(knownDevices, principalId, new Date().toISOString())
  return rows.map(({ device }) => device)
}

export async function putKnownDevice(
  tx: Transaction,
  principalId: string,
  { device, expiresAt }: { device: Buffer; expiresAt: string },
): Promise<void> {
  await tx.run(upsertDevice, principalId, device, expiresAt)
}

export async function deleteKnownDevices(tx: Transaction, principalId: string, devices: readonly Buffer[]) {
  if (devices.length > 0) await tx.run(deleteDevice, principalId, devices)
}
