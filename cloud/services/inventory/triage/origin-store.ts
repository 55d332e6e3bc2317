import type { managementStates } from '@millwright/api/inventory/shapes.ts'
import type { DuplicateReason } from '@millwright/api/inventory/triage.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { type Groups, isGatewayOrLink, isReadableRow, isReadableVersion } from '../visibility.ts'

type ManagementState = (typeof managementStates)[number]

export type OriginRow = {
  name: string | null
  accessGroup: string
  managementState: ManagementState
  createdAt: string
  runId: string | null
}

const assetStatement = statement<OriginRow>(
  `select a.name, g.name as "accessGroup", a.management_state as "managementState", a.created_at as "createdAt",
          a.found_run_id as "runId"
   from assets a join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id
   where a.tenant_id = $1 and a.id = $2 and ${isReadableRow('a', '$3')}`,
)

type FindOptions = { id: string; groups: Groups }

export function findOrigin(handle: Handle, { id, groups }: FindOptions): Promise<OriginRow | undefined> {
  return handle.row(assetStatement, id, groups)
}

export type FirstChange = {
  principal: string | null
  principalName: string
  sourceType: string
  sourceValue: string | null
}

const firstChangeStatement = statement<FirstChange>(
  `select h.principal_id as principal, h.principal_name as "principalName", h.source_type as "sourceType",
          h.source_value as "sourceValue"
   from asset_history h
   where h.tenant_id = $1 and h.asset_id = $2 and h.version = 1 and ${isReadableVersion('h', '$3')}`,
)

export function findFirstChange(handle: Handle, { id, groups }: FindOptions): Promise<FirstChange | undefined> {
  return handle.row(firstChangeStatement, id, groups)
}

export type Finder = { predicate: string; id: string; name: string | null }

const findersStatement = statement<Finder>(
  `select r.predicate, o.id, o.name from relations r join assets o on o.tenant_id = $1 and o.id = r.object_id
   where r.tenant_id = $1 and r.subject_id = $2 and r.subject_type = 'asset' and r.object_type = 'asset'
     and r.predicate in ('found_by_gateway', 'found_by_asset_link') and ${isReadableRow('o', '$3')}
   order by r.created_at, r.id limit 20`,
)

/** Returns the readable gateways and asset links that found an asset, the first one first. */
export function listFinders(handle: Handle, { id, groups }: FindOptions): Promise<Finder[]> {
  return handle.rows(findersStatement, id, groups)
}

const identifiersStatement = statement<{ identifier: Record<string, unknown>; uncertainty: number }>(
  `select i.identifier, i.uncertainty from asset_identifiers i
   where i.tenant_id = $1 and i.asset_id = $2 order by i.uncertainty, i.key`,
)

export function listIdentifiers(handle: Handle, id: string) {
  return handle.rows(identifiersStatement, id)
}

export type DuplicateCandidate = {
  id: string
  name: string | null
  managementState: ManagementState
  accessGroup: string
  reason: DuplicateReason
  value: string
}

/** The maximum number of candidates for each reason. Many assets can have the same name. */
const candidatesPerReason = 20

const sources = [
  `select case when c.asset_id = $2 then c.other_id else c.asset_id end as id, 'reported_together' as reason, '' as value
   from asset_conflicts c
   where c.tenant_id = $1 and (c.asset_id = $2 or c.other_id = $2) and c.dismissed_at is null`,
  `select d.asset_id as id, d.kind as reason, d.address as value from asset_addresses o
   join asset_addresses d on d.tenant_id = $1 and d.address = o.address and d.kind = o.kind and d.asset_id <> $2
   where o.tenant_id = $1 and o.asset_id = $2`,
  `select d.asset_id as id, 'identifier' as reason, d.value from asset_identifiers o
   join asset_identifiers d on d.tenant_id = $1 and d.value = o.value and d.asset_id <> $2
     and (d.type <> o.type or d.name is distinct from o.name)
   where o.tenant_id = $1 and o.asset_id = $2 and o.type not in ('SoftwareIdentifier', 'HostBasedSoftwareIdentifier')
     and d.type not in ('SoftwareIdentifier', 'HostBasedSoftwareIdentifier')`,
  `select d.id, 'serial_number' as reason, d.serial_number as value from assets o
   join assets d on d.tenant_id = $1 and d.serial_number = o.serial_number and d.id <> $2
   where o.tenant_id = $1 and o.id = $2 and o.serial_number <> ''`,
  `select d.id, 'name' as reason, d.name as value from assets o
   join assets d on d.tenant_id = $1 and d.name = o.name and d.id <> $2
   where o.tenant_id = $1 and o.id = $2 and o.name <> ''`,
].map((source) => `(${source} limit ${candidatesPerReason})`)

const candidatesStatement = statement<DuplicateCandidate>(
  `select a.id, a.name, a.management_state as "managementState", g.name as "accessGroup", s.reason, s.value
   from (${sources.join(' union all ')}) as s
   join assets a on a.tenant_id = $1 and a.id = s.id
   join access_groups g on g.tenant_id = $1 and g.id = a.access_group_id
   where ${isReadableRow('a', '$3')} and ${isGatewayOrLink('a')} is not true
     and not exists (select from asset_conflicts x where x.tenant_id = $1 and x.dismissed_at is not null
       and x.asset_id = least(a.id, $2) and x.other_id = greatest(a.id, $2))`,
)

/** Returns readable assets that share an address, a number or a name with an asset, once for each reason. */
export function listCandidates(handle: Handle, { id, groups }: FindOptions): Promise<DuplicateCandidate[]> {
  return handle.rows(candidatesStatement, id, groups)
}
