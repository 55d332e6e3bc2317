import assert from 'node:assert/strict'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { type Entity, inventory } from '@millwright/api/inventory/inventory.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { findAccessGroupByName } from '../../platform/access/store.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { type AssetRow, changeCounts, deleteAssets, insertHistory, putAssets } from './assets/asset-store.ts'
import type { AuthoredRelation, RelationInput } from './relations/relation.ts'
import { endRelations, endRelationsOf, type PutRelation, putRelations } from './relations/relation-store.ts'
import { facetPairs, recountFacets } from './search/facet-store.ts'
import { putTokens } from './search/search-index-store.ts'

/** An asset to create. `at` is the time of its creation. */
export type TestAsset = { name?: string; accessGroupId?: string; at?: string; document?: object }

/** Inserts assets with the first entry of their history directly into the database. Returns their ids. */
export async function createAssets(hub: TestHub, assets: readonly TestAsset[]): Promise<string[]> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    const fallback = (await findAccessGroupByName(tx, defaultAccessGroup))?.id ?? ''
    const rows = assets.map((asset) => rowOf(asset, fallback))
    await recountFacets(tx, { stored: [], written: rows })
    await putAssets(tx, { created: rows, changed: [] })
    const texts = rows.map(({ id, name }) => ({ id, lines: [(name ?? '').toLowerCase()] }))
    await putTokens(tx, { created: texts, changed: [] })
    await insertHistory(
      tx,
      rows.map((row) => ({ ...historyOf(row), time: row.created_at, change: 'created', document: row.document })),
    )
    const counts = Map.groupBy(rows, (row) => row.access_group_id)
    await changeCounts(tx, new Map([...counts].map(([group, members]) => [group, members.length])))
    return rows.map((row) => row.id)
  })
}

export function asset(id: string): Entity {
  return { type: 'asset', id }
}

export function node(id: string = v7()): Entity {
  return { type: 'node', id }
}

export type TestRelation = {
  subject: Entity
  predicate: string
  object: Entity
  isBidirectional?: boolean
  source?: { type?: 'manual'; value?: string }
}

/** Sends `POST /relations` and returns the response with any status. */
export function postRelation(caller: TestCaller, data: TestRelation) {
  return caller.exchange(inventory, 'createRelation', { body: { data } })
}

export type Edge = [from: Entity, predicate: string, to: Entity]

const testAuthor = { principalId: null, principalName: 'a test' }

export function withTestAuthor(relations: readonly RelationInput[]): AuthoredRelation[] {
  return relations.map((relation) => ({ ...relation, author: testAuthor }))
}

/** Inserts relations that were created at `at`, by default now. */
export function createRelations(hub: TestHub, edges: readonly Edge[], at?: string): Promise<PutRelation[]> {
  const relations = edges.map(([subject, predicate, object]) => ({
    subject,
    predicate,
    object,
    source: { type: 'manual' as const },
  }))
  return hub.context.database.transaction(hub.tenant, (tx) => putRelations(tx, withTestAuthor(relations), at))
}

/** Ends relations at a time. */
export async function endRelationsAt(hub: TestHub, relations: readonly PutRelation[], at: string): Promise<void> {
  const ids = relations.map(({ relation }) => relation.id)
  await hub.context.database.transaction(hub.tenant, (tx) => endRelations(tx, ids, { ...testAuthor, at }))
}

/** Returns a day of January 2025, which is in the past for every test. */
export function day(number: number): string {
  return new Date(Date.UTC(2025, 0, number)).toISOString()
}

export { createCaller }

/** Access groups with one reader for each subset of them. */
export type Readers = {
  groups: string[]
  /** The readers. The index of a reader is a bit mask of the groups that the reader can read. */
  readers: TestCaller[]
  /** For each reader, a group that only this reader can read. */
  ownGroups: string[]
}

export async function createReaders(hub: TestHub, groupCount: number): Promise<Readers> {
  const admin = await hub.as('administrator')
  const group = async (name: string) =>
    (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  const created: Readers = { groups: [], readers: [], ownGroups: [] }
  for (let index = 0; index < groupCount; index++) created.groups.push(await group(`group-${index}`))
  for (let mask = 0; mask < 2 ** groupCount; mask++) {
    const own = await group(`own-${mask}`)
    const readable = [...created.groups.filter((_, index) => mask & (1 << index)), own]
    const grants = readable.map((accessGroupId) => ({
      permissions: ['inventory_read_asset_data'] as const,
      accessGroupId,
    }))
    created.ownGroups.push(own)
    created.readers.push(await createCaller(hub, [...grants, { permissions: ['glb_file_export'] }]))
  }
  return created
}

/** Deletes assets at a time and ends their relations. */
export async function deleteAssetsAt(
  hub: TestHub,
  { ids, accessGroupId, at }: { ids: readonly string[]; accessGroupId: string; at: string },
): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await recountFacets(tx, { stored: ids, written: [] })
    await deleteAssets(tx, ids)
    await endRelationsOf(tx, ids, { ...testAuthor, at })
    const rows = ids.map((id) => ({ ...historyOf({ id, access_group_id: accessGroupId, version: 2 }), time: at }))
    await insertHistory(
      tx,
      rows.map((row) => ({ ...row, change: 'deleted', document: null })),
    )
    await changeCounts(tx, new Map([[accessGroupId, -ids.length]]))
  })
}

function historyOf({ id, access_group_id, version }: Pick<AssetRow, 'id' | 'access_group_id' | 'version'>) {
  const author = {
    principalId: v7(),
    principalName: 'a test',
    sourceType: 'manual',
    sourceValue: null,
    matchedBy: null,
    overruled: null,
    changes: null,
    causeKind: null,
    causeId: null,
    causeName: null,
  }
  return { assetId: id, version, accessGroupId: access_group_id, ...author }
}

function rowOf(
  { name, accessGroupId, at = new Date().toISOString(), document: fields }: TestAsset,
  fallback: string,
): AssetRow {
  const document = {
    functional_object_type: 'Device',
    functional_object_schema_url: baseSchemaUrl,
    name,
    custom_properties: [],
    management_state: { state_value: 'unknown', state_timestamp: at },
    reachability_state: { state_value: 'unknown', state_timestamp: at },
    responsible: 'a test',
    created_timestamp: at,
    last_modified_timestamp: at,
    ...fields,
  }
  return {
    id: v7(),
    access_group_id: accessGroupId ?? fallback,
    ...emptyColumns,
    type: 'Device',
    schema_url: baseSchemaUrl,
    document: JSON.stringify(document),
    field_sources: null,
    found_run_id: null,
    name: name ?? null,
    management_state: 'unknown',
    management_state_at: at,
    reachability_state: 'unknown',
    reachability_state_at: at,
    responsible: 'a test',
    version: 1,
    created_at: at,
    modified_at: at,
  }
}

const emptyColumns = {
  description: null,
  serial_number: null,
  product_id: null,
  product_version: null,
  product_name: null,
  product_family: null,
  manufacturer: null,
  firmware_version: null,
  firmware_order: null,
  operating_mode: null,
  trust_state: null,
  trust_state_at: null,
}

export type AppliedWrite = {
  state: string
  result: { assetId: string; outcome: string; code?: string; mergeId: string; createdAssetId: string }
}

/** Sends a write and returns its result when it is applied. Throws if it is not applied within two minutes. */
export async function applyWrite(caller: TestCaller, operation: string, input: object): Promise<AppliedWrite> {
  const exchange = await caller.exchange(inventory, operation, { headers: { prefer: 'wait=30' }, ...input })
  const { data } = exchange.body as { data?: AcceptedWrite }
  if (data === undefined) throw new Error(`${operation} was not accepted: ${JSON.stringify(exchange.body)}`)
  return appliedWrite(caller, data)
}

export type AcceptedWrite = { statusId: string; state?: string; detail?: { result: AppliedWrite['result'] } }

/** Returns the result of an accepted write when it is applied. Throws if it is not applied within two minutes. */
export async function appliedWrite(caller: TestCaller, accepted: AcceptedWrite): Promise<AppliedWrite> {
  const wait = { params: { id: accepted.statusId }, query: { wait: 30 } }
  const deadline = performance.now() + 120_000
  for (let status: Partial<AcceptedWrite> = accepted; ; ) {
    const { state, detail } = status
    if ((state === 'finished' || state === 'failed') && detail !== undefined) return { state, result: detail.result }
    if (performance.now() > deadline) throw new Error(`A write was not applied in time: ${JSON.stringify(status)}`)
    status = (await caller.inventory.readStatus(wait)).data as Partial<AcceptedWrite>
  }
}

type Owner = { query(sql: string, values: unknown[]): Promise<{ rows: unknown[] }> }

/** Returns the stored counts of a tenant that differ from the counted rows, and the counted rows that differ. */
export async function countDifferences(owner: Owner, tenantId: string): Promise<unknown[]> {
  const { rows } = await owner.query(
    `with actual as (
       select 'asset_facets' as of, f.facet as key, f.value, a.access_group_id::text as "group", count(*) as count
       from assets a, lateral (values ${facetPairs}) as f (facet, value) where a.tenant_id = $1 group by 2, 3, 4
       union all
       select 'asset_counts', null, null, access_group_id::text, count(*) from assets where tenant_id = $1 group by 4
       union all
       select 'relation_counts', predicate, null, null, count(*) from relations where tenant_id = $1 group by 2),
     counted as (
       select 'asset_facets', facet, value, access_group_id::text, assets from asset_facets
       where tenant_id = $1 and assets <> 0
       union all
       select 'asset_counts', null, null, access_group_id::text, assets from asset_counts where tenant_id = $1
       union all
       select 'relation_counts', predicate, null, null, sum(relations)::bigint from relation_counts
       where tenant_id = $1 group by 2 having sum(relations) <> 0)
     select 'actual' as only, t.* from (table actual except all table counted) as t
     union all
     select 'counted', c.* from (table counted except all table actual) as c`,
    [tenantId],
  )
  return rows
}

/** Asserts that all stored counts equal the counted rows. */
export async function assertCounts(hub: TestHub): Promise<void> {
  assert.deepEqual(await hub.asOwner((owner) => countDifferences(owner, hub.tenant.tenantId)), [])
}
