import { type Credential, readCredential } from './credential.ts'
import type { Target } from './define-link.ts'
import { LinkError } from './link-error.ts'
import { targetOfJson } from './target.ts'
import type { UpdateTarget } from './update.ts'

/**
 * Returns the device of an update in the form that `discover` and `properties` use, if the bytes that name it are a JSON
 * object: its address and, in the field `asset_identifiers`, its identifiers.
 */
export function targetOfDevice({ device }: Pick<UpdateTarget, 'device'>): Pick<Target, 'address' | 'identifiers'> {
  const text = new TextDecoder().decode(device)
  const { address, identifiers } = targetOfJson(text)
  if (Object.keys(address).length > 0 || identifiers.length > 0) return { address, identifiers }
  throw new LinkError('INVALID_ARGUMENT', 'The device identifier does not contain the address of a device.')
}

/**
 * Returns the credentials of the device of an update in the form that `discover` and `properties` use. The list is empty
 * if the call has no credentials.
 */
export function credentialsOfDevice({ deviceCredential }: Pick<UpdateTarget, 'deviceCredential'>): Credential[] {
  if (deviceCredential === undefined) return []
  const { type: schemaUri, bytes, username, password } = deviceCredential
  const text = bytes.length === 0 ? JSON.stringify({ username, password }) : new TextDecoder().decode(bytes)
  return [readCredential({ schemaUri, text })]
}
