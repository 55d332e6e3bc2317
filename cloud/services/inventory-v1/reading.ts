import { parentPredicates } from '@millwright/api/asset-columns.ts'
import type { Client } from '@millwright/api/client.ts'
import { pageLimits } from '@millwright/api/envelope.ts'
import type { inventory, Relation } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Document, PlainObject } from '../../platform/plain-object.ts'
import { placementOf, toV1 } from './asset.ts'

export type Inventory = Client<typeof inventory>

/** An asset in the form of version 1, with the relations that define its gateway and its parent. */
export type V1Asset = { document: Document; relations: readonly Relation[] }

/** An asset with its ETag of version 2. The `If-Match` header of a write is compared with this ETag. */
type TaggedAsset = V1Asset & { etag: string }

type Labels = ReadonlyMap<string, string>

/** The number of assets of a page that are converted concurrently. */
const atOnce = 8

const predicates = ['found_by_gateway', ...parentPredicates].join(',')

export async function readV1Asset(peer: Inventory, id: string): Promise<TaggedAsset> {
  let etag = ''
  const { data } = await peer.readAsset({ params: { id } }, ({ headers }) => {
    etag = headers.get('etag') ?? ''
  })
  return { ...(await shown(peer, data, await readLabels(peer))), etag }
}

/** Returns an asset in the form of version 1. Returns `undefined` when the asset is missing or hidden from the caller. */
export async function findV1Asset(peer: Inventory, id: string): Promise<TaggedAsset | undefined> {
  return readV1Asset(peer, id).catch(unlessHidden)
}

async function shown(peer: Inventory, asset: PlainObject, labels: Labels): Promise<V1Asset> {
  const id = String(asset.id)
  const [identifiers, graph] = await Promise.all([
    peer.readIdentifiers({ params: { id } }),
    peer.readGraph({ params: { id }, query: { depth: 1, direction: 'out', predicates } }),
  ])
  const relations = graph.data.edges
  return { document: toV1({ asset, identifiers: identifiers.data, labels, ...placementOf(id, relations) }), relations }
}

function unlessHidden(error: unknown): undefined {
  if (error instanceof Problem && (error.code === 'not_found' || error.code === 'forbidden')) return undefined
  throw error
}

/** Returns the names of custom properties by their keys. */
async function readLabels(peer: Inventory): Promise<Labels> {
  const labels = new Map<string, string>()
  for (let offset = 0; ; offset += pageLimits.maximum) {
    const { data } = await peer.listCustomProperties({ query: { limit: pageLimits.maximum, offset } })
    for (const { key, name } of data) labels.set(key, name)
    if (data.length < pageLimits.maximum) return labels
  }
}

/**
 * Returns all assets as one JSON array, page by page. It reads the first page before the response begins, so that an error
 * can still change the status.
 */
export async function readAll(peer: Inventory): Promise<AsyncIterable<string>> {
  const labels = await readLabels(peer)
  return listText(peer, { labels, first: await readPage(peer, undefined) })
}

type Page = Awaited<ReturnType<Inventory['listAssets']>>

function readPage(peer: Inventory, cursor: string | undefined): Promise<Page> {
  const from = cursor === undefined ? {} : { cursor }
  return peer.listAssets({ query: { limit: pageLimits.maximum, count: false, ...from } })
}

async function* listText(peer: Inventory, { labels, first }: { labels: Labels; first: Page }): AsyncGenerator<string> {
  let before = '['
  for (let page = first; ; page = await readPage(peer, page.meta.nextCursor)) {
    for (let index = 0; index < page.data.length; index += atOnce) {
      const assets = page.data.slice(index, index + atOnce)
      const results = await Promise.all(assets.map((asset) => shown(peer, asset, labels).catch(unlessHidden)))
      for (const one of results) {
        if (one === undefined) continue
        yield before + JSON.stringify(one.document)
        before = ','
      }
    }
    if (page.meta.nextCursor === undefined) break
  }
  yield before === '[' ? '[]' : ']'
}
