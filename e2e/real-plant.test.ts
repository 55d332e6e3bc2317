import assert from 'node:assert/strict'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { interfaceValues, switchValues, systemValues } from '@millwright/links/snmp/simulator-switch.ts'
import { missingRights, NetworkNamespaces } from './network-namespaces.ts'
import type { FoundAsset, Round } from './real-plant-scan.ts'
import type { SimulatedHost } from './simulated-hosts.ts'

/**
 * The plant has two switches that report their neighbours over SNMP, and hosts that speak one protocol, several protocols
 * or none. Each host has its own cable to the bridge of the gateway.
 */
const network = '10.77.1'
const first = 10
const macAt = (number: number) => `02:77:01:00:${number.toString(16).padStart(2, '0').toUpperCase()}:00`

type PlantHost = SimulatedHost & { macAddress: string }
type Protocols = Partial<Pick<SimulatedHost, 'modbus' | 'opcua' | 'snmp'>>

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
  ...Array(6).fill(modbus),
  ...Array(5).fill(opcua),
  ...Array(4).fill(snmp),
  (name, number) => ({ ...modbus(name), ...snmp(name, number) }),
  (name, number) => ({ ...opcua(name), ...snmp(name, number) }),
  (name, number) => ({ ...modbus(name), ...opcua(name), ...snmp(name, number) }),
  (name) => ({ ...modbus(name), ...opcua(name) }),
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

test('one scan of every link finds each host of a plant once, with the cables between them, and a second scan changes nothing', async (t) => {
  await using namespaces = await NetworkNamespaces.create()
  if (namespaces === undefined) return t.skip(missingRights)
  await namespaces.connect(plant, { gatewayAddress: `${network}.1/24` })
  const simulators = namespaces.spawn(namespaces.devices, [process.execPath, fileOf('simulated-hosts.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    simulators.stdin?.end(JSON.stringify(plant))
    if (simulators.stdout !== null) await once(simulators.stdout, 'data')
    const [before, after] = await scanTwice(namespaces, `${plant[0]?.address}-${network}.${first + plant.length + 4}`)
    for (const { scans, errors } of [before, after]) {
      assert.deepEqual(errors, [])
      assert.ok(
        scans.every(({ state }) => state === 'finished'),
        JSON.stringify(scans),
      )
    }
    checkAssets(before)
    checkCables(before)
    const changes = after.scans.map(({ link, created, updated, gone }) => ({ link, created, updated, gone }))
    assert.deepEqual(
      changes,
      after.scans.map(({ link }) => ({ link, created: 0, updated: 0, gone: 0 })),
    )
    assert.deepEqual(contentOf(after), contentOf(before))
  } finally {
    simulators.kill()
  }
})

async function scanTwice(namespaces: NetworkNamespaces, range: string): Promise<[Round, Round]> {
  const command = [process.execPath, fileOf('real-plant-scan.ts'), range]
  const child = namespaces.spawn(namespaces.gateway, command, { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new TypeError('The scan has no output')
  return JSON.parse(await text(child.stdout))
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
