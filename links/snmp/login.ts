import { credentialsOf } from '@millwright/link-sdk/credential.ts'
import type { Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import snmp from 'net-snmp'

/** The authentication protocols of version 3, by the names that credentials use. */
export const authProtocols = {
  md5: snmp.AuthProtocols.md5,
  sha: snmp.AuthProtocols.sha,
  sha224: snmp.AuthProtocols.sha224,
  sha256: snmp.AuthProtocols.sha256,
  sha384: snmp.AuthProtocols.sha384,
  sha512: snmp.AuthProtocols.sha512,
} as const

/** The privacy protocols of version 3. `aes256` extends keys as Cisco does, `aes256b` as the Blumenthal draft does. */
export const privProtocols = {
  des: snmp.PrivProtocols.des,
  aes128: snmp.PrivProtocols.aes,
  aes256: snmp.PrivProtocols.aes256r,
  aes256b: snmp.PrivProtocols.aes256b,
} as const

export type UserLogin = {
  version: '3'
  user: string
  authProtocol: keyof typeof authProtocols
  authPassword: string
  privProtocol: keyof typeof privProtocols
  privPassword: string
  contextName: string
}

/** `Login` is what the link sends to gain read access to a device. */
export type Login = { version: '1' | '2c'; community: string } | UserLogin

/** The only access that is tried without credentials. */
export const publicLogin: Login = { version: '2c', community: 'public' }

/** Returns the logins of a target. Throws INVALID_ARGUMENT for credentials that are not complete. */
export function loginsOf(target: Pick<Target, 'credentials'>, schemaUri: string): Login[] {
  return credentialsOf(target, schemaUri).map(({ fields }) => loginOf(fields))
}

function loginOf(fields: Readonly<Record<string, unknown>>): Login {
  const { version } = fields
  if (version === '1' || version === '2c') return { version, community: textOf(fields, 'community') }
  if (version !== '3') throw unusable('"version" must be 1, 2c or 3')
  const { contextName } = fields
  return {
    version,
    user: textOf(fields, 'user'),
    authProtocol: choiceOf(fields, 'authProtocol', { among: authProtocols, fallback: 'sha' }),
    authPassword: passwordOf(fields, 'authPassword'),
    privProtocol: choiceOf(fields, 'privProtocol', { among: privProtocols, fallback: 'aes128' }),
    privPassword: passwordOf(fields, 'privPassword'),
    contextName: typeof contextName === 'string' ? contextName : '',
  }
}

function textOf(fields: Readonly<Record<string, unknown>>, key: string): string {
  const value = fields[key]
  if (typeof value === 'string' && value !== '') return value
  throw unusable(`"${key}" is missing`)
}

/** Returns a password of version 3. RFC 3414 requires at least eight characters. */
function passwordOf(fields: Readonly<Record<string, unknown>>, key: string): string {
  const value = textOf(fields, key)
  if (value.length >= 8) return value
  throw unusable(`"${key}" must have at least 8 characters`)
}

type Choice<Name extends string> = { among: Readonly<Record<Name, unknown>>; fallback: Name }

function choiceOf<Name extends string>(
  fields: Readonly<Record<string, unknown>>,
  key: string,
  { among, fallback }: Choice<Name>,
): Name {
  const value = fields[key] ?? fallback
  const names = Object.keys(among) as Name[]
  const name = names.find((one) => one === value)
  if (name !== undefined) return name
  throw unusable(`"${key}" must be one of ${names.join(', ')}`)
}

function unusable(reason: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', `The SNMP credentials are not complete: ${reason}. Correct the credentials.`)
}
