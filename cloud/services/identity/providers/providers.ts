import { createHash } from 'node:crypto'
import type { identity } from '@millwright/api/identity.ts'
import { type IdentityProvider, providerLimits } from '@millwright/api/identity-providers.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import type { Caller } from '../../../platform/access/caller.ts'
import { requireCovers } from '../../../platform/access/escalation.ts'
import { findPermissions } from '../../../platform/access/role-permissions.ts'
import {
  changeAccess,
  deleteMappedGrants,
  deleteMappedGrantsOf,
  findAccessGroup,
} from '../../../platform/access/store.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { emit } from '../../../platform/events/events.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import { etagOf, requireMatch } from '../../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import { putDirectoryEntry, removeDirectoryEntries } from '../../../platform/tenants/store.ts'
import type { IdentityContext } from '../context.ts'
import { keyOf } from './claims.ts'
import { administrativePermission } from './external-account.ts'
import { listManualRoles } from './external-account-store.ts'
import { endProviderSessions } from './provider-session.ts'
import * as store from './provider-store.ts'

type Operations =
  | 'listIdentityProviders'
  | 'createIdentityProvider'
  | 'readIdentityProvider'
  | 'updateIdentityProvider'
  | 'deleteIdentityProvider'
  | 'checkIdentityProvider'

const defaults = {
  scopes: ['profile'],
  nameClaim: 'preferred_username',
  groupsClaim: 'groups',
  mappings: [],
  mayGrantAdministrator: false,
  apiAudience: null,
  disabled: false,
}

export function providerHandlers(shared: IdentityContext): Pick<Handlers<typeof identity>, Operations> {
  const { context, providers: clients } = shared
  const { database, settings } = context
  const show = (row: store.ProviderRow) => providerOf(row, settings.baseUrl)
  return {
    async listIdentityProviders({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) => store.listProviders(handle, { limit, offset }))
      return { data: rows.map(show), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async createIdentityProvider({ body: { data } }, caller) {
      const { clientSecret = null, ...fields } = data
      const id = v7()
      const row = { id, ...defaults, ...fields }
      requireIssuer(row.issuer)
      requireOwnAudience(row)
      if (!row.disabled) await requireUsable(shared, { issuer: row.issuer, hasClientSecret: clientSecret !== null })
      const created = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        await requireRoom(tx, row)
        await requireCoversAccounts(tx, caller, row.issuer)
        await requireMappings(tx, caller, row)
        const sealedClientSecret = await sealed(context, tx, { id, clientSecret })
        await store.insertProvider(tx, { ...row, sealedClientSecret })
        await putDirectory(tx, row)
        const { name, issuer, clientId, mappings } = row
        const detail = { name, issuer, clientId, mappings }
        await record(tx, caller, { action: 'identity.createIdentityProvider', target: targetOf(id), detail })
        await emit(tx, { type: 'identity.provider.created', subject: targetOf(id), data: { name } })
        return getProvider(tx, id)
      })
      const headers = { location: `/iam/v1/identity-providers/${id}`, etag: etagOf(created.version) }
      return answer(201, { data: show(created) }, headers)
    },

    async readIdentityProvider({ params: { id } }, caller) {
      const row = await database.lookup(caller, (handle) => getProvider(handle, id))
      return answer(200, { data: show(row) }, { etag: etagOf(row.version) })
    },

    async updateIdentityProvider({ params: { id }, headers, body: { data } }, caller) {
      const { clientSecret, ...fields } = data
      const stored = await database.read(caller, (handle) => getProvider(handle, id))
      if (stored.disabled && fields.disabled === false) {
        const hasClientSecret = clientSecret === undefined ? stored.sealedClientSecret !== null : clientSecret !== null
        await requireUsable(shared, { issuer: stored.issuer, hasClientSecret })
      }
      const updated = await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const before = await getLockedProvider(tx, id)
        requireMatch(headers['if-match'], before.version)
        const after = { ...before, ...fields }
        requireOwnAudience(after)
        await requireCoversMappings(tx, caller, before.mappings)
        await requireCoversAccounts(tx, caller, before.issuer)
        // A mapping can name a deleted access group. It must not prevent that the provider is disabled.
        if (fields.mappings !== undefined || fields.mayGrantAdministrator !== undefined)
          await requireMappings(tx, caller, after)
        if (clientSecret !== undefined) after.sealedClientSecret = await sealed(context, tx, { id, clientSecret })
        await store.updateProvider(tx, after)
        if (after.apiAudience !== before.apiAudience) {
          await removeDirectoryEntries(tx, id)
          await putDirectory(tx, after)
        }
        await revokeObsoleteGrants(tx, before, after)
        if (after.disabled && !before.disabled) await endProviderSessions(tx, id)
        const changed = Object.keys(data)
        const detail = {
          changed,
          ...(fields.mappings === undefined ? {} : { before: before.mappings, after: after.mappings }),
          ...(fields.disabled === undefined ? {} : { disabled: fields.disabled }),
        }
        await record(tx, caller, { action: 'identity.updateIdentityProvider', target: targetOf(id), detail })
        const event = { type: 'identity.provider.updated', subject: targetOf(id), data: { name: before.name, changed } }
        await emit(tx, event)
        return getProvider(tx, id)
      })
      return answer(200, { data: show(updated) }, { etag: etagOf(updated.version) })
    },

    async deleteIdentityProvider({ params: { id }, headers }, caller) {
      await database.transaction(caller, async (tx) => {
        await changeAccess(tx)
        const { name, version, mappings } = await getLockedProvider(tx, id)
        requireMatch(headers['if-match'], version)
        await requireCoversMappings(tx, caller, mappings)
        await store.deleteProvider(tx, id)
        await endProviderSessions(tx, id)
        await deleteMappedGrants(tx, id)
        await store.deleteSignInsOf(tx, id)
        await removeDirectoryEntries(tx, id)
        await record(tx, caller, {
          action: 'identity.deleteIdentityProvider',
          target: targetOf(id),
          detail: { name },
        })
        await emit(tx, { type: 'identity.provider.deleted', subject: targetOf(id), data: { name } })
      })
      return answer(204)
    },

    async checkIdentityProvider({ params: { id } }, caller) {
      const row = await database.read(caller, (handle) => getProvider(handle, id))
      const hasClientSecret = row.sealedClientSecret !== null
      const { problems, endpoints } = await clients.check({ issuer: row.issuer, hasClientSecret })
      return { data: { isUsable: problems.length === 0, problems, endpoints } }
    },
  }
}

function targetOf(id: string): string {
  return `identity-provider/${id}`
}

function providerOf(row: store.ProviderRow, baseUrl: string): IdentityProvider {
  const { sealedClientSecret, version: _version, createdAt, modifiedAt, ...fields } = row
  return {
    ...fields,
    hasClientSecret: sealedClientSecret !== null,
    redirectUri: redirectUriOf(baseUrl, row.id),
    backchannelLogoutUri: `${baseUrl}/oauth/backchannel-logout/${row.id}`,
    createdTimestamp: createdAt,
    lastModifiedTimestamp: modifiedAt,
  }
}

/** Returns the redirect address of a provider. Each provider has its own address, so that their responses cannot be mixed up. */
export function redirectUriOf(baseUrl: string, id: string): string {
  return `${baseUrl}/oauth/callback/${id}`
}

async function getProvider(handle: Handle, id: string): Promise<store.ProviderRow> {
  return (await store.findProvider(handle, id)) ?? missing(id)
}

async function getLockedProvider(tx: Transaction, id: string): Promise<store.ProviderRow> {
  return (await store.lockProvider(tx, id)) ?? missing(id)
}

function missing(id: string): never {
  throw new Problem('not_found', `Identity provider ${id} does not exist`)
}

/** Requires an issuer in the form of OpenID Connect Discovery: a URL without query, fragment and user name. */
function requireIssuer(issuer: string): void {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === ''
  const isWeb = url?.protocol === 'https:' || url?.protocol === 'http:'
  if (isPlain && isWeb && !issuer.includes('/.well-known/') && !/[?#]/.test(issuer)) return
  throw fieldProblem(
    'invalid_body',
    '/data/issuer',
    'The issuer must be an https URL without query, fragment, user name and /.well-known/. Example: https://login.example.com/realms/plant',
  )
}

/** Refuses the client id as the audience of API tokens, because ID tokens have this audience. */
function requireOwnAudience({ apiAudience, clientId }: { apiAudience: string | null; clientId: string }): void {
  if (apiAudience !== clientId) return
  throw fieldProblem(
    'invalid_body',
    '/data/apiAudience',
    'The audience of API tokens must differ from the client id, because ID tokens have the client id as their audience. Register a separate API at the provider.',
  )
}

async function requireUsable(
  { context, providers }: IdentityContext,
  provider: { issuer: string; hasClientSecret: boolean },
): Promise<void> {
  context.outbound.require(provider.issuer)
  const { problems, code } = await providers.check(provider)
  if (problems.length === 0) return
  throw new Problem(code === 'outbound_not_allowed' ? code : 'provider_unusable', `${problems.join('. ')}.`)
}

async function requireRoom(tx: Transaction, { name, issuer }: { name: string; issuer: string }): Promise<void> {
  if ((await store.countProviders(tx)) >= providerLimits.providers)
    throw new Problem('conflict', `A tenant can have ${providerLimits.providers} identity providers. Delete one first.`)
  const same = await store.findSameProvider(tx, { name, issuer })
  if (same === undefined) return
  const what = same.name === name ? `named ${name}` : `with the issuer ${issuer}`
  throw new Problem('already_exists', `An identity provider ${what} already exists`)
}

type MappingRules = Pick<store.ProviderRow, 'mappings' | 'mayGrantAdministrator'>

/** Requires that each mapping names a role and an access group that exist, and that the caller could grant the role. */
async function requireMappings(
  handle: Handle,
  caller: Caller,
  { mappings, mayGrantAdministrator }: MappingRules,
): Promise<void> {
  for (const [index, { role, accessGroup = null }] of mappings.entries()) {
    const permissions = await findPermissions(handle, role)
    if (permissions === undefined)
      throw fieldProblem('role_not_found', `/data/mappings/${index}/role`, `Role ${role} does not exist`)
    if (permissions.includes(administrativePermission) && !mayGrantAdministrator) {
      throw fieldProblem(
        'invalid_body',
        `/data/mappings/${index}/role`,
        `The role ${role} contains ${administrativePermission}. Set mayGrantAdministrator (--administrators allow) if the provider can grant this role, or remove the mapping.`,
      )
    }
    if (accessGroup !== null && (await findAccessGroup(handle, accessGroup)) === undefined) {
      const detail = `Access group ${accessGroup} does not exist`
      throw fieldProblem('access_group_not_found', `/data/mappings/${index}/accessGroup`, detail)
    }
    requireCovers(caller, permissions, accessGroup)
  }
}

/**
 * Requires that the caller holds all permissions of the mappings. Without this rule, a caller could change the claims or
 * the client of a provider so that they get permissions that they do not have.
 */
async function requireCoversMappings(handle: Handle, caller: Caller, mappings: readonly store.Mapping[]) {
  for (const { role, accessGroup = null } of mappings)
    requireCovers(caller, (await findPermissions(handle, role)) ?? [], accessGroup)
}

/**
 * Requires that the caller holds all permissions that people granted to the accounts of an issuer. Without this rule, a
 * caller with an own client at the issuer could sign in as these accounts.
 */
async function requireCoversAccounts(handle: Handle, caller: Caller, issuer: string): Promise<void> {
  for (const { role, accessGroupId } of await listManualRoles(handle, issuer))
    requireCovers(caller, (await findPermissions(handle, role)) ?? [], accessGroupId)
}

type Secret = { id: string; clientSecret: string | null }

async function sealed({ safe }: Context, tx: Transaction, { id, clientSecret }: Secret): Promise<Buffer | null> {
  return clientSecret === null ? null : safe.seal(tx, clientSecret, store.clientSecretOwner(id))
}

/** Returns the key of an issuer and an audience in the directory of tenants. */
export function issuerKey(issuer: string, audience: string): string {
  return createHash('sha256')
    .update(JSON.stringify([issuer, audience]))
    .digest('hex')
}

type ApiIssuer = { id: string; issuer: string; apiAudience: string | null }

/** Inserts the keys of a provider into the directory of tenants. */
async function putDirectory(tx: Transaction, { id, issuer, apiAudience }: ApiIssuer): Promise<void> {
  await putDirectoryEntry(tx, { kind: 'provider', key: id, principalId: id })
  if (apiAudience === null) return
  const entry = { kind: 'issuer' as const, key: issuerKey(issuer, apiAudience), principalId: id }
  if (await putDirectoryEntry(tx, entry)) return
  throw new Problem(
    'already_exists',
    'A tenant of this installation already accepts tokens with this issuer and audience. Use another audience.',
  )
}

/**
 * Deletes the grants of removed mappings, or all mapped grants if the groups claim changed. Users get the grants that
 * still apply at their next sign-in.
 */
async function revokeObsoleteGrants(tx: Transaction, before: store.ProviderRow, after: store.ProviderRow) {
  if (before.groupsClaim !== after.groupsClaim) return deleteMappedGrants(tx, before.id)
  const rule = ({ value, role, accessGroup = null }: store.Mapping) => JSON.stringify([value, role, accessGroup])
  const rules = new Set(after.mappings.map(rule))
  const removed = before.mappings
    .filter((mapping) => !rules.has(rule(mapping)))
    .map(({ role, accessGroup = null }) => ({ role, accessGroupId: accessGroup }))
  const roles = new Map(removed.map((role) => [keyOf(role), role]))
  for (const role of roles.values()) await deleteMappedGrantsOf(tx, { providerId: before.id, ...role })
}
