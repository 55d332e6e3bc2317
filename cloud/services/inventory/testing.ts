import assert from 'node:assert/strict'
import { baseSchemaUrl } from '@millwright/api/asset-schema.ts'
import { type Entity, inventory } from '@millwright/api/inventory.ts'
import { defaultAccessGroup } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { findAccessGroupByName } from '../../platform/access/store.ts'
import { givenCaller } from '../../platform/testing/caller.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { type AssetRow, changeCounts, deleteAssets, insertHistory, putAssets } from './assets/asset-store.ts'
import type { AuthoredRelation, StatedRelation } from './relations/relation.ts'
import { endRelations, endRelationsOf, type PutRelation, putRelations } from './relations/relation-store.ts'
import { facetColumns, recountFacets } from './search/facet-store.ts'
import { putWords } from './search/search-index-store.ts'

export type GivenAsset = { name: string; accessGroupId?: string /** When it came to be. */; at?: string }

/** Assets that are simply there, with the first entry of their history: for tests of what is done with assets. */
export async function givenAssets(hub: TestHub, assets: readonly GivenAsset[]): Promise<string[]> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    const fallback = (await findAccessGroupByName(tx, defaultAccessGroup))?.id ?? ''
    const rows = assets.map((asset) => rowOf(asset, fallback))
    await recountFacets(tx, { kept: [], coming: rows })
    await putAssets(tx, { fresh: rows, changed: [] })
    await putWords(
      tx,
      rows.map(({ id, name }) => ({ id, text: (name ?? '').toLowerCase() })),
    )
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

export type Stated = {
  subject: Entity
  predicate: string
  object: Entity
  isBidirectional?: boolean
  source?: { type?: 'manual'; value?: string }
}

/** States a relation, and answers what came back whatever it is. */
export function state(caller: TestCaller, data: Stated) {
  return caller.exchange(inventory, 'createRelation', { body: { data } })
}

export type Link = [from: Entity, predicate: string, to: Entity]

const aTest = { principalId: null, principalName: 'a test' }

/** Relations that nobody in particular states. */
export function byATest(stated: readonly StatedRelation[]): AuthoredRelation[] {
  return stated.map((relation) => ({ ...relation, author: aTest }))
}

/** Relations that are simply there, since a time. */
export function givenRelations(hub: TestHub, links: readonly Link[], at?: string): Promise<PutRelation[]> {
  const stated = links.map(([subject, predicate, object]) => ({
    subject,
    predicate,
    object,
    source: { type: 'manual' as const },
  }))
  return hub.context.database.transaction(hub.tenant, (tx) => putRelations(tx, byATest(stated), at))
}

/** Relations that have ended. */
export async function givenEnded(hub: TestHub, relations: readonly PutRelation[], at: string): Promise<void> {
  const ids = relations.map(({ relation }) => relation.id)
  await hub.context.database.transaction(hub.tenant, (tx) => endRelations(tx, ids, { ...aTest, at }))
}

/** A day of a month long ago. */
export function day(number: number): string {
  return new Date(Date.UTC(2025, 0, number)).toISOString()
}

export { givenCaller }

/** Some access groups, and for each set of them somebody who reads these and no others of them. */
export type Readers = {
  groups: string[]
  /** By the groups they may read, a bit for each. */
  readers: TestCaller[]
  /** A group that only this reader reads. */
  ownGroups: string[]
}

export async function givenReaders(hub: TestHub, groupCount: number): Promise<Readers> {
  const admin = await hub.as('administrator')
  const group = async (name: string) =>
    (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
  const made: Readers = { groups: [], readers: [], ownGroups: [] }
  for (let index = 0; index < groupCount; index++) made.groups.push(await group(`group-${index}`))
  for (let mask = 0; mask < 2 ** groupCount; mask++) {
    const own = await group(`own-${mask}`)
    const readable = [...made.groups.filter((_, index) => mask & (1 << index)), own]
    const held = readable.map((accessGroupId) => ({
      permissions: ['inventory_read_asset_data'] as const,
      accessGroupId,
    }))
    made.ownGroups.push(own)
    made.readers.push(await givenCaller(hub, held))
  }
  return made
}

/** Assets that are gone, and their relations with them. */
export async function givenDeleted(
  hub: TestHub,
  { ids, accessGroupId, at }: { ids: readonly string[]; accessGroupId: string; at: string },
): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await recountFacets(tx, { kept: ids, coming: [] })
    await deleteAssets(tx, ids)
    await endRelationsOf(tx, ids, { ...aTest, at })
    const rows = ids.map((id) => ({ ...historyOf({ id, access_group_id: accessGroupId, version: 2 }), time: at }))
    await insertHistory(
      tx,
      rows.map((row) => ({ ...row, change: 'deleted', document: null })),
    )
    await changeCounts(tx, new Map([[accessGroupId, -ids.length]]))
  })
}

function historyOf({ id, access_group_id, version }: Pick<AssetRow, 'id' | 'access_group_id' | 'version'>) {
  const who = { principalId: v7(), principalName: 'a test', sourceType: 'manual', sourceValue: null, matchedBy: null }
  return { assetId: id, version, accessGroupId: access_group_id, ...who }
}

function rowOf({ name, accessGroupId, at = new Date().toISOString() }: GivenAsset, fallback: string): AssetRow {
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
  }
  return {
    id: v7(),
    access_group_id: accessGroupId ?? fallback,
    ...unsaid,
    type: 'Device',
    schema_url: baseSchemaUrl,
    document: JSON.stringify(document),
    name,
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

const unsaid = {
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

export type Applied = {
  state: string
  result: { assetId: string; outcome: string; code?: string; mergeId: string; createdAssetId: string }
}

/** A write, once it is applied. */
export async function applied(caller: TestCaller, operation: string, input: object): Promise<Applied> {
  const exchange = await caller.exchange(inventory, operation, { headers: { prefer: 'wait=10' }, ...input })
  const { data } = exchange.body as { data?: { state?: string; detail?: { result: Applied['result'] } } }
  if (data?.state === undefined || data.detail === undefined)
    throw new Error(`${operation} was not applied: ${JSON.stringify(exchange.body)}`)
  return { state: data.state, result: data.detail.result }
}

/** What is counted when it changes is what there is, no less and no more. */
export async function assertCounted(hub: TestHub): Promise<void> {
  const facets = facetColumns.map((name) => `('${name}', a.${name})`).join(', ')
  const { rows } = await hub.asOwner((owner) =>
    owner.query(
      `with there as (
         select 'asset_facets' as of, f.facet as what, f.value, a.access_group_id::text as place, count(*) as count
         from assets a, lateral (values ${facets}) as f (facet, value) where a.tenant_id = $1 group by 2, 3, 4
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
       select 'there' as only, t.* from (table there except all table counted) as t
       union all
       select 'counted', c.* from (table counted except all table there) as c`,
      [hub.tenant.tenantId],
    ),
  )
  assert.deepEqual(rows, [])
}
