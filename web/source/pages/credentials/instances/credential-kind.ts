import type { CredentialInstance } from '@millwright/api/credentials-shapes.ts'

/** The kinds of credentials that people know, independent of the asset link. */
export type CredentialKind = 'certificate' | 'community' | 'snmpUser' | 'user' | 'other'

type Values = CredentialInstance['values']

/** Returns the kind of credentials by their fields. The schemas of asset links have no common field for the kind. */
export function kindOf(values: Values): CredentialKind {
  const names = Object.keys(values).map((name) => name.toLowerCase())
  if (names.includes('certificate')) return 'certificate'
  if (names.includes('community')) return 'community'
  // Only SNMPv3 has a protocol for the authentication of its users.
  if (names.includes('authprotocol')) return 'snmpUser'
  return userOf(values) === undefined ? 'other' : 'user'
}

/** Returns the name of the user, or undefined for credentials without a user. */
export function userOf(values: Values): string | undefined {
  const user = Object.entries(values).find(([name]) => /^(user|user_?name|login)$/i.test(name))?.[1]
  return typeof user === 'string' && user !== '' ? user : undefined
}
