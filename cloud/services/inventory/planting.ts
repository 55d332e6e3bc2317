import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { findAccessGroupByName, insertAccessGroup } from '../../platform/access/store.ts'
import { copyRows } from '../../platform/database/copy.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { type Owner, ownerTransaction } from '../../platform/database/owner-transaction.ts'
import { addressesOf } from './address.ts'
import { columnsOf, createdDocument, normaliseAsset, setPropertyValue, setState } from './asset.ts'
import { changeCounts, findByKeys } from './asset-store.ts'
import type { Document } from './document.ts'
import { recountFacets } from './facet-store.ts'
import { storedIdentifier } from './identifier.ts'
import type { StoredIdentifier } from './payload.ts'
import { costCentreProperty, type PlantAsset, type PlantSize, plantAssets } from './plant.ts'
import { insertProperty } from './property-store.ts'
import { countPredicates } from './relation-count-store.ts'
import { searchText } from './search.ts'
import { wordVector } from './word-store.ts'

/** How many assets share a transaction. */
const batch = 5_000

type Planting = { owner: Owner; tenantId: string; onProgress?: (assets: number) => void }

const source = { type: 'discovery', value: 'plant generator' } as const

/**
 * Loads a plant into the tables as the applier would have left them, with counts, words and history, without asking
 * anybody: no queue, no events. For tenants that are made to be large; it begins with nothing of the plant there.
 */
export async function growPlant(size: PlantSize, { owner, tenantId, onProgress }: Planting): Promise<void> {
  const startedAt = Date.now()
  const groups = new Map<string, string>()
  const propertyKey = await ownerTransaction(owner, tenantId, (tx) => prepare(tx, size))
  const means = { owner, groups, propertyKey, idOf: (place: number) => idAt(startedAt, size.seed, place) }
  let assets: PlantAsset[] = []
  let written = Promise.resolve()
  // The next batch is made while the one before it is written.
  const flush = async () => {
    const planted = assets
    assets = []
    await written
    written = ownerTransaction(owner, tenantId, (tx) => plant(tx, planted, means)).then(() =>
      onProgress?.((planted.at(-1)?.place ?? 0) + 1),
    )
    written.catch(() => {})
  }
  for (const asset of plantAssets(size)) {
    if (assets.push(asset) === batch) await flush()
  }
  if (assets.length > 0) await flush()
  await written
}

async function prepare(tx: Transaction, size: PlantSize): Promise<string> {
  const [first] = plantAssets({ ...size, assets: 1 })
  const identifiers = (first?.asset.asset_identifiers ?? []) as Document[]
  const keys = identifiers.map((identifier) => storedIdentifier(identifier).key)
  if ((await findByKeys(tx, keys)).length > 0) {
    throw new Problem('already_exists', `The plant of seed ${size.seed} is there already: take another seed`)
  }
  return (await insertProperty(tx, { key: v7(), name: costCentreProperty, dataType: 'text' })).key
}

/** In the order of their making, and known before they are written: relations may go anywhere. */
function idAt(startedAt: number, seed: number, place: number): string {
  const random = new Uint8Array(16)
  const view = new DataView(random.buffer)
  view.setUint32(8, seed)
  view.setUint32(12, place)
  return v7({ msecs: startedAt + Math.floor(place / batch), seq: place % batch, random })
}

type Means = { owner: Owner; groups: Map<string, string>; propertyKey: string; idOf: (place: number) => string }

type Planted = {
  id: string
  group: string
  document: Document
  identifiers: StoredIdentifier[]
  relations: PlantAsset['relations']
}

async function plant(tx: Transaction, assets: readonly PlantAsset[], means: Means): Promise<void> {
  const time = new Date().toISOString()
  const planted: Planted[] = []
  for (const asset of assets) {
    const { document, identifiers } = stored(asset, { time, propertyKey: means.propertyKey })
    const group = await groupNamed(tx, asset.accessGroup, means.groups)
    planted.push({ id: means.idOf(asset.place), group, document, identifiers, relations: asset.relations })
  }
  await copyAssets(tx, planted, { time, owner: means.owner })
  await copyWhatBelongs(tx, planted, { time, owner: means.owner })
  await copyRelations(tx, planted, { ...means, time })
}

type Copying = { owner: Owner; time: string }

async function copyAssets(tx: Transaction, planted: readonly Planted[], { owner, time }: Copying): Promise<void> {
  const rows = planted.map(({ id, group, document }) => ({
    tenant_id: tx.tenantId,
    id,
    access_group_id: group,
    ...columnsOf(document),
    document: jsonText(document),
    version: 1,
    created_at: time,
    modified_at: time,
  }))
  const columns = Object.keys(rows[0] ?? {})
  await recountFacets(tx, { kept: [], coming: rows })
  await copyRows(owner, 'assets', { columns, rows: rows.map((row) => Object.values(row)) })
  const counts = Map.groupBy(planted, ({ group }) => group)
  await changeCounts(tx, new Map([...counts].map(([group, members]) => [group, members.length])))
  await copyRows(owner, 'asset_history', {
    columns: [
      ...['tenant_id', 'asset_id', 'version', 'time', 'change', 'access_group_id', 'principal_id', 'principal_name'],
      ...['source_type', 'source_value', 'document'],
    ],
    rows: rows.map(({ id, access_group_id, document }) => [
      ...[tx.tenantId, id, 1, time, 'created', access_group_id, nobody, grower],
      ...[source.type, source.value, document],
    ]),
  })
}

async function copyWhatBelongs(tx: Transaction, planted: readonly Planted[], { owner, time }: Copying): Promise<void> {
  const { tenantId } = tx
  await copyRows(owner, 'asset_identifiers', {
    columns: ['tenant_id', 'asset_id', 'key', 'uncertainty', 'type', 'name', 'value', 'identifier', 'created_at'],
    rows: planted.flatMap(({ id, identifiers }) =>
      identifiers.map(({ key, uncertainty, type, name, value, identifier }) => [
        ...[tenantId, id, key, uncertainty, type, name, value, jsonText(identifier), time],
      ]),
    ),
  })
  await copyRows(owner, 'asset_addresses', {
    columns: ['tenant_id', 'asset_id', 'kind', 'address'],
    rows: planted.flatMap(({ id, document }) =>
      addressesOf(document).map(({ kind, address }) => [tenantId, id, kind, address]),
    ),
  })
  await copyRows(owner, 'asset_property_values', {
    columns: ['tenant_id', 'asset_id', 'key', 'value'],
    rows: planted.flatMap(({ id, document }) => {
      const values = document.custom_properties as { key: string; value: string }[]
      return values.map(({ key, value }) => [tenantId, id, key, value])
    }),
  })
  await copyRows(owner, 'asset_words', {
    columns: ['tenant_id', 'asset_id', 'words'],
    rows: planted.map(({ id, document, identifiers }) => {
      const text = searchText(
        document,
        identifiers.map(({ identifier }) => identifier),
      )
      return [tenantId, id, wordVector(tenantId, text)]
    }),
  })
}

async function copyRelations(
  tx: Transaction,
  planted: readonly Planted[],
  { owner, time, idOf }: Means & Copying,
): Promise<void> {
  const relations = planted.flatMap(({ id, relations }) =>
    relations.map((relation) => ({
      subject: id,
      predicate: relation.predicate,
      object: 'node' in relation ? relation.node : { type: 'asset', id: idOf(relation.place) },
    })),
  )
  await countPredicates(tx, relations, 1)
  await copyRows(owner, 'relations', {
    columns: [
      ...['tenant_id', 'id', 'subject_type', 'subject_id', 'predicate', 'object_type', 'object_id'],
      ...['source_type', 'source_value', 'created_at', 'modified_at'],
    ],
    rows: relations.map(({ subject, predicate, object }) => [
      ...[tx.tenantId, v7(), 'asset', subject, predicate, object.type, object.id],
      ...[source.type, source.value, time, time],
    ]),
  })
}

const nobody = '00000000-0000-0000-0000-000000000000'
const grower = 'millwright'

function stored({ asset, managementState, costCentre }: PlantAsset, made: { time: string; propertyKey: string }) {
  const { time: now, propertyKey: key } = made
  const { document: sent } = normaliseAsset(asset)
  const { asset_identifiers: identifiers = [], ...fields } = sent
  const created = createdDocument(fields, { responsible: grower, now })
  const managed = setState(created, { state: 'management_state', value: managementState, now })
  return {
    document: setPropertyValue(managed, { key, value: costCentre }),
    identifiers: (identifiers as Document[]).map(storedIdentifier),
  }
}

async function groupNamed(tx: Transaction, name: string, known: Map<string, string>): Promise<string> {
  const found = known.get(name)
  if (found !== undefined) return found
  const row = (await insertAccessGroup(tx, name)) ?? (await findAccessGroupByName(tx, name))
  if (row === undefined) throw new TypeError(`There is no access group ${name}`)
  known.set(name, row.id)
  return row.id
}
