import type { authorization } from '@millwright/api/authorization.ts'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import type { Client } from '@millwright/api/client.ts'
import { type AssetDocument, type Entity, type inventory, inventoryLimits } from '@millwright/api/inventory.ts'
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

type Sending = {
  inventory: Client<typeof inventory>
  authorization: Client<typeof authorization>
  onProgress: (assets: number) => void
}

/** Below what one request may have, with room for what surrounds the assets. */
const requestBytes = 900_000
const atOnce = 16

type Result = { assetId?: string; code?: string; detail?: string }

/** Sends a plant as anybody would: batches of assets, then what has operations of its own. */
export async function sendPlant(size: PlantSize, sending: Sending): Promise<void> {
  const propertyKey = await propertyKeyOf(sending)
  const groups = new Set<string>()
  const bytesOf = (asset: PlantAsset) => JSON.stringify(sendable(asset)).length
  for await (const assets of batches(plantAssets(size), { bytesOf, requestBytes })) {
    for (const { accessGroup } of assets) {
      if (groups.has(accessGroup)) continue
      await ensureGroup(sending, accessGroup)
      groups.add(accessGroup)
    }
    const ids = await sendAssets(sending, assets)
    await sendRest(sending, { assets, ids, propertyKey })
    sending.onProgress((assets.at(-1)?.place ?? 0) + 1)
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

async function sendAssets({ inventory }: Sending, assets: readonly PlantAsset[]): Promise<string[]> {
  const { data: accepted } = await patiently(() =>
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

type Rest = { assets: readonly PlantAsset[]; ids: readonly string[]; propertyKey: string }

/** States, property values and relations to nodes: none of them can be part of an asset that is posted. */
async function sendRest({ inventory }: Sending, { assets, ids, propertyKey }: Rest): Promise<void> {
  const known = assets.map((asset, index) => ({ ...asset, id: ids[index] ?? '' }))
  const states = known
    .filter(({ managementState }) => managementState !== 'unknown')
    .map(({ id, managementState }) => ({ asset_id: id, state_value: managementState }))
  const values = known.map(({ id, propertyValue }) => ({ asset_id: id, key: propertyKey, value: propertyValue }))
  const relations = known.flatMap(({ id, relations }) =>
    relations.flatMap((relation) => ('node' in relation ? [{ id, ...relation }] : [])),
  )
  const calls: (() => Promise<unknown>)[] = [
    ...chunks(states).map((data) => () => inventory.setManagementStates({ body: { data }, headers: {} })),
    ...chunks(values).map((data) => () => inventory.setPropertyValues({ body: { data }, headers: {} })),
    ...chunks(relations).map((some) => () => relate(inventory, some)),
  ]
  const sending = new Semaphore({ capacity: atOnce })
  await Promise.all(calls.map((call) => sending.run('', () => patiently(call))))
}

type ToNode = { id: string; predicate: string; node: Entity }

async function relate(inventory: Sending['inventory'], relations: readonly ToNode[]): Promise<void> {
  const stated = relations.map(({ id, predicate, node }) => ({
    subject: { type: 'asset' as const, id },
    predicate,
    object: node,
  }))
  const { data } = await inventory.createRelations({ body: { data: { relations: stated } } })
  const refused = data.results.find(({ outcome }) => outcome === 'failed')
  if (refused !== undefined)
    throw new Problem('internal', `A relation was refused (${refused.code}): ${refused.detail}`)
}

function chunks<Value>(values: readonly Value[]): Value[][] {
  const count = Math.ceil(values.length / inventoryLimits.bulk)
  return Array.from({ length: count }, (_, index) =>
    values.slice(index * inventoryLimits.bulk, (index + 1) * inventoryLimits.bulk),
  )
}

/** Repeats the call while the platform is overloaded. */
async function patiently<Answer>(call: () => Promise<Answer>): Promise<Answer> {
  const backOff = new BackOff({ firstMs: 1_000, longestMs: 10_000 })
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isTooMuch = error instanceof Problem && (error.code === 'overloaded' || error.code === 'too_many_requests')
      if (!isTooMuch) throw error
      await pause(backOff.nextMs())
    }
  }
}

async function ensureGroup({ authorization }: Sending, name: string): Promise<void> {
  await authorization.createAccessGroup({ body: { data: { name } } }).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'already_exists') throw error
  })
}

async function propertyKeyOf({ inventory }: Sending): Promise<string> {
  const { data } = await inventory.listCustomProperties({ query: { limit: 100 } })
  const found = data.find(({ name }) => name === plantProperty)
  if (found !== undefined) return found.key
  const made = await inventory.createCustomProperty({ body: { data: { name: plantProperty, data_type: 'text' } } })
  return made.data.key
}
