import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'

/*
 * An S7 controller for tests and demonstrations. It has its own encoder: it shares no code with the link, so that an error of
 * the link's encoder is noticed. As a process:
 *
 *     node links/s7/simulator.ts --host 127.0.0.1 --port 1102 --file controller.json
 */

/** `SimulatedModule` describes how the module in a slot answers. */
export type SimulatedModule = {
  /** The order number, such as `6ES7 315-2EH14-0AB0`. */
  orderNumber?: string
  /** The release of the hardware, such as 4. */
  hardware?: number
  /** The version of the firmware, such as `V3.2.6`. */
  firmware?: string
  /** The records of list 0x001C by number, such as `{ "5": "S C-X4U421302009" }`. A value is text, or bytes in hexadecimal after `hex:`. */
  components?: Record<string, string>
  /** The number of the operating mode. 8 is RUN, which is the default. */
  mode?: number
  /** Lists that the module refuses, or does not answer, by id in hexadecimal, such as `{ "001c": "silent" }`. */
  lists?: Record<string, 'refuse' | 'refuse data' | 'silent' | 'close'>
}

type Reaction = 'refuse' | 'silent' | 'close'

export type SimulatedDevice = {
  /** The modules by rack and slot, such as `0/2`. */
  modules: Record<string, SimulatedModule>
  /** How other slots react to a connection. By default, they refuse it. */
  others?: Reaction
  /** The maximum number of list bytes in an answer. Longer lists continue in a further answer. */
  partBytes?: number
  /** The maximum number of bytes in a COTP packet. Longer messages continue in a further packet. */
  packetBytes?: number
  /** The size of the pieces in which answers are written. */
  pieceBytes?: number
}

/** `RecordedRequest` is a request of the link: `connect`, `setup`, `list` or `next`, with the id of the list. */
export type RecordedRequest = { at: Date; slot: string; name: string; bytes: string }

export type RunningSimulator = AsyncDisposable & {
  port: number
  requests: RecordedRequest[]
  /** The number of connections since the start, and of those that are open. */
  connections: { total: number; open: number }
}

type Place = { host: string; port?: number }

export async function startSimulator(device: SimulatedDevice, { host, port = 0 }: Place): Promise<RunningSimulator> {
  const requests: RecordedRequest[] = []
  const connections = { total: 0, open: 0 }
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    connections.total += 1
    connections.open += 1
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      connections.open -= 1
      sockets.delete(socket)
    })
    serve(socket, new Session(device, requests), device.pieceBytes)
  })
  server.listen(port, host)
  await once(server, 'listening')
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    requests,
    connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The COTP packets of an answer without the TPKT header, or another reaction. */
type Reply = number[][] | 'silent' | 'close'

/** Reads requests byte by byte, and answers them in their order. */
function serve(socket: Socket, session: Session, pieceBytes = 1_000): void {
  let queue: number[] = []
  socket.on('data', (bytes) => {
    queue.push(...bytes)
    for (;;) {
      const [, , high = 0, low = 0] = queue
      const end = high * 256 + low
      if (queue.length < 4 || queue.length < end || end < 7) return
      const request = queue.slice(4, end)
      queue = queue.slice(end)
      const reply = session.replyTo(request)
      if (reply === 'close') return void socket.end()
      if (reply === 'silent') continue
      const answer = reply.flatMap((packet) => [3, 0, ...two(packet.length + 4), ...packet])
      for (let at = 0; at < answer.length; at += pieceBytes)
        socket.write(Uint8Array.from(answer.slice(at, at + pieceBytes)))
    }
  })
}

/** `Session` is one connection. It leads to one module. */
class Session {
  readonly #device: SimulatedDevice
  readonly #requests: RecordedRequest[]
  #slot = ''
  /** The rest of a list that is sent in several parts. */
  #rest: number[] = []

  constructor(device: SimulatedDevice, requests: RecordedRequest[]) {
    this.#device = device
    this.#requests = requests
  }

  replyTo(request: number[]): Reply {
    if (request[1] === 0xe0) return this.#connect(request)
    const message = request.slice(3)
    if (message[1] === 1 && message[10] === 0xf0) return this.#setUp(message)
    if (message[1] === 7 && message[15] === 0x44 && message[16] === 1) return this.#list(message)
    this.#record('unknown', request)
    return 'close'
  }

  #connect(request: number[]): Reply {
    const [, , , , high = 0, low = 0] = request
    let tsap = [0, 0]
    for (let at = 7; at < request.length; at += 2 + (request[at + 1] ?? 0))
      if (request[at] === 0xc2) tsap = request.slice(at + 2, at + 4)
    this.#slot = `${(tsap[1] ?? 0) >> 5}/${(tsap[1] ?? 0) & 31}`
    this.#record('connect', request)
    if (this.#device.modules[this.#slot] !== undefined)
      return [[17, 0xd0, high, low, 0, 9, 0, 0xc0, 1, 10, 0xc1, 2, 1, 0, 0xc2, 2, ...tsap]]
    const { others = 'refuse' } = this.#device
    return others === 'refuse' ? [[6, 0x80, high, low, 0, 0, 1]] : others
  }

  #setUp(message: number[]): Reply {
    this.#record('setup', message)
    const [first = 0, second = 0] = message.slice(4, 6)
    return this.#packets([0x32, 3, 0, 0, first, second, 0, 8, 0, 0, 0, 0, 0xf0, 0, 0, 1, 0, 1, 0, 240])
  }

  #list(message: number[]): Reply {
    const isNext = message[14] === 0x12
    const id = isNext ? '' : Buffer.from(message.slice(22, 24)).toString('hex')
    this.#record(isNext ? 'next' : `list ${id}`, message)
    const reference = message.slice(4, 6)
    const module = this.#device.modules[this.#slot] ?? {}
    if (!isNext) {
      const reaction = module.lists?.[id]
      const list = listOf(module, id)
      if (reaction === 'silent' || reaction === 'close') return reaction
      if (reaction === 'refuse data') return this.#listAnswer({ reference, code: [0, 0], data: [0x0a, 0, 0, 0] })
      if (reaction === 'refuse' || list === undefined)
        return this.#listAnswer({ reference, code: [0xd4, 0x01], data: [0x0a, 0, 0, 0] })
      this.#rest = list
    }
    const part = this.#rest.slice(0, this.#device.partBytes ?? 200)
    this.#rest = this.#rest.slice(part.length)
    const data = [0xff, 9, ...two(part.length), ...part]
    return this.#listAnswer({ reference, code: [0, 0], data })
  }

  #listAnswer({ reference, code, data }: { reference: number[]; code: number[]; data: number[] }): Reply {
    const more = this.#rest.length > 0 ? 1 : 0
    const parameters = [0, 1, 0x12, 8, 0x12, 0x84, 1, 1, more, more, ...code]
    return this.#packets([0x32, 7, 0, 0, ...reference, 0, 12, ...two(data.length), ...parameters, ...data])
  }

  #packets(message: number[]): number[][] {
    const bytes = this.#device.packetBytes ?? 1_000
    const starts = Array.from({ length: Math.ceil(message.length / bytes) }, (_, index) => index * bytes)
    return starts.map((at) => [2, 0xf0, at + bytes < message.length ? 0 : 0x80, ...message.slice(at, at + bytes)])
  }

  #record(name: string, request: number[]): void {
    this.#requests.push({ at: new Date(), slot: this.#slot, name, bytes: Buffer.from(request).toString('hex') })
  }
}

function listOf(module: SimulatedModule, id: string): number[] | undefined {
  if (id === '0011' && module.orderNumber !== undefined) {
    const order = text(module.orderNumber.padEnd(20), 20)
    const [, first = 0, second = 0, third = 0] = (module.firmware ?? '').split(/[^0-9]+/).map(Number)
    const hardware = [...order, 0, 0xc0, ...two(module.hardware ?? 0), 0, 1]
    const firmware = [...text(' '.repeat(20), 20), 0, 0xc0, 'V'.charCodeAt(0), first, second, third]
    const records = [[0, 1, ...hardware], [0, 6, ...hardware], ...(module.firmware ? [[0, 7, ...firmware]] : [])]
    return encoded(0x0011, records)
  }
  if (id === '001c' && module.components !== undefined) {
    const records = Object.entries(module.components).map(([number, value]) => [
      ...two(Number(number)),
      ...text(value, 32),
    ])
    return encoded(0x001c, records)
  }
  if (id === '0424') return encoded(0x0424, [[0x51, 0x44, 0xff, module.mode ?? 8, ...Array<number>(16).fill(0)]])
  return undefined
}

function encoded(id: number, records: number[][]): number[] {
  return [...two(id), 0, 0, ...two(records[0]?.length ?? 0), ...two(records.length), ...records.flat()]
}

function two(value: number): number[] {
  return [Math.floor(value / 256), value % 256]
}

function text(value: string, length: number): number[] {
  const bytes = value.startsWith('hex:')
    ? [...Buffer.from(value.slice(4), 'hex')]
    : [...value].map((character) => character.charCodeAt(0) & 255)
  return [...bytes, ...Array<number>(length).fill(0)].slice(0, length)
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: { host: { type: 'string' }, port: { type: 'string' }, file: { type: 'string' } },
  })
  const device: SimulatedDevice = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const { port } = await startSimulator(device, { host: values.host ?? '127.0.0.1', port: Number(values.port ?? 102) })
  process.stdout.write(`The simulated S7 controller listens on ${values.host ?? '127.0.0.1'}:${port}.\n`)
}

if (import.meta.main) await run()
