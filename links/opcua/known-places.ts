import type { Address } from '@millwright/link-sdk/define-link.ts'
import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'

const mostKnown = 50_000

/** The addresses of the devices of earlier scans, by their identifiers. The oldest ones are removed. */
const addresses = new Map<string, Address>()

/** Stores the address of a device. A device that is read later by its identifiers is read at this address. */
export function rememberPlace(asset: Asset, address: Address): void {
  const identifiers = asset.asset_identifiers
  for (const key of Array.isArray(identifiers) ? identifiers.flatMap(keyOf) : []) {
    addresses.delete(key)
    addresses.set(key, address)
  }
  for (const oldest of addresses.keys()) {
    if (addresses.size <= mostKnown) return
    addresses.delete(oldest)
  }
}

/** Returns the address of the device that has one of the identifiers. */
export async function knownPlace(identifiers: readonly Address[]): Promise<Address | undefined> {
  for (const identifier of identifiers) {
    const key = keyOf(identifier).find((one) => addresses.has(one)) ?? ''
    const address = addresses.get(key)
    if (address !== undefined) return address
    const { mac_address: mac } = identifier
    const neighbour = typeof mac === 'string' ? await arpTable.ipAddressOf(mac) : undefined
    if (neighbour !== undefined) return { ip_address: neighbour }
  }
  return undefined
}

function keyOf({ certificate_id, mac_address, vendor, serial_number }: Asset): string[] {
  return [
    ...(typeof certificate_id === 'string' ? [`certificate ${certificate_id}`] : []),
    ...(typeof mac_address === 'string' ? [`mac ${mac_address.toUpperCase()}`] : []),
    ...(typeof vendor === 'string' && typeof serial_number === 'string' ? [`serial ${vendor} ${serial_number}`] : []),
  ]
}
