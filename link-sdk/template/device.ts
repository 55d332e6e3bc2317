import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Target } from '@millwright/link-sdk/define-link.ts'

/** Implements the protocol of the devices. It does not depend on assets. */

export type Device = {
  address: string
  mac: string
  name: string
  vendor: string
  article: string
  serial: string
  firmware: string
}

/** A device at an address. `read` of a protected device throws UNAUTHENTICATED without correct credentials. */
export type Contact = Pick<Device, 'address' | 'mac'> & { read: (credential: Credential | undefined) => Device }

/** Finds the devices. Replace this function: it returns the two devices of `simulator.ts`. */
export async function* findDevices(ask: () => AsyncIterable<Contact>, signal: AbortSignal): AsyncGenerator<Contact> {
  for await (const contact of ask()) {
    signal.throwIfAborted()
    yield contact
  }
}

/** Finds a device by the address from `discover`, or by its identifiers in the inventory. */
export function isMeant({ address: own, mac }: Contact, { address, identifiers }: Target): boolean {
  return address.ip_address === own || identifiers.some(({ mac_address }) => mac_address === mac)
}
