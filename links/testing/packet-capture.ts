/*
 * Reads a packet capture in the pcap format, as tcpdump writes it, and returns what a scan sent. It reads IPv4 packets and
 * PROFINET frames.
 */

/**
 * `CapturedPacket` is a captured packet. `payload` is cut if the capture contains only the first bytes of each packet. The
 * ends of a PROFINET frame are MAC addresses.
 */
export type CapturedPacket = {
  atMs: number
  from: string
  to: string
  transport: 'tcp' | 'udp' | 'icmp' | 'igmp' | 'ethernet' | 'other'
  sourcePort: number
  /** The destination port, or 0 without TCP and UDP. */
  port: number
  /** The flags of TCP. */
  flags: number
  /** The sequence number of TCP. */
  sequence: number
  payload: Buffer
  payloadBytes: number
}

/** `SentPacket` is a packet that started a connection, or contained a request. Repetitions by TCP are left out. */
export type SentPacket = { atMs: number; to: string; kind: 'datagram' | 'connection' | 'request' }

const fileHeaderBytes = 24
const packetHeaderBytes = 16
const ethernetBytes = 14
const microsecondMagic = 0xa1b2c3d4
const ipv4 = 0x0800
const profinet = 0x8892
const transports: Readonly<Record<number, CapturedPacket['transport']>> = { 1: 'icmp', 2: 'igmp', 6: 'tcp', 17: 'udp' }
const flags = { syn: 0x02, ack: 0x10 } as const
const echoRequest = 8

/** Returns all IPv4 packets and PROFINET frames of a capture, in their order. */
export function capturedPackets(capture: Buffer): CapturedPacket[] {
  if (capture.length < fileHeaderBytes || capture.readUInt32LE(0) !== microsecondMagic)
    throw new TypeError('The capture does not have the pcap format of this machine.')
  const packets: CapturedPacket[] = []
  for (let at = fileHeaderBytes; at + packetHeaderBytes <= capture.length; ) {
    const bytes = capture.readUInt32LE(at + 8)
    const atMs = capture.readUInt32LE(at) * 1_000 + capture.readUInt32LE(at + 4) / 1_000
    const end = at + packetHeaderBytes + bytes
    const frame = capture.subarray(at + packetHeaderBytes, end)
    at = end
    // The last packet of a running capture can be incomplete.
    if (end > capture.length) break
    const packet = parsePacket(frame)
    if (packet !== undefined) packets.push({ atMs, ...packet })
  }
  return packets
}

function parsePacket(frame: Buffer): Omit<CapturedPacket, 'atMs'> | undefined {
  if (frame.length < ethernetBytes + 20) return undefined
  if (frame.readUInt16BE(12) === profinet) return parseFrame(frame)
  if (frame.readUInt16BE(12) !== ipv4) return undefined
  const ip = frame.subarray(ethernetBytes)
  const headerBytes = (ip.readUInt8(0) & 0x0f) * 4
  const [from, to] = [ip.subarray(12, 16).join('.'), ip.subarray(16, 20).join('.')]
  const totalBytes = ip.readUInt16BE(2)
  const body = ip.subarray(headerBytes, totalBytes)
  const transport = transports[ip.readUInt8(9)] ?? 'other'
  const ends = { from, to, transport, sourcePort: 0, port: 0, flags: 0, sequence: 0 }
  const content = (bytes: number) => ({
    payload: body.subarray(bytes),
    payloadBytes: totalBytes - headerBytes - bytes,
  })
  if (transport !== 'tcp' && transport !== 'udp') return { ...ends, ...content(0) }
  if (body.length < (transport === 'tcp' ? 20 : 8)) return undefined
  const ports = { sourcePort: body.readUInt16BE(0), port: body.readUInt16BE(2) }
  if (transport === 'udp') return { ...ends, ...ports, ...content(8) }
  const tcp = { flags: body.readUInt8(13), sequence: body.readUInt32BE(4) }
  return { ...ends, ...ports, ...tcp, ...content((body.readUInt8(12) >> 4) * 4) }
}

function parseFrame(frame: Buffer): Omit<CapturedPacket, 'atMs'> {
  const macAt = (at: number) =>
    [...frame.subarray(at, at + 6)].map((byte) => byte.toString(16).padStart(2, '0')).join(':')
  const payload = frame.subarray(ethernetBytes)
  const ends = { from: macAt(6), to: macAt(0), transport: 'ethernet' as const }
  return { ...ends, sourcePort: 0, port: 0, flags: 0, sequence: 0, payload, payloadBytes: payload.length }
}

/** Returns whether the packet opens a TCP connection. */
export function isConnection({ transport, flags: bits }: CapturedPacket): boolean {
  return transport === 'tcp' && (bits & (flags.syn | flags.ack)) === flags.syn
}

/** Returns whether the packet is an ICMP echo request. */
export function isEchoRequest({ transport, payload }: CapturedPacket): boolean {
  return transport === 'icmp' && payload[0] === echoRequest
}

/** Returns the packets of one sender, in their order. */
export function sentPackets(capture: Buffer, from: string): SentPacket[] {
  const repeated = new Set<string>()
  return capturedPackets(capture).flatMap((packet) => {
    const { atMs, to, sourcePort, port, sequence } = packet
    const kind = packet.from === from ? kindOf(packet) : undefined
    if (kind === undefined) return []
    const key = `${kind} ${to} ${sourcePort} ${port} ${sequence}`
    if (kind !== 'datagram' && repeated.has(key)) return []
    repeated.add(key)
    return [{ atMs, to, kind }]
  })
}

function kindOf(packet: CapturedPacket): SentPacket['kind'] | undefined {
  if (packet.transport === 'udp' || packet.transport === 'ethernet' || isEchoRequest(packet)) return 'datagram'
  if (packet.transport !== 'tcp') return undefined
  if (isConnection(packet)) return 'connection'
  return packet.payloadBytes > 0 ? 'request' : undefined
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
