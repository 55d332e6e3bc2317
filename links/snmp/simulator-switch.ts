import type { SimulatorValue, SimulatorValues } from './simulator.ts'

/** This file builds the values of simulated devices for the SNMP agent. */

const text = (value: string): SimulatorValue => ({ type: 'text', value })
const integer = (value: number): SimulatorValue => ({ type: 'integer', value })
const mac = (value: string): SimulatorValue => ({ type: 'bytes', value: value.replaceAll(':', '') })

export type SystemDescription = {
  name: string
  description?: string
  objectId?: string
  location?: string
  contact?: string
}

/** Returns the system group. */
export function systemValues({ name, ...rest }: SystemDescription): SimulatorValues {
  const group = '1.3.6.1.2.1.1'
  return {
    [`${group}.1.0`]: text(rest.description ?? 'Simulated device'),
    [`${group}.2.0`]: { type: 'oid', value: rest.objectId ?? '1.3.6.1.4.1.99999.1' },
    [`${group}.3.0`]: { type: 'ticks', value: 123_456 },
    [`${group}.4.0`]: text(rest.contact ?? ''),
    [`${group}.5.0`]: text(name),
    [`${group}.6.0`]: text(rest.location ?? ''),
  }
}

export type SimulatedInterface = {
  name: string
  mac?: string
  addresses?: readonly { ip: string; mask?: string }[]
  type?: number
  isDown?: boolean
}

/** Returns IF-MIB and the address table. The index of an interface is its position, from 1. */
export function interfaceValues(interfaces: readonly SimulatedInterface[]): SimulatorValues {
  const table = '1.3.6.1.2.1.2.2.1'
  const entries = interfaces.flatMap((one, position): [string, SimulatorValue][] => {
    const index = position + 1
    return [
      [`${table}.1.${index}`, integer(index)],
      [`${table}.2.${index}`, text(one.name)],
      [`${table}.3.${index}`, integer(one.type ?? 6)],
      [`${table}.6.${index}`, mac(one.mac ?? '')],
      [`${table}.7.${index}`, integer(1)],
      [`${table}.8.${index}`, integer(one.isDown === true ? 2 : 1)],
      [`1.3.6.1.2.1.31.1.1.1.1.${index}`, text(one.name)],
      ...(one.addresses ?? []).flatMap(({ ip, mask = '255.255.255.0' }): [string, SimulatorValue][] => [
        [`1.3.6.1.2.1.4.20.1.1.${ip}`, { type: 'ip', value: ip }],
        [`1.3.6.1.2.1.4.20.1.2.${ip}`, integer(index)],
        [`1.3.6.1.2.1.4.20.1.3.${ip}`, { type: 'ip', value: mask }],
      ]),
    ]
  })
  return Object.fromEntries(entries)
}

export type SimulatedEntity = {
  description?: string
  containedIn?: number
  /** The class as ENTITY-MIB numbers it: 3 for a chassis, 9 for a module. */
  class: number
  position?: number
  name?: string
  hardware?: string
  firmware?: string
  software?: string
  serial?: string
  manufacturer?: string
  model?: string
}

/** Returns ENTITY-MIB. The index of an entity is its position, from 1. */
function entityValues(entities: readonly SimulatedEntity[]): SimulatorValues {
  const entry = '1.3.6.1.2.1.47.1.1.1.1'
  const entries = entities.flatMap((one, position): [string, SimulatorValue][] => {
    const index = position + 1
    return [
      [`${entry}.2.${index}`, text(one.description ?? '')],
      [`${entry}.4.${index}`, integer(one.containedIn ?? 0)],
      [`${entry}.5.${index}`, integer(one.class)],
      [`${entry}.6.${index}`, integer(one.position ?? -1)],
      [`${entry}.7.${index}`, text(one.name ?? '')],
      [`${entry}.8.${index}`, text(one.hardware ?? '')],
      [`${entry}.9.${index}`, text(one.firmware ?? '')],
      [`${entry}.10.${index}`, text(one.software ?? '')],
      [`${entry}.11.${index}`, text(one.serial ?? '')],
      [`${entry}.12.${index}`, text(one.manufacturer ?? '')],
      [`${entry}.13.${index}`, text(one.model ?? '')],
    ]
  })
  return Object.fromEntries(entries)
}

/** A neighbour that LLDP reports at a port. A chassis id or port id that is not a MAC address is a text. */
export type SimulatedNeighbour = { port: number; chassis: string; portId?: string }

export type SimulatedSwitch = SystemDescription & {
  /** The MAC address of the chassis, which is also that of the bridge. */
  mac: string
  /** The address for management. Without it, the address table is empty. */
  ip?: string
  ports: number
  neighbours?: readonly SimulatedNeighbour[]
  /** The addresses that the bridge learned, with their port. */
  learned?: readonly { port: number; mac: string }[]
  serial?: string
  model?: string
  manufacturer?: string
  hardware?: string
  software?: string
  modules?: readonly Omit<SimulatedEntity, 'class' | 'containedIn'>[]
  /** True if the bridge table is in Q-BRIDGE-MIB. */
  hasVlans?: boolean
}

/** Returns the values of a switch with LLDP neighbours and a bridge table. Port n is interface n + 1. */
export function switchValues(device: SimulatedSwitch): SimulatorValues {
  const ports = Array.from({ length: device.ports }, (_, index) => index + 1)
  const interfaces: SimulatedInterface[] = [
    { name: 'vlan1', mac: device.mac, type: 136, addresses: device.ip === undefined ? [] : [{ ip: device.ip }] },
    ...ports.map((port) => ({ name: `port${port}`, mac: portMac(device.mac, port) })),
  ]
  const { name: _name, ip: _ip, ports: _ports, ...rest } = device
  const chassis = { ...rest, class: 3, name: 'Chassis' }
  const modules = (device.modules ?? []).map((one) => ({ ...one, class: 9, containedIn: 1 }))
  return {
    ...systemValues(device),
    ...interfaceValues(interfaces),
    ...(device.serial === undefined ? {} : entityValues([chassis, ...modules])),
    ...lldpValues(device, ports),
    ...bridgeValues(device, ports),
  }
}

/** Returns the MAC address of a port: the address of the chassis plus the number of the port. */
export function portMac(chassis: string, port: number): string {
  const number = Number.parseInt(chassis.replaceAll(':', ''), 16) + port
  return (number.toString(16).padStart(12, '0').toUpperCase().match(/../g) ?? []).join(':')
}

function lldpValues({ mac: chassis, neighbours = [] }: SimulatedSwitch, ports: readonly number[]): SimulatorValues {
  const mib = '1.0.8802.1.1.2.1'
  const local = ports.flatMap((port): [string, SimulatorValue][] => [
    [`${mib}.3.7.1.2.${port}`, integer(5)],
    [`${mib}.3.7.1.3.${port}`, text(`port${port}`)],
  ])
  const remote = neighbours.flatMap(({ port, chassis: id, portId = 'eth0' }, position): [string, SimulatorValue][] => {
    const index = `0.${port}.${position + 1}`
    return [
      [`${mib}.4.1.1.4.${index}`, integer(isMac(id) ? 4 : 7)],
      [`${mib}.4.1.1.5.${index}`, isMac(id) ? mac(id) : text(id)],
      [`${mib}.4.1.1.6.${index}`, integer(isMac(portId) ? 3 : 5)],
      [`${mib}.4.1.1.7.${index}`, isMac(portId) ? mac(portId) : text(portId)],
    ]
  })
  return {
    [`${mib}.3.1.0`]: integer(4),
    [`${mib}.3.2.0`]: mac(chassis),
    ...Object.fromEntries([...local, ...remote]),
  }
}

function isMac(id: string): boolean {
  return /^([0-9A-F]{2}:){5}[0-9A-F]{2}$/i.test(id)
}

function bridgeValues(
  { mac: own, learned = [], hasVlans }: SimulatedSwitch,
  ports: readonly number[],
): SimulatorValues {
  const table = hasVlans === true ? '1.3.6.1.2.1.17.7.1.2.2.1' : '1.3.6.1.2.1.17.4.3.1'
  const vlan = hasVlans === true ? '1.' : ''
  const rows = [...learned.map((one) => ({ ...one, status: 3 })), { port: 0, mac: own, status: 4 }]
  const entries = rows.flatMap(({ port, mac: address, status }): [string, SimulatorValue][] => {
    const index =
      vlan +
      address
        .split(':')
        .map((byte) => Number.parseInt(byte, 16))
        .join('.')
    return [
      [`${table}.2.${index}`, integer(port)],
      [`${table}.3.${index}`, integer(status)],
    ]
  })
  const base = ports.map((port): [string, SimulatorValue] => [`1.3.6.1.2.1.17.1.4.1.2.${port}`, integer(port + 1)])
  return { '1.3.6.1.2.1.17.1.1.0': mac(own), ...Object.fromEntries([...base, ...entries]) }
}
