import type { DiscoverCall, DiscoveryResult } from '../define-link.ts'
import { LinkError } from '../link-error.ts'
import type { KnownDevices } from './known-devices.ts'
import type { Neighbours } from './neighbours.ts'
import { PermitRefusedError, type Permits } from './permits.ts'
import type { ScanRange } from './range.ts'
import { sweep } from './sweep.ts'

/** `ContactOptions` contains the address and port of a device, and how a link sends to it. */
export type ContactOptions = {
  address: string
  port: number
  /** The address of the network interface to send from. */
  localAddress?: string | undefined
  /** The maximum time for a connection and for an answer. */
  timeoutMs: number
  permits: Permits
  signal: AbortSignal
}

/** `HostPlace` is where a host answered. `macAddress` is the address that the network reports for it. */
export type HostPlace = { address: string; port: number; macAddress: string | undefined }

type HostScan<Visit extends { port: number }, Host> = {
  /** The addresses that the call selects. */
  range: ScanRange
  options: { parallel: number; timeoutMs: number; localAddress: string | undefined }
  neighbours: Neighbours
  /** The store for the addresses of the devices that are found. */
  knownDevices: KnownDevices
  /** Returns the ports of an address that are read, one after the other. */
  visitsAt: (address: string) => readonly Visit[]
  /** Reads the host at a port. Returns undefined if the port does not answer. Throws a `LinkError` for a faulty host. */
  readHost: (at: ContactOptions, visit: Visit) => Promise<Host | undefined>
  /** Returns the devices and errors of a host. */
  resultsOf: (host: Host, place: HostPlace) => Iterable<DiscoveryResult>
}

/** Returns whether a call scans a range. Otherwise, the call names the devices that it scans. */
export function isRangeScan({ targets }: Pick<DiscoverCall, 'targets'>): boolean {
  return !targets.some(({ address }) => Object.keys(address).length > 0)
}

/**
 * Scans the addresses of a range, and yields the results of their hosts as they answer. An error of one host is a
 * result. An address that the budget excludes yields nothing. Every other refusal of a permit ends the scan.
 */
export async function* scanHosts<Visit extends { port: number }, Host>(
  call: DiscoverCall,
  scan: HostScan<Visit, Host>,
): AsyncGenerator<DiscoveryResult> {
  const { range } = scan
  const scanned = isRangeScan(call) ? range : undefined
  yield* sweep(range.addresses(), {
    parallel: scan.options.parallel,
    signal: call.signal,
    work: (address, signal) => scanAddress(address, { ...scan, permits: call.permits, scanned, signal }),
    onDone: (completed) => call.progress((completed / range.size) * 100),
  })
}

type AddressScan<Visit extends { port: number }, Host> = HostScan<Visit, Host> & {
  permits: Permits
  /** An object that stands for the scan of a range. It is absent if the call names the devices. */
  scanned: object | undefined
  signal: AbortSignal
}

async function* scanAddress<Visit extends { port: number }, Host>(
  address: string,
  { options, neighbours, knownDevices, permits, scanned, signal, ...scan }: AddressScan<Visit, Host>,
): AsyncGenerator<DiscoveryResult> {
  const { timeoutMs, localAddress } = options
  for (const visit of scan.visitsAt(address)) {
    const { port } = visit
    try {
      const host = await scan.readHost({ address, port, localAddress, timeoutMs, permits, signal }, visit)
      if (host === undefined) continue
      const macAddress = await neighbours.macAddressOf(address)
      for (const result of scan.resultsOf(host, { address, port, macAddress })) {
        if ('asset' in result && result.address !== undefined)
          knownDevices.add(result.asset, result.address, { scan: scanned, macAddress })
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
