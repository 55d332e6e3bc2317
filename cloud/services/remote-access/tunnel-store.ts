import type { Handle, Transaction } from '../../platform/database/database.ts'
import { arrayOf } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the tunnels of gateways. */

export type TunnelRow = {
  gatewayId: string
  processId: string
  /** The address at which other processes reach the process of the tunnel. */
  processUrl: string
  connectedAt: string
  seenAt: string
}

const columns = `u.gateway_id as "gatewayId", u.process_id as "processId", u.process_url as "processUrl",
  u.connected_at as "connectedAt", u.seen_at as "seenAt"`

const putStatement = statement(
  `insert into remote_tunnels (tenant_id, gateway_id, process_id, process_url, connected_at, seen_at)
   values ($1, $2, $3, $4, $5, $5)
   on conflict (tenant_id, gateway_id) do update set process_id = excluded.process_id,
     process_url = excluded.process_url, connected_at = excluded.connected_at, seen_at = excluded.seen_at`,
)

export async function putTunnel(tx: Transaction, tunnel: Omit<TunnelRow, 'seenAt'>): Promise<void> {
  await tx.run(putStatement, tunnel.gatewayId, tunnel.processId, tunnel.processUrl, tunnel.connectedAt)
}

const seenStatement = statement<{ gatewayId: string }>(
  `update remote_tunnels u set seen_at = $3
   where u.tenant_id = $1 and u.process_id = $2 and u.gateway_id = any($4::uuid[])
   returning u.gateway_id as "gatewayId"`,
)

/** Records that a process still holds tunnels. Returns the gateways whose tunnels the process holds. */
export async function noteSeen(
  tx: Transaction,
  { processId, gatewayIds, now }: { processId: string; gatewayIds: readonly string[]; now: string },
): Promise<string[]> {
  const rows = await tx.rows(seenStatement, processId, now, arrayOf('uuid', gatewayIds))
  return rows.map(({ gatewayId }) => gatewayId)
}

const deleteStatement = statement(
  `delete from remote_tunnels u where u.tenant_id = $1 and u.gateway_id = $2 and u.process_id = $3`,
)

/** Deletes the tunnel of a gateway, if this process holds it. */
export async function deleteTunnel(tx: Transaction, gatewayId: string, processId: string): Promise<void> {
  await tx.run(deleteStatement, gatewayId, processId)
}

const listStatement = statement<TunnelRow>(
  `select ${columns} from remote_tunnels u where u.tenant_id = $1 and u.gateway_id = any($2::uuid[]) and u.seen_at > $3`,
)

/** The time after which a tunnel counts as closed if its process does not renew `seen_at`. */
const silentMs = 15_000

/** Returns the tunnels of the gateways that are connected. */
export function listTunnels(handle: Handle, gatewayIds: readonly string[]): Promise<TunnelRow[]> {
  const since = new Date(Date.now() - silentMs).toISOString()
  return handle.rows(listStatement, arrayOf('uuid', gatewayIds), since)
}

/** Returns the tunnel of a gateway. Returns undefined if the gateway is not connected. */
export async function findTunnel(handle: Handle, gatewayId: string): Promise<TunnelRow | undefined> {
  return (await listTunnels(handle, [gatewayId]))[0]
}
