import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'

/**
 * The last report of a link. `silentSince` is the last time at which the link was seen before its registration expired. It stays
 * until the link runs again.
 */
export type StoredReport = LinkReport & { silentSince?: string }

export type LinkRow = {
  gatewayId: string
  appInstanceId: string
  assetId: string
  state: LinkReport['state']
  report: StoredReport
  digest: string
  lastSeenAt: string
  registrationExpiresAt: string
}

const columns = `gateway_id as "gatewayId", app_instance_id as "appInstanceId", asset_id as "assetId", state, report,
  digest, last_seen_at as "lastSeenAt", registration_expires_at as "registrationExpiresAt"`

export const listLinksStatement = statement<LinkRow>(
  `select ${columns} from asset_links where tenant_id = $1 and gateway_id = $2 order by app_instance_id`,
)
export const findLinkStatement = statement<LinkRow>(
  `select ${columns} from asset_links where tenant_id = $1 and gateway_id = $2 and app_instance_id = $3`,
)
export const findLinksByAssetStatement = statement<LinkRow>(
  `select ${columns} from asset_links where tenant_id = $1 and asset_id = any($2)`,
)

const linkAssetsStatement = statement<{ assetId: string }>(
  `select distinct asset_id as "assetId" from asset_links where tenant_id = $1 and gateway_id = any($2::uuid[])`,
)

/** Returns the ids of the assets that represent the links of these gateways. */
export async function linkAssetsOf(handle: Handle, gatewayIds: readonly string[]): Promise<string[]> {
  return (await handle.rows(linkAssetsStatement, gatewayIds)).map(({ assetId }) => assetId)
}

export function listLinks(handle: Handle, gatewayId: string): Promise<LinkRow[]> {
  return handle.rows(listLinksStatement, gatewayId)
}

const lockLinksStatement = statement<LinkRow>(
  `select ${columns} from asset_links where tenant_id = $1 and gateway_id = $2 order by app_instance_id for update`,
)

/** Returns the links of a gateway and locks their rows until the end of the transaction. */
export function lockLinks(tx: Transaction, gatewayId: string): Promise<LinkRow[]> {
  return tx.rows(lockLinksStatement, gatewayId)
}

export function findLink(handle: Handle, gatewayId: string, appInstanceId: string): Promise<LinkRow | undefined> {
  return handle.row(findLinkStatement, gatewayId, appInstanceId)
}

export function findLinksByAsset(handle: Handle, assetIds: readonly string[]): Promise<LinkRow[]> {
  return assetIds.length === 0 ? Promise.resolve([]) : handle.rows(findLinksByAssetStatement, assetIds)
}

const putStatement = statement(
  `insert into asset_links (tenant_id, gateway_id, app_instance_id, asset_id, device_class, interfaces, state, report,
     digest, last_seen_at, registration_expires_at)
   select $1, $2, "appInstanceId", "assetId", "deviceClass",
     array(select json_array_elements_text(interfaces)), state, report, digest, "lastSeenAt",
     "registrationExpiresAt"
   from json_to_recordset($3::json) as r ("appInstanceId" text, "assetId" uuid, "deviceClass" text, interfaces json,
     state text, report json, digest text, "lastSeenAt" timestamptz, "registrationExpiresAt" timestamptz)
   on conflict (tenant_id, gateway_id, app_instance_id) do update
   set asset_id = excluded.asset_id, device_class = excluded.device_class, interfaces = excluded.interfaces,
     state = excluded.state, report = excluded.report, digest = excluded.digest,
     last_seen_at = greatest(asset_links.last_seen_at, excluded.last_seen_at),
     registration_expires_at = excluded.registration_expires_at`,
)

export type PutLink = Pick<LinkRow, 'assetId' | 'report' | 'digest' | 'lastSeenAt' | 'registrationExpiresAt'>

export async function putLinks(tx: Transaction, gatewayId: string, links: readonly PutLink[]): Promise<void> {
  if (links.length === 0) return
  const rows = links.map(({ assetId, report, digest, lastSeenAt, registrationExpiresAt }) => ({
    appInstanceId: report.appInstanceId,
    assetId,
    deviceClass: report.deviceClass,
    interfaces: report.interfaces,
    state: report.state,
    report,
    digest,
    lastSeenAt,
    registrationExpiresAt,
  }))
  await tx.run(putStatement, gatewayId, jsonText(rows))
}

/** The position of the last published event of a link. */
export type EventCursor = { appInstanceId: string; stream: string | null; sequence: number }

const lockCursorsStatement = statement<EventCursor>(
  `select app_instance_id as "appInstanceId", event_stream as stream, event_sequence as sequence from asset_links
   where tenant_id = $1 and gateway_id = $2 and app_instance_id = any($3::text[]) order by app_instance_id for update`,
)

export function lockEventCursors(tx: Transaction, gatewayId: string, ids: readonly string[]): Promise<EventCursor[]> {
  return tx.rows(lockCursorsStatement, gatewayId, ids)
}

const moveCursorsStatement = statement(
  `update asset_links set event_stream = r.stream, event_sequence = r.sequence
   from json_to_recordset($3::json) as r ("appInstanceId" text, stream uuid, sequence bigint)
   where tenant_id = $1 and gateway_id = $2 and app_instance_id = r."appInstanceId"`,
)

export async function moveEventCursors(
  tx: Transaction,
  gatewayId: string,
  cursors: readonly EventCursor[],
): Promise<void> {
  await tx.run(moveCursorsStatement, gatewayId, jsonText(cursors))
}

const expired = `tenant_id = $1 and state = 'running' and registration_expires_at <= now()`
export const anyLinkExpired = statement(`select asset_id from asset_links where ${expired} limit 1`)
const expiredStatement = statement<LinkRow>(
  `select ${columns} from asset_links where ${expired} order by gateway_id, app_instance_id limit 500`,
)

/** Returns running links whose registration has expired, because their gateway stopped reporting. */
export function listExpiredLinks(handle: Handle): Promise<LinkRow[]> {
  return handle.rows(expiredStatement)
}

const stopStatement = statement<{ assetId: string }>(
  `update asset_links set state = 'unreachable', report = $5::json
   where tenant_id = $1 and gateway_id = $2 and app_instance_id = $3 and state = 'running' and registration_expires_at = $4
   returning asset_id as "assetId"`,
)

/** Marks an expired link as unreachable. Returns false when the gateway reported the link in the meantime. */
export async function stopExpiredLink(tx: Transaction, link: LinkRow, problem: string): Promise<boolean> {
  const { gatewayId, appInstanceId, registrationExpiresAt, report, lastSeenAt } = link
  const stopped = { ...report, state: 'unreachable', problem, silentSince: lastSeenAt }
  const row = await tx.row(stopStatement, gatewayId, appInstanceId, registrationExpiresAt, jsonText(stopped))
  return row !== undefined
}
