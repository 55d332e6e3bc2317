import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { EndedSession } from '../store.ts'
import type { MappedRole } from './claims.ts'

/** Statements on the accounts of people at identity providers, and on their sessions. */

export type ExternalAccountRow = {
  principalId: string
  providerId: string
  /** The issue time of the newest claims. */
  claimsAt: string
}

const columns = 'principal_id as "principalId", provider_id as "providerId", claims_at as "claimsAt"'

const lockedAccount = statement<ExternalAccountRow>(
  `select ${columns} from external_accounts where tenant_id = $1 and principal_id = $2 for update`,
)
const putAccount = statement(
  `insert into external_accounts (tenant_id, principal_id, provider_id, issuer, subject, claims_at, last_sign_in_at)
   values ($1, $2, $3, $4, $5, $6::timestamptz, $7::timestamptz)
   on conflict (tenant_id, principal_id) do update set provider_id = excluded.provider_id,
     claims_at = greatest(external_accounts.claims_at, excluded.claims_at),
     last_sign_in_at = coalesce(excluded.last_sign_in_at, external_accounts.last_sign_in_at)`,
)

export function lockAccount(tx: Transaction, principalId: string): Promise<ExternalAccountRow | undefined> {
  return tx.row(lockedAccount, principalId)
}

export type ExternalAccountInput = {
  principalId: string
  providerId: string
  issuer: string
  subject: string
  claimsAt: string
  /** The time of the sign-in. Null for a request with a token of the provider. */
  signInAt: string | null
}

/** Inserts or updates the account of a principal. */
export async function putExternalAccount(tx: Transaction, account: ExternalAccountInput): Promise<void> {
  const { principalId, providerId, issuer, subject, claimsAt, signInAt } = account
  await tx.run(putAccount, principalId, providerId, issuer, subject, claimsAt, signInAt)
}

const manualRoles = statement<MappedRole>(
  `select distinct g.role, g.access_group_id as "accessGroupId" from grants g
   join external_accounts a on a.tenant_id = $1 and a.principal_id = g.principal_id
   where g.tenant_id = $1 and g.provider_id is null and a.issuer = $2`,
)

/** Returns the roles that people granted to the accounts of an issuer, each once. */
export function listManualRoles(handle: Handle, issuer: string): Promise<MappedRole[]> {
  return handle.rows(manualRoles, issuer)
}

const accounts = 'select a.principal_id from external_accounts a where a.tenant_id = $1 and a.provider_id = $2'
const endSessions = statement<EndedSession>(
  `delete from sessions where tenant_id = $1 and (provider_id = $2 or principal_id in (${accounts}))
   returning id, principal_id as "principalId"`,
)
const endCodes = statement(`delete from authorization_codes where tenant_id = $1 and principal_id in (${accounts})`)
const endTokens = statement<EndedSession>(
  `delete from refresh_tokens where tenant_id = $1 and principal_id in (${accounts})
   returning session_id as id, principal_id as "principalId"`,
)

/** Ends all sessions of the users of a provider. Returns the ended sessions. */
export async function endSessionsOfProvider(tx: Transaction, providerId: string): Promise<EndedSession[]> {
  const sessions = await tx.rows(endSessions, providerId)
  await tx.run(endCodes, providerId)
  const tokens = await tx.rows(endTokens, providerId)
  return [...sessions, ...tokens]
}

const loggedOut = statement<EndedSession>(
  `select id, principal_id as "principalId" from sessions
   where tenant_id = $1 and provider_id = $2 and ($3::text is null or provider_session = $3)
     and ($4::uuid is null or principal_id = $4)`,
)

/** Finds the sessions of a session id of the provider, of a principal, or of both. */
export function findProviderSessions(
  handle: Handle,
  { providerId, session, principalId }: { providerId: string; session: string | null; principalId: string | null },
): Promise<EndedSession[]> {
  return handle.rows(loggedOut, providerId, session, principalId)
}

const idTokenOf = statement<{ providerId: string; sealedIdToken: Buffer }>(
  `select provider_id as "providerId", sealed_id_token as "sealedIdToken" from sessions
   where tenant_id = $1 and id = $2 and provider_id is not null and sealed_id_token is not null`,
)

export function findIdToken(handle: Handle, sessionId: string) {
  return handle.row(idTokenOf, sessionId)
}

const linkedSession = statement(
  `update sessions set provider_id = $3, provider_session = $4, sealed_id_token = $5, authenticated_at = $6::timestamptz
   where tenant_id = $1 and id = $2`,
)

export type LinkedSession = {
  id: string
  providerId: string
  providerSession: string | null
  sealedIdToken: Buffer | null
  authenticatedAt: string
}

/** Stores the identity provider of a session. */
export async function linkSession(tx: Transaction, session: LinkedSession): Promise<void> {
  const { id, providerId, providerSession, sealedIdToken, authenticatedAt } = session
  await tx.run(linkedSession, id, providerId, providerSession, sealedIdToken, authenticatedAt)
}
