import type { SignedReceipt } from '@millwright/api/receipt.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

/** A stored receipt. `receipt` is its JSON text. */
type StoredReceipt = { lease: string; receipt: string; keyThumbprint: string; receivedTimestamp: string }

type ReceiptSummary = {
  lease: string
  state: SignedReceipt['state']
  from: string
  to: string
  receivedTimestamp: string
}

const insertStatement = statement<{ lease: string }>(
  `insert into discovery_receipts (tenant_id, run_id, lease, key_thumbprint, receipt, state, scanned_from, scanned_to)
   values ($1, $2, $3, $4, $5, $6, $7, $8)
   on conflict (tenant_id, run_id, lease) do nothing returning lease`,
)

/**
 * Stores the receipt of a run for the lease under which the gateway scanned. Returns false if the lease has a receipt. A
 * stored receipt never changes, so that a later scan of the same run does not hide what an earlier scan sent.
 */
export async function insertReceipt(
  tx: Transaction,
  { lease, receipt, keyThumbprint }: { lease: string; receipt: SignedReceipt; keyThumbprint: string },
): Promise<boolean> {
  const { runId, state, from, to } = receipt
  const text = JSON.stringify(receipt)
  return (await tx.row(insertStatement, runId, lease, keyThumbprint, text, state, from, to)) !== undefined
}

const findReceiptStatement = statement<StoredReceipt>(
  `select lease, receipt, key_thumbprint as "keyThumbprint", received_at as "receivedTimestamp" from discovery_receipts
   where tenant_id = $1 and run_id = $2 and ($3::uuid is null or lease = $3::uuid)
   order by received_at desc, lease desc limit 1`,
)

/** Returns the receipt of a run for one lease, or the newest receipt. */
export function findReceipt(handle: Handle, runId: string, lease?: string): Promise<StoredReceipt | undefined> {
  return handle.row(findReceiptStatement, runId, lease ?? null)
}

const listStatement = statement<ReceiptSummary & { receipt: string | null }>(
  `select lease, state, scanned_from as "from", scanned_to as "to", received_at as "receivedTimestamp",
     case when state is null then receipt end as receipt
   from discovery_receipts where tenant_id = $1 and run_id = $2 order by received_at desc, lease desc limit 1000`,
)

/** Returns the receipts of a run without their devices, newest first. */
export async function listReceipts(handle: Handle, runId: string): Promise<ReceiptSummary[]> {
  const rows = await handle.rows(listStatement, runId)
  return rows.map(({ receipt, ...row }) => {
    if (receipt === null) return row
    const { state, from, to } = JSON.parse(receipt) as SignedReceipt
    return { ...row, state, from, to }
  })
}
