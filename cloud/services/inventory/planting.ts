import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { findAccessGroupByName, insertAccessGroup } from '../../platform/access/store.ts'
import type { Database, Scope, Transaction } from '../../platform/database/database.ts'
import { createdDocument, normaliseAsset, setPropertyValue, setState } from './asset.ts'
import { findByKeys } from './asset-store.ts'
import type { Document } from './document.ts'
import { keyOf, storedIdentifier } from './identifier.ts'
import { costCentreProperty, type PlantAsset, type PlantSize, plantAssets } from './plant.ts'
import { insertProperty } from './property-store.ts'
import type { StatedRelation } from './relation.ts'
import { putRelations } from './relation-store.ts'
import { saveWorkspace, Workspace } from './workspace.ts'

/** How many assets share a transaction. */
const batch = 2_000

type Planting = { database: Database; scope: Scope; onProgress?: (assets: number) => void }

const source = { type: 'discovery', value: 'plant generator' } as const

/**
 * Writes a plant as the applier would have written it, without asking anybody: no queue, no events. For tenants that
 * are made to be large; it begins with nothing of the plant there.
 */
export async function growPlant(size: PlantSize, { database, scope, onProgress }: Planting): Promise<void> {
  const startedAt = Date.now()
  const groups = new Map<string, string>()
  const propertyKey = await database.transaction(scope, (tx) => prepare(tx, size))
  const idOf = (place: number) => idAt(startedAt, size.seed, place)
  let assets: PlantAsset[] = []
  const flush = async () => {
    if (assets.length === 0) return
    await database.transaction(scope, (tx) => plant(tx, assets, { groups, propertyKey, idOf }))
    onProgress?.((assets.at(-1)?.place ?? 0) + 1)
    assets = []
  }
  for (const asset of plantAssets(size)) {
    if (assets.push(asset) === batch) await flush()
  }
  await flush()
}

async function prepare(tx: Transaction, size: PlantSize): Promise<string> {
  const [first] = plantAssets({ ...size, assets: 1 })
  const identifiers = (first?.asset.asset_identifiers ?? []) as Document[]
  const keys = identifiers.map(keyOf)
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

type Means = { groups: Map<string, string>; propertyKey: string; idOf: (place: number) => string }

async function plant(tx: Transaction, assets: readonly PlantAsset[], means: Means): Promise<void> {
  const time = new Date().toISOString()
  const workspace = new Workspace([], [])
  for (const asset of assets) {
    const id = means.idOf(asset.place)
    const { document, identifiers } = stored(asset, { time, propertyKey: means.propertyKey })
    const accessGroupId = await groupNamed(tx, asset.accessGroup, means.groups)
    workspace.put(
      { id, accessGroupId, version: 1, createdAt: time, document },
      { actor: { principalId: nobody, principalName: grower }, source, time },
    )
    for (const identifier of identifiers) workspace.identify({ ...identifier, assetId: id, createdAt: time }, time)
  }
  await saveWorkspace(tx, workspace)
  await putRelations(
    tx,
    assets.flatMap((asset) => relationsOf(asset, means.idOf)),
  )
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

function relationsOf({ place, relations }: PlantAsset, idOf: (place: number) => string): StatedRelation[] {
  return relations.map((relation) => ({
    subject: { type: 'asset', id: idOf(place) },
    predicate: relation.predicate,
    object: 'node' in relation ? relation.node : { type: 'asset', id: idOf(relation.place) },
    source,
  }))
}

async function groupNamed(tx: Transaction, name: string, known: Map<string, string>): Promise<string> {
  const found = known.get(name)
  if (found !== undefined) return found
  const row = (await insertAccessGroup(tx, name)) ?? (await findAccessGroupByName(tx, name))
  if (row === undefined) throw new TypeError(`There is no access group ${name}`)
  known.set(name, row.id)
  return row.id
}
