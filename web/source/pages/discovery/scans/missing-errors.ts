import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { type Asset, nameOf, textsIn } from '../../assets/model/asset.ts'
import { addressOfDevice } from '../../credentials/flow/credential-start.ts'
import { namedDevice } from './error-groups.ts'

/**
 * Returns the error that a scan reported for a missing asset: an error that names the asset, or an error at its address. An error at
 * its address that names another device is the error of a module.
 */
export function errorOfAsset(asset: Asset, errors: readonly DeviceError[]): DeviceError | undefined {
  const name = nameOf(asset)
  const addresses = textsIn(asset, 'connection_points', 'ipv4_address')
  const named = errors.find(({ description }) => namedDevice(description) === name)
  return (
    named ??
    errors.find(({ device, description }) => {
      const address = addressOfDevice(device)
      return address !== undefined && addresses.includes(address) && namedDevice(description) === undefined
    })
  )
}
