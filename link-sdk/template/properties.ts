import type { VariantValue } from '@millwright/api/variant.ts'
import { credentialsOf, withCredentials } from '@millwright/link-sdk/credential.ts'
import type { PropertiesCall, PropertyValues } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { assetOf } from './asset.ts'
import { findDevices, isTarget } from './device.ts'
import { credentialSchema } from './manifest.ts'
import { simulatedDevices } from './simulator.ts'

/** Reads one device and returns all fields of its asset. */
export async function properties({ device: target, signal }: PropertiesCall): Promise<PropertyValues> {
  for await (const contact of findDevices(simulatedDevices, signal)) {
    if (!isTarget(contact, target)) continue
    const device = await withCredentials(credentialsOf(target, credentialSchema.uri), contact.read)
    return assetOf(device) as Record<string, VariantValue>
  }
  throw new LinkError('UNAVAILABLE', 'The device does not exist.')
}
