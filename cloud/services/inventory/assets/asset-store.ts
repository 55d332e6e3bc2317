import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { FieldSources } from './field-sources.ts'

/** A stored asset. `document` is the JSON text of the asset as the API returns it, without id and access group. */
export type StoredAsset = {
  id: string
  accessGroupId: string
  version: number
  createdAt: string
  document: string
  /** The JSON text of the reports of links about the asset: see `FieldSources`. Null if no link has reported the asset. */
  sources: string | null
}

export type IdentifierOwner = { key: string; assetId: string; createdAt: string }

const identifiersByKey = statement<IdentifierOwner>(
  `select i.key, i.asset_id as "assetId", a.created_at as "createdAt"
   from asset_identifiers i join assets a on a.tenant_id = $1 and a.id = i.asset_id
   where i.tenant_id = $1 and i.key = any($2::text[])`,
)

export function findByKeys(handle: Handle, keys: readonly string[]): Promise<IdentifierOwner[]> {
  return keys.length === 0 ? Promise.resolve([]) : handle.rows(identifiersByKey, arrayOf('text', keys))
}

const columns = `id, access_group_id as "accessGroupId", version, created_at as "createdAt", document as "document:text",
  field_sources as "sources:text"`

const assetsForChange = statement<StoredAsset>(
  `select ${columns} from assets where tenant_id = $1 and id = any($2) order by id for no key update`,
)

/**
 * Locks assets against changes until the end of the transaction, in the order of their ids to avoid deadlocks. Other
 * transactions may still write relations of these assets. A stronger lock would have to wait until no transaction
 * writes such relations, which may never happen.
 */
export function lockAssets(tx: Transaction, ids: readonly string[]): Promise<StoredAsset[]> {
  return ids.length === 0 ? Promise.resolve([]) : tx.rows(assetsForChange, ids)
}

const exclusiveAssets = statement<{ id: string }>(
  `select id from assets where tenant_id = $1 and id = any($2) order by id for update`,
)
const freeExclusiveAssets = statement<{ id: string }>(
  `select id from assets where tenant_id = $1 and id = any($2) order by id for update skip locked`,
)

/**
 * Locks assets against changes and against new relations. Returns the number of locked assets. With `onlyFree`, skips
 * assets that another transaction has locked. Otherwise waits until all assets are locked.
 */
export async function lockAssetsExclusively(
  tx: Transaction,
  ids: readonly string[],
  { onlyFree }: { onlyFree: boolean },
): Promise<number> {
  return ids.length === 0 ? 0 : (await tx.rows(onlyFree ? freeExclusiveAssets : exclusiveAssets, ids)).length
}

const groupsOfAssets = statement<{ id: string; accessGroupId: string }>(
  `select id, access_group_id as "accessGroupId" from assets where tenant_id = $1 and id = any($2)`,
)

/** Returns the access group of each asset by id. Assets that do not exist are not in the map. */
export async function findGroups(handle: Handle, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await handle.rows(groupsOfAssets, ids)
  return new Map(rows.map(({ id, accessGroupId }) => [id, accessGroupId]))
}

const gatewaysStatement = statement<{ id: string }>(
  `select id from assets where tenant_id = $1 and id = any($2) and type = 'Gateway'`,
)

export async function areGateways(handle: Handle, ids: readonly string[]): Promise<boolean> {
  return (await handle.rows(gatewaysStatement, ids)).length === new Set(ids).size
}

/** The columns that lists use to filter and sort assets, in addition to the document. */
export type AssetColumns = {
  type: string
  schema_url: string
  name: string | null
  description: string | null
  serial_number: string | null
  product_id: string | null
  product_version: string | null
  product_name: string | null
  product_family: string | null
  manufacturer: string | null
  firmware_version: string | null
  /** The sort key of the firmware version: see `versionSortKey`. */
  firmware_order: string | null
  operating_mode: string | null
  management_state: string
  management_state_at: string | null
  reachability_state: string
  reachability_state_at: string | null
  trust_state: string | null
  trust_state_at: string | null
  responsible: string
}

export type AssetRow = AssetColumns & {
  id: string
  access_group_id: string
  document: string
  /** The reports of links. Undefined means that a change of an asset leaves them as they are. */
  field_sources: string | null | undefined
  /** The discovery run that created the asset. It is written only for new assets. */
  found_run_id: string | null
  version: number
  created_at: string
  modified_at: string
}

const fields = {
  id: 'uuid',
  access_group_id: 'uuid',
  type: 'text',
  schema_url: 'text',
  document: 'json',
  field_sources: 'json',
  found_run_id: 'uuid',
  name: 'text',
  description: 'text',
  serial_number: 'text',
  product_id: 'text',
  product_version: 'text',
  product_name: 'text',
  product_family: 'text',
  manufacturer: 'text',
  firmware_version: 'text',
  firmware_order: 'text',
  operating_mode: 'text',
  management_state: 'text',
  management_state_at: 'timestamptz',
  reachability_state: 'text',
  reachability_state_at: 'timestamptz',
  trust_state: 'text',
  trust_state_at: 'timestamptz',
  responsible: 'text',
  version: 'bigint',
  created_at: 'timestamptz',
  modified_at: 'timestamptz',
} as const

const assetRows = rowset<AssetRow>(fields)
const names = Object.keys(fields)
const changesOf = (...kept: readonly string[]) =>
  names
    .filter((name) => !kept.includes(name))
    .map((name) => `${name} = excluded.${name}`)
    .join(', ')

const insertion = `insert into assets (tenant_id, ${names.join(', ')})
  select $1, ${names.join(', ')} from ${assetRows.rows}`
const insertStatement = statement(`${insertion} returning version`)
const putStatement = statement(
  `${insertion} on conflict (tenant_id, id) do update set ${changesOf('id', 'created_at', 'found_run_id')}`,
)
const putWithoutSourcesStatement = statement(
  `${insertion} on conflict (tenant_id, id) do update set ${changesOf('id', 'created_at', 'found_run_id', 'field_sources')}`,
)

/**
 * Inserts new assets and replaces existing ones. New assets are inserted without a conflict check, which is cheaper. The
 * reports of links can be larger than the asset, so they are sent only if they changed.
 */
export async function putAssets(
  tx: Transaction,
  { created, changed }: { created: readonly AssetRow[]; changed: readonly AssetRow[] },
): Promise<void> {
  const hasSources = ({ field_sources: sources }: AssetRow) => sources !== undefined
  const withSources = changed.filter(hasSources)
  const others = changed.filter((row) => !hasSources(row))
  await Promise.all([
    created.length > 0 && tx.run(insertStatement, ...assetRows.values(created)),
    withSources.length > 0 && tx.run(putStatement, ...assetRows.values(withSources)),
    others.length > 0 && tx.run(putWithoutSourcesStatement, ...assetRows.values(others)),
  ])
}

const sourcesOfStatement = statement<{ document: Record<string, unknown>; sources: FieldSources | null }>(
  'select document, field_sources as sources from assets where tenant_id = $1 and id = $2',
)

/** Returns the document of an asset and the reports of links about it. */
export function findSources(handle: Handle, id: string) {
  return handle.row(sourcesOfStatement, id)
}

const sourceRows = rowset<{ id: string; sources: string }>({ id: 'uuid', sources: 'json' })
const sourcesStatement = statement(
  `update assets a set field_sources = r.sources from ${sourceRows.rows} where a.tenant_id = $1 and a.id = r.id`,
)

/** Replaces the reports about assets whose documents do not change. */
export async function putSources(tx: Transaction, rows: readonly { id: string; sources: string }[]): Promise<void> {
  if (rows.length > 0) await tx.run(sourcesStatement, ...sourceRows.values(rows))
}

const deleteStatement = statement('delete from assets where tenant_id = $1 and id = any($2::uuid[])')
const deleteIdentifiersStatement = statement(
  'delete from asset_identifiers where tenant_id = $1 and asset_id = any($2::uuid[])',
)

/**
 * Deletes assets with their identifiers, addresses and property values. The caller must end the relations of the assets.
 */
export async function deleteAssets(tx: Transaction, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length === 0) return
  const ids = arrayOf('uuid', assetIds)
  const statements = [deleteIdentifiersStatement, deleteAddressesStatement, deletePropertiesStatement, deleteStatement]
  await Promise.all(statements.map((statement) => tx.run(statement, ids)))
}

export type IdentifierRow = {
  key: string
  assetId: string
  uncertainty: number
  type: string
  name: string | null
  value: string
  identifier: Record<string, unknown>
  createdAt: string
}

const identifierRows = rowset<Omit<IdentifierRow, 'identifier'> & { identifier: string }>({
  key: 'text',
  assetId: 'uuid',
  uncertainty: 'integer',
  type: 'text',
  name: 'text',
  value: 'text',
  identifier: 'json',
  createdAt: 'timestamptz',
})
const identifiersStatement = statement(
  `insert into asset_identifiers (tenant_id, key, asset_id, uncertainty, type, name, value, identifier, created_at)
   select $1, key, "assetId", uncertainty, type, name, value, identifier, "createdAt" from ${identifierRows.rows}
   returning uncertainty`,
)

export async function insertIdentifiers(tx: Transaction, rows: readonly IdentifierRow[]): Promise<void> {
  if (rows.length === 0) return
  const printed = rows.map((row) => ({ ...row, identifier: jsonText(row.identifier) }))
  await tx.run(identifiersStatement, ...identifierRows.values(printed))
}

const identifiersOfStatement = statement<{ assetId: string; identifier: Record<string, unknown> }>(
  `select asset_id as "assetId", identifier from asset_identifiers
   where tenant_id = $1 and asset_id = any($2::uuid[]) order by uncertainty, key`,
)

/** Returns the identifiers of these assets, those with the lowest uncertainty first. */
export async function identifiersOf(
  handle: Handle,
  ids: readonly string[],
): Promise<Map<string, Record<string, unknown>[]>> {
  const identifiers = new Map<string, Record<string, unknown>[]>()
  if (ids.length === 0) return identifiers
  for (const { assetId, identifier } of await handle.rows(identifiersOfStatement, arrayOf('uuid', ids))) {
    identifiers.set(assetId, [...(identifiers.get(assetId) ?? []), identifier])
  }
  return identifiers
}

const identifierTextsStatement = statement<{ assetId: string; identifier: string }>(
  `select i.asset_id as "assetId", i.identifier as "identifier:text" from asset_identifiers i
   where i.tenant_id = $1 and i.asset_id = any($2::uuid[]) order by i.uncertainty, i.key`,
)

/** Returns the identifiers of these assets as JSON texts, those with the lowest uncertainty first. */
export async function identifierTexts(handle: Handle, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await handle.rows(identifierTextsStatement, arrayOf('uuid', ids))
  const texts = new Map<string, string>()
  for (const { assetId, identifier } of rows) {
    const earlier = texts.get(assetId)
    texts.set(assetId, earlier === undefined ? identifier : `${earlier},${identifier}`)
  }
  return texts
}

export type AddressRow = { assetId: string; kind: string; address: string }

const addressRows = rowset<AddressRow>({ assetId: 'uuid', kind: 'text', address: 'text' })
const deleteAddressesStatement = statement(
  'delete from asset_addresses where tenant_id = $1 and asset_id = any($2::uuid[])',
)
const addressesStatement = statement(
  `insert into asset_addresses (tenant_id, asset_id, kind, address)
   select $1, "assetId", kind, address from ${addressRows.rows} returning kind`,
)

export async function deleteAddresses(tx: Transaction, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length > 0) await tx.run(deleteAddressesStatement, arrayOf('uuid', assetIds))
}

/** Inserts the addresses of assets that have none. The addresses of an asset must be distinct. */
export async function insertAddresses(tx: Transaction, rows: readonly AddressRow[]): Promise<void> {
  if (rows.length > 0) await tx.run(addressesStatement, ...addressRows.values(rows))
}

export type PropertyRow = { assetId: string; key: string; value: string }

const propertyRows = rowset<PropertyRow>({ assetId: 'uuid', key: 'uuid', value: 'text' })
const deletePropertiesStatement = statement(
  'delete from asset_property_values where tenant_id = $1 and asset_id = any($2::uuid[])',
)
const propertiesStatement = statement(
  `insert into asset_property_values (tenant_id, asset_id, key, value)
   select $1, "assetId", key, value from ${propertyRows.rows} returning asset_id`,
)

export async function deletePropertyValues(tx: Transaction, assetIds: readonly string[]): Promise<void> {
  if (assetIds.length > 0) await tx.run(deletePropertiesStatement, arrayOf('uuid', assetIds))
}

export async function insertPropertyValues(tx: Transaction, rows: readonly PropertyRow[]): Promise<void> {
  if (rows.length > 0) await tx.run(propertiesStatement, ...propertyRows.values(rows))
}

export type HistoryRow = {
  assetId: string
  version: number
  time: string
  change: 'created' | 'updated' | 'deleted'
  accessGroupId: string
  principalId: string
  principalName: string
  sourceType: string
  sourceValue: string | null
  /** The document after the change. Null if the asset was deleted, or if the stored asset has this document. */
  document: string | null
  /** The identifiers by which the write found the asset, as JSON text. */
  matchedBy: string | null
  /** The reported values that were not used, as JSON text. */
  overruled: string | null
  /** The changed fields, as JSON text. Null if the asset was created. */
  changes: string | null
  /** The operation that caused the change. Null for a change of a single asset. */
  causeKind: string | null
  causeId: string | null
  causeName: string | null
}

const historyRows = rowset<HistoryRow>({
  assetId: 'uuid',
  version: 'bigint',
  time: 'timestamptz',
  change: 'text',
  accessGroupId: 'uuid',
  principalId: 'uuid',
  principalName: 'text',
  sourceType: 'text',
  sourceValue: 'text',
  document: 'json',
  matchedBy: 'json',
  overruled: 'json',
  changes: 'json',
  causeKind: 'text',
  causeId: 'uuid',
  causeName: 'text',
})
const historyStatement = statement(
  `insert into asset_history (tenant_id, asset_id, version, time, change, access_group_id, principal_id, principal_name,
                              source_type, source_value, document, matched_by, overruled, changes, cause_kind, cause_id,
                              cause_name)
   select $1, "assetId", version, time, change, "accessGroupId", "principalId", "principalName", "sourceType", "sourceValue",
          case when document is null and change <> 'deleted'
            then (select a.document from assets a where a.tenant_id = $1 and a.id = r."assetId") else document end,
          "matchedBy", overruled, changes, "causeKind", "causeId", "causeName"
   from ${historyRows.rows} returning version`,
)

/**
 * Inserts entries of the history. If an entry has the document of the stored asset, the database copies the document. This
 * is cheaper than sending and checking the same JSON text twice.
 */
export async function insertHistory(tx: Transaction, rows: readonly HistoryRow[]): Promise<void> {
  if (rows.length > 0) await tx.run(historyStatement, ...historyRows.values(rows))
}

const countRows = rowset<{ accessGroupId: string; change: number }>({ accessGroupId: 'uuid', change: 'bigint' })
const countsStatement = statement(
  `insert into asset_counts (tenant_id, access_group_id, assets)
   select $1, "accessGroupId", change from ${countRows.rows}
   on conflict (tenant_id, access_group_id) do update set assets = asset_counts.assets + excluded.assets`,
)
const emptyCounts = statement(
  'delete from asset_counts where tenant_id = $1 and access_group_id = any($2::uuid[]) and assets = 0',
)

/**
 * Changes the stored number of assets of access groups. Removes a count of 0, because a group that has a count cannot be
 * deleted.
 */
export async function changeCounts(tx: Transaction, changes: ReadonlyMap<string, number>): Promise<void> {
  const rows = [...changes]
    .filter(([, change]) => change !== 0)
    .map(([accessGroupId, change]) => ({ accessGroupId, change }))
  const fewer = rows.filter(({ change }) => change < 0).map(({ accessGroupId }) => accessGroupId)
  await Promise.all([
    rows.length > 0 && tx.run(countsStatement, ...countRows.values(rows)),
    fewer.length > 0 && tx.run(emptyCounts, arrayOf('uuid', fewer)),
  ])
}
