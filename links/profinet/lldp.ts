import { readableText } from './dcp.ts'
import { macText } from './raw-ethernet.ts'

/*
 * This file decodes LLDP frames (IEEE 802.1AB), which the neighbour at a network port sends every few seconds, and the
 * fields of PROFINET in them (IEC 61158-6-10). The link only listens: it sends no LLDP frames.
 *
 * A frame contains fields (TLVs) with 7 bits of type, 9 bits of length and a value. The chassis id, the port id and the time
 * to live are the first three fields.
 */

export const lldpType = 0x88cc
/** The group of the nearest bridge. Switches do not forward frames to it. */
export const lldpGroup = '01:80:c2:00:00:0e'

const ethernetBytes = 14
/** The number of fields of one frame. Devices send about ten. */
const mostFields = 128

const fields = {
  end: 0,
  chassisId: 1,
  portId: 2,
  timeToLive: 3,
  portDescription: 4,
  systemName: 5,
  systemDescription: 6,
  managementAddress: 8,
  organization: 127,
} as const
const chassisSubtypes = { macAddress: 4, local: 7 } as const
const portSubtypes = { macAddress: 3 } as const
const ipv4Family = 1
/** The organization of PROFINET (PROFIBUS Nutzerorganisation). */
const profinetOrganization = 0x000ecf
const profinetSubtypes = { chassisMac: 5 } as const

/** `LldpNeighbour` is the device at the other end of a cable. */
export type LldpNeighbour = {
  /** The MAC address of the port that sends the frame. */
  sourceMac: string
  /** The MAC address of the device, from its chassis id or from its PROFINET field. */
  chassisMac?: string
  /** The chassis id as text. For PROFINET devices, it is the name of station. */
  chassisName?: string
  portId?: string
  portDescription?: string
  systemName?: string
  systemDescription?: string
  /** The IPv4 address for the management of the device. */
  ipAddress?: string
  isProfinet: boolean
}

/** Decodes an LLDP frame. Returns undefined for a frame that is not correct, and for the end of a neighbour (time to live 0). */
export function decodeLldp(frame: Buffer): LldpNeighbour | undefined {
  if (frame.length < ethernetBytes || frame.readUInt16BE(ethernetBytes - 2) !== lldpType) return undefined
  if ((frame.readUInt8(6) & 1) !== 0) return undefined
  const values = fieldsIn(frame.subarray(ethernetBytes))
  const [chassis, port, timeToLive] = values ?? []
  const isComplete =
    chassis?.type === fields.chassisId && port?.type === fields.portId && timeToLive?.type === fields.timeToLive
  if (values === undefined || !isComplete || chassis.value.length < 2 || timeToLive.value.length < 2) return undefined
  if (timeToLive.value.readUInt16BE(0) === 0) return undefined
  let neighbour: LldpNeighbour = { sourceMac: macText(frame.subarray(6, 12)), isProfinet: false }
  for (const { type, value } of values) neighbour = { ...neighbour, ...factsOf(type, value) }
  return neighbour
}

type Field = { type: number; value: Buffer }

function fieldsIn(data: Buffer): Field[] | undefined {
  const result: Field[] = []
  for (let at = 0; at + 2 <= data.length && result.length < mostFields; ) {
    const header = data.readUInt16BE(at)
    const [type, length] = [header >> 9, header & 0x1ff]
    if (type === fields.end) return result
    const end = at + 2 + length
    if (end > data.length) return undefined
    result.push({ type, value: data.subarray(at + 2, end) })
    at = end
  }
  return result
}

function factsOf(type: number, value: Buffer): Partial<LldpNeighbour> {
  switch (type) {
    case fields.chassisId:
      return chassisFacts(value)
    case fields.portId:
      return value[0] === portSubtypes.macAddress && value.length === 7
        ? { portId: macText(value.subarray(1)) }
        : textFact('portId', value.subarray(1))
    case fields.portDescription:
      return textFact('portDescription', value)
    case fields.systemName:
      return textFact('systemName', value)
    case fields.systemDescription:
      return textFact('systemDescription', value)
    case fields.managementAddress:
      return managementFacts(value)
    case fields.organization:
      return organizationFacts(value)
    default:
      return {}
  }
}

function chassisFacts(value: Buffer): Partial<LldpNeighbour> {
  const id = value.subarray(1)
  if (value[0] === chassisSubtypes.macAddress) return macFact(id)
  return value[0] === chassisSubtypes.local ? textFact('chassisName', id) : {}
}

function managementFacts(value: Buffer): Partial<LldpNeighbour> {
  if (value[0] !== 5 || value[1] !== ipv4Family || value.length < 6) return {}
  const ipAddress = value.subarray(2, 6).join('.')
  return ipAddress === '0.0.0.0' ? {} : { ipAddress }
}

function organizationFacts(value: Buffer): Partial<LldpNeighbour> {
  if (value.length < 4 || value.readUIntBE(0, 3) !== profinetOrganization) return {}
  return { isProfinet: true, ...(value[3] === profinetSubtypes.chassisMac ? macFact(value.subarray(4)) : {}) }
}

function macFact(bytes: Buffer): Partial<LldpNeighbour> {
  const isDevice = bytes.length === 6 && (bytes.readUInt8(0) & 1) === 0 && bytes.some((byte) => byte !== 0)
  return isDevice ? { chassisMac: macText(bytes) } : {}
}

type TextField = 'chassisName' | 'portId' | 'portDescription' | 'systemName' | 'systemDescription'

function textFact(field: TextField, bytes: Buffer): Partial<LldpNeighbour> {
  const text = readableText(bytes)
  return text === undefined ? {} : { [field]: text }
}
