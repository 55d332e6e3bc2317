import type { Segment } from '@millwright/link-sdk/network/local-network.ts'
import type { Permit, Permits } from '@millwright/link-sdk/network/permits.ts'
import { connectTo, type PortState, sendEmptyDatagram } from './device.ts'
import type { Ping } from './ping.ts'

/** `Surroundings` is what this machine knows about its network. Tests replace it. */
export type Surroundings = {
  macAddressOf: (address: string) => Promise<string | undefined>
  segmentOf: (address: string) => Segment | undefined
}

export type HostProbes = {
  ports: readonly number[]
  timeoutMs: number
  localAddress: string | undefined
  /** Undefined if ICMP is not available or switched off. */
  ping: Ping | undefined
  permits: Permits
  signal: AbortSignal
  surroundings: Surroundings
}

/** `Host` is a device that answered, or whose MAC address is in the ARP table. */
export type Host = {
  address: string
  macAddress: string | undefined
  openPorts: readonly number[]
  /**
   * How the device showed that it exists: it answered the `tcp`, `icmp` or `udp` probe, or only its MAC address was
   * resolved (`arp`). `old_arp` is an entry that existed before the scan, so the device may have been removed since.
   */
  evidence: 'tcp' | 'icmp' | 'udp' | 'arp' | 'old_arp'
}

/** The number of probes of an address that nothing else shows to be in use. */
const detectionPorts = 2

/** The number of connections to one device at the same time. */
const connectionsAtOnce = 2

/**
 * Probes one address. Most addresses of a range are empty, so detection is cheap: on a local segment one connection,
 * for which the operating system only asks for the MAC address; otherwise an echo request and a connection, or two
 * connections. Only a device that exists is probed on all ports. Returns undefined if there is no device.
 */
export async function probeHost(address: string, probes: HostProbes): Promise<Host | undefined> {
  const { surroundings } = probes
  const isLocal = surroundings.segmentOf(address) !== undefined
  const before = isLocal ? await surroundings.macAddressOf(address) : undefined
  const probed = new Map<number, PortState>()
  let evidence = await detect(address, { probes, probed, isLocal })
  const macAddress = isLocal ? await surroundings.macAddressOf(address) : undefined
  if (evidence === undefined && macAddress === undefined) return undefined
  if (evidence === undefined && isLocal && (await echo(address, probes))) evidence = 'icmp'
  const rest = probes.ports.filter((port) => !probed.has(port))
  await inParallel(rest, async (port) => probed.set(port, await connectPort(address, port, probes)))
  if (isAnswered(probed)) evidence ??= 'tcp'
  return {
    address,
    macAddress,
    openPorts: [...probed].flatMap(([port, state]) => (state === 'open' ? [port] : [])).toSorted((a, b) => a - b),
    evidence: evidence ?? (before === undefined ? 'arp' : 'old_arp'),
  }
}

type Detection = { probes: HostProbes; probed: Map<number, PortState>; isLocal: boolean }

async function detect(address: string, { probes, probed, isLocal }: Detection): Promise<Host['evidence'] | undefined> {
  const { ports, ping } = probes
  const isEchoed = ping !== undefined && (!isLocal || ports.length === 0)
  const first = ports.slice(0, isLocal || isEchoed ? 1 : detectionPorts)
  const [hasEcho] = await Promise.all([
    isEchoed ? echo(address, probes) : false,
    ...first.map(async (port) => probed.set(port, await connectPort(address, port, probes))),
  ])
  if (isAnswered(probed)) return 'tcp'
  if (hasEcho) return 'icmp'
  if (ports.length > 0 || isEchoed) return undefined
  return (await datagram(address, probes)) ? 'udp' : undefined
}

function isAnswered(probed: ReadonlyMap<number, PortState>): boolean {
  return [...probed.values()].some((state) => state === 'open' || state === 'closed')
}

async function connectPort(address: string, port: number, probes: HostProbes): Promise<PortState> {
  using _permit = await take(address, probes, { protocol: 'tcp', operation: 'connect', kind: 'connection' })
  return await connectTo(port, { address, ...probes })
}

async function echo(address: string, probes: HostProbes): Promise<boolean> {
  if (probes.ping === undefined) return false
  using _permit = await take(address, probes, { protocol: 'icmp', operation: 'echo', kind: 'datagram' })
  return await probes.ping({ address, ...probes })
}

async function datagram(address: string, probes: HostProbes): Promise<boolean> {
  using _permit = await take(address, probes, { protocol: 'udp', operation: 'empty datagram', kind: 'datagram' })
  const state = await sendEmptyDatagram({ address, ...probes })
  return state === 'closed' || state === 'open'
}

type Traffic = { protocol: string; operation: string; kind: 'connection' | 'datagram' }

async function take(address: string, { permits, signal }: HostProbes, traffic: Traffic): Promise<Permit> {
  const permit = await permits.take({ address, ...traffic })
  signal.throwIfAborted()
  return permit
}

async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<void> {
  const queue = items.values()
  const run = async () => {
    for (const item of queue) await work(item)
  }
  await Promise.all(Array.from({ length: connectionsAtOnce }, run))
}
