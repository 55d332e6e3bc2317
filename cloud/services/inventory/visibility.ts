import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, may } from '../../platform/access/rights.ts'

/**
 * SQL conditions for the assets that a caller can read. An asset is readable when its access group is readable. A
 * gateway or an asset link is also readable when the caller can read gateways and links in every group. The history of
 * an asset is readable for the times at which the asset was in a readable group. In addition, the asset must be
 * readable now, or must have been readable when it was deleted. The conditions use the table aliases `v`, `l` and
 * `past`. The ids that a query passes must not refer to tables with these aliases.
 */

/** The access groups whose assets the caller can read. Null means all groups. The list may contain `gatewayMark`. */
export type Groups = readonly string[] | null

/** An entry of `Groups` that means the gateways and asset links of all groups. It is never the id of a group. */
const gatewayMark = '00000000-0000-0000-0000-000000000000'

export function readableGroups(caller: Pick<Caller, 'rights'>): Groups {
  const groups = groupsWith(caller, 'inventory_read_asset_data')
  if (groups === 'all') return null
  return may(caller, 'glb_inventory_read_gateway_data') ? [...groups, gatewayMark] : groups
}

/** Returns whether the assets of a group are readable. */
export function isReadableGroup(groups: Groups, id: string): boolean {
  return groups === null || groups.includes(id)
}

export function containsGateways(groups: Groups): boolean {
  return groups?.includes(gatewayMark) === true
}

/** Returns the condition that a row of `assets` is readable. `groups` is the SQL parameter that contains the groups. */
export function isReadableRow(asset: string, groups: string): string {
  return `(${groups}::uuid[] is null or ${asset}.access_group_id = any(${groups}) or ${isReadableGateway(asset, groups)})`
}

/**
 * Returns the condition that the asset with this id is readable. It uses a sub-select, because the planner may turn
 * `exists` into a hash over all assets.
 */
export function isReadable(id: string, groups: string): string {
  return `(${groups}::uuid[] is null or (select v.access_group_id = any(${groups}) or ${isReadableGateway('v', groups)}
    from assets v where v.tenant_id = $1 and v.id = ${id}))`
}

/**
 * Returns the condition that an asset is readable, or was readable when it was deleted. The last group of a deleted asset
 * decides.
 */
export function wasLastReadable(id: string, groups: string): string {
  return `(${groups}::uuid[] is null or ${lastGroupOf(id)} = any(${groups}) or ${isReadableGatewayId(id, groups)})`
}

/**
 * Returns the condition that the state of an asset at a time is readable. The group of the asset at that time must be
 * readable, and its last group too.
 */
export function wasReadableAt(id: string, groups: string, time: string): string {
  return `(${groups}::uuid[] is null or ${isReadableGatewayId(id, groups)}
    or (${lastGroupOf(id)} = any(${groups}) and ${groupAt(id, time)} = any(${groups})))`
}

function isReadableGateway(asset: string, groups: string): string {
  return `('${gatewayMark}' = any(${groups}) and ${isGatewayOrLink(asset)})`
}

function isReadableGatewayId(id: string, groups: string): string {
  return `('${gatewayMark}' = any(${groups}) and
    (select ${isGatewayOrLink('v')} from assets v where v.tenant_id = $1 and v.id = ${id}))`
}

/**
 * Returns the condition that an asset is a gateway or an asset link. An asset link has an identifier that discovery assigns
 * to it.
 */
export function isGatewayOrLink(asset: string): string {
  return `(${asset}.type = 'Gateway' or (${asset}.type = 'SoftwareArtifact' and (select true from asset_identifiers l
    where l.tenant_id = $1 and l.asset_id = ${asset}.id and l.type = 'CustomIdentifier' and l.name = 'asset_link_instance'
    limit 1)))`
}

/** Returns the SQL for the group of an asset. For a deleted asset, this is its last group. */
export function lastGroupOf(id: string): string {
  return `coalesce((select v.access_group_id from assets v where v.tenant_id = $1 and v.id = ${id}),
    (select past.access_group_id from asset_history past where past.tenant_id = $1 and past.asset_id = ${id}
     order by past.version desc limit 1))`
}

/**
 * Returns the SQL for the group of an asset at a time. Before the first stored change, this is the group of that change.
 */
function groupAt(id: string, time: string): string {
  const first = (condition: string) => `(select past.access_group_id from asset_history past
    where past.tenant_id = $1 and past.asset_id = ${id} and ${condition} limit 1)`
  return `coalesce(${first(`past.time <= ${time} order by past.time desc, past.version desc`)},
    ${first(`past.time > ${time} order by past.time, past.version`)},
    (select v.access_group_id from assets v where v.tenant_id = $1 and v.id = ${id}))`
}

/** Returns the condition that a row of `asset_history` was in a readable group. */
export function isReadableVersion(version: string, groups: string): string {
  return `(${groups}::uuid[] is null or ${version}.access_group_id = any(${groups})
    or ${isReadableGatewayId(`${version}.asset_id`, groups)})`
}
