import type { Address } from '@millwright/link-sdk/define-link.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'

/** The devices of earlier scans. A device that is read later by its identifiers is read at its last address. */
export const knownDevices = new KnownDevices()

/** Returns the address of the device that has one of the identifiers: from earlier scans, or from the ARP table. */
export async function knownPlace(identifiers: readonly Address[]): Promise<Address | undefined> {
  const address = knownDevices.addressOf(identifiers)
  if (address !== undefined) return address
  for (const { mac_address: mac } of identifiers) {
    const neighbour = typeof mac === 'string' ? await arpTable.ipAddressOf(mac) : undefined
    if (neighbour !== undefined) return { ip_address: neighbour }
  }
  return undefined
}
