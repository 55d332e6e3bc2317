import type { authorization } from '@millwright/api/authorization.ts'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { Client } from '@millwright/api/client.ts'
import {
  type AssetDocument,
  type Entity,
  type inventory,
  inventoryLimits,
} from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import {
  type PlantAsset,
  type PlantSize,
  plantAssets,
  plantProperty,
  plantSource,
} from '@millwright/links/plant/generator.ts'
import { batches } from '../input/batches.ts'

type PlantClients = {
  inventory: Client<typeof inventory>
  authorization: Client<typeof authorization>
  onProgress: (assets: number) => void
}

/**
 * The maximum total size of the items in one request, in bytes. It is below the size limit of a request, because the
 * envelope needs space too.
 */
const requestBytes = 900_000
const concurrentRequests = 16

type Result = { assetId?: string; code?: string; detail?: string }

/** Sends a plant over the public API: batches of assets first, then their states, property values and relations. */
export async function sendPlant(size: PlantSize, clients: PlantClients): Promise<void> {
  const propertyKey = await propertyKeyOf(clients)
  const groups = new Set<string>()
  const bytesOf = (asset: PlantAsset) => JSON.stringify(sendable(asset)).length
  for await (const assets of batches(plantAssets(size), { bytesOf, requestBytes })) {
    for (const { accessGroup } of assets) {
      if (groups.has(accessGroup)) continue
      await ensureGroup(clients, accessGroup)
      groups.add(accessGroup)
    }
    const ids = await sendAssets(clients, assets)
    await sendDetails(clients, { assets, ids, propertyKey })
    clients.onProgress((assets.at(-1)?.place ?? 0) + 1)
  }
}

function sendable({ asset, accessGroup, relations }: PlantAsset): AssetDocument {
  const toAssets = relations.flatMap((relation) =>
    'node' in relation
      ? []
      : {
          predicate: relation.predicate,
          related_asset: { asset_identifiers: [relation.identifier] },
          relational_role_of_related_asset: 'object',
        },
  )
  return {
    ...asset,
    access_group: accessGroup,
    ...(toAssets.length === 0 ? {} : { asset_relations: toAssets }),
  }
}

async function sendAssets({ inventory }: PlantClients, assets: readonly PlantAsset[]): Promise<string[]> {
  const { data: accepted } = await retryWhileOverloaded(() =>
    inventory.createAssets({
      body: { data: { assets: assets.map(sendable), meta: { source: plantSource } } },
      query: {},
      headers: {},
    }),
  )
  for (;;) {
    const wait = inventoryLimits.statusWaitSeconds
    const { data: status } = await inventory.readStatus({ params: { id: accepted.statusId }, query: { wait } })
    if (status.state === 'queued') continue
    const results = status.detail.result as Result[]
    return results.map(({ assetId, code = 'internal', detail = '' }) => {
      if (assetId === undefined) throw new Problem('internal', `An asset was refused (${code}): ${detail}`)
      return assetId
    })
  }
}

type CreatedAssets = { assets: readonly PlantAsset[]; ids: readonly string[]; propertyKey: string }

/**
 * Sends states, property values and relations. They are sent separately, because they are not part of an asset
 * document.
 */
async function sendDetails({ inventory }: PlantClients, { assets, ids, propertyKey }: CreatedAssets): Promise<void> {
  const created = assets.map((asset, index) => ({ ...asset, id: ids[index] ?? '' }))
  const states = created
    .filter(({ managementState }) => managementState !== 'unknown')
    .map(({ id, managementState }) => ({ asset_id: id, state_value: managementState }))
  const values = created.map(({ id, propertyValue }) => ({ asset_id: id, key: propertyKey, value: propertyValue }))
  const relations = created.flatMap(({ id, relations }) =>
    relations.flatMap((relation) => ('node' in relation ? [{ id, ...relation }] : [])),
  )
  const calls: (() => Promise<unknown>)[] = [
    ...chunks(states).map((data) => () => inventory.setManagementStates({ body: { data }, headers: {} })),
    ...chunks(values).map((data) => () => inventory.setPropertyValues({ body: { data }, headers: {} })),
    ...chunks(relations).map((some) => () => relate(inventory, some)),
  ]
  const requests = new Semaphore({ capacity: concurrentRequests })
  await Promise.all(calls.map((call) => requests.run('', () => retryWhileOverloaded(call))))
}

type NodeRelation = { id: string; predicate: string; node: Entity }

async function relate(inventory: PlantClients['inventory'], relations: readonly NodeRelation[]): Promise<void> {
  const inputs = relations.map(({ id, predicate, node }) => ({
    subject: { type: 'asset' as const, id },
    predicate,
    object: node,
  }))
  const { data } = await inventory.createRelations({ body: { data: { relations: inputs } } })
  const failed = data.results.find(({ outcome }) => outcome === 'failed')
  if (failed !== undefined) throw new Problem('internal', `A relation was refused (${failed.code}): ${failed.detail}`)
}

function chunks<Value>(values: readonly Value[]): Value[][] {
  const count = Math.ceil(values.length / inventoryLimits.bulk)
  return Array.from({ length: count }, (_, index) =>
    values.slice(index * inventoryLimits.bulk, (index + 1) * inventoryLimits.bulk),
  )
}

/** Repeats the call with back-off while the platform is overloaded. */
async function retryWhileOverloaded<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  const backOff = new BackOff({ firstMs: 1_000, longestMs: 10_000 })
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isOverload = error instanceof Problem && (error.code === 'overloaded' || error.code === 'too_many_requests')
      if (!isOverload) throw error
      await pause(backOff.nextMs())
    }
  }
}

async function ensureGroup({ authorization }: PlantClients, name: string): Promise<void> {
  await authorization.createAccessGroup({ body: { data: { name } } }).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'already_exists') throw error
  })
}

async function propertyKeyOf({ inventory }: PlantClients): Promise<string> {
  const { data } = await inventory.listCustomProperties({ query: { limit: 100 } })
  const existing = data.find(({ name }) => name === plantProperty)
  if (existing !== undefined) return existing.key
  const created = await inventory.createCustomProperty({ body: { data: { name: plantProperty, data_type: 'text' } } })
  return created.data.key
}
