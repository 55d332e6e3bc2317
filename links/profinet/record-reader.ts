import { randomBytes } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { type Permits, takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer, timeLimit } from '@millwright/link-sdk/network/timer.ts'
import type { Station } from './dcp.ts'
import {
  decodeIdentification,
  decodePeers,
  decodeRecord,
  type Identification,
  identificationRecord,
  isAnswerTo,
  longestAnswer,
  portRecord,
  type RecordAddress,
  readRequest,
  recordPort,
} from './record.ts'

/** `Records` is what a device reports about itself and its cables. */
export type Records = {
  identification?: Identification
  /** The MAC addresses of the devices at its ports. */
  peers: string[]
}

export type ReadOptions = {
  address: string
  /** The UDP port. The default is the port of PROFINET. */
  port?: number
  timeoutMs: number
  /** The time for all requests to the device. */
  deviceSeconds: number
  permits: Permits
  signal: AbortSignal
}

/** The maximum number of ports of a device whose neighbours are read. The reading ends at the first port that does not exist. */
const mostPorts = 32
/** The maximum number of other datagrams of the device that are ignored, before it counts as silent. */
const mostOtherDatagrams = 64

/**
 * Reads the nameplate of a device, and the neighbours at its ports. Returns undefined if the device does not answer. A
 * request is not repeated. Throws a `RecordError` if the device gives an incorrect answer.
 */
export async function readRecords(
  station: Pick<Station, 'vendorId' | 'deviceId' | 'instance' | 'roles'>,
  options: ReadOptions,
): Promise<Records | undefined> {
  const { address, deviceSeconds, signal } = options
  const tooSlow = new LinkError(
    'OUT_OF_RANGE',
    `The records of ${address} could not be read within ${deviceSeconds} seconds. Set the option device_seconds, or exclude the address.`,
  )
  using limit = timeLimit({ ms: deviceSeconds * 1_000, canceled: signal, reason: () => tooSlow })
  limit.start()
  const limited = { ...options, signal: limit.signal, permits: limit.permits(options.permits) }
  await using reader = await RecordReader.open(station, limited)
  const nameplate = await reader.read(identificationRecord)
  if (nameplate === 'silent') return undefined
  const peers: string[] = []
  for (let port = 1; port <= mostPorts; port += 1) {
    const record = await reader.read(portRecord(port))
    if (record === 'silent' || record === undefined) break
    peers.push(...decodePeers(record))
  }
  return {
    ...(nameplate === undefined ? {} : { identification: decodeIdentification(nameplate) }),
    peers: [...new Set(peers)],
  }
}

type Pending = { isAnswer: (datagram: Buffer) => boolean; resolve: (answer: Buffer | 'silent') => void }

/** `RecordReader` sends one request at a time to one device. */
class RecordReader implements AsyncDisposable {
  readonly #socket: Socket
  readonly #options: ReadOptions
  readonly #target: Parameters<typeof readRequest>[0]['target']
  readonly #activity = randomBytes(16)
  #sequence = 0
  #otherDatagrams = 0
  #pending: Pending | undefined

  private constructor(socket: Socket, station: Parameters<typeof readRecords>[0], options: ReadOptions) {
    const { vendorId = 0, deviceId = 0, instance = 1, roles = [] } = station
    this.#socket = socket
    this.#options = options
    const isController = roles.includes('IO controller') && !roles.includes('IO device')
    this.#target = { vendorId, deviceId, instance, isController }
    socket.on('message', (datagram, { address }) => this.#onDatagram(datagram, address))
    // An ICMP error means the same as silence.
    socket.on('error', () => this.#pending?.resolve('silent'))
  }

  static async open(station: Parameters<typeof readRecords>[0], options: ReadOptions): Promise<RecordReader> {
    const socket = createSocket('udp4')
    const reader = new RecordReader(socket, station, options)
    const listening = once(socket, 'listening')
    socket.bind()
    await listening
    return reader
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#socket, 'close')
    this.#socket.close()
    await closed
  }

  /** Reads a record. Returns undefined if the device does not have it. */
  async read(record: RecordAddress): Promise<Buffer | undefined | 'silent'> {
    const { address, port = recordPort, timeoutMs, permits, signal } = this.#options
    const request = { address, protocol: 'profinet', operation: 'ReadImplicit', kind: 'datagram_request' } as const
    using _permit = await takePermit(permits, request, signal)
    const [activity, sequence] = [this.#activity, this.#sequence]
    this.#sequence += 1
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | 'silent'>()
    this.#pending = { isAnswer: (datagram) => isAnswerTo(datagram, { activity, sequence }), resolve }
    const cancel = () => reject(signal.reason)
    signal.addEventListener('abort', cancel, { once: true })
    using _timer = startTimer(timeoutMs, () => resolve('silent'))
    this.#socket.send(readRequest({ target: this.#target, activity, sequence, record }), port, address)
    try {
      const answer = await promise
      return answer === 'silent' ? answer : decodeRecord(answer, record)
    } finally {
      this.#pending = undefined
      signal.removeEventListener('abort', cancel)
    }
  }

  /** Devices answer from any port, so the address and the activity decide. */
  #onDatagram(datagram: Buffer, address: string): void {
    if (this.#pending === undefined || address !== this.#options.address) return
    if (this.#otherDatagrams > mostOtherDatagrams) return
    if (datagram.length <= longestAnswer && this.#pending.isAnswer(datagram)) this.#pending.resolve(datagram)
    else this.#otherDatagrams += 1
  }
}
