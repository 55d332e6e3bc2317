import { client, overHttp } from '@millwright/api/client.ts'
import { inventory as contract } from '@millwright/api/inventory/inventory.ts'
import { freshAssets } from './inventory.ts'
import { requestText } from './load.ts'
import { bearer, type PlatformProcess, tokenFor } from './platform-process.ts'

/** `RequestKind` is a kind of requests that a benchmark repeats. */
export type RequestKind = {
  /** Returns the text of the next request. */
  text: () => string
  /** The status of each response. */
  status: number
}

/** `AssetRequests` contains the requests for assets that the capacity model knows. */
export type AssetRequests = Record<'read' | 'list' | 'write', RequestKind> & {
  batch: (assets: number) => RequestKind
}

const pageLimit = 50
const sampleSize = 100

/** Returns requests for assets: an asset by id, a page of assets with the total, a new asset, and a batch of new assets. */
export async function assetRequests(platform: PlatformProcess): Promise<AssetRequests> {
  const token = await tokenFor(platform)
  const api = client(contract, overHttp({ baseUrl: platform.url, token: () => token }))
  const { data } = await api.listAssets({ query: { limit: sampleSize, count: false, fields: 'id' } })
  const ids = data.map(({ id }) => String(id))
  const fresh = freshAssets()
  const get = (path: string) => requestText('GET', `${contract.prefix}${path}`, { headers: bearer(token) })
  const post = (path: string, content: unknown) =>
    requestText('POST', `${contract.prefix}${path}`, {
      headers: { ...bearer(token), 'content-type': 'application/json' },
      body: JSON.stringify({ data: content }),
    })
  let sent = 0
  return {
    read: { text: () => get(`/assets/${ids[sent++ % ids.length]}`), status: 200 },
    list: { text: () => get(`/assets?limit=${pageLimit}`), status: 200 },
    write: { text: () => post('/assets', { asset: fresh().asset }), status: 202 },
    batch: (assets) => ({
      text: () => post('/assets/batch', { assets: Array.from({ length: assets }, () => fresh().asset) }),
      status: 202,
    }),
  }
}
