import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Target } from '@millwright/link-sdk/define-link.ts'

/** Speaks the protocol of the devices, and knows nothing of assets. */

export type Device = {
  address: string
  mac: string
  name: string
  vendor: string
  article: string
  serial: string
  firmware: string
}

/** What answers at an address. A protected device tells what it is only to those it knows: UNAUTHENTICATED otherwise. */
export type Contact = Pick<Device, 'address' | 'mac'> & { read: (credential: Credential | undefined) => Device }

/** Where the devices really are asked: replace it. This one knows two, which `simulator.ts` has. */
export async function* findDevices(ask: () => AsyncIterable<Contact>, signal: AbortSignal): AsyncGenerator<Contact> {
  for await (const contact of ask()) {
    signal.throwIfAborted()
    yield contact
  }
}

/** By the address that `discover` gave, or by what the inventory knows. */
export function isMeant({ address: own, mac }: Contact, { address, identifiers }: Target): boolean {
  return address.ip_address === own || identifiers.some(({ mac_address }) => mac_address === mac)
}
