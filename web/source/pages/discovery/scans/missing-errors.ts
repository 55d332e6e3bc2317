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
      if (address === undefined || !addresses.includes(address)) return false
      const other = namedDevice(description)
      return other === undefined || other.includes(address)
    })
  )
}

type MissingReport = {
  /** The loaded missing devices of a run, of which `gone` exist. */
  missing: readonly { assetId: string }[]
  gone: number
  /** The loaded errors of the run, of which `totalErrors` exist. */
  errors: readonly DeviceError[]
  totalErrors: number
  /** The assets of the missing devices, by id. */
  assets: ReadonlyMap<string, Asset>
}

/**
 * Returns the number of missing devices with an error of the run. Returns undefined until all missing devices, their assets and all
 * errors are loaded.
 */
export function missingWithError({ missing, gone, errors, totalErrors, assets }: MissingReport): number | undefined {
  const found = missing.flatMap(({ assetId }) => assets.get(assetId) ?? [])
  if (found.length < gone || errors.length < totalErrors) return undefined
  return found.filter((asset) => errorOfAsset(asset, errors) !== undefined).length
}
