import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { deviceAsset, isIdentified } from '@millwright/link-sdk/network/device-asset.ts'
import type { Neighbours } from '@millwright/link-sdk/network/neighbours.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { sweep } from '@millwright/link-sdk/network/sweep.ts'
import { factsOf, moduleAsset } from './asset.ts'
import { type Host, readHost } from './host.ts'
import type { Identity } from './message.ts'
import { type ScanOptions, scanOptionsOf } from './options.ts'
import { knownDevices } from './properties.ts'

/** Yields the EtherNet/IP devices of a range as they answer. Addresses that do not answer yield nothing. */
export async function* discover(call: DiscoverCall, neighbours: Neighbours): AsyncGenerator<DiscoveryResult> {
  const options = scanOptionsOf(call.options)
  const range = scanRangeOf(call.filters, call.targets)
  const isRange = !call.targets.some(({ address }) => Object.keys(address).length > 0)
  const scanned = isRange ? range : undefined
  yield* sweep(range.addresses(), {
    parallel: options.parallel,
    signal: call.signal,
    work: (address, signal) => scanAddress(address, { call, options, neighbours, scanned, signal }),
    onDone: (completed) => call.progress((completed / range.size) * 100),
  })
}

type Scan = {
  call: DiscoverCall
  options: ScanOptions
  neighbours: Neighbours
  /** An object that stands for the scan of a range. It is absent if the call names the devices. */
  scanned: object | undefined
  signal: AbortSignal
}

async function* scanAddress(address: string, scan: Scan): AsyncGenerator<DiscoveryResult> {
  const { options, neighbours, signal } = scan
  const { permits } = scan.call
  for (const port of options.ports) {
    try {
      const { timeoutMs, localAddress } = options
      const host = await readHost({ address, port, localAddress, timeoutMs, permits, signal }, options)
      if (host === undefined) continue
      const macAddress = await neighbours.macAddressOf(address)
      for (const result of resultsOf(host, { address, port, macAddress })) {
        if ('asset' in result && result.address !== undefined)
          knownDevices.add(result.asset, result.address, { scan: scan.scanned, macAddress })
        yield result
      }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof PermitRefusedError && error.reason === 'excluded') return
      if (!(error instanceof LinkError) || error instanceof PermitRefusedError) throw error
      yield { error, address: { ip_address: address, port } }
    }
  }
}

type Place = { address: string; port: number; macAddress: string | undefined }

function* resultsOf(host: Host, place: Place): Generator<DiscoveryResult> {
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

function unidentified({ vendorId, productName }: Identity, { address, port }: Place, slot?: number): LinkError {
  const place = slot === undefined ? `${address} port ${port}` : `Slot ${slot} of ${address} port ${port}`
  const product = productName === '' ? `vendor id ${vendorId}` : `${productName}, vendor id ${vendorId}`
  return new LinkError(
    'FAILED_PRECONDITION',
    `${place} is an EtherNet/IP device (${product}), but has no identifier. It reports no serial number of a known manufacturer, and no MAC address. Scan from a gateway on the segment of the device, or set the option details.`,
  )
}
