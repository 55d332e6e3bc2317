import { type Entity, inventory } from '@millwright/api/inventory.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import { changeAccess, findAccessGroupByName, insertGrant, insertPrincipal } from '../../platform/access/store.ts'
import { defaultAccessGroup } from '../../platform/tenants/tenants.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { type AssetRow, changeCounts, deleteAssets, insertHistory, putAssets } from './asset-store.ts'
import { endRelationsOf } from './relation-store.ts'

export type GivenAsset = { name: string; accessGroupId?: string /** When it came to be. */; at?: string }

/** Assets that are simply there, with the first entry of their history: for tests of what is done with assets. */
export async function givenAssets(hub: TestHub, assets: readonly GivenAsset[]): Promise<string[]> {
  return hub.context.database.transaction(hub.tenant, async (tx) => {
    const fallback = (await findAccessGroupByName(tx, defaultAccessGroup))?.id ?? ''
    const rows = assets.map((asset) => rowOf(asset, fallback))
    await putAssets(tx, { fresh: rows, changed: [] })
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

type Held = { permissions: readonly Permission[]; accessGroupId?: string }

/** Somebody who holds exactly these permissions, in the whole tenant or in groups. */
export async function givenCaller(hub: TestHub, held: readonly Held[]): Promise<TestCaller> {
  const admin = await hub.as('administrator')
  const roles: string[] = []
  for (const { permissions } of held) {
    const name = `role-${v7()}`
    await admin.authorization.createRole({ body: { data: { name, permissions: [...permissions] } } })
    roles.push(name)
  }
  const principalId = await hub.context.database.transaction(hub.tenant, async (tx) => {
    await changeAccess(tx)
    const { id } = await insertPrincipal(tx, { kind: 'user', name: `somebody-${v7()}` })
    for (const [index, { accessGroupId }] of held.entries()) {
      const where = accessGroupId === undefined ? {} : { accessGroupId }
      await insertGrant(tx, { principalId: id, role: roles[index] ?? '', ...where })
    }
    return id
  })
  return hub.withToken(await hub.tokenFor(principalId, { roles }), principalId)
}

/** Assets that are gone, and their relations with them. */
export async function givenDeleted(
  hub: TestHub,
  { ids, accessGroupId, at }: { ids: readonly string[]; accessGroupId: string; at: string },
): Promise<void> {
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await deleteAssets(tx, ids)
    await endRelationsOf(tx, ids, { principalId: null, principalName: 'a test', at })
    const rows = ids.map((id) => ({ ...historyOf({ id, access_group_id: accessGroupId, version: 2 }), time: at }))
    await insertHistory(
      tx,
      rows.map((row) => ({ ...row, change: 'deleted', document: null })),
    )
    await changeCounts(tx, new Map([[accessGroupId, -ids.length]]))
  })
}

function historyOf({ id, access_group_id, version }: Pick<AssetRow, 'id' | 'access_group_id' | 'version'>) {
  const who = { principalId: v7(), principalName: 'a test', sourceType: 'manual', sourceValue: null }
  return { assetId: id, version, accessGroupId: access_group_id, ...who }
}

function rowOf({ name, accessGroupId, at = new Date().toISOString() }: GivenAsset, fallback: string): AssetRow {
  const document = {
    functional_object_type: 'Device',
    functional_object_schema_url: 'urn:test',
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
    schema_url: 'urn:test',
    document: JSON.stringify(document),
    name,
    management_state: 'unknown',
    management_state_at: at,
    reachability_state: 'unknown',
    reachability_state_at: at,
    responsible: 'a test',
    search: name.toLowerCase(),
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
