import type { Asset } from '@millwright/link-sdk/device-identifiers.ts'
import { deviceAsset } from '@millwright/link-sdk/network/device-asset.ts'

/** `HostFacts` is what a scan learned about a device. A device can have several addresses. */
type HostFacts = {
  macAddress: string
  addresses: readonly string[]
  openPorts: readonly number[]
  name: string | undefined
  manufacturer: string | undefined
}

/** The key of the annotation with the open ports. */
const openPortsKey = 'open_tcp_ports'

/** Converts a device to an asset of the inventory. Its MAC address identifies it. */
export function assetOf({ macAddress, addresses, openPorts, name, manufacturer }: HostFacts): Asset {
  return deviceAsset({
    name,
    manufacturer,
    macAddress,
    interfaces: addresses.map((ipAddress) => ({ name: 'ethernet', macAddress, ipAddress })),
    more: {
      instance_annotations: openPorts.length === 0 ? [] : [{ key: openPortsKey, value: openPorts.join(', ') }],
    },
  })
}
