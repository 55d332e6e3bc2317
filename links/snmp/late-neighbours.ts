import type { DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import type { Asset, AssetValue } from '@millwright/link-sdk/device-identifiers.ts'

type FoundDevice = Extract<DiscoveryResult, { asset: unknown }>

/** The maximum numbers of addresses and devices that are remembered in one scan. */
const mostMacs = 200_000
const mostDevices = 5_000

/**
 * `LateNeighbours` remembers devices whose neighbours have not been found yet. The inventory stores a relation only if it
 * knows both devices, so a device is reported again at the end of the scan if one of its neighbours was found after it.
 */
export class LateNeighbours {
  readonly #macs = new Set<string>()
  readonly #waiting: { device: FoundDevice; missing: string[] }[] = []

  add(device: FoundDevice): void {
    const own = macsOf(device.asset)
    for (const mac of own) if (this.#macs.size < mostMacs) this.#macs.add(mac)
    const related = listOf(device.asset.asset_relations).map((relation) => macsOf(relation.related_asset as Asset))
    const missing = related.filter((macs) => macs.length > 0 && !macs.some((mac) => this.#macs.has(mac))).flat()
    if (missing.length > 0 && this.#waiting.length < mostDevices) this.#waiting.push({ device, missing })
  }

  /** Returns the devices with a neighbour that was found after them. */
  results(): DiscoveryResult[] {
    return this.#waiting.filter(({ missing }) => missing.some((mac) => this.#macs.has(mac))).map(({ device }) => device)
  }
}

function macsOf({ asset_identifiers: identifiers }: Asset): string[] {
  return listOf(identifiers).flatMap(({ mac_address: mac }) => (typeof mac === 'string' ? [mac] : []))
}

function listOf(value: AssetValue): Asset[] {
  return Array.isArray(value) ? value : []
}
