import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { defaultBudget } from '@millwright/api/scan-budget.ts'
import { missingCapture, missingRights, NetworkNamespaces } from '@millwright/e2e/network-namespaces.ts'
import type { SimulatedHost } from '@millwright/e2e/simulated-hosts.ts'
import { builtInLinks } from '@millwright/links/catalogue.ts'
import { systemValues } from '@millwright/links/snmp/simulator-switch.ts'
import { mostPerSecond, type SentPacket, sentPackets } from '@millwright/links/testing/packet-capture.ts'
import { median } from './measurement.ts'
import type { BenchOptions } from './options.ts'
import type { Goal, Report, Row } from './report.ts'
import type { ScanCommand, ScanResult } from './scan-worker.ts'
import { startWorkerProcess, stop } from './worker-process.ts'

/** The links. `wide` are the options for the scan of a /16, in which most addresses are silent. */
const links: readonly { name: string; wide: Record<string, string> }[] = [
  { name: 'modbus', wide: { timeout_ms: '500', parallel: '256' } },
  { name: 'snmp', wide: { timeout_ms: '500', parallel: '256' } },
  { name: 'opcua', wide: { timeout_ms: '500', parallel: '256' } },
  { name: 'ip-scan', wide: { timeout_ms: '500', parallel: '256', ports: '80,502', reverse_dns: 'false' } },
]

const gatewayAddress = '10.77.1.1'
const near = { range: '10.77.1.0/24', size: '/24', devices: 30 } as const
const far = { range: '10.78.0.0/16', size: '/16', devices: 500 } as const
/** The captured bytes of each packet. They contain all headers. */
const capturedBytes = 96
const goals = { nearSeconds: 15, growth: 1.05 } as const
/** A packet can be delayed on the way from the permit to the network, so that it is sent in the next second. */
const tolerance = 1

type Worker = Awaited<ReturnType<typeof startWorkerProcess<ScanCommand>>>

/**
 * Measures scans of links through a gateway with the default budget, in network namespaces: the time for a /24 with 30
 * devices, the memory of the link during a /16 with 500 devices, and the rates in a packet capture. `--only modbus`
 * measures one link, and `--only /24` only the small range.
 */
export async function scan({ only }: BenchOptions): Promise<Report> {
  const title = `scan: a /24 with ${near.devices} devices and a /16 with ${far.devices} devices, at the default budget`
  await using namespaces = await NetworkNamespaces.create()
  if (namespaces === undefined) return { title: `${title} (skipped: ${missingRights})`, rows: [], goals: [] }
  await using started = new AsyncDisposableStack()
  const devices = await startDevices(namespaces)
  started.defer(() => stop(devices))
  const execArgv = ['netns', 'exec', namespaces.gateway, process.execPath]
  const worker = await startWorkerProcess<ScanCommand>('./scan-worker.ts', { execPath: 'ip', execArgv })
  started.defer(() => worker.stop())
  const report: Report = { title, rows: [], goals: [] }
  for (const link of links) {
    const places = [near, far].filter(({ size }) => `${link.name} ${size}`.includes(only))
    if (places.length === 0) continue
    if (!builtInLinks.some(({ name }) => name === link.name))
      report.rows.push({ link: link.name, range: 'skipped: the link does not exist' })
    else await measureLink(link, { places, namespaces, worker, report })
  }
  return report
}

function hostsOf(): { near: string[]; far: string[] } {
  return {
    near: Array.from({ length: near.devices }, (_, index) => `10.77.1.${10 + index * 7}`),
    far: Array.from({ length: far.devices }, (_, index) => {
      const place = index * 131 + 5
      return `10.78.${place >> 8}.${place & 255}`
    }),
  }
}

async function startDevices(namespaces: NetworkNamespaces): Promise<ChildProcess> {
  const addresses = hostsOf()
  const hosts = addresses.near.map((address, index) => ({
    address,
    macAddress: `02:77:01:00:00:${index.toString(16).padStart(2, '0')}`,
  }))
  await namespaces.connect(hosts, { gatewayAddress: `${gatewayAddress}/24` })
  await namespaces.addBehindRouter(addresses.far, { range: far.range, router: addresses.near[0] ?? '' })
  const file = fileURLToPath(import.meta.resolve('@millwright/e2e/simulated-hosts.ts'))
  const child = namespaces.spawn(namespaces.devices, [process.execPath, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin?.end(JSON.stringify([...addresses.near, ...addresses.far].map(deviceAt)))
  if (child.stdout !== null) await once(child.stdout, 'data')
  return child
}

function deviceAt(address: string): SimulatedHost {
  const objects = { '0': 'Acme', '1': 'M-1', '2': '1.0', '4': 'Meter', '6': `Meter ${address}` }
  const snmp = systemValues({ name: `agent-${address}`, description: 'Acme agent, firmware 1.0' })
  const application = { uri: `urn:${address}`, name: `Server ${address}` }
  const opcua = { application, build: { manufacturer: 'Acme', product: 'Controller', version: '1.0' } }
  return { address, modbus: { units: { '255': { objects } } }, opcua, snmp }
}

type Place = typeof near | typeof far
type Bench = { places: readonly Place[]; namespaces: NetworkNamespaces; worker: Worker; report: Report }

async function measureLink({ name, wide }: (typeof links)[number], { places, namespaces, worker, report }: Bench) {
  await worker.request({ kind: 'start link', link: name })
  for (const place of places) {
    const options = place === near ? {} : wide
    const capture = await namespaces.capture({ bytes: capturedBytes })
    if (capture === undefined) throw new Error(missingCapture)
    const result = await worker.request<ScanResult>({ kind: 'scan', link: name, range: place.range, options })
    const packets = sentPackets(await capture.end(), gatewayAddress)
    report.rows.push(rowOf(result, { link: name, range: place.range, packets }))
    report.goals.push(...budgetGoals(packets, `${name} in ${place.range}`))
    report.goals.push(place === near ? timeGoal(name, result) : memoryGoal(name, result))
  }
  await worker.request({ kind: 'stop link' })
}

function rowOf(
  result: ScanResult,
  { link, range, packets }: { link: string; range: string; packets: SentPacket[] },
): Row {
  const { seconds, found, errors, totals, memory } = result
  const permits = Object.values(totals).reduce((sum, count) => sum + count, 0)
  return {
    link,
    range,
    seconds,
    found,
    errors,
    permits,
    'packets captured': packets.length,
    'MiB at start': memory[0] ?? 0,
    'MiB at most': Math.max(...memory),
    'MiB at end': memory.at(-1) ?? 0,
  }
}

/** A link can also find the gateway, which is in the same range. A device that could not be read does not count. */
function timeGoal(link: string, { seconds, found }: ScanResult): Goal {
  return {
    goal: `${link} finds ${near.devices} devices in a /24 in less than ${goals.nearSeconds} s`,
    found: `${found} in ${seconds.toFixed(1)} s`,
    reached: found >= near.devices && seconds < goals.nearSeconds,
  }
}

/** Compares the memory in the last quarter of the scan with the third quarter. The first half is the warm-up. */
function memoryGoal(link: string, { memory, found, errors }: ScanResult): Goal {
  const quarter = Math.floor(memory.length / 4)
  const [before, after] = [median(memory.slice(2 * quarter, 3 * quarter)), median(memory.slice(-quarter))]
  return {
    goal: `the memory of ${link} does not grow during the scan of a /16 with ${far.devices} devices`,
    found: `${Math.round(before)} MiB, later ${Math.round(after)} MiB (${found + errors} devices)`,
    reached: found + errors === far.devices && after < before * goals.growth,
  }
}

function budgetGoals(packets: readonly SentPacket[], where: string): Goal[] {
  const { perDevice, perGateway } = defaultBudget
  const kinds = {
    datagram: 'datagramsPerSecond',
    connection: 'connectionsPerSecond',
    request: 'requestsPerSecond',
  } as const
  return (Object.keys(kinds) as (keyof typeof kinds)[]).flatMap((kind) => {
    const ofKind = packets.filter((packet) => packet.kind === kind)
    if (ofKind.length === 0) return []
    const devices = [...Map.groupBy(ofKind, ({ to }) => to).values()]
    const most = { device: Math.max(...devices.map(mostPerSecond)), gateway: mostPerSecond(ofKind) }
    const limits = { device: perDevice[kinds[kind]], gateway: perGateway[kinds[kind]] }
    return [
      {
        goal: `${where}: at most ${limits.device} ${kind}s per second to a device, and ${limits.gateway} in total`,
        found: `${most.device} and ${most.gateway}`,
        reached: most.device <= limits.device + tolerance && most.gateway <= limits.gateway + tolerance,
      },
    ]
  })
}
