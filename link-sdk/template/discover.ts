import type { DiscoverCall, Found } from '@millwright/link-sdk/define-link.ts'
import { assetOf } from './asset.ts'
import { findDevices } from './device.ts'
import { simulatedDevices } from './simulator.ts'

/** Yields each device as soon as it is known. */
export async function* discover({ signal }: DiscoverCall): AsyncGenerator<Found> {
  for await (const device of findDevices(simulatedDevices, signal)) {
    yield { asset: assetOf(device), address: { ip_address: device.address } }
  }
}
