import { setTimeout as delay } from 'node:timers/promises'
import type { DiscoverCall, DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { isBroadcast } from '@millwright/link-sdk/network/local-network.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { scanRangeOf } from '@millwright/link-sdk/network/range.ts'
import { sweep } from '@millwright/link-sdk/network/sweep.ts'
import { macManufacturer } from '../mac-manufacturer.ts'
import { assetOf } from './asset.ts'
import { ProbeError } from './device.ts'
import { type Host, type HostProbes, probeHost, type Surroundings } from './host.ts'
import { type HostNames, hostNames } from './host-name.ts'
import { probesOf, scanOptionsOf, thisMachine } from './options.ts'

/**
 * Yields each device as soon as all its ports are probed. Devices that only have an entry in the ARP table are yielded at
 * the end: their MAC address must not belong to a router that answers for others, and an old entry must be confirmed.
 */
export async function* discover(
  call: DiscoverCall,
  surroundings: Surroundings = thisMachine(),
): AsyncGenerator<DiscoveryResult> {
  const { filters, targets, signal, permits, log, progress } = call
  const range = scanRangeOf(filters, targets)
  const options = scanOptionsOf(call.options)
  const probes = await probesOf(options, { permits, signal, log, surroundings })
  const names = options.reverseDns ? hostNames({ server: options.dnsServer, permits, signal, log }) : noNames
  const report = new HostReport({ names })
  const quiet: QuietHost[] = []

  yield* sweep(range.addresses(), {
    parallel: options.parallel,
    signal,
    onDone: (completed) => progress((completed / range.size) * 100),
    work: async function* (address, workSignal) {
      const host = await probe(address, { ...probes, signal: workSignal }, report)
      if (host === undefined) return
      if (host instanceof LinkError) yield { error: host, address: { ip_address: address } }
      else if (host.evidence === 'arp' || host.evidence === 'old_arp')
        quiet.push({ host, probedAtMs: performance.now() })
      else yield await report.resultOf(host)
    },
  })
  yield* confirmed(quiet, { report, signal, surroundings })
}

const noNames: HostNames = async () => undefined

/** Probes an address. Returns an error if this machine cannot send to it. Excluded addresses are skipped. */
async function probe(address: string, probes: HostProbes, report: HostReport): Promise<Host | LinkError | undefined> {
  const segment = probes.surroundings.segmentOf(address)
  if (segment !== undefined && isBroadcast(address, segment)) return undefined
  try {
    const host = await probeHost(address, probes)
    if (host?.macAddress !== undefined) report.countAddress(host.macAddress)
    return host
  } catch (error) {
    if (error instanceof PermitRefusedError && error.reason === 'excluded') return undefined
    if (error instanceof ProbeError) return report.errorOf(address, error)
    throw error
  }
}

type QuietHost = { host: Host; probedAtMs: number }
type Confirmation = { report: HostReport; signal: AbortSignal; surroundings: Surroundings }

/**
 * The time after which the operating system has sent ARP requests to a device again, and has removed the entry of a
 * missing device: 5 seconds until the first request, and 3 requests with one second each.
 */
const confirmationMs = 8_500

/** Yields the devices that did not answer, but whose entry in the ARP table is valid and belongs to them alone. */
async function* confirmed(
  quiet: readonly QuietHost[],
  { report, signal, surroundings }: Confirmation,
): AsyncGenerator<DiscoveryResult> {
  for (const { host, probedAtMs } of quiet) {
    const { macAddress } = host
    if (macAddress === undefined || report.addressesOf(macAddress) > 1) continue
    if (host.evidence === 'old_arp') {
      const waitMs = probedAtMs + confirmationMs - performance.now()
      if (waitMs > 0) await delay(waitMs, undefined, { signal })
      if ((await surroundings.macAddressOf(host.address)) === undefined) continue
    }
    yield await report.resultOf(host)
  }
}

/** The maximum number of addresses of one device. A router that answers ARP for other devices has more. */
const mostAddressesPerDevice = 8

/** `HostReport` converts hosts to results. It stores the addresses of each MAC address, so that one device is one asset. */
class HostReport {
  readonly #names: HostNames
  readonly #byMac = new Map<string, { seen: number; addresses: string[]; openPorts: Set<number>; name?: string }>()
  readonly #reported = new Set<string>()

  constructor({ names }: { names: HostNames }) {
    this.#names = names
  }

  /** Counts an address for which this MAC address was resolved. */
  countAddress(macAddress: string): void {
    const device = this.#byMac.get(macAddress) ?? { seen: 0, addresses: [], openPorts: new Set() }
    device.seen += 1
    this.#byMac.set(macAddress, device)
  }

  /** Returns the number of addresses for which a MAC address was resolved. */
  addressesOf(macAddress: string): number {
    return this.#byMac.get(macAddress)?.seen ?? 0
  }

  async resultOf(host: Host): Promise<DiscoveryResult> {
    const { address, macAddress } = host
    const device = macAddress === undefined ? undefined : this.#byMac.get(macAddress)
    if (macAddress === undefined || device === undefined || device.seen > mostAddressesPerDevice)
      return { error: unidentified(host), address: { ip_address: address } }
    const name = await this.#names(address)
    device.addresses.push(address)
    for (const port of host.openPorts) device.openPorts.add(port)
    if (name !== undefined) device.name ??= name
    const asset = assetOf({
      macAddress,
      addresses: device.addresses.toSorted(),
      openPorts: [...device.openPorts].toSorted((a, b) => a - b),
      name: device.name,
      manufacturer: await macManufacturer(macAddress),
    })
    return { asset, address: { ip_address: address } }
  }

  /** Returns the error of an address to which this machine cannot send. A missing route is reported once per scan. */
  errorOf(address: string, { code, cause }: ProbeError): LinkError | undefined {
    if (code !== 'ENETUNREACH')
      return new LinkError('UNAVAILABLE', `The gateway cannot send to ${address} (${code}).`, { cause })
    if (this.#reported.has(code)) return undefined
    this.#reported.add(code)
    const advice = 'Check the network settings of the gateway, or scan from a gateway in the network of the devices.'
    return new LinkError('UNAVAILABLE', `The gateway has no route to ${address} (${code}). ${advice}`, { cause })
  }
}

function unidentified({ address, macAddress, openPorts }: Host): LinkError {
  const ports = openPorts.length === 0 ? 'without an open port' : `on the TCP ports ${openPorts.join(', ')}`
  const reason =
    macAddress === undefined
      ? 'this gateway cannot see its MAC address, because a router is in between'
      : `its MAC address ${macAddress} belongs to a router that answers for more than ${mostAddressesPerDevice} addresses`
  return new LinkError(
    'FAILED_PRECONDITION',
    `${address} answers ${ports}, but cannot be stored: ${reason}. Scan from a gateway in its network, or use the link of its protocol.`,
  )
}
