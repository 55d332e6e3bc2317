import type { Secrets } from '../../platform/secrets/secrets.ts'

/** What sealed values belong to: moved anywhere else, they cannot be opened. */
type Belonging = { tenantId: string; instanceId: string; schemaId: string }

/** The values of an instance as they are stored. */
export async function sealValues(secrets: Secrets, belonging: Belonging, values: object): Promise<Buffer> {
  const plain = Buffer.from(JSON.stringify(values))
  try {
    return secrets.seal(plain, placeOf(belonging))
  } finally {
    plain.fill(0)
  }
}

/** The JSON text of the values. Text cannot be overwritten: whoever asks for it keeps it no longer than needed. */
export async function openValues(secrets: Secrets, belonging: Belonging, sealed: Uint8Array): Promise<string> {
  const plain = secrets.open(sealed, placeOf(belonging))
  try {
    return plain.toString()
  } finally {
    plain.fill(0)
  }
}

function placeOf({ tenantId, instanceId, schemaId }: Belonging): string {
  return `credentials/${tenantId}/${instanceId}/${schemaId}`
}
