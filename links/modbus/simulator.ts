import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { parseArgs } from 'node:util'

/*
 * A Modbus/TCP device for tests and demonstrations. It has its own encoder: it shares no code with the link, so that an
 * error of the link's encoder is noticed. As a process:
 *
 *     node links/modbus/simulator.ts --host 127.0.0.1 --port 5020 --file identity.json
 */

/** `SimulatedUnit` describes how a unit answers. */
export type SimulatedUnit = {
  /** The objects of the identification by number, such as `{ "0": "Acme" }`. A value is text, or bytes in hexadecimal after `hex:`. */
  objects?: Record<string, string>
  /** The conformity level. By default, the level that fits the objects. */
  conformity?: number
  /** The answer to every request: an exception code, no answer, or the end of the connection. */
  answer?: number | 'silent' | 'close'
  /** The server id, which the device reports with function 0x11. */
  serverId?: string
}

export type SimulatedDevice = {
  units: Record<string, SimulatedUnit>
  /** How unit ids that are not in `units` answer. By default, the device closes nothing and does not answer. */
  others?: SimulatedUnit
  /** The maximum number of bytes of an answer after the header. Longer lists of objects continue in a further answer. */
  answerBytes?: number
  /** The size of the pieces in which answers are written. */
  pieceBytes?: number
}

export type RecordedRequest = { at: Date; unit: number; functionCode: number; bytes: string }

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
    serve(
      socket,
      (unit, request) => {
        requests.push({
          at: new Date(),
          unit,
          functionCode: request[0] ?? -1,
          bytes: Buffer.from(request).toString('hex'),
        })
        return answerOf(device, { unit, request })
      },
      device.pieceBytes,
    )
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

type Reply = number[] | 'silent' | 'close'

/** Reads requests byte by byte, and answers them in their order. */
function serve(socket: Socket, reply: (unit: number, request: number[]) => Reply, pieceBytes = 1_000): void {
  let queue: number[] = []
  socket.on('data', (bytes) => {
    queue.push(...bytes)
    for (;;) {
      const [high = 0, low = 0] = queue.slice(4, 6)
      const end = 6 + high * 256 + low
      if (queue.length < 8 || queue.length < end) return
      const [first = 0, second = 0, , , , , unit = 0, ...request] = queue.slice(0, end)
      queue = queue.slice(end)
      const answer = reply(unit, request)
      if (answer === 'close') return void socket.end()
      if (answer === 'silent') continue
      const length = answer.length + 1
      const frame = [first, second, 0, 0, length >> 8, length & 255, unit, ...answer]
      for (let at = 0; at < frame.length; at += pieceBytes)
        socket.write(Uint8Array.from(frame.slice(at, at + pieceBytes)))
    }
  })
}

function answerOf(device: SimulatedDevice, { unit, request }: { unit: number; request: number[] }): Reply {
  const state = device.units[unit] ?? device.others ?? { answer: 'silent' }
  const [code = 0, interfaceType, category = 1, first = 0] = request
  const exception = (number: number) => [code + 128, number]
  if (typeof state.answer === 'number') return exception(state.answer)
  if (state.answer !== undefined) return state.answer
  if (code === 17 && state.serverId !== undefined) {
    const bytes = bytesOf(state.serverId)
    return [17, bytes.length + 1, ...bytes, 255]
  }
  if (code !== 43 || interfaceType !== 14 || state.objects === undefined) return exception(1)
  if (category < 1 || category > 3) return exception(3)
  return identify(state, { category, first, most: device.answerBytes ?? 253 })
}

type ObjectRequest = { category: number; first: number; most: number }

function identify({ objects = {}, conformity }: SimulatedUnit, { category, first, most }: ObjectRequest): number[] {
  const numbers = Object.keys(objects).map(Number)
  const highest = Math.max(...numbers)
  const level = conformity ?? (highest > 127 ? 3 : highest > 2 ? 2 : 1)
  const last = [2, 127, 255][Math.min(category, level & 127) - 1] ?? 255
  const selected = numbers.filter((number) => number <= last).sort((one, other) => one - other)
  const rest = selected.includes(first) ? selected.slice(selected.indexOf(first)) : selected
  const encoded = rest.map((number) => {
    const bytes = bytesOf(objects[number] ?? '')
    return { number, bytes: [number, bytes.length, ...bytes] }
  })
  let size = 7
  const fitting = encoded.filter(({ bytes }) => {
    size += bytes.length
    return size <= most
  })
  const next = encoded[fitting.length]?.number
  const header = [43, 14, category, level, next === undefined ? 0 : 255, next ?? 0, fitting.length]
  return [...header, ...fitting.flatMap(({ bytes }) => bytes)]
}

function bytesOf(text: string): number[] {
  return text.startsWith('hex:') ? [...Buffer.from(text.slice(4), 'hex')] : [...text].map((c) => c.charCodeAt(0) & 255)
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: { host: { type: 'string' }, port: { type: 'string' }, file: { type: 'string' } },
  })
  const device: SimulatedDevice = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const { port } = await startSimulator(device, { host: values.host ?? '127.0.0.1', port: Number(values.port ?? 502) })
  process.stdout.write(`The simulated Modbus device listens on ${values.host ?? '127.0.0.1'}:${port}.\n`)
}

if (import.meta.main) await run()
