import type { SignedReceipt } from '@millwright/api/receipt.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

type ReceiptRow = { receipt: SignedReceipt; keyThumbprint: string; receivedAt: string }

const putStatement = statement(
  `insert into discovery_receipts as r (tenant_id, run_id, key_thumbprint, receipt) values ($1, $2, $3, $4)
   on conflict (tenant_id, run_id) do update
   set key_thumbprint = excluded.key_thumbprint, receipt = excluded.receipt, received_at = excluded.received_at
   where r.receipt <> excluded.receipt`,
)

/**
 * Stores the receipt of a run. A later receipt replaces the earlier one: the gateway then scanned again, because it lost
 * the lease of the job. The same receipt changes nothing.
 */
export async function putReceipt(
  tx: Transaction,
  { receipt, keyThumbprint }: { receipt: SignedReceipt; keyThumbprint: string },
): Promise<void> {
  await tx.run(putStatement, receipt.runId, keyThumbprint, JSON.stringify(receipt))
}

export const findReceiptStatement = statement<{ receipt: string; keyThumbprint: string; receivedAt: string }>(
  `select receipt, key_thumbprint as "keyThumbprint", received_at as "receivedAt" from discovery_receipts
   where tenant_id = $1 and run_id = $2`,
)

export async function findReceipt(handle: Handle, runId: string): Promise<ReceiptRow | undefined> {
  const row = await handle.row(findReceiptStatement, runId)
  return row === undefined ? undefined : { ...row, receipt: JSON.parse(row.receipt) as SignedReceipt }
}
