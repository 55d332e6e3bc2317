import type { Address } from '../define-link.ts'
import type { Asset, AssetValue } from '../device-identifiers.ts'

/** The maximum number of identifiers that are stored. The oldest are removed first. */
const mostIdentifiers = 20_000

/**
 * `KnownDevices` stores the addresses of found devices by their identifiers. A call that names a device only by its
 * identifiers uses the address of the last discovery.
 */
export class KnownDevices {
  readonly #addresses = new Map<string, Address>()

  add(asset: Asset, address: Address): void {
    for (const key of keysOf(asset.asset_identifiers)) {
      this.#addresses.delete(key)
      this.#addresses.set(key, address)
      const [oldest] = this.#addresses.keys()
      if (this.#addresses.size > mostIdentifiers && oldest !== undefined) this.#addresses.delete(oldest)
    }
  }

  addressOf(identifiers: readonly Address[]): Address | undefined {
    return keysOf(identifiers)
      .map((key) => this.#addresses.get(key))
      .find((address) => address !== undefined)
  }
}

/** Returns the identifiers as texts, independent of the order of their fields and of missing fields. */
function keysOf(identifiers: AssetValue): string[] {
  if (!Array.isArray(identifiers)) return []
  return identifiers.map((identifier) => {
    const fields = Object.entries(identifier as Asset).filter(([, value]) => value !== undefined && value !== null)
    return JSON.stringify(fields.toSorted(([one], [other]) => (one < other ? -1 : 1)))
  })
}
