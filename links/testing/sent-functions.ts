import { type IpPacket, isConnection } from './packet-capture.ts'

/*
 * Decodes what links sent from a packet capture. The decoders follow the specifications of the protocols, and share
 * nothing with the links.
 */

/** `CapturedFunction` is a connection, a datagram or a request. `code` has the form of the table `sends` of a link. */
export type CapturedFunction = {
  atMs: number
  to: string
  transport: IpPacket['transport']
  port: number
  code: string
}

/** The code of a new TCP connection, and of a datagram without data. */
export const connectCode = 'connect'
export const emptyCode = 'empty'

const ports = { dns: 53, snmp: 161, modbus: 502, opcua: 4_840 } as const
const hex = (value: number | undefined) => `0x${(value ?? 0).toString(16).toUpperCase().padStart(2, '0')}`

/**
 * Returns what one sender sent, in its order. Packets of the operating system are left out: those that only acknowledge,
 * reject or end a connection, and the announcements of multicast groups when an interface starts (IGMP).
 */
export function sentFunctions(packets: readonly IpPacket[], from: string): CapturedFunction[] {
  const streams = new Map<string, TcpStream>()
  return packets
    .filter((packet) => packet.from === from)
    .flatMap((packet) => {
      const { atMs, to, transport, port } = packet
      return codesOf(packet, streams).map((code) => ({ atMs, to, transport, port, code }))
    })
}

/** The ICMP message with which the operating system rejects a datagram that arrives too late. */
const unreachable = 3

function codesOf(packet: IpPacket, streams: Map<string, TcpStream>): string[] {
  const { transport, payload, port } = packet
  if (transport === 'tcp') return codesOfTcp(packet, streams)
  if (transport === 'icmp') return payload[0] === unreachable ? [] : [`type ${payload[0]}`]
  if (transport === 'igmp') return []
  if (transport === 'other') return ['unknown IP protocol']
  if (payload.length === 0) return [emptyCode]
  if (port === ports.snmp) return [snmpCode(payload)]
  return [port === ports.dns ? dnsCode(payload) : 'unknown data']
}

type TcpStream = { next: number; bytes: Buffer }

function codesOfTcp(packet: IpPacket, streams: Map<string, TcpStream>): string[] {
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

function messageAt(bytes: Buffer, port: number): { code: string; length: number } | undefined {
  if (port !== ports.modbus && port !== ports.opcua) return { code: 'unknown data', length: bytes.length }
  if (bytes.length < 8) return undefined
  const length = port === ports.modbus ? 6 + bytes.readUInt16BE(4) : bytes.readUInt32LE(4)
  if (bytes.length < length) return undefined
  const message = bytes.subarray(0, length)
  return { code: port === ports.modbus ? modbusCode(message) : opcuaCode(message), length }
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
