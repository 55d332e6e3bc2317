import type { Address, Target } from '@millwright/link-sdk/define-link.ts'
import { KnownDevices } from '@millwright/link-sdk/network/known-devices.ts'
import { arpTable } from '@millwright/link-sdk/network/neighbours.ts'

/** The devices of earlier scans. A device that is read later by its identifiers is read at its last address. */
export const knownDevices = new KnownDevices()

/**
 * Returns the address of a target: the address that the call names, or the address of an earlier scan or of the ARP table.
 * Throws INVALID_ARGUMENT if the target has credentials, but no IP address.
 */
export async function addressOf(target: Target): Promise<Address | undefined> {
  const address = knownDevices.addressOf(target)
  if (address !== undefined) return address
  for (const { mac_address: mac } of target.identifiers) {
    const neighbour = typeof mac === 'string' ? await arpTable.ipAddressOf(mac) : undefined
    if (neighbour !== undefined) return { ip_address: neighbour }
  }
  return undefined
}
