import type { Handle, Transaction } from '../../platform/database/database.ts'
import { type Statement, statement } from '../../platform/database/statement.ts'
import type { OpaqueToken } from './oauth/opaque-token.ts'

// The functions for sessions are in a separate file, because this file would be too long.
export * from './sign-in/session-store.ts'

type Count = { total: number }
type Paging = { limit: number; offset: number }
export type RowPage<Row> = { rows: Row[]; total: number }

export type UserRow = {
  id: string
  name: string
  displayName: string
  disabled: boolean
  version: number
  createdAt: string
  modifiedAt: string
  lastSignInAt: string | null
  hasSecondFactor: boolean
  /** The identity provider of the user. Null for a local account. */
  provider: string | null
}

const confirmedTotp =
  'select from totp_secrets t where t.tenant_id = $1 and t.principal_id = p.id and t.confirmed_at is not null'
const ownPasskey = 'select from passkeys k where k.tenant_id = $1 and k.principal_id = p.id'
const userColumns = `p.id, p.name, p.display_name as "displayName", p.disabled, p.version,
  p.created_at as "createdAt", p.modified_at as "modifiedAt",
  coalesce(w.last_sign_in_at, a.last_sign_in_at) as "lastSignInAt",
  case when p.kind = 'external' then coalesce(i.title, left(a.issuer, 128), 'deleted provider') end as provider,
  (exists (${confirmedTotp}) or exists (${ownPasskey})) as "hasSecondFactor"`
const users = `from principals p left join user_passwords w on w.tenant_id = $1 and w.principal_id = p.id
  left join external_accounts a on a.tenant_id = $1 and a.principal_id = p.id
  left join identity_providers i on i.tenant_id = $1 and i.id = a.provider_id
  where p.tenant_id = $1 and p.kind in ('user', 'external')`

const userById = statement<UserRow>(`select ${userColumns} ${users} and p.id = $2`)
const usersByName = statement<UserRow>(
  `select ${userColumns} ${users} and p.name = $2 order by p.kind limit $3 offset $4`,
)
const usersPage = statement<UserRow>(`select ${userColumns} ${users} order by p.name, p.kind limit $2 offset $3`)
const countByKind = statement<Count>(
  'select count(*) as total from principals where tenant_id = $1 and kind = any($2::text[])',
)
const countByName = statement<Count>(
  'select count(*) as total from principals where tenant_id = $1 and kind = any($2::text[]) and name = $3',
)

export function findUser(handle: Handle, id: string): Promise<UserRow | undefined> {
  return handle.row(userById, id)
}

type Listing<Row> = {
  kinds: ('user' | 'external' | 'server_user')[]
  page: Statement<Row>
  named: Statement<Row>
}

async function list<Row>(
  handle: Handle,
  { kinds, page, named }: Listing<Row>,
  { name, limit, offset }: Paging & { name?: string | undefined },
): Promise<RowPage<Row>> {
  const rows = await (name === undefined ? handle.rows(page, limit, offset) : handle.rows(named, name, limit, offset))
  const count = await (name === undefined ? handle.row(countByKind, kinds) : handle.row(countByName, kinds, name))
  return { rows, total: count?.total ?? 0 }
}

export function listUsers(handle: Handle, query: Paging & { name?: string | undefined }): Promise<RowPage<UserRow>> {
  return list(handle, { kinds: ['user', 'external'], page: usersPage, named: usersByName }, query)
}

export type StoredPassword = { principalId: string; name: string; hash: string }

const passwordColumns = 'p.id as "principalId", p.name, w.hash'
const passwords = `from principals p join user_passwords w on w.tenant_id = $1 and w.principal_id = p.id
  where p.tenant_id = $1 and p.kind = 'user'`

const passwordByName = statement<StoredPassword>(`select ${passwordColumns} ${passwords} and p.name = $2`)
const passwordById = statement<StoredPassword>(`select ${passwordColumns} ${passwords} and p.id = $2`)
const upsertPassword = statement(
  `insert into user_passwords (tenant_id, principal_id, hash) values ($1, $2, $3)
   on conflict (tenant_id, principal_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`,
)
const signedIn = statement(
  'update user_passwords set last_sign_in_at = now() where tenant_id = $1 and principal_id = $2',
)

export function findPasswordByName(handle: Handle, name: string): Promise<StoredPassword | undefined> {
  return handle.row(passwordByName, name)
}

export function findPassword(handle: Handle, principalId: string): Promise<StoredPassword | undefined> {
  return handle.row(passwordById, principalId)
}

const heldPassword = statement<{ hash: string }>(
  'select hash from user_passwords where tenant_id = $1 and principal_id = $2 for update',
)

/**
 * Returns whether a user still has the password with this hash. A concurrent change of the password waits for the end of
 * the transaction, so that it also ends the session that the transaction starts.
 */
export async function holdPassword(tx: Transaction, principalId: string, hash: string): Promise<boolean> {
  return (await tx.row(heldPassword, principalId))?.hash === hash
}

export async function putPassword(tx: Transaction, principalId: string, hash: string): Promise<void> {
  await tx.run(upsertPassword, principalId, hash)
}

export async function setLastSignIn(tx: Transaction, principalId: string): Promise<void> {
  await tx.run(signedIn, principalId)
}

export type ServerUserRow = {
  id: string
  name: string
  clientId: string
  disabled: boolean
  version: number
  createdAt: string
  modifiedAt: string
  secretCreatedAt: string
}

const serverUserColumns = `p.id, p.name, s.client_id as "clientId", p.disabled, p.version,
  p.created_at as "createdAt", p.modified_at as "modifiedAt", s.created_at as "secretCreatedAt"`
const serverUsers = `from principals p join server_user_secrets s on s.tenant_id = $1 and s.principal_id = p.id
  where p.tenant_id = $1 and p.kind = 'server_user'`

const serverUserById = statement<ServerUserRow>(`select ${serverUserColumns} ${serverUsers} and p.id = $2`)
const serverUsersByName = statement<ServerUserRow>(
  `select ${serverUserColumns} ${serverUsers} and p.name = $2 limit $3 offset $4`,
)
const serverUsersPage = statement<ServerUserRow>(
  `select ${serverUserColumns} ${serverUsers} order by p.name limit $2 offset $3`,
)
const secretByClientId = statement<{ principalId: string; hash: Buffer; tokenFamily: string }>(
  `select principal_id as "principalId", hash, coalesce(token_family, principal_id) as "tokenFamily"
   from server_user_secrets where tenant_id = $1 and client_id = $2`,
)
const newSecret = statement(
  'insert into server_user_secrets (tenant_id, principal_id, client_id, hash) values ($1, $2, $3, $4)',
)
const changedSecret = statement(
  'update server_user_secrets set hash = $3, created_at = now() where tenant_id = $1 and principal_id = $2',
)
const familyOfSecret = statement<{ tokenFamily: string }>(
  `select coalesce(token_family, principal_id) as "tokenFamily" from server_user_secrets
   where tenant_id = $1 and principal_id = $2 for update`,
)
const changedFamily = statement(
  'update server_user_secrets set token_family = $3 where tenant_id = $1 and principal_id = $2',
)

export function findServerUser(handle: Handle, id: string): Promise<ServerUserRow | undefined> {
  return handle.row(serverUserById, id)
}

export function listServerUsers(
  handle: Handle,
  query: Paging & { name?: string | undefined },
): Promise<RowPage<ServerUserRow>> {
  return list(handle, { kinds: ['server_user'], page: serverUsersPage, named: serverUsersByName }, query)
}

export function findSecret(handle: Handle, clientId: string) {
  return handle.row(secretByClientId, clientId)
}

export async function insertSecret(tx: Transaction, secret: { principalId: string; clientId: string; hash: Buffer }) {
  await tx.run(newSecret, secret.principalId, secret.clientId, secret.hash)
}

export async function replaceSecret(tx: Transaction, principalId: string, hash: Buffer): Promise<void> {
  await tx.run(changedSecret, principalId, hash)
}

/** Starts a new token family for the secret of a principal. Returns the id of the previous family. */
export async function beginTokenFamily(tx: Transaction, principalId: string, family: string): Promise<string[]> {
  const before = await tx.rows(familyOfSecret, principalId)
  await tx.run(changedFamily, principalId, family)
  return before.map(({ tokenFamily }) => tokenFamily)
}

export type GrantedAccess = {
  principalId: string
  sessionId: string
  /** The id of the token family. All tokens of a family are revoked together. */
  familyId: string
  clientId: string
  scope: string | null
}

export type CodeRow = GrantedAccess & { redirectUri: string; challenge: string; used: boolean }

const granted = `principal_id as "principalId", session_id as "sessionId", family_id as "familyId",
  client_id as "clientId", scope, used_at is not null as used`

const newCode = statement(
  `insert into authorization_codes (tenant_id, hash, principal_id, session_id, family_id, client_id, scope,
     redirect_uri, code_challenge, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, now() + make_interval(secs => $10))`,
)
const lockedCode = statement<CodeRow>(
  `select ${granted}, redirect_uri as "redirectUri", code_challenge as challenge from authorization_codes
   where tenant_id = $1 and hash = $2 and expires_at > now() for update`,
)
const deleteCodeByHash = statement('delete from authorization_codes where tenant_id = $1 and hash = $2')
const usedCode = statement('update authorization_codes set used_at = now() where tenant_id = $1 and hash = $2')

type NewCode = GrantedAccess & { token: OpaqueToken; redirectUri: string; challenge: string; seconds: number }

export async function insertCode(tx: Transaction, code: NewCode): Promise<void> {
  const { principalId, sessionId, familyId, clientId, scope } = code
  const rest = [code.redirectUri, code.challenge, code.seconds]
  await tx.run(newCode, code.token.hash, principalId, sessionId, familyId, clientId, scope, ...rest)
}

/** Locks a code, so that no other transaction can use it. */
export function lockCode(tx: Transaction, hash: Buffer): Promise<CodeRow | undefined> {
  return tx.row(lockedCode, hash)
}

export async function useCode(tx: Transaction, hash: Buffer): Promise<void> {
  await tx.run(usedCode, hash)
}

export async function deleteCode(tx: Transaction, hash: Buffer): Promise<void> {
  await tx.run(deleteCodeByHash, hash)
}

export type RefreshTokenRow = GrantedAccess & { used: boolean; familyExpiresAt: string }

const newToken = statement(
  `insert into refresh_tokens (tenant_id, hash, principal_id, session_id, family_id, client_id, scope,
     expires_at, family_expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, least(now() + make_interval(secs => $8), $9::timestamptz), $9)`,
)
const lockedToken = statement<RefreshTokenRow>(
  `select ${granted}, family_expires_at as "familyExpiresAt" from refresh_tokens
   where tenant_id = $1 and hash = $2 and expires_at > now() for update`,
)
const unusedToken = statement<GrantedAccess>(
  `select ${granted} from refresh_tokens
   where tenant_id = $1 and hash = $2 and expires_at > now() and used_at is null`,
)
const usedToken = statement('update refresh_tokens set used_at = now() where tenant_id = $1 and hash = $2')
const deleteFamily = statement('delete from refresh_tokens where tenant_id = $1 and family_id = $2')

type NewRefreshToken = GrantedAccess & { token: OpaqueToken; idleSeconds: number; familyExpiresAt: string }

export async function insertRefreshToken(tx: Transaction, token: NewRefreshToken): Promise<void> {
  const { principalId, sessionId, familyId, clientId, scope } = token
  const times = [token.idleSeconds, token.familyExpiresAt]
  await tx.run(newToken, token.token.hash, principalId, sessionId, familyId, clientId, scope, ...times)
}

/** Returns a refresh token that is neither used nor expired. */
export function findRefreshToken(handle: Handle, hash: Buffer): Promise<GrantedAccess | undefined> {
  return handle.row(unusedToken, hash)
}

export function lockRefreshToken(tx: Transaction, hash: Buffer): Promise<RefreshTokenRow | undefined> {
  return tx.row(lockedToken, hash)
}

export async function useRefreshToken(tx: Transaction, hash: Buffer): Promise<void> {
  await tx.run(usedToken, hash)
}

export async function endFamily(tx: Transaction, familyId: string): Promise<void> {
  await tx.run(deleteFamily, familyId)
}

const expired = 'where tenant_id = $1 and expires_at <= now()'

/** Returns a row when one of the tables of this service contains an expired row. */
export const somethingExpired = statement(
  `select 1 as expired where exists (select from sessions ${expired})
     or exists (select from authorization_codes ${expired}) or exists (select from refresh_tokens ${expired})
     or exists (select from sign_in_failures ${expired}) or exists (select from known_networks ${expired})
     or exists (select from revoked_tokens ${expired}) or exists (select from used_proofs ${expired})
     or exists (select from pending_sign_ins ${expired}) or exists (select from passkey_challenges ${expired})
     or exists (select from known_devices ${expired}) or exists (select from provider_sign_ins ${expired})`,
)
const prunings = [
  'sessions',
  'authorization_codes',
  'refresh_tokens',
  'sign_in_failures',
  'known_networks',
  'pending_sign_ins',
  'passkey_challenges',
  'known_devices',
  'provider_sign_ins',
].map((table) => statement(`delete from ${table} ${expired}`))

export async function prune(tx: Transaction): Promise<void> {
  for (const pruning of prunings) await tx.run(pruning)
}
