import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the switches of the tenant and of its gateways. */

/** The key of the switch of the tenant. */
const ofTenant = '00000000-0000-0000-0000-000000000000'

const offStatement = statement<{ gatewayId: string }>(
  `select w.gateway_id as "gatewayId" from remote_switches w
   where w.tenant_id = $1 and w.gateway_id = any($2::uuid[]) and not w.is_enabled`,
)

/** Returns whether remote access is switched on for the tenant. */
export async function isTenantEnabled(handle: Handle): Promise<boolean> {
  return (await handle.row(offStatement, arrayOf('uuid', [ofTenant]))) === undefined
}

export type SwitchStates = { isTenantEnabled: boolean; disabledGateways: ReadonlySet<string> }

/** Returns the switch of the tenant, and those of the gateways that are switched off. */
export async function switchStates(handle: Handle, gatewayIds: readonly string[]): Promise<SwitchStates> {
  const rows = await handle.rows(offStatement, arrayOf('uuid', [ofTenant, ...gatewayIds]))
  const off = new Set(rows.map(({ gatewayId }) => gatewayId))
  return { isTenantEnabled: !off.delete(ofTenant), disabledGateways: off }
}

const putStatement = statement(
  `insert into remote_switches (tenant_id, gateway_id, is_enabled, modified_at) values ($1, $2, $3, $4)
   on conflict (tenant_id, gateway_id) do update
   set is_enabled = excluded.is_enabled, modified_at = excluded.modified_at`,
)

/** Sets the switch of a gateway, or that of the tenant. */
export async function putSwitch(
  tx: Transaction,
  { gatewayId = ofTenant, isEnabled, now }: { gatewayId?: string; isEnabled: boolean; now: string },
): Promise<void> {
  await tx.run(putStatement, gatewayId, isEnabled, now)
}

const deleteStatement = statement(`delete from remote_switches w where w.tenant_id = $1 and w.gateway_id = $2`)

/** Deletes the switch of a deleted gateway. */
export async function deleteSwitch(tx: Transaction, gatewayId: string): Promise<void> {
  await tx.run(deleteStatement, gatewayId)
}
