import type { VariantValue } from '@millwright/api/variant.ts'
import type { PropertiesCall, PropertyValues, Target } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { assetOf } from './asset.ts'
import { type Device, findDevices } from './device.ts'
import { simulatedDevices } from './simulator.ts'

/** Reads from one device: everything that an asset has. */
export async function properties({ device: target, signal }: PropertiesCall): Promise<PropertyValues> {
  for await (const device of findDevices(simulatedDevices, signal)) {
    if (isMeant(device, target)) return assetOf(device) as Record<string, VariantValue>
  }
  throw new LinkError('UNAVAILABLE', 'There is no such device.')
}

/** By the address that `discover` gave, or by what the inventory knows. */
function isMeant(device: Device, { address, identifiers }: Target): boolean {
  return address.ip_address === device.address || identifiers.some(({ mac_address }) => mac_address === device.mac)
}
