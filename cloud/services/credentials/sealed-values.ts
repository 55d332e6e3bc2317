import type { Transaction } from '../../platform/database/database.ts'
import type { Safe } from '../../platform/secrets/safe.ts'
import type { SealedColumn } from '../../platform/secrets/sealed-column.ts'

/** What sealed values belong to, within their tenant: moved anywhere else, they cannot be opened. */
type Belonging = { instanceId: string; schemaId: string }

type Place = { safe: Safe; tx: Transaction }

/** The values of an instance as they are stored. */
export async function sealValues({ safe, tx }: Place, belonging: Belonging, values: object): Promise<Buffer> {
  const plain = Buffer.from(JSON.stringify(values))
  try {
    return await safe.seal(tx, plain, placeOf(belonging))
  } finally {
    plain.fill(0)
  }
}

/** The JSON text of the values. Text cannot be overwritten: whoever asks for it keeps it no longer than needed. */
export async function openValues({ safe, tx }: Place, belonging: Belonging, sealed: Uint8Array): Promise<string> {
  const plain = await safe.open(tx, sealed, placeOf(belonging))
  try {
    return plain.toString()
  } finally {
    plain.fill(0)
  }
}

/** Where they are, for who rotates keys. */
export const sealedValues: SealedColumn = {
  of: 'tenant',
  table: 'credential_instances',
  column: 'sealed',
  key: ['id'],
  boundTo: ['schema_id'],
  belongsTo: ({ id = '', schema_id = '' }) => placeOf({ instanceId: id, schemaId: schema_id }),
}

function placeOf({ instanceId, schemaId }: Belonging): string {
  return `credentials/${instanceId}/${schemaId}`
}
