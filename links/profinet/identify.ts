import { randomInt } from 'node:crypto'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { type Permits, takePermit } from '@millwright/link-sdk/network/permits.ts'
import {
  answerFrameId,
  DcpError,
  decodeAnswer,
  identifyFrame,
  identifyGroup,
  profinetType,
  type Station,
} from './dcp.ts'
import { decodeLldp, type LldpNeighbour, lldpGroup, lldpType } from './lldp.ts'
import { type Ethernet, type EthernetSocket, receiveFrames } from './raw-ethernet.ts'

/*
 * This file reads one network segment: it sends Identify frames and collects the answers, and it listens for LLDP frames.
 * The numbers of stations, faults and neighbours are limited, because a hostile device can answer with any number of MAC
 * addresses.
 */

/** The maximum number of stations of one segment. PROFINET networks have far fewer. */
export const mostStations = 4_096
/** The maximum number of devices with incorrect answers that are reported. */
const mostFaults = 64
/** The maximum number of LLDP neighbours of one interface. A cable has one, and a hub has some. */
const mostNeighbours = 64

/** `Access` is what a read of a segment needs: the frames, the permits, and the signal of the call. */
export type Access = { ethernet: Ethernet; permits: Permits; signal: AbortSignal }

export type IdentifyOptions = {
  interfaceName: string
  /** The number of frames. Each has its own permit. */
  requests: number
  spreadMs: number
  timeoutMs: number
  /** The name of the only station that answers. */
  stationName?: string | undefined
  /** Returns whether the answers contain what the caller needs, so that the rest of the time is not needed. */
  isEnough?: (station: Station) => boolean
  /** Called after each frame and the time for its answers, with the number of frames. */
  onRound?: (completed: number) => void
}

/** `Answers` are the answers of a segment. Each MAC address is in one of the lists at most once. */
export type Answers = {
  /** The MAC address of the interface. */
  ownMac: string
  stations: Station[]
  faults: DcpError[]
  /** Whether further stations answered, which are not in the list. */
  isCut: boolean
}

/** Sends Identify frames at an interface, and returns the answers. */
export async function identify(options: IdentifyOptions, { ethernet, permits, signal }: Access): Promise<Answers> {
  const { interfaceName, requests, spreadMs, timeoutMs, stationName, isEnough = () => false, onRound } = options
  using socket = await ethernet.open({ interfaceName, etherType: profinetType, frameId: answerFrameId })
  const ownMac = socket.macAddress
  const xid = randomInt(1, 2 ** 32)
  const collected = new AnswerCollection(ownMac, xid)
  const request = {
    address: identifyGroup,
    protocol: 'profinet',
    operation: 'DcpIdentify',
    kind: 'datagram_request',
  } as const
  let isFound = false
  for (let count = 0; count < requests && !isFound; count += 1) {
    using _permit = await takePermit(permits, request, signal)
    socket.send(identifyFrame({ source: ownMac, xid, spreadMs, stationName }))
    await receiveFrames({
      sockets: [socket],
      ms: spreadMs + timeoutMs,
      signal,
      onFrame: (frame) => {
        const station = collected.add(frame)
        isFound ||= station !== undefined && isEnough(station)
        return isFound
      },
    })
    onRound?.(count + 1)
  }
  return collected.answers()
}

/**
 * `AnswerCollection` stores the first correct answer of each station. Every device of the segment can answer with the MAC
 * address of another one. So a MAC address with answers for different devices is a fault, and none of the answers is used.
 */
class AnswerCollection {
  readonly #expected: { destination: string; xid: number }
  readonly #stations = new Map<string, Station>()
  readonly #faults = new Map<string, DcpError>()
  readonly #conflicts = new Map<string, DcpError>()
  #isCut = false

  constructor(destination: string, xid: number) {
    this.#expected = { destination, xid }
  }

  /** Adds an answer. Returns its station, or undefined for other frames and for incorrect answers. */
  add(frame: Buffer): Station | undefined {
    try {
      const station = decodeAnswer(frame, this.#expected)
      if (station === undefined) return undefined
      const first = this.#stations.get(station.macAddress)
      if (first === undefined) this.#store(station)
      else if (!isSameDevice(first, station)) this.#conflicts.set(station.macAddress, conflict(station))
      return station
    } catch (error) {
      if (!(error instanceof DcpError)) throw error
      if (this.#faults.size < mostFaults) this.#faults.set(error.macAddress, error)
      return undefined
    }
  }

  #store(station: Station): void {
    if (this.#stations.size < mostStations) this.#stations.set(station.macAddress, station)
    else this.#isCut = true
  }

  answers(): Answers {
    const faults = [...this.#faults.values()].filter(({ macAddress }) => !this.#stations.has(macAddress))
    const stations = [...this.#stations.values()].filter(({ macAddress }) => !this.#conflicts.has(macAddress))
    const ownMac = this.#expected.destination
    return { ownMac, stations, faults: [...faults, ...this.#conflicts.values()], isCut: this.#isCut }
  }
}

/** Compares the facts that do not change while a device answers to several frames. */
function isSameDevice(one: Station, other: Station): boolean {
  const keys = ['name', 'type', 'vendorId', 'deviceId', 'ipAddress'] as const
  return keys.every((key) => one[key] === other[key])
}

function conflict({ macAddress }: Station): DcpError {
  return new DcpError(
    macAddress,
    'its answers name different devices. Scan again. If the error stays, search the segment for a device with the same MAC address',
  )
}

/** `Cable` is an LLDP neighbour, and the MAC address of the network port at this end. */
export type Cable = { portMac: string; neighbour: LldpNeighbour }

/**
 * Listens for LLDP frames at an interface, or at the ports of a bridge. Sends nothing. A port that cannot be used, such as a
 * port that is down, has no neighbours.
 */
export async function listenForNeighbours(
  { interfaceName, ms }: { interfaceName: string; ms: number },
  { ethernet, signal }: Pick<Access, 'ethernet' | 'signal'>,
): Promise<Cable[]> {
  using open = new DisposableStack()
  const sockets: EthernetSocket[] = []
  for (const port of await ethernet.portsOf(interfaceName)) {
    const socket = await ethernet.open({ interfaceName: port, etherType: lldpType, group: lldpGroup }).catch(skipPort)
    if (socket !== undefined) sockets.push(withoutFailures(open.use(socket)))
  }
  const own = new Set(sockets.map(({ macAddress }) => macAddress))
  const cables = new Map<string, Cable>()
  await receiveFrames({
    sockets,
    ms,
    signal,
    onFrame: (frame, { macAddress }) => {
      const neighbour = decodeLldp(frame)
      if (neighbour === undefined || own.has(neighbour.sourceMac)) return false
      const key = `${macAddress} ${neighbour.sourceMac}`
      if (cables.size < mostNeighbours || cables.has(key)) cables.set(key, { portMac: macAddress, neighbour })
      return false
    },
  })
  return [...cables.values()]
}

function skipPort(error: unknown): undefined {
  if (!(error instanceof LinkError)) throw error
}

/** Returns the socket without the failures of its port. */
function withoutFailures(socket: EthernetSocket): EthernetSocket {
  let isFailed = false
  return {
    macAddress: socket.macAddress,
    send: (frame) => socket.send(frame),
    receive: () => {
      try {
        return isFailed ? undefined : socket.receive()
      } catch (error) {
        skipPort(error)
        isFailed = true
        return undefined
      }
    },
    [Symbol.dispose]: () => socket[Symbol.dispose](),
  }
}
