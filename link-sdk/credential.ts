import { inspect } from 'node:util'
import type { JsonValue } from '@millwright/api/variant.ts'
import { LinkError } from './link-error.ts'

/** A secret for a device; user name and password where it has the usual shape. */
export type Credential = {
  schemaUri: string
  text: string
  /** What is in it, where it is a JSON object, as most are. */
  fields: Readonly<Record<string, JsonValue>>
  username?: string
  password?: string
}

/** As it came from the gateway. Whoever prints it by mistake sees stars. */
export function readCredential({ schemaUri, text }: { schemaUri: string; text: string }): Credential {
  const fields = fieldsOf(text)
  const { username, password } = fields
  const credential = {
    schemaUri,
    text,
    fields,
    ...(typeof username === 'string' ? { username } : {}),
    ...(typeof password === 'string' ? { password } : {}),
  }
  const hidden = { value: () => '***', enumerable: false }
  return Object.defineProperties(credential, { toJSON: hidden, [inspect.custom]: hidden })
}

function fieldsOf(text: string): Credential['fields'] {
  try {
    const fields: unknown = JSON.parse(text)
    return typeof fields === 'object' && fields !== null && !Array.isArray(fields)
      ? (fields as Credential['fields'])
      : {}
  } catch {
    return {}
  }
}

/** The credentials of a target in one shape. A caller that names no shape means the one that there is. */
export function credentialsOf(
  { credentials }: { credentials: readonly Credential[] },
  schemaUri: string,
): Credential[] {
  return credentials.filter((one) => one.schemaUri === '' || one.schemaUri === schemaUri)
}

/**
 * Asks a device with each of the credentials, in their order, until one is not refused: `ask` throws UNAUTHENTICATED for
 * those that are. Without any it is asked once without.
 */
export async function withCredentials<Answer>(
  credentials: readonly Credential[],
  ask: (credential: Credential | undefined) => Promise<Answer> | Answer,
): Promise<Answer> {
  let refusal: LinkError | undefined
  for (const credential of credentials.length === 0 ? [undefined] : credentials) {
    try {
      return await ask(credential)
    } catch (error) {
      if (!(error instanceof LinkError) || error.code !== 'UNAUTHENTICATED') throw error
      refusal = error
    }
  }
  throw refusal ?? new LinkError('UNAUTHENTICATED', 'The device is protected.')
}
