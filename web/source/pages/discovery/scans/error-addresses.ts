import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { numberOfAddress } from '@millwright/api/ip-range.ts'
import { type Asset, textsIn } from '../../assets/model/asset.ts'
import { addressOfDevice } from '../../credentials/flow/credential-start.ts'

/** Returns the assets by IP address. An address that several assets have is left out. */
export function assetsByAddress(assets: readonly Asset[]): ReadonlyMap<string, Asset> {
  const pairs = assets.flatMap((asset) =>
    [...new Set(textsIn(asset, 'connection_points', 'ipv4_address'))].map((address) => [address, asset] as const),
  )
  const groups = Map.groupBy(pairs, ([address]) => address)
  return new Map([...groups.values()].flatMap((group) => (group.length === 1 ? group : [])))
}

/** Returns the IPv4 addresses of devices with errors, each once. */
export function addressesOf(errors: readonly DeviceError[]): string[] {
  const addresses = errors.flatMap(({ device }) => addressOfDevice(device) ?? [])
  return [...new Set(addresses)].filter((address) => numberOfAddress(address) !== undefined)
}

/** Returns the addresses that no asset has. */
export function addressesWithoutAsset(addresses: readonly string[], assets: readonly Asset[]): ReadonlySet<string> {
  const used = new Set(assets.flatMap((asset) => textsIn(asset, 'connection_points', 'ipv4_address')))
  return new Set(addresses.filter((address) => !used.has(address)))
}
