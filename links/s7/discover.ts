import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset, isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import { type HostPlace, scanHosts } from '@millwright/link-sdk/network/host-scan.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { factsOf, moduleAsset } from './asset.ts'
import { type Host, type Module, readHost } from './host.ts'
import { scanOptionsOf } from './options.ts'
import { knownDevices } from './properties.ts'

/** Yields the S7 controllers of a range and their modules as they answer. Addresses that do not answer yield nothing. */
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

function* resultsOf({ cpu, modules, problem }: Host, place: HostPlace): Generator<DiscoveryResult> {
  const network = { ip_address: place.address, port: place.port }
  const facts = factsOf(cpu, { ipAddress: place.address, macAddress: place.macAddress })
  const address = { ...network, rack: cpu.rack, slot: cpu.slot }
  if (isIdentified(facts)) yield { asset: deviceAsset(facts), address }
  else yield { error: unidentified(cpu, place), address }
  for (const module of modules) {
    const moduleAddress = { ...address, slot: module.slot, cpu_slot: cpu.slot }
    const asset = moduleAsset(module, facts)
    if (asset === undefined) yield { error: unidentified(module, place), address: moduleAddress }
    else yield { asset, address: moduleAddress }
  }
  if (problem !== undefined) yield { error: problem, address: network }
}

function unidentified({ rack, slot, nameplate }: Module, { address, port }: HostPlace): LinkError {
  const product = nameplate.moduleType ?? nameplate.orderNumber
  return new LinkError(
    'FAILED_PRECONDITION',
    `${address} port ${port}, rack ${rack}, slot ${slot} is an S7 module${product === undefined ? '' : ` (${product})`}, but has no identifier. It reports no serial number, and the MAC address is known only on the same network segment. Scan from a gateway on the segment of the device.`,
  )
}
