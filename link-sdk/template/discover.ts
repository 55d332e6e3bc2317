import { credentialsOf, withCredentials } from '@millwright/link-sdk/credential.ts'
import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { assetOf } from './asset.ts'
import { findDevices, isTarget } from './device.ts'
import { credentialSchema } from './manifest.ts'
import { simulatedDevices } from './simulator.ts'

/**
 * Yields each device as soon as it is found. If the call has targets, only these devices are read, with their
 * credentials.
 */
export async function* discover({ targets, signal }: DiscoverCall): AsyncGenerator<DiscoveryResult> {
  for await (const contact of findDevices(simulatedDevices, signal)) {
    const ownTargets = targets.filter((target) => isTarget(contact, target))
    if (targets.length > 0 && ownTargets.length === 0) continue
    const credentials = ownTargets.flatMap((target) => credentialsOf(target, credentialSchema.uri))
    const address = { ip_address: contact.address }
    try {
      yield { asset: assetOf(await withCredentials(credentials, contact.read)), address }
    } catch (error) {
      if (!(error instanceof LinkError)) throw error
      yield { error, address }
    }
  }
}
