import type { Credential } from '@millwright/link-sdk/credential.ts'
import type { Target } from '@millwright/link-sdk/define-link.ts'

/** This file implements the protocol of the devices. It does not know the asset schema. */

export type Device = {
  address: string
  mac: string
  name: string
  vendor: string
  article: string
  serial: string
  firmware: string
}

/**
 * `Contact` is a device that responded at an address. For a protected device, `read` and `firmware` throw UNAUTHENTICATED
 * without correct credentials.
 */
export type Contact = Pick<Device, 'address' | 'mac'> & {
  read: (credential: Credential | undefined) => Device
  firmware: (credential: Credential | undefined) => FirmwareMemory
}

/** `FirmwareMemory` is the memory of a device for new firmware. The device runs its current firmware until `start`. */
export type FirmwareMemory = {
  erase: () => Promise<void>
  write: (chunk: Uint8Array) => Promise<void>
  /** Returns the version of the firmware in the memory, or undefined if it is not firmware for this device. */
  check: () => Promise<string | undefined>
  /** Restarts the device with the firmware in the memory. */
  start: () => Promise<void>
}

/** Finds the devices. The template finds the two devices of `simulator.ts`: replace this function by a real scan. */
export async function* findDevices(ask: () => AsyncIterable<Contact>, signal: AbortSignal): AsyncGenerator<Contact> {
  for await (const contact of ask()) {
    signal.throwIfAborted()
    yield contact
  }
}

/**
 * Returns true when the target is this device. The target contains the address that `discover` returned, or the
 * identifiers of the device in the inventory.
 */
export function isTarget(
  { address: own, mac }: Contact,
  { address, identifiers }: Pick<Target, 'address' | 'identifiers'>,
): boolean {
  return address.ip_address === own || identifiers.some(({ mac_address }) => mac_address === mac)
}
