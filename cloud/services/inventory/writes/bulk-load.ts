import { randomInt } from 'node:crypto'
import type { AssetDocument, Entity } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { listAccessGroups } from '../../../platform/access/store.ts'
import { copyRows } from '../../../platform/database/copy.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { type Owner, ownerTransaction } from '../../../platform/database/owner-transaction.ts'
import { addressesOf } from '../assets/address.ts'
import { columnsOf, createdDocument, normaliseAsset, setPropertyValue, setState } from '../assets/asset.ts'
import { type AssetColumns, changeCounts, findByKeys } from '../assets/asset-store.ts'
import type { Document } from '../assets/document.ts'
import { insertProperty } from '../assets/property-store.ts'
import { keyOf, storedIdentifier } from '../identity/identifier.ts'
import { countPredicates } from '../relations/relation-count-store.ts'
import { recountFacets } from '../search/facet-store.ts'
import { type IndexedText, putTokens } from '../search/search-index-store.ts'
import { searchLines } from '../search/search-tokens.ts'
import type { StoredIdentifier } from './write.ts'

/** The number of assets in one transaction. */
const batch = 5_000
const allGroups = 1_000_000

export type BulkAsset = {
  /** The position of the asset in the load, starting at 0. */
  place: number
  /** The name of the access group. Groups that do not exist are created. */
  accessGroup: string
  /** The asset as a client sends it, without its access group and relations. */
  asset: AssetDocument
  /** The relations that have the asset as subject. Other assets are named by their position. */
  relations: readonly ({ predicate: string } & ({ place: number } | { node: Entity & { type: 'node' } }))[]
  managementState: 'regarded' | 'ignored' | 'unknown'
  /** The value of the custom property that the load creates. */
  propertyValue: string
}

type BulkLoad = {
  owner: Owner
  tenantId: string
  /** The name of the custom property that is created. */
  property: string
  /** The source of the assets in their history and relations. */
  source: string
  onProgress?: (assets: number) => void
}

/**
 * Copies many new assets into the tables, with counts, search index and history, in the form that the applier writes. It
 * uses neither the write queue nor events. It throws if the first asset already exists.
 */
export async function bulkLoad(all: Iterable<BulkAsset>, load: BulkLoad): Promise<void> {
  const { owner, tenantId, onProgress } = load
  let context: LoadContext | undefined
  let assets: BulkAsset[] = []
  let written = Promise.resolve()
  // The rows of the next batch are built while the previous batch is written.
  const flush = async (loadContext: LoadContext) => {
    const rows = rowsOf(assets, loadContext)
    const done = (assets.at(-1)?.place ?? 0) + 1
    assets = []
    await written
    written = ownerTransaction(owner, tenantId, (tx) => write(tx, owner, rows)).then(() => onProgress?.(done))
    written.catch(() => {})
  }
  for (const asset of all) {
    context ??= await ownerTransaction(owner, tenantId, (tx) => prepare(tx, load, asset))
    if (assets.push(asset) === batch) await flush(context)
  }
  if (context !== undefined && assets.length > 0) await flush(context)
  await written
}

async function requireNew(tx: Transaction, { asset }: BulkAsset): Promise<void> {
  const identifiers = (asset.asset_identifiers ?? []) as Document[]
  if ((await findByKeys(tx, identifiers.map(keyOf))).length === 0) return
  throw new Problem('already_exists', `The asset ${asset.name} already exists`)
}

async function prepare(
  tx: Transaction,
  { tenantId, property, source }: BulkLoad,
  first: BulkAsset,
): Promise<LoadContext> {
  await requireNew(tx, first)
  const { key: propertyKey } = await insertProperty(tx, { key: v7(), name: property, dataType: 'text' })
  const { rows } = await listAccessGroups(tx, { limit: allGroups, offset: 0 })
  const groups = new Map(rows.map(({ id, name }) => [name, id]))
  const [startedAt, suffix] = [Date.now(), randomInt(2 ** 32)]
  return { tenantId, groups, propertyKey, source, loadId: v7(), idOf: (place) => idAt(startedAt, suffix, place) }
}

/**
 * Returns the id of the asset at a position. Ids ascend with the position. They are known before the assets are written,
 * because relations may refer to any asset.
 */
function idAt(startedAt: number, suffix: number, place: number): string {
  const random = new Uint8Array(16)
  const view = new DataView(random.buffer)
  view.setUint32(8, suffix)
  view.setUint32(12, place)
  return v7({ msecs: startedAt + Math.floor(place / batch), seq: place % batch, random })
}

type LoadContext = {
  tenantId: string
  /** The ids of the access groups by name. The load adds the ids of groups that it creates. */
  groups: Map<string, string>
  propertyKey: string
  source: string
  /** The id of the load. The history lists its changes together. */
  loadId: string
  idOf: (place: number) => string
}

type NewAsset = {
  id: string
  group: string
  document: Document
  identifiers: StoredIdentifier[]
  relations: { predicate: string; object: Entity }[]
}

type Rows = Parameters<typeof copyRows>[2]

/** The content of a batch: the rows of each table in the order of their foreign keys, the search texts and the counts. */
type BatchRows = {
  tables: [name: string, rows: Rows][]
  columns: (AssetColumns & { access_group_id: string })[]
  texts: IndexedText[]
  groups: Map<string, number>
  relations: { predicate: string }[]
}

function rowsOf(
  assets: readonly BulkAsset[],
  { tenantId, groups, propertyKey, source, loadId, idOf }: LoadContext,
): BatchRows {
  const time = new Date().toISOString()
  const addedGroups: [string, string][] = []
  const groupNamed = (name: string) => {
    const cached = groups.get(name)
    if (cached !== undefined) return cached
    const id = v7()
    addedGroups.push([id, name])
    groups.set(name, id)
    return id
  }
  const created = assets.map((asset): NewAsset => {
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
  const columns = created.map(({ group, document }) => ({ ...columnsOf(document), access_group_id: group }))
  const newGroups = { columns: ['tenant_id', 'id', 'name'], rows: addedGroups.map((group) => [tenantId, ...group]) }
  const counts = Map.groupBy(created, ({ group }) => group)
  return {
    tables: [
      ['access_groups', newGroups],
      ...assetRows(created, { tenantId, time, source, loadId, columns }),
      ...partRows(created, { tenantId, time }),
      ['relations', relationRows(created, { tenantId, time, source })],
    ],
    columns,
    texts: created.map(({ id, document, identifiers }) => {
      const plain = identifiers.map(({ identifier }) => identifier)
      return { id, lines: searchLines(document, plain) }
    }),
    groups: new Map([...counts].map(([group, members]) => [group, members.length])),
    relations: created.flatMap(({ relations }) => relations),
  }
}

async function write(
  tx: Transaction,
  owner: Owner,
  { tables, columns, texts, groups, relations }: BatchRows,
): Promise<void> {
  for (const [table, rows] of tables) await copyRows(owner, table, rows)
  await putTokens(tx, { created: texts, changed: [] })
  await recountFacets(tx, { stored: [], written: columns })
  await changeCounts(tx, groups)
  await countPredicates(tx, relations, 1)
}

type Creation = { tenantId: string; time: string; source: string; loadId: string }

function assetRows(
  created: readonly NewAsset[],
  { tenantId, time, source, loadId, columns }: Creation & Pick<BatchRows, 'columns'>,
): [string, Rows][] {
  const rows = created.map(({ id, document }, index) => ({
    tenant_id: tenantId,
    id,
    ...(columns[index] as BatchRows['columns'][number]),
    document: jsonText(document),
    version: 1,
    created_at: time,
    modified_at: time,
  }))
  const history = {
    columns: [
      ...['tenant_id', 'asset_id', 'version', 'time', 'change', 'access_group_id', 'principal_id', 'principal_name'],
      ...['source_type', 'source_value', 'document', 'cause_kind', 'cause_id', 'cause_name'],
    ],
    rows: rows.map(({ id, access_group_id, document }) => [
      ...[tenantId, id, 1, time, 'created', access_group_id, noPrincipal, author],
      ...['discovery', source, document, 'import', loadId, source],
    ]),
  }
  return [
    ['assets', { columns: Object.keys(rows[0] ?? {}), rows: rows.map((row) => Object.values(row)) }],
    ['asset_history', history],
  ]
}

/** Returns the rows of identifiers, addresses and property values. */
function partRows(
  created: readonly NewAsset[],
  { tenantId, time }: Pick<Creation, 'tenantId' | 'time'>,
): [string, Rows][] {
  const identifiers = {
    columns: ['tenant_id', 'asset_id', 'key', 'uncertainty', 'type', 'name', 'value', 'identifier', 'created_at'],
    rows: created.flatMap(({ id, identifiers }) =>
      identifiers.map(({ key, uncertainty, type, name, value, identifier }) => [
        ...[tenantId, id, key, uncertainty, type, name, value, jsonText(identifier), time],
      ]),
    ),
  }
  const addresses = {
    columns: ['tenant_id', 'asset_id', 'kind', 'address'],
    rows: created.flatMap(({ id, document }) =>
      addressesOf(document).map(({ kind, address }) => [tenantId, id, kind, address]),
    ),
  }
  const values = {
    columns: ['tenant_id', 'asset_id', 'key', 'value'],
    rows: created.flatMap(({ id, document }) => {
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

function relationRows(created: readonly NewAsset[], { tenantId, time, source }: Omit<Creation, 'loadId'>): Rows {
  return {
    columns: [
      ...['tenant_id', 'id', 'subject_type', 'subject_id', 'predicate', 'object_type', 'object_id'],
      ...['source_type', 'source_value', 'created_at', 'modified_at', 'created_by_id', 'created_by_name'],
    ],
    rows: created.flatMap(({ id, relations }) =>
      relations.map(({ predicate, object }) => [
        ...[tenantId, v7(), 'asset', id, predicate, object.type, object.id],
        ...['discovery', source, time, time, noPrincipal, author],
      ]),
    ),
  }
}

const noPrincipal = '00000000-0000-0000-0000-000000000000'
const author = 'millwright'

function stored(
  { asset, managementState, propertyValue }: BulkAsset,
  { time: now, propertyKey: key }: { time: string; propertyKey: string },
) {
  const { document: sent } = normaliseAsset(asset)
  const { asset_identifiers: identifiers = [], ...fields } = sent
  const document = createdDocument(fields, { responsible: author, now })
  const managed = setState(document, { state: 'management_state', value: managementState, now })
  return {
    document: setPropertyValue(managed, { key, value: propertyValue }),
    identifiers: (identifiers as Document[]).map(storedIdentifier),
  }
}
