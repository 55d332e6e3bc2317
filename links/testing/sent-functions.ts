import { type CapturedPacket, isConnection } from './packet-capture.ts'

/*
 * Decodes what links sent from a packet capture. The decoders follow the specifications of the protocols, and share
 * nothing with the links.
 */

/** `CapturedFunction` is a connection, a datagram or a request. `code` has the form of the table `sends` of a link. */
export type CapturedFunction = {
  atMs: number
  to: string
  transport: CapturedPacket['transport']
  port: number
  code: string
}

/** The code of a new TCP connection, and of a datagram without data. */
export const connectCode = 'connect'
export const emptyCode = 'empty'

const ports = {
  dns: 53,
  s7: 102,
  snmp: 161,
  modbus: 502,
  opcua: 4_840,
  mdns: 5_353,
  ethernetIp: 44_818,
  bacnet: 47_808,
} as const
const hex = (value: number | undefined, digits = 2) =>
  `0x${(value ?? 0).toString(16).toUpperCase().padStart(digits, '0')}`

/**
 * Returns what one sender sent, in its order. `from` contains its IP address and its MAC address. Packets of the operating system are left out: those that only acknowledge,
 * reject or end a connection, and the announcements of multicast groups when an interface starts (IGMP).
 */
export function sentFunctions(packets: readonly CapturedPacket[], from: readonly string[]): CapturedFunction[] {
  const streams = new Map<string, TcpStream>()
  return packets
    .filter((packet) => from.includes(packet.from))
    .flatMap((packet) => {
      const { atMs, to, transport, port } = packet
      return codesOf(packet, streams).map((code) => ({ atMs, to, transport, port, code }))
    })
}

/** The ICMP message with which the operating system rejects a datagram that arrives too late. */
const unreachable = 3

function codesOf(packet: CapturedPacket, streams: Map<string, TcpStream>): string[] {
  const { transport, payload, port } = packet
  if (transport === 'tcp') return codesOfTcp(packet, streams)
  if (transport === 'icmp') return payload[0] === unreachable ? [] : [`type ${payload[0]}`]
  if (transport === 'igmp') return []
  if (transport === 'ethernet') return [dcpCode(payload)]
  if (transport === 'other') return ['unknown IP protocol']
  if (payload.length === 0) return [emptyCode]
  return [codeOfDatagram[port]?.(payload) ?? 'unknown data']
}

const codeOfDatagram: Readonly<Record<number, (message: Buffer) => string>> = {
  [ports.dns]: dnsCode,
  [ports.mdns]: dnsCode,
  [ports.snmp]: snmpCode,
  [ports.ethernetIp]: ethernetIpCode,
  [ports.bacnet]: bacnetCode,
}

type TcpStream = { next: number; bytes: Buffer }

function codesOfTcp(packet: CapturedPacket, streams: Map<string, TcpStream>): string[] {
  const { to, port, sourcePort, sequence, payload } = packet
  const key = `${to} ${sourcePort} ${port}`
  const stream = streams.get(key)
  if (isConnection(packet)) {
    const next = (sequence + 1) >>> 0
    if (stream?.next === next && stream.bytes.length === 0) return []
    streams.set(key, { next, bytes: Buffer.alloc(0) })
    return [connectCode]
  }
  if (payload.length === 0) return []
  if (stream === undefined) return ['data without a connection']
  const repeatedBytes = (stream.next - sequence) >>> 0
  if (repeatedBytes >= 0x8000_0000) return ['gap in the capture']
  const added = payload.subarray(repeatedBytes)
  stream.next = (stream.next + added.length) >>> 0
  stream.bytes = Buffer.concat([stream.bytes, added])
  return messagesIn(stream, port)
}

/** Removes the complete messages from the stream, and returns their codes. */
function messagesIn(stream: TcpStream, port: number): string[] {
  const codes: string[] = []
  while (stream.bytes.length > 0) {
    const message = messageAt(stream.bytes, port)
    if (message === undefined) break
    codes.push(message.code)
    stream.bytes = stream.bytes.subarray(message.length)
  }
  return codes
}

/** How a message of a protocol over TCP is found: the bytes of its header, its length, and its code. */
type Framing = { header: number; length: (bytes: Buffer) => number; code: (message: Buffer) => string }

const framings: Readonly<Record<number, Framing>> = {
  [ports.modbus]: { header: 6, length: (bytes) => 6 + bytes.readUInt16BE(4), code: modbusCode },
  [ports.opcua]: { header: 8, length: (bytes) => bytes.readUInt32LE(4), code: opcuaCode },
  [ports.s7]: { header: 4, length: (bytes) => bytes.readUInt16BE(2), code: s7Code },
  [ports.ethernetIp]: { header: 24, length: (bytes) => 24 + bytes.readUInt16LE(2), code: ethernetIpCode },
}

function messageAt(bytes: Buffer, port: number): { code: string; length: number } | undefined {
  const framing = framings[port]
  if (framing === undefined) return { code: 'unknown data', length: bytes.length }
  if (bytes.length < framing.header) return undefined
  // A length that is shorter than the header is not valid. The rest of the stream is then one message.
  const length = Math.max(framing.length(bytes), framing.header)
  return bytes.length < length ? undefined : { code: framing.code(bytes.subarray(0, length)), length }
}

/** Modbus Messaging on TCP/IP 1.0b: a header of seven bytes, then the function code. 0x2B has a type as second code. */
function modbusCode(message: Buffer): string {
  if (message.readUInt16BE(2) !== 0) return 'not Modbus'
  return message[7] === 0x2b ? `${hex(message[7])}/${hex(message[8])}` : hex(message[7])
}

/**
 * OPC 10000-6: the type and size of a chunk, the secure channel, the security header, the sequence header, and the node id
 * of the encoding of the request.
 */
function opcuaCode(message: Buffer): string {
  const type = message.toString('latin1', 0, 3)
  if (type !== 'OPN' && type !== 'MSG' && type !== 'CLO') return type
  let at = 12
  if (type === 'OPN') {
    const policy = message.toString('latin1', at + 4, at + 4 + message.readInt32LE(at))
    if (!policy.endsWith('#None')) return 'encrypted OPN'
    for (let field = 0; field < 3; field += 1) at += 4 + Math.max(0, message.readInt32LE(at))
  } else {
    at += 4
  }
  return nodeId(message.subarray(at + 8))
}

/** OPC 10000-6, 5.2.2.9: node ids with two bytes, four bytes, and a number of four bytes. */
function nodeId(bytes: Buffer): string {
  const isBase = bytes[0] === 0 || (bytes[0] === 1 && bytes[1] === 0)
  if (bytes[0] === 2) return bytes.readUInt16LE(1) === 0 ? `i=${bytes.readUInt32LE(3)}` : 'unknown node id'
  if (!isBase) return 'unknown node id'
  return `i=${bytes[0] === 0 ? bytes[1] : bytes.readUInt16LE(2)}`
}

/**
 * RFC 1157, RFC 3416 and RFC 3412: a sequence with the version, the community and the PDU, or in version 3 with two
 * headers and the scoped PDU. The code is the tag of the PDU.
 */
function snmpCode(message: Buffer): string {
  const [version, second, third, fourth] = elementsOf(elementsOf(message)[0]?.content)
  if (version?.tag !== 0x02) return 'not SNMP'
  if (version.content[0] !== 3) return second?.tag === 0x04 && third !== undefined ? hex(third.tag) : 'not SNMP'
  if (fourth?.tag !== 0x30) return 'encrypted PDU'
  return hex(elementsOf(fourth.content)[2]?.tag)
}

/**
 * RFC 1006 and ISO 8073: a header of four bytes, then the transport PDU with its length and type. A data PDU (0xF0) contains
 * an S7 message: protocol 0x32, the type of the message at 1, and after ten bytes the parameters. A job has a function as
 * first parameter. User data has the type and group of the function, and its number.
 */
function s7Code(message: Buffer): string {
  const type = message[5]
  if (message[0] !== 3 || type === undefined) return 'not ISO on TCP'
  if (type !== 0xf0) return hex(type)
  const s7 = message.subarray(5 + (message[4] ?? 0))
  if (s7[0] !== 0x32) return 'not S7'
  if (s7[1] === 0x01) return hex(s7[10])
  return s7[1] === 0x07 ? `${hex(s7[15])}/${hex(s7[16])}` : 'unknown S7 message'
}

/**
 * CIP Volume 2: a header of 24 bytes with the command. SendRRData (0x6F) has items after six bytes. The item of type 0xB2
 * contains a CIP request with its service. Unconnected Send (0x52) contains another request after its path and two bytes
 * of time and two of length.
 */
function ethernetIpCode(message: Buffer): string {
  if (message.length < 24) return 'not EtherNet/IP'
  const command = hex(message.readUInt16LE(0), 4)
  if (command !== '0x006F') return command
  const items = message.subarray(24 + 6)
  let at = 2
  for (let left = items.readUInt16LE(0); left > 0; left -= 1) {
    const length = items.readUInt16LE(at + 2)
    if (items.readUInt16LE(at) === 0xb2) return `${command}/${cipCode(items.subarray(at + 4, at + 4 + length))}`
    at += 4 + length
  }
  return command
}

function cipCode(request: Buffer): string {
  const service = request[0]
  if (service !== 0x52) return hex(service)
  return `${hex(service)}/${hex(request[2 + 2 * (request[1] ?? 0) + 4])}`
}

/**
 * ANSI/ASHRAE 135, Annex J and clauses 6 and 20: the type and function of the BVLC header, the NPDU, and the APDU with its type
 * and service. A message with another function than a unicast or broadcast NPDU has the function as its code.
 */
function bacnetCode(message: Buffer): string {
  if (message[0] !== 0x81) return 'not BACnet'
  const isNpdu = message[1] === 0x0a || message[1] === 0x0b
  if (!isNpdu) return `${hex(message[0])}/${hex(message[1])}`
  const control = message[5] ?? 0
  if ((control & 0x80) !== 0) return 'network message'
  const [hasTarget, hasSource] = [(control & 0x20) !== 0, (control & 0x08) !== 0]
  let at = 6
  for (const isPresent of [hasTarget, hasSource]) if (isPresent) at += 3 + (message[at + 2] ?? 0)
  if (hasTarget) at += 1
  const type = (message[at] ?? 0) & 0xf0
  return `${hex(type)}/${hex(message[at + (type === 0 ? 3 : 1)])}`
}

/** IEC 61158-6-10: the frame id, the service, and the type of the service. 0xFEFE and 5 is Identify. */
function dcpCode(payload: Buffer): string {
  return payload[3] === 0 ? `${hex(payload.readUInt16BE(0), 4)}/${payload[2]}` : 'not a request'
}

type BerElement = { tag: number; content: Buffer }

/** X.690: elements with a tag of one byte, a length, and the content. */
function elementsOf(bytes: Buffer = Buffer.alloc(0)): BerElement[] {
  const elements: BerElement[] = []
  for (let at = 0; at + 2 <= bytes.length; ) {
    const first = bytes.readUInt8(at + 1)
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
    const start = at + 2 + lengthBytes
    elements.push({ tag: bytes.readUInt8(at), content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return elements
}

/** RFC 1035: a header of twelve bytes, the labels of the name, and the type of the query. */
function dnsCode(message: Buffer): string {
  const opcode = (message.readUInt16BE(2) >> 11) & 0x0f
  const isQuery = message.readUInt16BE(2) < 0x8000 && opcode === 0 && message.readUInt16BE(4) === 1
  let at = 12
  while ((message[at] ?? 0) > 0) at += (message[at] ?? 0) + 1
  return isQuery ? `type ${message.readUInt16BE(at + 1)}` : 'not a query'
}
