/*
 * Reads a packet capture in the pcap format, as tcpdump writes it, and counts what a scan sent. It reads Ethernet frames
 * with IPv4 only.
 */

/** `SentPacket` is a packet that started a connection, or contained a request. Repetitions by TCP are left out. */
export type SentPacket = { atMs: number; to: string; kind: 'datagram' | 'connection' | 'request' }

const fileHeaderBytes = 24
const packetHeaderBytes = 16
const ethernetBytes = 14
const microsecondMagic = 0xa1b2c3d4
const protocols = { icmp: 1, tcp: 6, udp: 17 } as const
const flags = { syn: 0x02, ack: 0x10 } as const
const echoRequest = 8

/** Returns the packets of one sender, in their order. */
export function sentPackets(capture: Buffer, from: string): SentPacket[] {
  if (capture.length < fileHeaderBytes || capture.readUInt32LE(0) !== microsecondMagic)
    throw new TypeError('The capture does not have the pcap format of this machine.')
  const packets: SentPacket[] = []
  const seen = new Set<string>()
  for (let at = fileHeaderBytes; at + packetHeaderBytes <= capture.length; ) {
    const bytes = capture.readUInt32LE(at + 8)
    const atMs = capture.readUInt32LE(at) * 1_000 + capture.readUInt32LE(at + 4) / 1_000
    const frame = capture.subarray(at + packetHeaderBytes, at + packetHeaderBytes + bytes)
    at += packetHeaderBytes + bytes
    const packet = parsePacket(frame)
    if (packet === undefined || packet.from !== from || seen.has(packet.key)) continue
    if (packet.key !== '') seen.add(packet.key)
    packets.push({ atMs, to: packet.to, kind: packet.kind })
  }
  return packets
}

type Packet = Pick<SentPacket, 'to' | 'kind'> & { from: string; key: string }

/** The key of a TCP packet is equal for its repetitions. */
function parsePacket(frame: Buffer): Packet | undefined {
  const ip = frame.subarray(ethernetBytes)
  if (frame.length < ethernetBytes + 20 || frame.readUInt16BE(12) !== 0x0800) return undefined
  const headerBytes = (ip.readUInt8(0) & 0x0f) * 4
  const [from, to] = [ip.subarray(12, 16).join('.'), ip.subarray(16, 20).join('.')]
  const body = ip.subarray(headerBytes)
  const protocol = ip.readUInt8(9)
  if (protocol === protocols.udp) return { from, to, kind: 'datagram', key: '' }
  if (protocol === protocols.icmp && body[0] === echoRequest) return { from, to, kind: 'datagram', key: '' }
  if (protocol !== protocols.tcp || body.length < 14) return undefined
  const isConnection = (body.readUInt8(13) & (flags.syn | flags.ack)) === flags.syn
  const payloadBytes = ip.readUInt16BE(2) - headerBytes - (body.readUInt8(12) >> 4) * 4
  if (!isConnection && payloadBytes <= 0) return undefined
  const key = `${to} ${body.readUInt32BE(0)} ${body.readUInt32BE(4)}`
  return { from, to, kind: isConnection ? 'connection' : 'request', key: isConnection ? `syn ${key}` : key }
}

/** Returns the largest number of packets within any second. */
export function mostPerSecond(packets: readonly SentPacket[]): number {
  let first = 0
  let most = 0
  for (const [last, { atMs }] of packets.entries()) {
    while ((packets[first]?.atMs ?? atMs) <= atMs - 1_000) first += 1
    most = Math.max(most, last - first + 1)
  }
  return most
}
