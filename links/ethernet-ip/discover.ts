import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset, isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import { type HostPlace, scanHosts } from '@millwright/link-sdk/network/host-scan.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { factsOf, moduleAsset } from './asset.ts'
import { type Host, readHost } from './host.ts'
import type { Identity } from './message.ts'
import { scanOptionsOf } from './options.ts'
import { knownDevices } from './properties.ts'

/** Yields the EtherNet/IP devices of a range as they answer. Addresses that do not answer yield nothing. */
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

function* resultsOf(host: Host, place: HostPlace): Generator<DiscoveryResult> {
  const { identity, modules, problem } = host
  const network = { ipAddress: place.address, macAddress: place.macAddress }
  const facts = factsOf(host, network)
  const address = { ip_address: place.address, port: place.port }
  if (isIdentified(facts)) yield { asset: deviceAsset(facts), address }
  else yield { error: unidentified(identity, place), address }
  for (const module of modules) {
    const asset = moduleAsset(module, host, network)
    const moduleAddress = { ...address, slot: module.slot }
    if (asset === undefined) yield { error: unidentified(module.identity, place, module.slot), address: moduleAddress }
    else yield { asset, address: moduleAddress }
  }
  if (problem !== undefined) yield { error: problem, address }
}

function unidentified({ vendorId, productName }: Identity, { address, port }: HostPlace, slot?: number): LinkError {
  const place = slot === undefined ? `${address} port ${port}` : `Slot ${slot} of ${address} port ${port}`
  const product = productName === '' ? `vendor id ${vendorId}` : `${productName}, vendor id ${vendorId}`
  return new LinkError(
    'FAILED_PRECONDITION',
    `${place} is an EtherNet/IP device (${product}), but has no identifier. It reports no serial number of a known manufacturer, and no MAC address. Scan from a gateway on the segment of the device, or set the option details.`,
  )
}
