import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import {
  type Element,
  element,
  elementsOf,
  inside,
  integer,
  numberIn,
  octets,
  oid,
  oidIn,
  tag,
} from './simulator-ber.ts'
import { reports, SimulatedEngine, type SimulatedUser } from './simulator-security.ts'

/**
 * This file is an SNMP agent for tests and demonstrations. It speaks versions 1, 2c and 3 with its own encoder. It can
 * run as a process: `node links/snmp/simulator.ts --host 10.0.0.2 --port 161 --file values.json`.
 */

/** `SimulatorValue` is a value of the agent. `bytes` are hexadecimal digits. */
export type SimulatorValue =
  | { type: 'text' | 'bytes' | 'oid' | 'ip'; value: string }
  | { type: 'integer' | 'counter' | 'gauge' | 'ticks'; value: number }

/** `SimulatorValues` contains the values of an agent by OID. */
export type SimulatorValues = Readonly<Record<string, SimulatorValue>>

export type AgentRequest = {
  version: number
  pduType: number
  bytes: Buffer
  sender: { address: string; port: number }
}

export type AgentOptions = {
  host?: string
  /** The UDP port. 0 selects a free port. */
  port?: number
  /** The community of versions 1 and 2c. Without it, the agent does not answer to these versions. */
  community?: string
  /** The user of version 3. Without it, the agent does not answer to this version. */
  user?: SimulatedUser
  values: SimulatorValues
  /** The enterprise number in the engine id. */
  enterprise?: number
  /** Changes the answers, for tests with faulty agents. */
  answers?: (answer: Buffer, request: AgentRequest) => Buffer[]
}

export type RunningAgent = AsyncDisposable & { host: string; port: number; requests: AgentRequest[] }

export const pduTypes = { get: 0xa0, getNext: 0xa1, response: 0xa2, getBulk: 0xa5, report: 0xa8 } as const

/** Starts an agent. Disposing the result stops it. */
export async function startSnmpAgent(options: AgentOptions): Promise<RunningAgent> {
  const { host = '127.0.0.1', port = 0 } = options
  const socket = createSocket('udp4')
  const agent = new Agent(options, socket)
  socket.on('message', (message, sender) => agent.onMessage(message, sender))
  socket.bind(port, host)
  await once(socket, 'listening')
  return {
    host,
    port: socket.address().port,
    requests: agent.requests,
    [Symbol.asyncDispose]: async () => {
      socket.close()
      await once(socket, 'close')
    },
  }
}

/** A row of the agent. `varbind` is its encoded name and value. */
type Row = { oid: string; parts: number[]; varbind: Buffer }
type Exchange = { pduType: number; answer: Buffer | undefined }
type Pdu = { type: number; id: Buffer; repetitions: number; oids: string[] }

/** The largest answer to GetBulk. It fits into one Ethernet frame. */
const mostAnswerBytes = 1_400

class Agent {
  readonly requests: AgentRequest[] = []
  readonly #options: AgentOptions
  readonly #socket: Socket
  readonly #rows: Row[]
  readonly #engine: SimulatedEngine | undefined

  constructor(options: AgentOptions, socket: Socket) {
    this.#options = options
    this.#socket = socket
    this.#rows = Object.entries(options.values)
      .map(([key, value]) => ({ oid: key, parts: key.split('.').map(Number), varbind: varbindOf(key, encoded(value)) }))
      .toSorted((one, other) => comparedParts(one.parts, other.parts))
    const enterprise = (0x8000_0000 + (options.enterprise ?? 0)).toString(16)
    const engineId = Buffer.from(`${enterprise}0300163e000001`, 'hex')
    this.#engine = options.user && new SimulatedEngine(options.user, engineId)
  }

  onMessage(bytes: Buffer, sender: RemoteInfo): void {
    // Checking the signature of version 3 changes the message, so the request is a copy.
    const request = { version: -1, pduType: -1, bytes: Buffer.from(bytes), sender }
    this.requests.push(request)
    try {
      request.version = numberIn(inside(elementsOf(bytes)[0], tag.sequence)[0])
      const { pduType, answer } = request.version === 3 ? this.#onSecure(bytes) : this.#onCommunity(bytes)
      request.pduType = pduType
      if (answer === undefined) return
      for (const one of this.#options.answers?.(answer, request) ?? [answer]) {
        this.#socket.send(one, sender.port, sender.address)
      }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
    }
  }

  #onCommunity(bytes: Buffer): Exchange {
    const [versionNumber, community, pduElement] = inside(elementsOf(bytes)[0], tag.sequence)
    const version = numberIn(versionNumber)
    const pdu = pduOf(pduElement)
    const { community: own } = this.#options
    const isAllowed = own !== undefined && community?.content.toString() === own
    const answer = isAllowed ? this.#answer(pdu, version) : undefined
    return { pduType: pdu.type, answer: answer && element(tag.sequence, integer(version), octets(own ?? ''), answer) }
  }

  #onSecure(bytes: Buffer): Exchange {
    const engine = this.#engine
    if (engine === undefined) return { pduType: plainPduType(bytes), answer: undefined }
    const message = engine.read(bytes)
    if (message.report !== undefined) {
      const varbind = element(tag.sequence, oid(reports[message.report]), integer(1, tag.counter))
      const pdu = element(pduTypes.report, integer(0), integer(0), integer(0), element(tag.sequence, varbind))
      const answer = engine.write(message.messageId, pdu, { isSecure: false })
      return { pduType: plainPduType(bytes), answer: message.isReportable ? answer : undefined }
    }
    const pdu = pduOf(message.scoped[2])
    const answer = this.#answer(pdu, 3)
    const isSecure = true
    return { pduType: pdu.type, answer: answer && engine.write(message.messageId, answer, { isSecure }) }
  }

  #answer(pdu: Pdu, version: number): Buffer | undefined {
    if (pdu.type === pduTypes.get) return this.#answerGet(pdu, version)
    if (pdu.type === pduTypes.getNext) return this.#answerNext(pdu, version)
    if (pdu.type === pduTypes.getBulk && version > 0) return this.#answerBulk(pdu)
    return undefined
  }

  #answerGet(pdu: Pdu, version: number): Buffer {
    const found = pdu.oids.map((one) => this.#rows.find(({ oid: key }) => key === one))
    const missing = found.indexOf(undefined)
    if (version === 0 && missing >= 0) return noSuchName(pdu, missing)
    return response(
      pdu,
      pdu.oids.map((one, position) => found[position]?.varbind ?? varbindOf(one, element(tag.noSuchObject))),
    )
  }

  #answerNext(pdu: Pdu, version: number): Buffer {
    const found = pdu.oids.map((one) => this.#after(one))
    const missing = found.indexOf(undefined)
    if (version === 0 && missing >= 0) return noSuchName(pdu, missing)
    return response(
      pdu,
      found.map((row, position) => nextVarbind(row, pdu.oids[position] ?? '')),
    )
  }

  #answerBulk(pdu: Pdu): Buffer {
    const varbinds: Buffer[] = []
    let bytes = 0
    let last = pdu.oids
    for (let repetition = 0; repetition < pdu.repetitions; repetition += 1) {
      const rows = last.map((one) => this.#after(one))
      for (const [position, row] of rows.entries()) {
        const varbind = nextVarbind(row, last[position] ?? '')
        bytes += varbind.length
        if (bytes > mostAnswerBytes && varbinds.length >= pdu.oids.length) return response(pdu, varbinds)
        varbinds.push(varbind)
      }
      last = rows.map((row, position) => row?.oid ?? last[position] ?? '')
      if (rows.every((row) => row === undefined)) break
    }
    return response(pdu, varbinds)
  }

  /** Returns the first row after an OID, by binary search. */
  #after(text: string): Row | undefined {
    const parts = text.split('.').map(Number)
    let [from, to] = [0, this.#rows.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if (comparedParts(this.#rows[middle]?.parts ?? [], parts) <= 0) from = middle + 1
      else to = middle
    }
    return this.#rows[from]
  }
}

function plainPduType(request: Buffer): number {
  const [, , , scoped] = inside(elementsOf(request)[0], tag.sequence)
  return scoped?.tag === tag.sequence ? (inside(scoped, tag.sequence)[2]?.tag ?? -1) : -1
}

function pduOf(pdu: Element | undefined): Pdu {
  const [id, , repetitions, varbinds] = elementsOf(pdu?.content ?? Buffer.alloc(0))
  const oids = inside(varbinds, tag.sequence).map((one) => oidIn(inside(one, tag.sequence)[0]))
  return { type: pdu?.tag ?? -1, id: integer(numberIn(id)), repetitions: numberIn(repetitions), oids }
}

function response({ id }: Pdu, varbinds: readonly Buffer[]): Buffer {
  return element(pduTypes.response, id, integer(0), integer(0), element(tag.sequence, ...varbinds))
}

function noSuchName({ id, oids }: Pdu, position: number): Buffer {
  const varbinds = oids.map((one) => varbindOf(one, element(tag.null)))
  return element(pduTypes.response, id, integer(2), integer(position + 1), element(tag.sequence, ...varbinds))
}

function nextVarbind(row: Row | undefined, asked: string): Buffer {
  return row?.varbind ?? varbindOf(asked, element(tag.endOfMibView))
}

function varbindOf(name: string, value: Buffer): Buffer {
  return element(tag.sequence, oid(name), value)
}

function encoded({ type, value }: SimulatorValue): Buffer {
  switch (type) {
    case 'text':
      return octets(value)
    case 'bytes':
      return octets(Buffer.from(value, 'hex'))
    case 'oid':
      return oid(value)
    case 'ip':
      return element(tag.ip, Buffer.from(value.split('.').map(Number)))
    default:
      return integer(value, tag[type])
  }
}

function comparedParts(one: readonly number[], other: readonly number[]): number {
  for (let index = 0; index < Math.min(one.length, other.length); index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0)
    if (difference !== 0) return difference
  }
  return one.length - other.length
}

/** Runs an agent as a process. The file contains `{ community, user, enterprise, values }`. */
async function run(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '161' },
      file: { type: 'string' },
    },
  })
  if (values.file === undefined) throw new Error('The option --file is missing. It names a JSON file with the values.')
  const options: AgentOptions = JSON.parse(readFileSync(values.file, 'utf8'))
  const { host, port } = await startSnmpAgent({ ...options, host: values.host, port: Number(values.port) })
  process.stdout.write(`The SNMP agent listens on ${host}:${port}.\n`)
}

if (import.meta.main || process.argv[1] === import.meta.filename) await run()
