import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

type Row = { links: ManagedLink[] }

const findStatement = statement<Row>(`select links from managed_links where tenant_id = $1 and gateway_id = $2`)

export async function findManagedLinks(handle: Handle, gatewayId: string): Promise<ManagedLink[]> {
  return (await handle.row(findStatement, gatewayId))?.links ?? []
}

const lockStatement = statement<Row>(
  `select links from managed_links where tenant_id = $1 and gateway_id = $2 for update`,
)

/** Returns the stored links and locks them until the end of the transaction. */
export async function lockManagedLinks(tx: Transaction, gatewayId: string): Promise<ManagedLink[]> {
  return (await tx.row(lockStatement, gatewayId))?.links ?? []
}

const putStatement = statement(
  `insert into managed_links (tenant_id, gateway_id, links, reported_at) values ($1, $2, $3::json, $4)
   on conflict (tenant_id, gateway_id) do update set links = excluded.links, reported_at = excluded.reported_at`,
)

export async function putManagedLinks(
  tx: Transaction,
  gatewayId: string,
  links: readonly ManagedLink[],
): Promise<void> {
  await tx.run(putStatement, gatewayId, jsonText(links), new Date().toISOString())
}
