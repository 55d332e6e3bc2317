import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'

/*
 * A device with multicast DNS for tests and demonstrations. It has its own encoder: it shares no code with the link, so that
 * an error of the link's parser is noticed. It answers to unicast queries, and with `group` also to multicast queries. As a
 * process:
 *
 *     node links/mdns/simulator.ts --host 127.0.0.1 --port 5353 --file device.json
 */

export type SimulatedService = {
  /** The type, such as `_ipp._tcp`. */
  type: string
  name: string
  port: number
  /** The strings of the TXT record. A string is text, or bytes in hexadecimal after `hex:`. */
  txt?: string[]
  /** The name of the host without `.local`. The default is the host of the device. */
  host?: string
}

export type SimulatedDevice = {
  hostName: string
  services: SimulatedService[]
  /** The addresses of hosts. The default is the address of the device for its own host. */
  addresses?: Record<string, string>
  /** How the device answers. The default is `additional`: PTR answers contain the other records of their services. */
  style?: 'additional' | 'separate'
  /** Queries that the device does not answer, such as `PTR _services._dns-sd._udp.local`. */
  silentFor?: string[]
  /** Whether answers have the id 0 and no question, as answers to multicast queries. */
  isWithoutId?: boolean
}

export type RecordedQuery = { at: Date; from: string; name: string; type: string }

export type RunningSimulator = AsyncDisposable & { port: number; queries: RecordedQuery[] }

type SimulatorOptions = {
  host: string
  port?: number
  /** The group to join. The socket then receives all datagrams to the port. */
  group?: string
  /** Changes an answer before it is sent. Each of the returned datagrams is sent. */
  answers?: (answer: Buffer, query: RecordedQuery) => Buffer[]
}

const typeNames = new Map([
  [1, 'A'],
  [12, 'PTR'],
  [16, 'TXT'],
  [33, 'SRV'],
])
const numberOf = (type: string) => [...typeNames].find(([, name]) => name === type)?.[0] ?? 255

export async function startSimulator(device: SimulatedDevice, options: SimulatorOptions): Promise<RunningSimulator> {
  const { host, port = 0, group, answers = (answer: Buffer) => [answer] } = options
  const queries: RecordedQuery[] = []
  const socket = createSocket({ type: 'udp4', reuseAddr: group !== undefined })
  const reply = (message: Buffer, from: RemoteInfo) => {
    const question = questionIn(message)
    if (question === undefined) return
    const query = { at: new Date(), from: from.address, name: question.name, type: question.type }
    queries.push(query)
    const records = recordsFor(device, { ...question, host })
    if (records === undefined) return
    const answer = messageOf(device.isWithoutId ? undefined : message.subarray(0, question.end), records)
    for (const one of answers(answer, query)) socket.send(one, from.port, from.address, () => undefined)
  }
  socket.on('message', reply)
  socket.bind(group === undefined ? { address: host, port } : { port })
  await once(socket, 'listening')
  if (group !== undefined) socket.addMembership(group, host)
  return {
    port: socket.address().port,
    queries,
    [Symbol.asyncDispose]: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}

type SimulatedRecord = { name: string[]; type: string; data: number[] }
type SimulatedQuery = { name: string; type: string; end: number }

/** Reads the question of a query. Dots within a label are shown as `\.`. */
function questionIn(message: Buffer): SimulatedQuery | undefined {
  if (message.length < 17 || (message[2] ?? 0) > 127) return undefined
  const labels: string[] = []
  let at = 12
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('utf8', at + 1, at + 1 + length).replaceAll('.', '\\.'))
    at += length + 1
  }
  const type = typeNames.get(message.readUInt16BE(at + 1)) ?? 'other'
  return { name: labels.join('.'), type, end: at + 5 }
}

/** Returns the records of an answer, or undefined if the device does not answer. The first list is the answer itself. */
function recordsFor(
  device: SimulatedDevice,
  { name, type, host }: { name: string; type: string; host: string },
): [answers: SimulatedRecord[], additional: SimulatedRecord[]] | undefined {
  if (device.silentFor?.includes(`${type} ${name}`)) return undefined
  const all = allRecords(device, host)
  const isAnswer = (record: SimulatedRecord) => record.type === type && textOf(record.name) === name.toLowerCase()
  const found = all.filter(isAnswer)
  if (found.length === 0) return undefined
  if (type !== 'PTR' || device.style === 'separate') return [found, []]
  const targets = found.map(({ data }) => data.join())
  const isOfTarget = (record: SimulatedRecord) =>
    targets.includes(nameBytes(record.name).join()) || (record.type === 'A' && name.startsWith('_') && !isMeta(name))
  return [found, all.filter((record) => record.type !== 'PTR' && isOfTarget(record))]
}

const isMeta = (name: string) => name.startsWith('_services.')

function allRecords({ hostName, services, addresses }: SimulatedDevice, host: string): SimulatedRecord[] {
  const types = [...new Set(services.map(({ type }) => type))]
  const local = (text: string) => [...text.split('.'), 'local']
  return [
    ...types.map((type) => pointer(['_services', '_dns-sd', '_udp', 'local'], local(type))),
    ...services.flatMap(({ type, name, port, txt = [], host: target = hostName }) => [
      pointer(local(type), [name, ...local(type)]),
      {
        name: [name, ...local(type)],
        type: 'SRV',
        data: [0, 0, 0, 0, port >> 8, port & 255, ...nameBytes(local(target))],
      },
      { name: [name, ...local(type)], type: 'TXT', data: txt.length === 0 ? [0] : txt.flatMap(stringBytes) },
    ]),
    ...Object.entries(addresses ?? { [hostName]: host }).map(([one, address]) => ({
      name: local(one),
      type: 'A',
      data: address.split('.').map(Number),
    })),
    pointer([...host.split('.').reverse(), 'in-addr', 'arpa'], local(hostName)),
  ]
}

function pointer(name: string[], target: string[]): SimulatedRecord {
  return { name, type: 'PTR', data: nameBytes(target) }
}

function textOf(name: string[]): string {
  return name
    .map((label) => label.replaceAll('.', '\\.'))
    .join('.')
    .toLowerCase()
}

/** Returns a message with the id and the question of the query. Equal names after the first are pointers. */
function messageOf(query: Buffer | undefined, [answers, additional]: [SimulatedRecord[], SimulatedRecord[]]): Buffer {
  const head = query === undefined ? [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] : [...query]
  head[2] = 132
  head[3] = 0
  head[7] = answers.length
  head[11] = additional.length
  const places = new Map<string, number>()
  for (const { name, type, data } of [...answers, ...additional]) {
    const place = places.get(name.join('.'))
    if (place === undefined) places.set(name.join('.'), head.length)
    const encoded = place === undefined ? nameBytes(name) : [192 + (place >> 8), place & 255]
    head.push(...encoded, 0, numberOf(type), 128, 1, 0, 0, 0, 10, data.length >> 8, data.length & 255, ...data)
  }
  return Buffer.from(head)
}

function nameBytes(name: string[]): number[] {
  return [...name.flatMap(stringBytes), 0]
}

function stringBytes(text: string): number[] {
  const bytes = text.startsWith('hex:') ? Buffer.from(text.slice(4), 'hex') : Buffer.from(text)
  return [bytes.length, ...bytes]
}

async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string' },
      port: { type: 'string' },
      file: { type: 'string' },
      group: { type: 'string' },
    },
  })
  const device: SimulatedDevice = JSON.parse(await readFile(values.file ?? '', 'utf8'))
  const { host = '127.0.0.1', group } = values
  const options = { host, port: Number(values.port ?? 5353), ...(group === undefined ? {} : { group }) }
  const { port } = await startSimulator(device, options)
  process.stdout.write(`The simulated mDNS device listens on ${host}:${port}.\n`)
}

if (import.meta.main) await run()
