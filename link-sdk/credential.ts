import { inspect } from 'node:util'
import type { JsonValue } from '@millwright/api/variant.ts'
import { LinkError } from './link-error.ts'

/**
 * `Credential` contains the credentials of a device. `username` and `password` are set if the credentials have fields
 * with these names.
 */
export type Credential = {
  schemaUri: string
  text: string
  /** The fields of the credentials. The object is empty if the text is not a JSON object. */
  fields: Readonly<Record<string, JsonValue>>
  username?: string
  password?: string
}

/** Parses credentials that the gateway sent. Printing the result shows stars instead of the secrets. */
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
  return withHiddenValues(credential)
}

/** Returns the same object. Printing it shows stars instead of its values. */
export function withHiddenValues<Secrets extends object>(secrets: Secrets): Secrets {
  const hidden = { value: () => '***', enumerable: false }
  return Object.defineProperties(secrets, { toJSON: hidden, [inspect.custom]: hidden })
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

/** Returns the credentials of a target that belong to a schema. Credentials without a schema URI are included. */
export function credentialsOf(
  { credentials }: { credentials: readonly Credential[] },
  schemaUri: string,
): Credential[] {
  return credentials.filter((one) => one.schemaUri === '' || one.schemaUri === schemaUri)
}

/**
 * Calls `ask` with each of the credentials, in order, until one of them is accepted. `ask` throws UNAUTHENTICATED for
 * rejected credentials. If there are no credentials, `ask` is called once with undefined.
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
