import type { Entity } from '@millwright/api/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { listAccessGroups } from '../../platform/access/store.ts'
import { copyRows } from '../../platform/database/copy.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { type Owner, ownerTransaction } from '../../platform/database/owner-transaction.ts'
import { addressesOf } from './address.ts'
import { columnsOf, createdDocument, normaliseAsset, setPropertyValue, setState } from './asset.ts'
import { type AssetColumns, changeCounts, findByKeys } from './asset-store.ts'
import type { Document } from './document.ts'
import { recountFacets } from './facet-store.ts'
import { keyOf, storedIdentifier } from './identifier.ts'
import type { StoredIdentifier } from './payload.ts'
import { costCentreProperty, type PlantAsset, type PlantSize, plantAssets } from './plant.ts'
import { insertProperty } from './property-store.ts'
import { countPredicates } from './relation-count-store.ts'
import { searchText } from './search.ts'
import { putWords } from './word-store.ts'

/** How many assets share a transaction. */
const batch = 5_000
const allGroups = 1_000_000

type Planting = { owner: Owner; tenantId: string; onProgress?: (assets: number) => void }

const source = { type: 'discovery', value: 'plant generator' } as const

/**
 * Loads a plant into the tables as the applier would have left them, with counts, words and history, without asking
 * anybody: no queue, no events. For tenants that are made to be large; it begins with nothing of the plant there.
 */
export async function growPlant(size: PlantSize, { owner, tenantId, onProgress }: Planting): Promise<void> {
  const startedAt = Date.now()
  const { propertyKey, groups } = await ownerTransaction(owner, tenantId, (tx) => prepare(tx, size))
  const means = { tenantId, groups, propertyKey, idOf: (place: number) => idAt(startedAt, size.seed, place) }
  let assets: PlantAsset[] = []
  let written = Promise.resolve()
  // The next batch is made while the one before it is written.
  const flush = async () => {
    const load = loadOf(assets, means)
    const done = (assets.at(-1)?.place ?? 0) + 1
    assets = []
    await written
    written = ownerTransaction(owner, tenantId, (tx) => write(tx, owner, load)).then(() => onProgress?.(done))
    written.catch(() => {})
  }
  for (const asset of plantAssets(size)) {
    if (assets.push(asset) === batch) await flush()
  }
  if (assets.length > 0) await flush()
  await written
}

async function prepare(tx: Transaction, size: PlantSize) {
  const [first] = plantAssets({ ...size, assets: 1 })
  const identifiers = (first?.asset.asset_identifiers ?? []) as Document[]
  const keys = identifiers.map(keyOf)
  if ((await findByKeys(tx, keys)).length > 0) {
    throw new Problem('already_exists', `The plant of seed ${size.seed} is there already: take another seed`)
  }
  const { key: propertyKey } = await insertProperty(tx, { key: v7(), name: costCentreProperty, dataType: 'text' })
  const { rows } = await listAccessGroups(tx, { limit: allGroups, offset: 0 })
  const groups = new Map(rows.map(({ id, name }) => [name, id]))
  return { propertyKey, groups }
}

/** In the order of their making, and known before they are written: relations may go anywhere. */
function idAt(startedAt: number, seed: number, place: number): string {
  const random = new Uint8Array(16)
  const view = new DataView(random.buffer)
  view.setUint32(8, seed)
  view.setUint32(12, place)
  return v7({ msecs: startedAt + Math.floor(place / batch), seq: place % batch, random })
}

type Means = {
  tenantId: string
  /** Ids by name; those of new ones are added. */
  groups: Map<string, string>
  propertyKey: string
  idOf: (place: number) => string
}

type Planted = {
  id: string
  group: string
  document: Document
  identifiers: StoredIdentifier[]
  relations: { predicate: string; object: Entity }[]
}

type Rows = Parameters<typeof copyRows>[2]

/** What is written of some assets: the rows of each table, in the order in which they need each other, words and counts. */
type Load = {
  tables: [name: string, rows: Rows][]
  columns: (AssetColumns & { access_group_id: string })[]
  texts: { id: string; text: string }[]
  groups: Map<string, number>
  relations: { predicate: string }[]
}

function loadOf(assets: readonly PlantAsset[], { tenantId, groups, propertyKey, idOf }: Means): Load {
  const time = new Date().toISOString()
  const made: [string, string][] = []
  const groupNamed = (name: string) => {
    const known = groups.get(name)
    if (known !== undefined) return known
    const id = v7()
    made.push([id, name])
    groups.set(name, id)
    return id
  }
  const planted = assets.map((asset): Planted => {
    const relations = asset.relations.map((relation) => ({
      predicate: relation.predicate,
      object: 'node' in relation ? relation.node : { type: 'asset' as const, id: idOf(relation.place) },
    }))
    return {
      id: idOf(asset.place),
      group: groupNamed(asset.accessGroup),
      ...stored(asset, { time, propertyKey }),
      relations,
    }
  })
  const columns = planted.map(({ group, document }) => ({ ...columnsOf(document), access_group_id: group }))
  const newGroups = { columns: ['tenant_id', 'id', 'name'], rows: made.map((group) => [tenantId, ...group]) }
  const counts = Map.groupBy(planted, ({ group }) => group)
  return {
    tables: [
      ['access_groups', newGroups],
      ...assetRows(planted, { tenantId, time, columns }),
      ...partRows(planted, { tenantId, time }),
      ['relations', relationRows(planted, { tenantId, time })],
    ],
    columns,
    texts: planted.map(({ id, document, identifiers }) => {
      const plain = identifiers.map(({ identifier }) => identifier)
      return { id, text: searchText(document, plain) }
    }),
    groups: new Map([...counts].map(([group, members]) => [group, members.length])),
    relations: planted.flatMap(({ relations }) => relations),
  }
}

async function write(
  tx: Transaction,
  owner: Owner,
  { tables, columns, texts, groups, relations }: Load,
): Promise<void> {
  for (const [table, rows] of tables) await copyRows(owner, table, rows)
  await putWords(tx, texts)
  await recountFacets(tx, { kept: [], coming: columns })
  await changeCounts(tx, groups)
  await countPredicates(tx, relations, 1)
}

type Making = { tenantId: string; time: string }

function assetRows(
  planted: readonly Planted[],
  { tenantId, time, columns }: Making & Pick<Load, 'columns'>,
): [string, Rows][] {
  const rows = planted.map(({ id, document }, index) => ({
    tenant_id: tenantId,
    id,
    ...(columns[index] as Load['columns'][number]),
    document: jsonText(document),
    version: 1,
    created_at: time,
    modified_at: time,
  }))
  const history = {
    columns: [
      ...['tenant_id', 'asset_id', 'version', 'time', 'change', 'access_group_id', 'principal_id', 'principal_name'],
      ...['source_type', 'source_value', 'document'],
    ],
    rows: rows.map(({ id, access_group_id, document }) => [
      ...[tenantId, id, 1, time, 'created', access_group_id, nobody, grower],
      ...[source.type, source.value, document],
    ]),
  }
  return [
    ['assets', { columns: Object.keys(rows[0] ?? {}), rows: rows.map((row) => Object.values(row)) }],
    ['asset_history', history],
  ]
}

/** What belongs to an asset: identifiers, addresses, property values. */
function partRows(planted: readonly Planted[], { tenantId, time }: Making): [string, Rows][] {
  const identifiers = {
    columns: ['tenant_id', 'asset_id', 'key', 'uncertainty', 'type', 'name', 'value', 'identifier', 'created_at'],
    rows: planted.flatMap(({ id, identifiers }) =>
      identifiers.map(({ key, uncertainty, type, name, value, identifier }) => [
        ...[tenantId, id, key, uncertainty, type, name, value, jsonText(identifier), time],
      ]),
    ),
  }
  const addresses = {
    columns: ['tenant_id', 'asset_id', 'kind', 'address'],
    rows: planted.flatMap(({ id, document }) =>
      addressesOf(document).map(({ kind, address }) => [tenantId, id, kind, address]),
    ),
  }
  const values = {
    columns: ['tenant_id', 'asset_id', 'key', 'value'],
    rows: planted.flatMap(({ id, document }) => {
      const values = document.custom_properties as { key: string; value: string }[]
      return values.map(({ key, value }) => [tenantId, id, key, value])
    }),
  }
  return [
    ['asset_identifiers', identifiers],
    ['asset_addresses', addresses],
    ['asset_property_values', values],
  ]
}

function relationRows(planted: readonly Planted[], { tenantId, time }: Making): Rows {
  return {
    columns: [
      ...['tenant_id', 'id', 'subject_type', 'subject_id', 'predicate', 'object_type', 'object_id'],
      ...['source_type', 'source_value', 'created_at', 'modified_at', 'created_by_id', 'created_by_name'],
    ],
    rows: planted.flatMap(({ id, relations }) =>
      relations.map(({ predicate, object }) => [
        ...[tenantId, v7(), 'asset', id, predicate, object.type, object.id],
        ...[source.type, source.value, time, time, nobody, grower],
      ]),
    ),
  }
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
