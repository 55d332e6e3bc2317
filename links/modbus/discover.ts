import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset, isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import { type HostPlace, scanHosts } from '@millwright/link-sdk/network/host-scan.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { factsOf, type Nameplate, unitAsset } from './asset.ts'
import { type Host, readHost } from './host.ts'
import { scanOptionsOf } from './options.ts'
import { knownDevices } from './properties.ts'

/** Yields the Modbus devices of a range as they answer. Addresses that do not answer yield nothing. */
export async function* discover(call: DiscoverCall, neighbours: Neighbours): AsyncGenerator<DiscoveryResult> {
  const options = scanOptionsOf(call.options)
  const range = scanRangeOf(call.filters, call.targets)
  const visits = options.ports.map((port) => ({ port }))
  yield* scanHosts(call, {
    range,
    options,
    neighbours,
    knownDevices,
    visitsAt: () => visits,
    readHost: (at) => readHost(at, options),
    resultsOf,
  })
}

function* resultsOf({ nameplate, unit, units, problem }: Host, place: HostPlace): Generator<DiscoveryResult> {
  const { macAddress } = place
  const facts = factsOf({ ipAddress: place.address, macAddress, nameplate })
  const address = { ip_address: place.address, port: place.port, unit_id: unit }
  if (isIdentified(facts)) yield { asset: deviceAsset(facts), address }
  else yield { error: unidentified(nameplate, place), address }
  for (const behind of units) {
    const unitAddress = { ...address, unit_id: behind.unit }
    if (macAddress === undefined) yield { error: unidentified(behind.nameplate, place), address: unitAddress }
    else yield { asset: unitAsset({ ...behind, gatewayMac: macAddress }), address: unitAddress }
  }
  if (problem !== undefined) yield { error: problem, address: { ip_address: place.address, port: place.port } }
}

function unidentified({ vendorName, productCode }: Nameplate, { address, port }: HostPlace): LinkError {
  const product = [vendorName, productCode].filter((text) => text !== undefined).join(' ')
  return new LinkError(
    'FAILED_PRECONDITION',
    `${address} port ${port} is a Modbus device${product === '' ? '' : ` (${product})`}, but has no identifier. Modbus has no serial number, and the MAC address is known only on the same network segment. Scan from a gateway on the segment of the device.`,
  )
}
