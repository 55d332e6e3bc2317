import type { Transaction } from '../../platform/database/database.ts'
import { statement } from '../../platform/database/statement.ts'

const runningStatement = statement<{ id: string }>(
  `select id from relations
   where tenant_id = $1 and subject_id = $2 and predicate = 'is_running_on' and object_id = $3
     and subject_type = 'asset' and object_type = 'asset' for update`,
)

/** The relations that say that a link runs on a gateway, held until the end of the transaction. */
export async function findRunning(
  tx: Transaction,
  { assetLink, gateway }: { assetLink: string; gateway: string },
): Promise<string[]> {
  return (await tx.rows(runningStatement, assetLink, gateway)).map(({ id }) => id)
}
