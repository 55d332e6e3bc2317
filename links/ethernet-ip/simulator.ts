import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'

/*
 * An EtherNet/IP device for tests and demonstrations. It has its own encoder: it shares no code with the link, so that an
 * error of the link's encoder is noticed. As a process:
 *
 *     node links/ethernet-ip/simulator.ts --host 127.0.0.1 --port 44818 --file device.json
 */

/** `SimulatedIdentity` describes an identity object. */
export type SimulatedIdentity = {
  vendor: number
  type: number
  product: number
  /** The revision, such as `33.11`. */
  revision: string
  serial: number
  name: string
  status?: number
  state?: number
  /** Whether the object refuses to send all attributes at once. */
  refusesAll?: boolean
}

export type SimulatedDevice = {
  identity: SimulatedIdentity
  /** Fields of the identity in answers to ListIdentity, if they differ from the identity object. */
  listed?: Partial<SimulatedIdentity>
  hostName?: string
  /** The MAC address, such as `00:1D:9C:01:02:03`. */
  mac?: string
  network?: { address: string; mask: string; router?: string; domain?: string }
  /** The modules by their slot. A slot that is `silent` gets no answer. */
  slots?: Record<string, SimulatedIdentity | 'silent'>
  /** What the device does with requests for slots without a module: it refuses them, or ignores the slot. */
  emptySlots?: 'refuse' | 'ignore' | 'no backplane'
  /** The transports that the device does not answer to. */
  without?: ('udp' | 'tcp')[]
  /** The number of requests over one connection after which the device closes it. */
  closesAfter?: number
  /** The number of CIP messages that are answered. Further ones get no answer. */
  answeredMessages?: number
  /** Whether sessions are refused. */
  refusesSessions?: boolean
  /** The size of the pieces in which answers over TCP are written. */
  pieceBytes?: number
}

/** `code` has the form of the table `sends` of the link. */
export type RecordedRequest = { at: Date; transport: 'udp' | 'tcp'; code: string; bytes: string }

export type RunningSimulator = AsyncDisposable & {
  port: number
  requests: RecordedRequest[]
  /** The number of connections since the start, and of those that are open. */
  connections: { total: number; open: number }
}

type Place = { host: string; port?: number }
type Answer = number[] | 'silent'

const sessionNumber = 0x1234_abcd

export async function startSimulator(device: SimulatedDevice, { host, port = 0 }: Place): Promise<RunningSimulator> {
  const requests: RecordedRequest[] = []
  const connections = { total: 0, open: 0 }
  const sockets = new Set<Socket>()
  const record = (transport: 'udp' | 'tcp', request: number[]) =>
    void requests.push({
      at: new Date(),
      transport,
      code: codeOf(request),
      bytes: Buffer.from(request).toString('hex'),
    })
  const server = createServer({ noDelay: true }, (socket) => {
    connections.total += 1
    connections.open += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      connections.open -= 1
      sockets.delete(socket)
    })
    serve(socket, device, { bound: { host, port: bound }, record: (request) => record('tcp', request) })
  })
  const bound = await listen(server, { host, port })
  // A device without TCP has a port that refuses connections.
  if (device.without?.includes('tcp')) server.close()
  const datagrams = createSocket('udp4')
  datagrams.on('message', (message, { address, port: sender }) => {
    record('udp', [...message])
    if (device.without?.includes('udp') || number(message, 0, 2) !== 0x63) return
    datagrams.send(Uint8Array.from(frame(message, identityItem(device, { host, port: bound }))), sender, address)
  })
  datagrams.bind(bound, host)
  await once(datagrams, 'listening')
  return {
    port: bound,
    requests,
    connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      datagrams.close()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

async function listen(server: ReturnType<typeof createServer>, { host, port }: Required<Place>): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}

type Serving = { bound: Required<Place>; record: (request: number[]) => void }

/** Reads requests byte by byte, and answers them in their order. */
function serve(socket: Socket, device: SimulatedDevice, { bound, record }: Serving): void {
  const { pieceBytes = 10_000, closesAfter = Number.POSITIVE_INFINITY } = device
  let queue: number[] = []
  let count = 0
  let messages = 0
  socket.on('data', (bytes) => {
    queue.push(...bytes)
    for (;;) {
      const end = 24 + number(queue, 2, 2)
      if (queue.length < 24 || queue.length < end) return
      const request = queue.slice(0, end)
      queue = queue.slice(end)
      record(request)
      count += 1
      if (count > closesAfter) return void socket.end()
      if (number(request, 0, 2) === 0x6f) messages += 1
      const isAnswered = messages <= (device.answeredMessages ?? Number.POSITIVE_INFINITY)
      const answer = isAnswered ? answerOf(device, request, bound) : 'silent'
      if (answer === 'silent') continue
      for (let at = 0; at < answer.length; at += pieceBytes)
        socket.write(Uint8Array.from(answer.slice(at, at + pieceBytes)))
    }
  })
}

function answerOf(device: SimulatedDevice, request: number[], bound: Required<Place>): Answer {
  const command = number(request, 0, 2)
  if (command === 0x63) return frame(request, identityItem(device, bound))
  if (command === 0x65) {
    if (device.refusesSessions) return frame(request, [], { status: 2 })
    return frame(request, request.slice(24, 28), { session: sessionNumber })
  }
  if (command !== 0x6f) return frame(request, [], { status: 1 })
  if (number(request, 4, 4) !== sessionNumber) return frame(request, [], { status: 0x64 })
  const message = messageOf(request)
  const reply = message[0] === 0x52 ? forwarded(device, message) : attributeOf(device, message)
  if (reply === 'silent') return reply
  const item = [0xb2, 0, ...little(reply.length, 2), ...reply]
  return frame(request, [0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, ...item], { session: sessionNumber })
}

/** Returns the CIP message in the second item of SendRRData. */
function messageOf(request: ArrayLike<number>): number[] {
  return Array.from(request).slice(24 + 16)
}

function forwarded(device: SimulatedDevice, message: number[]): Answer {
  const length = number(message, 8, 2)
  const embedded = message.slice(10, 10 + length)
  const route = message.slice(10 + length + (length % 2))
  const [words, , port, slot = 0] = route
  const refusal = (extended: number) => [0xd2, 0, 1, 1, ...little(extended, 2), 1]
  if (words !== 1 || port !== 1 || device.emptySlots === 'no backplane') return refusal(0x0311)
  const module = device.slots?.[slot]
  if (module === 'silent') return 'silent'
  if (module !== undefined) return attributeOf({ identity: module }, embedded)
  return device.emptySlots === 'ignore' ? attributeOf(device, embedded) : refusal(0x0312)
}

/** Answers to Get_Attributes_All and Get_Attribute_Single. */
function attributeOf(device: SimulatedDevice, message: number[]): number[] {
  const [service = 0, words = 0, classSegment, classId, instanceSegment, instance, attributeSegment, attribute] =
    message
  const refusal = (status: number) => [service | 0x80, 0, status, 0]
  if (classSegment !== 0x20 || instanceSegment !== 0x24 || instance !== 1) return refusal(5)
  const attributes = attributesOf(device, classId ?? 0)
  if (attributes === undefined) return refusal(5)
  if (service === 1 && words === 2) {
    if (classId !== 1 || device.identity.refusesAll) return refusal(8)
    const all = Object.values(attributes).flat()
    return [0x81, 0, 0, 0, ...all]
  }
  if (service !== 0x0e || words !== 3 || attributeSegment !== 0x30) return refusal(8)
  const value = attributes[attribute ?? 0]
  return value === undefined ? refusal(0x14) : [0x8e, 0, 0, 0, ...value]
}

function attributesOf(device: SimulatedDevice, classId: number): Record<number, number[]> | undefined {
  if (classId === 1) return identityAttributes(device.identity)
  if (classId === 0xf5 && (device.network !== undefined || device.hostName !== undefined)) {
    const { address = '0.0.0.0', mask = '0.0.0.0', router = '0.0.0.0', domain = '' } = device.network ?? {}
    const addresses = [address, mask, router, '0.0.0.0', '0.0.0.0'].flatMap((one) => numbersOf(one).toReversed())
    return { 5: [...addresses, ...text(domain)], 6: text(device.hostName ?? '') }
  }
  if (classId === 0xf6 && device.mac !== undefined)
    return { 3: device.mac.split(':').map((part) => Number.parseInt(part, 16)) }
  return undefined
}

function identityAttributes(identity: SimulatedIdentity): Record<number, number[]> {
  const { vendor, type, product, revision, serial, name, status = 0x30 } = identity
  return {
    1: little(vendor, 2),
    2: little(type, 2),
    3: little(product, 2),
    4: numbersOf(revision),
    5: little(status, 2),
    6: little(serial, 4),
    7: [name.length, ...letters(name)],
  }
}

function identityItem(device: SimulatedDevice, { host, port }: Required<Place>): number[] {
  const identity = { ...device.identity, ...device.listed }
  const socketAddress = [0, 2, port >> 8, port & 255, ...numbersOf(device.network?.address ?? host), ...little(0, 8)]
  const attributes = Object.values(identityAttributes(identity)).flat()
  const item = [1, 0, ...socketAddress, ...attributes, identity.state ?? 3]
  return [1, 0, 0x0c, 0, ...little(item.length, 2), ...item]
}

type FrameFields = { session?: number; status?: number }

/** Returns a frame with the command and the sender context of the request. */
function frame(request: ArrayLike<number>, content: number[], { session = 0, status = 0 }: FrameFields = {}): number[] {
  const [first = 0, second = 0, ...rest] = Array.from(request)
  const context = rest.slice(10, 18)
  const length = little(content.length, 2)
  return [first, second, ...length, ...little(session, 4), ...little(status, 4), ...context, 0, 0, 0, 0, ...content]
}

/** Returns the code of a request: the command, and the services of a CIP message. */
function codeOf(request: number[]): string {
  const command = hex(number(request, 0, 2), 4)
  const message = messageOf(request)
  if (command !== '0x006F') return command
  const codes = message[0] === 0x52 ? [0x52, message[10] ?? 0] : [message[0] ?? 0]
  return [command, ...codes.map((code) => hex(code, 2))].join('/')
}

function hex(value: number, digits: number): string {
  return `0x${value.toString(16).toUpperCase().padStart(digits, '0')}`
}

function number(bytes: ArrayLike<number>, at: number, count: number): number {
  return Array.from({ length: count }, (_, index) => (bytes[at + index] ?? 0) * 256 ** index).reduce((a, b) => a + b, 0)
}

function little(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => Math.floor(value / 256 ** index) % 256)
}

function numbersOf(dotted: string): number[] {
  return dotted.split('.').map(Number)
}

function letters(value: string): number[] {
  return [...value].map((letter) => letter.charCodeAt(0) & 255)
}

function text(value: string): number[] {
  return [...little(value.length, 2), ...letters(value), ...(value.length % 2 === 1 ? [0] : [])]
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: { host: { type: 'string' }, port: { type: 'string' }, file: { type: 'string' } },
  })
  const device: SimulatedDevice = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const host = values.host ?? '127.0.0.1'
  const { port } = await startSimulator(device, { host, port: Number(values.port ?? 44_818) })
  process.stdout.write(`The simulated EtherNet/IP device listens on ${host}:${port}.\n`)
}

if (import.meta.main) await run()
