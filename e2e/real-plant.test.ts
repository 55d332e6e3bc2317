import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { packetClassOf } from '@millwright/api/receipt.ts'
import { manifest as bacnetManifest } from '@millwright/links/bacnet/manifest.ts'
import { manifest as ethernetIpManifest } from '@millwright/links/ethernet-ip/manifest.ts'
import { manifest as ipScanManifest } from '@millwright/links/ip-scan/manifest.ts'
import { manifest as mdnsManifest } from '@millwright/links/mdns/manifest.ts'
import { manifest as modbusManifest } from '@millwright/links/modbus/manifest.ts'
import { manifest as opcuaManifest } from '@millwright/links/opcua/manifest.ts'
import { manifest as profinetManifest } from '@millwright/links/profinet/manifest.ts'
import { manifest as s7Manifest } from '@millwright/links/s7/manifest.ts'
import { manifest as snmpManifest } from '@millwright/links/snmp/manifest.ts'
import { interfaceValues, switchValues, systemValues } from '@millwright/links/snmp/simulator-switch.ts'
import { capturedPackets } from '@millwright/links/testing/packet-capture.ts'
import {
  type CapturedFunction,
  connectCode,
  emptyCode,
  sentFunctions,
} from '@millwright/links/testing/sent-functions.ts'
import { missingCapture, missingRights, NetworkNamespaces, type PacketCapture } from './network-namespaces.ts'
import { until } from './platform.ts'
import type { FoundAsset, LinkScan, PlantScan, Round } from './real-plant-scan.ts'
import type { SimulatedHost } from './simulated-hosts.ts'
import { withinLimit } from './time-limit.ts'

/**
 * The plant has two switches that report their neighbours over SNMP, and hosts that speak one protocol, several protocols
 * or none. Each host has its own cable to the bridge of the gateway.
 */
const network = '10.77.1'
const first = 10
const macAt = (number: number) => `02:77:01:00:${number.toString(16).padStart(2, '0').toUpperCase()}:00`

type PlantHost = SimulatedHost & { macAddress: string }
type Protocols = Omit<SimulatedHost, 'address'>

const meter = (name: string) => ({ '0': 'Acme', '1': 'AM-1', '2': 'V2.1', '4': 'Power meter', '6': name })
const modbus = (name: string): Protocols => ({ modbus: { units: {}, others: { objects: meter(name) } } })
const opcua = (name: string): Protocols => ({
  opcua: {
    application: { uri: `urn:plant:${name}`, name },
    build: { manufacturer: 'Acme', product: 'C1', version: '3' },
  },
})
const snmp = (name: string, number: number): Protocols => {
  const addresses = [{ ip: `${network}.${number}` }]
  return { snmp: { ...systemValues({ name }), ...interfaceValues([{ name: 'eth0', mac: macAt(number), addresses }]) } }
}
const ethernetIp = (name: string, number: number): Protocols => ({
  'ethernet-ip': {
    identity: { vendor: 1, type: 14, product: 55, revision: '33.11', serial: 0x00c0_0000 + number, name: '1756-L61/B' },
    hostName: name,
  },
})
const mdns = (name: string): Protocols => ({
  mdns: { hostName: name, services: [{ type: '_http._tcp', name, port: 80, txt: ['path=/'] }] },
})
const bacnet = (name: string, number: number): Protocols => ({
  bacnet: {
    instance: number,
    vendorId: 7,
    properties: { '77': name, '121': 'Acme', '70': 'AC-1', '44': '2.4', '12': '2.4.1' },
  },
})
const s7 = (name: string, number: number): Protocols => ({
  s7: {
    modules: {
      '0/2': {
        orderNumber: '6ES7 315-2EH14-0AB0',
        firmware: 'V3.2.6',
        components: { '1': name, '5': `S C-${number}`, '7': 'CPU 315-2 PN/DP' },
      },
    },
  },
})
const profinet = (name: string, number: number): Protocols => ({
  profinet: {
    name,
    type: 'ET200SP',
    vendorId: 0x002a,
    deviceId: 0x0313,
    role: 1,
    ipAddress: `${network}.${number}`,
    networkMask: '255.255.255.0',
  },
})
const modbusGateway: Protocols = {
  modbus: {
    units: {
      '255': { objects: { '0': 'Acme', '1': 'GW-1', '2': '1.4', '4': 'Gateway' } },
      '1': { objects: meter('Line 1') },
    },
    others: { answer: 11 },
  },
}

const kinds: readonly ((name: string, number: number) => Protocols)[] = [
  ...Array(3).fill(modbus),
  ...Array(2).fill(opcua),
  ...Array(2).fill(snmp),
  ...Array(2).fill(ethernetIp),
  ...Array(2).fill(mdns),
  ...Array(2).fill(bacnet),
  s7,
  profinet,
  (name, number) => ({ ...modbus(name), ...opcua(name), ...snmp(name, number) }),
  (name, number) => ({ ...ethernetIp(name, number), ...mdns(name), ...modbus(name) }),
  // A controller that six links find.
  (name, number) => ({
    ...snmp(name, number),
    ...profinet(name, number),
    ...s7(name, number),
    ...opcua(name),
    ...mdns(name),
  }),
  () => modbusGateway,
  () => ({}),
]

const switches = [first, first + 1] as const
const hosts: PlantHost[] = kinds.map((protocols, index) => {
  const number = first + switches.length + index
  return { address: `${network}.${number}`, macAddress: macAt(number), ...protocols(`device-${number}`, number) }
})
/** The cables from the switches to the hosts: half of the hosts at each switch, from port 2. Port 1 is between the switches. */
const cables = hosts.map(({ macAddress }, index) => ({
  switchMac: macAt(switches[index % 2] ?? first),
  port: 2 + Math.floor(index / 2),
  mac: macAddress,
}))

function switchAt(number: number, other: number): PlantHost {
  const mac = macAt(number)
  const own = cables.filter(({ switchMac }) => switchMac === mac)
  // Hosts with even ports report themselves with LLDP. The other ones are only in the bridge table.
  const speaking = own.filter(({ port }) => port % 2 === 0).map(({ port, mac: chassis }) => ({ port, chassis }))
  const values = switchValues({
    name: `switch-${number}`,
    mac,
    ip: `${network}.${number}`,
    ports: 16,
    neighbours: [{ port: 1, chassis: macAt(other), portId: 'port1' }, ...speaking],
    learned: [
      ...own,
      ...cables.filter(({ switchMac }) => switchMac !== mac).map((one) => ({ port: 1, mac: one.mac })),
      { port: 1, mac: macAt(other) },
    ],
    serial: `SW-${number}`,
    manufacturer: 'Acme Networks',
    model: 'SW16',
  })
  return { address: `${network}.${number}`, macAddress: mac, snmp: values }
}

const plant = [switchAt(switches[0], switches[1]), switchAt(switches[1], switches[0]), ...hosts]

type Manifest = typeof snmpManifest
type SentFunction = NonNullable<Manifest['sends']>[number]

const manifests: Readonly<Record<string, Manifest>> = {
  'ip-scan': ipScanManifest,
  snmp: snmpManifest,
  opcua: opcuaManifest,
  modbus: modbusManifest,
  'ethernet-ip': ethernetIpManifest,
  mdns: mdnsManifest,
  bacnet: bacnetManifest,
  s7: s7Manifest,
  profinet: profinetManifest,
}
const gatewayAddress = `${network}.1`
const gatewayMac = '02:77:01:00:01:00'
/** The addresses from which the gateway sends. */
const gatewayAddresses = [gatewayAddress, gatewayMac]

/** Scans the plant. `sent` is what the gateway sent according to a packet capture, or undefined without tcpdump. */
async function scanPlant(): Promise<{ scan: PlantScan; sent: CapturedFunction[] | undefined } | undefined> {
  await using namespaces = await NetworkNamespaces.create()
  if (namespaces === undefined) return undefined
  await namespaces.connect(plant, { gatewayAddress: `${gatewayAddress}/24`, gatewayMac })
  const capture = await namespaces.capture()
  const simulators = namespaces.spawn(namespaces.devices, [process.execPath, fileOf('simulated-hosts.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    simulators.stdin?.end(JSON.stringify(plant))
    if (simulators.stdout !== null) await withinLimit('the simulators start', once(simulators.stdout, 'data'))
    const scan = await runScans(namespaces, capture)
    return { scan, sent: capture && sentFunctions(capturedPackets(await capture.end()), gatewayAddresses) }
  } finally {
    await capture?.end()
    simulators.kill()
  }
}

async function runScans(namespaces: NetworkNamespaces, capture: PacketCapture | undefined): Promise<PlantScan> {
  const range = `${plant[0]?.address}-${network}.${first + plant.length + 4}`
  // The last host has no DNS server, so it receives one query.
  const command = [process.execPath, fileOf('real-plant-scan.ts'), range, hosts.at(-1)?.address ?? '']
  const child = namespaces.spawn(namespaces.gateway, command, { stdio: ['pipe', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new TypeError('The scan has no output')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  await lines.next()
  const startedMs = Date.now()
  const isSending = () => {
    if (capture === undefined) return true
    const recent = sentFunctions(capturedPackets(capture.packets()), gatewayAddresses).filter(
      ({ atMs }) => atMs > startedMs,
    )
    const isProbed = recent.some(({ port, code }) => port === 80 && code === connectCode)
    return isProbed && ['0xA1', '0x2B/0x0E', 'HEL', '0xE0'].every((code) => recent.some((one) => one.code === code))
  }
  await until('every link sends', isSending)
  child.stdin?.end('cancel')
  const { value } = await lines.next()
  return JSON.parse(value ?? '')
}

describe('a plant in network namespaces', () => {
  let scanned: Awaited<ReturnType<typeof scanPlant>>
  before(async () => {
    scanned = await scanPlant()
  })

  test('one scan of every link finds each host once, with the cables between them, and a second scan changes nothing', (t) => {
    if (scanned === undefined) return t.skip(missingRights)
    const [earlier, later] = scanned.scan.rounds
    for (const { scans, errors } of [earlier, later]) {
      assert.deepEqual(errors, [])
      assert.ok(
        scans.every(({ state }) => state === 'finished'),
        JSON.stringify(scans),
      )
    }
    checkAssets(earlier)
    checkCables(earlier)
    checkFinders(earlier)
    const changes = later.scans.map(({ link, created, updated, gone }) => ({ link, created, updated, gone }))
    assert.deepEqual(
      changes,
      later.scans.map(({ link }) => ({ link, created: 0, updated: 0, gone: 0 })),
    )
    assert.deepEqual(contentOf(later), contentOf(earlier))
  })

  test('each captured packet is in the table of its link, and the receipt lists it', (t) => {
    if (scanned === undefined) return t.skip(missingRights)
    const { scan, sent } = scanned
    if (sent === undefined) return t.skip(missingCapture)
    const scans = scan.rounds.flatMap((round) => round.scans)
    for (const one of scans) {
      checkTraffic(
        one,
        sent.filter(({ atMs }) => atMs >= one.startedMs && atMs <= one.endedMs),
      )
    }
    const isOfScan = (atMs: number) =>
      atMs >= scan.canceled.startedMs || scans.some(({ startedMs, endedMs }) => atMs >= startedMs && atMs <= endedMs)
    assert.deepEqual(
      sent.filter(({ atMs }) => !isOfScan(atMs)),
      [],
    )
  })

  test('nothing is sent later than one second after all scans were canceled', (t) => {
    if (scanned === undefined) return t.skip(missingRights)
    const { scan, sent } = scanned
    if (sent === undefined) return t.skip(missingCapture)
    const { startedMs, canceledMs, states } = scan.canceled
    assert.deepEqual(new Set(states), new Set(['canceled']))
    const late = sent.filter(({ atMs }) => atMs > canceledMs + 1_000)
    assert.deepEqual(late, [])
    const listed = Object.values(manifests).flatMap(({ sends = [] }) => sends)
    for (const one of sent.filter(({ atMs }) => atMs >= startedMs))
      assert.ok(isListed(one, listed), JSON.stringify(one))
  })
})

const ptrQuery = 'type 12'

/** The codes that the scans of this plant must contain, so that the check of the tables is not empty. */
const expectedCodes: Readonly<Record<string, readonly string[]>> = {
  'ip-scan': [connectCode, ptrQuery],
  snmp: ['0xA0', '0xA1', '0xA5'],
  opcua: ['HEL', 'i=446', 'i=428', 'i=461', 'i=467', 'i=631', 'i=473', 'i=452'],
  modbus: [connectCode, '0x2B/0x0E'],
  'ethernet-ip': ['0x0063'],
  mdns: ['type 12'],
  bacnet: ['0x10/0x08', '0x00/0x0E'],
  s7: [connectCode, '0xE0', '0xF0', '0x44/0x01'],
  profinet: ['0xFEFE/5'],
}

/** The code of an entry of a table `sends` in the capture. */
function codeOf({ code, transport }: SentFunction): string {
  return code ?? (transport === 'tcp' ? connectCode : emptyCode)
}

function isListed({ transport, port, code }: CapturedFunction, sends: readonly SentFunction[]): boolean {
  return sends.some((entry) => {
    const isPort = entry.ports?.includes(port) ?? port === 0
    return entry.transport === transport && isPort && (codeOf(entry) === code || code === connectCode)
  })
}

/** Compares the capture with the table of the link, and for each host with the receipt of the scan. */
function checkTraffic({ link, sent: receipt }: LinkScan, sent: readonly CapturedFunction[]): void {
  const { sends = [] } = manifests[link] ?? {}
  for (const one of sent) assert.ok(isListed(one, sends), `${link}: ${JSON.stringify(one)}`)
  const codes = new Set(sent.map(({ code }) => code))
  for (const code of expectedCodes[link] ?? []) assert.ok(codes.has(code), `${link}: ${[...codes]}`)
  // Addresses without a host receive nothing, because the gateway does not find their MAC address.
  for (const { address } of plant) {
    const received = sent.filter(({ to }) => to === address).map(({ code }) => code)
    const captured = countsOf(link === 'opcua' ? received.flatMap(permitOfOpcUa) : received)
    const listed: Record<string, number> = {}
    for (const [name, count] of Object.entries(receipt[address] ?? {})) {
      const entry = sends.find((one) => packetClassOf(one) === name) ?? assert.fail(`${link}: ${name}`)
      listed[codeOf(entry)] = (listed[codeOf(entry)] ?? 0) + count
    }
    // A query that waited for its permit is not sent if the DNS server turned out to be silent in the meantime.
    if ((captured[ptrQuery] ?? 0) < (listed[ptrQuery] ?? 0)) listed[ptrQuery] = captured[ptrQuery] ?? 0
    assert.deepEqual(captured, listed, `${link}: ${address}`)
  }
}

/** An OPC UA connection and its Hello message have one permit. A server that is not there receives no message. */
function permitOfOpcUa(code: string): string[] {
  if (code === 'HEL') return []
  return [code === connectCode ? 'HEL' : code]
}

function countsOf(values: readonly string[]): Record<string, number> {
  const groups = Object.entries(Object.groupBy(values, (value) => value))
  return Object.fromEntries(groups.map(([value, all = []]) => [value, all.length]))
}

/** Each device has one relation `found_by_asset_link` for each link that speaks one of its protocols. */
function checkFinders({ assets, relations, links }: Round): void {
  const findersOf = (id: string) =>
    relations
      .filter(({ predicate, subject }) => predicate === 'found_by_asset_link' && subject.id === id)
      .map(({ object }) => links[object.id])
      .toSorted()
  for (const asset of assets) {
    const host = plant.find(({ macAddress }) => macAddress === macOf(asset))
    const { address: _, macAddress: __, ...protocols } = host ?? {}
    const expected = host === undefined ? ['modbus'] : ['ip-scan', ...Object.keys(protocols)]
    assert.deepEqual(findersOf(asset.id), expected.toSorted(), asset.name)
  }
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}

/** Each host is one asset, which is known by its MAC address. The unit behind the Modbus gateway is another asset. */
function checkAssets({ assets }: Round): void {
  const macs = assets.map(macOf).filter((mac) => mac !== undefined)
  assert.deepEqual(macs.toSorted(), plant.map(({ macAddress }) => macAddress).toSorted())
  const nameAt = (mac: string) => assets.find((asset) => macOf(asset) === mac)?.name
  for (const { macAddress, address, ...protocols } of hosts) {
    const isNamed = Object.keys(protocols).length > 0 && protocols.modbus !== modbusGateway.modbus
    if (isNamed) assert.equal(nameAt(macAddress), `device-${address.split('.')[3]}`)
  }
  for (const number of switches) assert.equal(nameAt(macAt(number)), `switch-${number}`)
  assert.deepEqual(
    assets.filter((asset) => macOf(asset) === undefined).map(({ name }) => name),
    ['Line 1'],
  )
}

function macOf({ connection_points: points = [] }: FoundAsset): string | undefined {
  return points.find(({ mac_address: mac }) => mac !== undefined)?.mac_address
}

/** Each cable is stored once in each direction. */
function checkCables({ assets, relations }: Round): void {
  const macs = new Map(assets.map((asset) => [asset.id, macOf(asset) ?? asset.name]))
  const pairsOf = (wanted: string) =>
    relations
      .filter(({ predicate }) => predicate === wanted)
      .map(({ subject, object }) => `${macs.get(subject.id)} ${macs.get(object.id)}`)
      .toSorted()
  const all = [...cables.map(({ switchMac, mac }) => [switchMac, mac]), switches.map((number) => macAt(number))]
  const expected = all.flatMap(([one, other]) => [`${one} ${other}`, `${other} ${one}`])
  assert.deepEqual(pairsOf('is_connected_to'), expected.toSorted())
  const gateway = hosts.find((host) => host.modbus === modbusGateway.modbus)
  assert.deepEqual(pairsOf('is_module_of'), [`Line 1 ${gateway?.macAddress}`])
}

/** Returns the assets and relations without the times at which they were confirmed. */
function contentOf({ assets, relations }: Round): unknown {
  const isTime = (name: string) => name === 'reachability_state' || name === 'lastModifiedTimestamp'
  const without = (entry: object) => Object.fromEntries(Object.entries(entry).filter(([name]) => !isTime(name)))
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
  return { assets: assets.toSorted(byId).map(without), relations: relations.toSorted(byId).map(without) }
}
