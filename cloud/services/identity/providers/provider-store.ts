import type { IdentityProvider } from '@millwright/api/identity-providers.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { SealedColumn } from '../../../platform/secrets/sealed-column.ts'
import type { RowPage } from '../store.ts'

/** Statements on identity providers and on sign-ins that continue at a provider. */

export type Mapping = IdentityProvider['mappings'][number]

export type ProviderRow = {
  id: string
  name: string
  title: string
  issuer: string
  clientId: string
  sealedClientSecret: Buffer | null
  scopes: string[]
  nameClaim: string
  groupsClaim: string
  mappings: Mapping[]
  mayGrantAdministrator: boolean
  apiAudience: string | null
  disabled: boolean
  version: number
  createdAt: string
  modifiedAt: string
}

const sealedClientSecrets: SealedColumn = {
  of: 'tenant',
  table: 'identity_providers',
  column: 'sealed_client_secret',
  key: ['id'],
  belongsTo: ({ id = '' }) => clientSecretOwner(id),
}

/** Returns the owner to which the sealed secret of a provider is bound. */
export function clientSecretOwner(id: string): string {
  return `identity-provider/${id}`
}

const sealedIdTokens: SealedColumn = {
  of: 'tenant',
  table: 'sessions',
  column: 'sealed_id_token',
  key: ['id'],
  belongsTo: ({ id = '' }) => idTokenOwner(id),
}

/** Returns the owner to which the sealed ID token of a session is bound. */
export function idTokenOwner(sessionId: string): string {
  return `session/${sessionId}`
}

const sealedProviderSignIns: SealedColumn = {
  of: 'tenant',
  table: 'provider_sign_ins',
  column: 'sealed',
  key: ['hash'],
  belongsTo: ({ hash = '' }) => signInOwner(hash.replace(/^\\x/, '')),
}

/** Returns the owner to which the sealed values of a sign-in are bound. */
export function signInOwner(hashHex: string): string {
  return `provider-sign-in/${hashHex}`
}

/** The sealed columns of identity providers and their sessions. */
export const sealedProviderValues = [sealedClientSecrets, sealedIdTokens, sealedProviderSignIns]

const columns = `id, name, title, issuer, client_id as "clientId", sealed_client_secret as "sealedClientSecret", scopes,
  name_claim as "nameClaim", groups_claim as "groupsClaim", mappings,
  may_grant_administrator as "mayGrantAdministrator", api_audience as "apiAudience", disabled, version,
  created_at as "createdAt", modified_at as "modifiedAt"`

const byId = statement<ProviderRow>(`select ${columns} from identity_providers where tenant_id = $1 and id = $2`)
const lockedById = statement<ProviderRow>(
  `select ${columns} from identity_providers where tenant_id = $1 and id = $2 for update`,
)
const enabledById = statement<{ id: string }>(
  'select id from identity_providers where tenant_id = $1 and id = $2 and not disabled for share',
)
const pageByName = statement<ProviderRow>(
  `select ${columns} from identity_providers where tenant_id = $1 order by name limit $2 offset $3`,
)
const count = statement<{ total: number }>('select count(*) as total from identity_providers where tenant_id = $1')
const buttons = statement<{ id: string; title: string }>(
  'select id, title from identity_providers where tenant_id = $1 and not disabled order by name limit $2',
)
const sameName = statement<{ name: string; issuer: string }>(
  'select name, issuer from identity_providers where tenant_id = $1 and (name = $2 or issuer = $3) limit 1',
)
const insert = statement(
  `insert into identity_providers (tenant_id, id, name, title, issuer, client_id, sealed_client_secret, scopes,
     name_claim, groups_claim, mappings, may_grant_administrator, api_audience, disabled)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11::text::jsonb, $12, $13, $14)`,
)
const update = statement(
  `update identity_providers set title = $3, client_id = $4, sealed_client_secret = $5, scopes = $6, name_claim = $7,
     groups_claim = $8, mappings = $9::text::jsonb, may_grant_administrator = $10, api_audience = $11, disabled = $12,
     version = version + 1, modified_at = $13::timestamptz
   where tenant_id = $1 and id = $2`,
)
const remove = statement('delete from identity_providers where tenant_id = $1 and id = $2')

export function findProvider(handle: Handle, id: string): Promise<ProviderRow | undefined> {
  return handle.row(byId, id)
}

export function lockProvider(tx: Transaction, id: string): Promise<ProviderRow | undefined> {
  return tx.row(lockedById, id)
}

/**
 * Returns whether users can sign in with a provider. A concurrent change of the provider waits for the end of the
 * transaction, so that it also ends the session that the transaction starts.
 */
export async function holdEnabledProvider(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.row(enabledById, id)) !== undefined
}

export async function listProviders(
  handle: Handle,
  { limit, offset }: { limit: number; offset: number },
): Promise<RowPage<ProviderRow>> {
  const rows = await handle.rows(pageByName, limit, offset)
  return { rows, total: await countProviders(handle) }
}

export async function countProviders(handle: Handle): Promise<number> {
  return (await handle.row(count))?.total ?? 0
}

/** Returns the providers of the sign-in page. */
export function listSignInProviders(handle: Handle, limit: number): Promise<{ id: string; title: string }[]> {
  return handle.rows(buttons, limit)
}

/** Returns a provider with the same name or the same issuer. */
export function findSameProvider(handle: Handle, { name, issuer }: { name: string; issuer: string }) {
  return handle.row(sameName, name, issuer)
}

export type NewProvider = Omit<ProviderRow, 'version' | 'createdAt' | 'modifiedAt'>

export async function insertProvider(tx: Transaction, row: NewProvider): Promise<void> {
  const { id, name, title, issuer, clientId, sealedClientSecret, scopes, nameClaim, groupsClaim } = row
  const rest = [JSON.stringify(row.mappings), row.mayGrantAdministrator, row.apiAudience, row.disabled]
  await tx.run(insert, id, name, title, issuer, clientId, sealedClientSecret, scopes, nameClaim, groupsClaim, ...rest)
}

export async function updateProvider(tx: Transaction, row: ProviderRow): Promise<void> {
  const { id, title, clientId, sealedClientSecret, scopes, nameClaim, groupsClaim } = row
  const rest = [JSON.stringify(row.mappings), row.mayGrantAdministrator, row.apiAudience, row.disabled]
  const now = new Date().toISOString()
  await tx.run(update, id, title, clientId, sealedClientSecret, scopes, nameClaim, groupsClaim, ...rest, now)
}

export async function deleteProvider(tx: Transaction, id: string): Promise<void> {
  await tx.run(remove, id)
}

const newSignIn = statement(
  `insert into provider_sign_ins (tenant_id, hash, provider_id, browser, query, sealed, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7::timestamptz)`,
)
const takenSignIn = statement<{ providerId: string; query: string; sealed: Buffer }>(
  `delete from provider_sign_ins where tenant_id = $1 and hash = $2 and browser = $3 and expires_at > $4::timestamptz
   returning provider_id as "providerId", query, sealed`,
)
const signInsOf = statement('delete from provider_sign_ins where tenant_id = $1 and provider_id = $2')

export type NewProviderSignIn = {
  hash: Buffer
  providerId: string
  browser: Buffer
  query: string
  sealed: Buffer
  expiresAt: string
}

export async function insertSignIn(tx: Transaction, signIn: NewProviderSignIn): Promise<void> {
  const { hash, providerId, browser, query, sealed, expiresAt } = signIn
  await tx.run(newSignIn, hash, providerId, browser, query, sealed, expiresAt)
}

/** Returns and deletes the sign-in with this state, if the same browser started it. A state counts once. */
export function takeSignIn(tx: Transaction, { hash, browser }: { hash: Buffer; browser: Buffer }) {
  return tx.row(takenSignIn, hash, browser, new Date().toISOString())
}

export async function deleteSignInsOf(tx: Transaction, providerId: string): Promise<void> {
  await tx.run(signInsOf, providerId)
}
