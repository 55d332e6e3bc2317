import type { Transaction } from '../../platform/database/database.ts'
import type { Safe } from '../../platform/secrets/safe.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-column.ts'

/** The instance and the schema to which encrypted values are bound. The values cannot be decrypted with other ids. */
type ValueBinding = { instanceId: string; schemaId: string }

type EncryptionContext = { safe: Safe; tx: Transaction }

/** Encrypts the values of an instance for storage. */
export async function sealValues(
  { safe, tx }: EncryptionContext,
  binding: ValueBinding,
  values: object,
): Promise<Buffer> {
  const plain = Buffer.from(JSON.stringify(values))
  try {
    return await safe.seal(tx, plain, contextOf(binding))
  } finally {
    plain.fill(0)
  }
}

/**
 * Returns the decrypted values as JSON text. The caller must not keep the text, because it cannot be overwritten in memory.
 */
export async function openValues(
  { safe, tx }: EncryptionContext,
  binding: ValueBinding,
  sealed: Uint8Array,
): Promise<string> {
  const plain = await safe.open(tx, sealed, contextOf(binding))
  try {
    return plain.toString()
  } finally {
    plain.fill(0)
  }
}

/** The table and the columns from which the key rotation reads the encrypted values. */
export const sealedValues: SealedColumn = {
  of: 'tenant',
  table: 'credential_instances',
  column: 'sealed',
  key: ['id'],
  boundTo: ['schema_id'],
  belongsTo: ({ id = '', schema_id = '' }) => contextOf({ instanceId: id, schemaId: schema_id }),
}

function contextOf({ instanceId, schemaId }: ValueBinding): string {
  return `credentials/${instanceId}/${schemaId}`
}
