import type { Log } from '@millwright/link-sdk/log.ts'
import { ipOfIndex, macOf, macOfIndex, maskOf, numberOf, textOf } from './mib-value.ts'
import { indexBelow } from './oid.ts'
import type { Session, Varbind, VarbindValue } from './session.ts'
import { SnmpError } from './snmp-error.ts'
import { readTable, type Table } from './table.ts'

/** This file reads the tables of a device. It does not know the asset schema. */

/** `Reading` is what one device reported. */
export type Reading = {
  system: SystemGroup
  interfaces: Interface[]
  addresses: InterfaceAddress[]
  entities: Entity[]
  neighbours: Neighbours | undefined
  /** The reason why the tables of neighbours are not complete. */
  neighboursProblem?: SnmpError | undefined
}

/** The system group of SNMPv2-MIB (RFC 3418). */
export type SystemGroup = {
  description?: string | undefined
  objectId?: string | undefined
  /** The time since the agent started, in hundredths of a second. */
  upTime?: number | undefined
  contact?: string | undefined
  name?: string | undefined
  location?: string | undefined
}

/** A row of the interface table of IF-MIB (RFC 2863). */
export type Interface = {
  index: number
  name: string
  type?: number | undefined
  macAddress?: string | undefined
  adminStatus?: number | undefined
  operStatus?: number | undefined
}

type InterfaceAddress = { ipAddress: string; interfaceIndex: number; networkMask?: string | undefined }

/** A row of the entity table of ENTITY-MIB (RFC 6933) that has a serial number, or is the chassis. */
export type Entity = {
  index: number
  class: number
  containedIn: number
  position?: number | undefined
  description?: string | undefined
  name?: string | undefined
  hardwareRevision?: string | undefined
  firmwareRevision?: string | undefined
  softwareRevision?: string | undefined
  serialNumber?: string | undefined
  manufacturer?: string | undefined
  model?: string | undefined
}

/** The neighbours of a device, from LLDP-MIB (IEEE 802.1AB) and BRIDGE-MIB (RFC 4188, RFC 4363). */
export type Neighbours = {
  chassisMac?: string | undefined
  bridgeMac?: string | undefined
  lldp: LldpNeighbour[]
  /** The local ports of LLDP by number. */
  lldpPorts: Map<number, LldpPort>
  /** The interface of each port of the bridge. */
  bridgePorts: Map<number, number>
  /** The learned addresses with the port of the bridge. */
  learned: { macAddress: string; port: number }[]
}
export type LldpNeighbour = { localPort: number; chassisMac?: string | undefined; portMac?: string | undefined }
type LldpPort = { name?: string | undefined; macAddress?: string | undefined }

const system = {
  description: '1.3.6.1.2.1.1.1',
  objectId: '1.3.6.1.2.1.1.2',
  upTime: '1.3.6.1.2.1.1.3',
  contact: '1.3.6.1.2.1.1.4',
  name: '1.3.6.1.2.1.1.5',
  location: '1.3.6.1.2.1.1.6',
} as const

/**
 * Reads the system group with one datagram. All agents answer to it, so it is also the first request to a device. The
 * caller repeats it.
 */
export async function readSystem(session: Session): Promise<SystemGroup> {
  const values = await readScalars(session, system, { attempts: 1 })
  return {
    description: textOf(values.description),
    objectId: typeof values.objectId === 'string' ? values.objectId : undefined,
    upTime: numberOf(values.upTime),
    contact: textOf(values.contact),
    name: textOf(values.name),
    location: textOf(values.location),
  }
}

/** Reads single values. GetNext works with every version, also if a value is missing. */
async function readScalars<Name extends string>(
  session: Session,
  oids: Readonly<Record<Name, string>>,
  options?: { attempts: number },
): Promise<Partial<Record<Name, VarbindValue>>> {
  const names = Object.keys(oids) as Name[]
  const requested = names.map((name) => oids[name])
  const varbinds = await session.getNext(requested, options)
  const found = names.flatMap((name, position) => {
    const { oid, value } = varbinds[position] as Varbind
    return indexBelow(oids[name], oid) === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(found) as Partial<Record<Name, VarbindValue>>
}

type ReadOptions = { system: SystemGroup; withNeighbours: boolean; log: Log }

/** Reads all tables of a device, after its system group. */
export async function readDevice(
  session: Session,
  { system: group, withNeighbours, log }: ReadOptions,
): Promise<Reading> {
  const interfaces = await readInterfaces(session)
  const addresses = await readAddresses(session)
  const entities = await readEntities(session)
  const tables = withNeighbours ? await readNeighbours(session, log) : undefined
  return { system: group, interfaces, addresses, entities, neighbours: undefined, ...tables }
}

async function readInterfaces(session: Session): Promise<Interface[]> {
  const table = await readTable(session, {
    description: '1.3.6.1.2.1.2.2.1.2',
    type: '1.3.6.1.2.1.2.2.1.3',
    macAddress: '1.3.6.1.2.1.2.2.1.6',
    adminStatus: '1.3.6.1.2.1.2.2.1.7',
    operStatus: '1.3.6.1.2.1.2.2.1.8',
    name: '1.3.6.1.2.1.31.1.1.1.1',
  })
  const names = new Set<string>()
  return [...table].map(([index, row]) => {
    const wanted = textOf(row.name) ?? textOf(row.description) ?? `interface ${index}`
    const name = names.has(wanted) ? `${wanted} #${index}` : wanted
    names.add(name)
    return {
      index: Number(index),
      name,
      type: numberOf(row.type),
      macAddress: macOf(row.macAddress),
      adminStatus: numberOf(row.adminStatus),
      operStatus: numberOf(row.operStatus),
    }
  })
}

/** Reads the IPv4 addresses from ipAddrTable, or from the newer ipAddressTable if the device does not have it. */
async function readAddresses(session: Session): Promise<InterfaceAddress[]> {
  const old = await readTable(session, { index: '1.3.6.1.2.1.4.20.1.2', mask: '1.3.6.1.2.1.4.20.1.3' })
  const addresses = [...old].map(([ip, row]) => addressOf(ip, row))
  if (addresses.length > 0) return addresses.flat()
  const current = await readTable(session, { index: '1.3.6.1.2.1.4.34.1.3' })
  // The index is the type of the address (1 for IPv4), its length, and its bytes.
  return [...current].flatMap(([key, row]) => (key.startsWith('1.4.') ? addressOf(key.slice(4), row) : []))
}

function addressOf(key: string, row: { index?: VarbindValue; mask?: VarbindValue }): InterfaceAddress[] {
  const ipAddress = ipOfIndex(key)
  const interfaceIndex = numberOf(row.index)
  if (ipAddress === undefined || interfaceIndex === undefined) return []
  return [{ ipAddress, interfaceIndex, networkMask: maskOf(row.mask) }]
}

/** Classes of entities, as ENTITY-MIB numbers them. */
export const entityClass = { chassis: 3, powerSupply: 6, fan: 7, module: 9, stack: 11 } as const

const entry = '1.3.6.1.2.1.47.1.1.1.1'
const details = {
  description: `${entry}.2`,
  position: `${entry}.6`,
  name: `${entry}.7`,
  hardwareRevision: `${entry}.8`,
  firmwareRevision: `${entry}.9`,
  softwareRevision: `${entry}.10`,
  manufacturer: `${entry}.12`,
  model: `${entry}.13`,
} as const
type Detail = keyof typeof details
const detailNames = Object.keys(details) as Detail[]

/** Devices have many entities such as sensors and sockets, so details are read only of those that become assets. */
async function readEntities(session: Session): Promise<Entity[]> {
  const table = await readTable(session, {
    containedIn: `${entry}.4`,
    class: `${entry}.5`,
    serialNumber: `${entry}.11`,
  })
  const relevant = [...table]
    .map(([index, row]) => ({
      index: Number(index),
      class: numberOf(row.class) ?? 0,
      containedIn: numberOf(row.containedIn) ?? 0,
      serialNumber: textOf(row.serialNumber),
    }))
    .filter((one) => one.class === entityClass.chassis || one.serialNumber !== undefined)
    .slice(0, mostEntities)
  const entities: Entity[] = []
  for (let from = 0; from < relevant.length; from += entitiesPerRequest) {
    const some = relevant.slice(from, from + entitiesPerRequest)
    const found = await readDetails(session, some)
    entities.push(...some.map((one, position) => ({ ...one, ...found[position] })))
  }
  return entities
}

const mostEntities = 256
const entitiesPerRequest = 4

async function readDetails(session: Session, some: readonly { index: number }[]): Promise<Partial<Entity>[]> {
  const oids = some.flatMap(({ index }) => detailNames.map((name) => `${details[name]}.${index}`))
  const varbinds = await session.get(oids).catch(withoutDetails)
  return some.map((_one, position) => {
    const from = position * detailNames.length
    const detail = (name: Detail) => varbinds[from + detailNames.indexOf(name)]?.value
    return {
      description: textOf(detail('description')),
      position: numberOf(detail('position')),
      name: textOf(detail('name')),
      hardwareRevision: textOf(detail('hardwareRevision')),
      firmwareRevision: textOf(detail('firmwareRevision')),
      softwareRevision: textOf(detail('softwareRevision')),
      manufacturer: textOf(detail('manufacturer')),
      model: textOf(detail('model')),
    }
  })
}

/** Version 1 rejects a request if one of the values is missing. */
function withoutDetails(error: unknown): Varbind[] {
  if (error instanceof SnmpError && error.kind === 'status') return []
  throw error
}

/**
 * Reads the neighbours. They are optional: if a table cannot be read, the device is reported without it. A table that the
 * agent refuses is not a problem, because its views may exclude the table.
 */
async function readNeighbours(
  session: Session,
  log: Log,
): Promise<{ neighbours: Neighbours; neighboursProblem: SnmpError | undefined }> {
  let neighboursProblem: SnmpError | undefined
  const optional = async <Value>(read: (session_: Session) => Promise<Value>, fallback: Value): Promise<Value> => {
    try {
      return await read(session)
    } catch (error) {
      const isOptional = error instanceof SnmpError && ['silent', 'status', 'limit'].includes(error.kind)
      if (!isOptional) throw error
      log.warn('A table of neighbours is left out.', { reason: error.message })
      if (error.kind !== 'status') neighboursProblem ??= error
      return fallback
    }
  }
  const neighbours = {
    ...(await optional(readOwnMacs, {})),
    lldp: await optional(readLldp, []),
    lldpPorts: await optional(readLldpPorts, new Map()),
    bridgePorts: await optional(readBridgePorts, new Map()),
    learned: await optional(readLearned, []),
  }
  return { neighbours, neighboursProblem }
}

/** Chassis id and port id subtypes of LLDP that contain a MAC address. */
const macSubtype = { chassis: 4, port: 3 } as const

async function readOwnMacs(session: Session): Promise<Pick<Neighbours, 'chassisMac' | 'bridgeMac'>> {
  const values = await readScalars(session, {
    bridge: '1.3.6.1.2.1.17.1.1',
    chassisSubtype: '1.0.8802.1.1.2.1.3.1',
    chassis: '1.0.8802.1.1.2.1.3.2',
  })
  const isMac = values.chassisSubtype === macSubtype.chassis
  return { bridgeMac: macOf(values.bridge), chassisMac: isMac ? macOf(values.chassis) : undefined }
}

async function readLldp(session: Session): Promise<LldpNeighbour[]> {
  const table = await readTable(session, {
    chassisSubtype: '1.0.8802.1.1.2.1.4.1.1.4',
    chassis: '1.0.8802.1.1.2.1.4.1.1.5',
    portSubtype: '1.0.8802.1.1.2.1.4.1.1.6',
    port: '1.0.8802.1.1.2.1.4.1.1.7',
  })
  return [...table].flatMap(([index, row]) => {
    // The index is a time, the local port and a number.
    const localPort = Number(index.split('.')[1])
    if (Number.isNaN(localPort)) return []
    return [
      {
        localPort,
        chassisMac: row.chassisSubtype === macSubtype.chassis ? macOf(row.chassis) : undefined,
        portMac: row.portSubtype === macSubtype.port ? macOf(row.port) : undefined,
      },
    ]
  })
}

async function readLldpPorts(session: Session): Promise<Map<number, LldpPort>> {
  const table = await readTable(session, { subtype: '1.0.8802.1.1.2.1.3.7.1.2', id: '1.0.8802.1.1.2.1.3.7.1.3' })
  const ports = [...table].map(([index, { subtype, id }]): [number, LldpPort] => [
    Number(index),
    subtype === macSubtype.port ? { macAddress: macOf(id) } : { name: textOf(id) },
  ])
  return new Map(ports)
}

async function readBridgePorts(session: Session): Promise<Map<number, number>> {
  const table = await readTable(session, { index: '1.3.6.1.2.1.17.1.4.1.2' })
  return new Map([...table].map(([port, { index }]) => [Number(port), numberOf(index) ?? 0]))
}

/** The status of an address that the bridge learned, in contrast to its own addresses. */
const learnedStatus = 3

/** Reads the addresses that the bridge learned, from BRIDGE-MIB or from Q-BRIDGE-MIB, which has one list per VLAN. */
async function readLearned(session: Session): Promise<Neighbours['learned']> {
  const plain = learnedIn(await readTable(session, forwardingTable('1.3.6.1.2.1.17.4.3.1')))
  if (plain.length > 0) return plain
  return learnedIn(await readTable(session, forwardingTable('1.3.6.1.2.1.17.7.1.2.2.1')))
}

function forwardingTable(row: string) {
  return { port: `${row}.2`, status: `${row}.3` }
}

function learnedIn(table: Table<'port' | 'status'>): Neighbours['learned'] {
  return [...table].flatMap(([index, { port, status }]) => {
    const macAddress = macOfIndex(index)
    const isLearned = status === learnedStatus && typeof port === 'number' && port > 0
    return macAddress === undefined || !isLearned ? [] : [{ macAddress, port }]
  })
}
