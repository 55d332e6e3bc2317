import { providerLimits } from '@millwright/api/identity-providers.ts'
import { isObject } from '../../../platform/plain-object.ts'
import { ProviderError } from './provider-error.ts'
import type { Mapping } from './provider-store.ts'

/** Reads the claims of an identity provider and maps them to roles. The functions are pure. */

export type Claims = Readonly<Record<string, unknown>>

export type MappedRole = { role: string; accessGroupId: string | null }

const longestSubject = 255
const longestName = 128
const longestSession = 256

/** Returns the subject. OpenID Connect limits it to 255 characters. */
export function subjectOf({ sub }: Claims): string {
  if (typeof sub === 'string' && sub !== '' && sub.length <= longestSubject && !hasControls(sub)) return sub
  throw new ProviderError(
    'invalid_subject',
    `The claim sub of the token must be a text of 1 to ${longestSubject} characters. Check the claims at the provider`,
  )
}

/** Returns the name for a new account. Without a usable claim, it is the subject. */
export function nameOf(claims: Claims, nameClaim: string): string {
  return textOf(claimAt(claims, nameClaim)) ?? subjectOf(claims).slice(0, longestName)
}

/** Returns the display name of an account, or an empty text. */
export function displayNameOf(claims: Claims): string {
  return textOf(claims.name) ?? ''
}

function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim().slice(0, longestName).trim()
  return text === '' || hasControls(text) ? undefined : text
}

/** Returns whether a text contains control characters or characters that change the direction of the text. */
function hasControls(text: string): boolean {
  return /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(text)
}

/**
 * Returns the claim with this name. If there is none, dots in the name separate the names of nested objects, for example
 * `realm_access.roles`.
 */
export function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (!isObject(value) || !Object.hasOwn(value, part)) return undefined
    value = value[part]
  }
  return value
}

/** Returns the values of the groups claim: a text or a list of texts. */
export function groupsIn(claims: Claims, groupsClaim: string): ReadonlySet<string> {
  const value = claimAt(claims, groupsClaim)
  if (value === undefined && isOverage(claims, groupsClaim)) {
    throw new ProviderError(
      'group_overage',
      `The token does not contain the claim ${groupsClaim}, because the user is in too many groups. In Entra ID, emit only "Groups assigned to the application" or use app roles`,
    )
  }
  const values = Array.isArray(value) ? value : [value]
  if (values.length > providerLimits.claimValues) {
    throw new ProviderError(
      'too_many_groups',
      `The claim ${groupsClaim} has ${values.length} values. The limit is ${providerLimits.claimValues}. Limit the groups of the token at the provider`,
    )
  }
  return new Set(values.filter((each) => typeof each === 'string'))
}

/** Returns whether the provider left out the groups because there are too many (Entra ID). */
function isOverage(claims: Claims, groupsClaim: string): boolean {
  const distributed = claims._claim_names
  if (isObject(distributed) && Object.hasOwn(distributed, groupsClaim)) return true
  if (groupsClaim !== 'groups') return false
  return Object.hasOwn(claims, 'groups:src1') || claims.hasgroups === true || claims.hasgroups === 'true'
}

type MappingRules = { groupsClaim: string; mappings: readonly Mapping[] }

/** Returns the roles to which a provider maps the claims, each once. */
export function mappedRoles(claims: Claims, { groupsClaim, mappings }: MappingRules): MappedRole[] {
  if (mappings.length === 0) return []
  const groups = groupsIn(claims, groupsClaim)
  const roles = new Map<string, MappedRole>()
  for (const { value, role, accessGroup = null } of mappings)
    if (groups.has(value)) roles.set(keyOf({ role, accessGroupId: accessGroup }), { role, accessGroupId: accessGroup })
  return [...roles.values()]
}

/** Returns a key that identifies a role in the tenant or in an access group. */
export function keyOf({ role, accessGroupId }: MappedRole): string {
  return `${role} ${accessGroupId}`
}

/** Returns the id of the session at the provider, for back-channel logout. */
export function sessionIn({ sid }: Claims): string | undefined {
  return typeof sid === 'string' && sid !== '' && sid.length <= longestSession ? sid : undefined
}

/** Returns how the user proved their identity at the provider (RFC 8176). */
export function methodsIn({ amr }: Claims): string[] {
  const methods = Array.isArray(amr) ? amr.filter((each) => typeof each === 'string' && /^[a-z]{2,16}$/.test(each)) : []
  return [...new Set(['fed', ...methods.slice(0, 8)])]
}
