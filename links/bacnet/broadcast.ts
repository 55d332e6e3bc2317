import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { networkInterfaces } from 'node:os'
import { broadcastOf } from '@millwright/api/group-address.ts'
import { type IpRange, numberOfAddress } from '@millwright/api/ip-range.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { type Permits, takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { BacnetError } from './bacnet-error.ts'
import { type FoundDevice, mostStations } from './channel.ts'
import {
  decodeDatagram,
  encodeDeleteForeignDevice,
  encodeRegisterForeignDevice,
  encodeWhoIs,
  type IpPlace,
  type Received,
  stationName,
} from './codec.ts'
import type { ScanOptions } from './options.ts'

/*
 * This file sends Who-Is as a broadcast, and collects the answers for a time. It has two ways: a broadcast on the segments
 * of this machine, and a broadcast through a BBMD. For the second way, the link registers as a foreign device, so the BBMD
 * forwards broadcasts of its networks to the link. The entry is deleted after the answers have been collected. If the scan
 * is canceled before, the entry expires.
 */

export type BroadcastContext = {
  options: ScanOptions
  /** Returns whether the scan includes an IP address. Answers of other addresses are dropped. */
  isIncluded: (address: string) => boolean
  permits: Permits
  signal: AbortSignal
}

/** The limits of the answers to one broadcast. Further answers are dropped. */
const answerLimits = { devices: 20_000, datagrams: 200_000 } as const

/** The time for which a foreign device stays registered after the collection if its entry is not deleted. */
const reserveSeconds = 30
/** The number of times that the registration is sent. */
const registrationAttempts = 2

/**
 * `Answers` collects the devices that answered, by their IP address, port and station. Every program in the network can send
 * answers with the address of another device, so answers from ports that the scan does not include are dropped, and the
 * number of stations of one address is limited.
 */
export class Answers {
  readonly #devices = new Map<string, Map<number, Map<string, FoundDevice>>>()
  readonly #context: BroadcastContext
  #count = 0
  #datagrams = 0
  #isCut = false

  constructor(context: BroadcastContext) {
    this.#context = context
  }

  /** Returns an error if more answers arrived than the link accepts. */
  get problem(): LinkError | undefined {
    if (!this.#isCut) return undefined
    const { devices, datagrams } = answerLimits
    return new LinkError(
      'OUT_OF_RANGE',
      `The broadcast got more answers than the link accepts: ${devices} devices, ${mostStations} devices behind one router, and ${datagrams} datagrams. The other devices are left out. Limit the instances, or scan without the options broadcast and bbmd. Check the network for a device that sends many answers.`,
    )
  }

  /** Returns the devices at an IP address, by their port. The device with this IP address is before those behind it. */
  at(address: string): { port: number; devices: FoundDevice[] }[] {
    const ports = this.#devices.get(address) ?? new Map<number, Map<string, FoundDevice>>()
    return [...ports].map(([port, devices]) => ({
      port,
      devices: [...devices.values()].toSorted((one, other) => rankOf(one) - rankOf(other)),
    }))
  }

  /** Decodes a datagram, and adds the device that it announces. Returns undefined for a datagram without BACnet content. */
  receive(message: Buffer, sender: IpPlace): Received | undefined {
    this.#datagrams += 1
    if (this.#datagrams > answerLimits.datagrams) {
      this.#isCut = true
      return undefined
    }
    try {
      const received = decodeDatagram(message)
      this.#add(received, sender)
      return received
    } catch (error) {
      if (error instanceof BacnetError) return undefined
      throw error
    }
  }

  #add(received: Received, sender: IpPlace): void {
    if (received.type !== 'apdu' || received.apdu.type !== 'iAm') return
    const { iAm } = received.apdu
    const { source: station, origin = sender } = received
    const { options, isIncluded } = this.#context
    const isRequested = iAm.instance >= options.instances.low && iAm.instance <= options.instances.high
    if (!isRequested || !options.ports.includes(origin.port) || !isIncluded(origin.address)) return
    if (station !== undefined && !options.withRouters) return
    const ports = entry(this.#devices, origin.address, () => new Map<number, Map<string, FoundDevice>>())
    const devices = entry(ports, origin.port, () => new Map<string, FoundDevice>())
    const key = station === undefined ? '' : stationName(station)
    if (devices.has(key)) return
    if (this.#count >= answerLimits.devices || devices.size > mostStations) {
      this.#isCut = true
      return
    }
    this.#count += 1
    devices.set(key, { instance: iAm.instance, station, iAm })
  }
}

function rankOf({ station }: FoundDevice): number {
  return station === undefined ? 0 : 1
}

function entry<Key, Value>(map: Map<Key, Value>, key: Key, create: () => Value): Value {
  const value = map.get(key) ?? create()
  map.set(key, value)
  return value
}

/** `OwnNetwork` is a network of this machine that has a broadcast address. */
export type OwnNetwork = { broadcast: string; first: number; last: number }

/** Returns the networks of this machine that contain addresses of the ranges. `localAddress` selects one interface. */
export function ownNetworks(ranges: readonly IpRange[], localAddress: string | undefined): OwnNetwork[] {
  const networks = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.flatMap(({ family, address, netmask }) => {
      if (family !== 'IPv4' || (localAddress !== undefined && address !== localAddress)) return []
      const broadcast = broadcastOf(address, netmask)
      const last = numberOfAddress(broadcast ?? '')
      if (broadcast === undefined || last === undefined) return []
      return [{ broadcast, first: last - (2 ** 32 - 1 - (numberOfAddress(netmask) ?? 0)), last }]
    }),
  )
  const unique = new Map(networks.map((network) => [network.broadcast, network]))
  return [...unique.values()].filter(({ first, last }) => ranges.some(({ from, to }) => from <= last && to >= first))
}

/** Sends Who-Is to all devices of networks of this machine, and adds their answers. */
export async function broadcastWhoIs(networks: readonly OwnNetwork[], answers: Answers, context: BroadcastContext) {
  const { options } = context
  const message = encodeWhoIs({ instances: options.instances, isRouted: options.withRouters, delivery: 'broadcast' })
  await Promise.all(
    options.ports.map(async (port) => {
      using endpoint = await Endpoint.open(context, { port, isBroadcast: true })
      endpoint.onMessage = (datagram, sender) => void answers.receive(datagram, sender)
      for (const { broadcast } of networks) await endpoint.send(message, { address: broadcast, port }, 'BroadcastWhoIs')
      await endpoint.wait(options.collectMs)
    }),
  )
}

/** Registers at a BBMD, sends Who-Is through it, adds the answers, and deletes the registration. */
export async function whoIsThroughBbmd(bbmd: IpPlace, answers: Answers, context: BroadcastContext): Promise<void> {
  const { instances, withRouters, collectMs } = context.options
  using endpoint = await Endpoint.open(context, { port: 0, isBroadcast: false })
  let onResult: (code: number) => void = () => undefined
  endpoint.onMessage = (datagram, sender) => {
    const isBbmd = sender.address === bbmd.address && sender.port === bbmd.port
    const received = answers.receive(datagram, sender)
    if (isBbmd && received?.type === 'result') onResult(received.code)
  }
  const result = new Promise<number>((resolve) => {
    onResult = resolve
  })
  await register(bbmd, { endpoint, result, context })
  onResult = (code) => endpoint.fail(refusal(bbmd, code))
  const message = encodeWhoIs({ instances, isRouted: withRouters, delivery: 'bbmd' })
  const deleteRegistration = async () => {
    onResult = () => undefined
    const own = { address: await localAddressTo(bbmd, context.options.localAddress), port: endpoint.port }
    await endpoint.send(encodeDeleteForeignDevice(own), bbmd, 'DeleteForeignDevice')
  }
  try {
    await endpoint.send(message, bbmd, 'DistributeBroadcast')
    await endpoint.wait(collectMs)
  } catch (error) {
    // The first error is the reason. Without a permit for the deletion, for example after a cancellation, the registration expires.
    await deleteRegistration().catch(() => undefined)
    throw error
  }
  await deleteRegistration()
}

type Registration = { endpoint: Endpoint; result: Promise<number>; context: BroadcastContext }

async function register(bbmd: IpPlace, { endpoint, result, context }: Registration): Promise<void> {
  const { collectMs, timeoutMs } = context.options
  const message = encodeRegisterForeignDevice(Math.ceil(collectMs / 1_000) + reserveSeconds)
  for (let attempt = 0; attempt < registrationAttempts; attempt += 1) {
    await endpoint.send(message, bbmd, 'RegisterForeignDevice')
    const code = await Promise.race([result, endpoint.wait(timeoutMs)])
    if (code === 0) return
    if (code !== undefined) throw refusal(bbmd, code)
  }
  // Not UNAVAILABLE: the gateway would repeat the scan, and with it the registration.
  throw new LinkError(
    'FAILED_PRECONDITION',
    `The BBMD at ${bbmd.address} port ${bbmd.port} does not answer. Check the option bbmd.`,
  )
}

function refusal({ address, port }: IpPlace, code: number): LinkError {
  return new LinkError(
    'FAILED_PRECONDITION',
    `The device at ${address} port ${port} does not accept the link as a foreign device (BVLC result ${code}). Allow foreign devices in the settings of the BBMD, or check the option bbmd.`,
  )
}

type BroadcastOperation = 'BroadcastWhoIs' | 'RegisterForeignDevice' | 'DistributeBroadcast' | 'DeleteForeignDevice'

/** `Endpoint` is a socket that receives datagrams of all senders. It takes a permit before each datagram that it sends. */
class Endpoint implements Disposable {
  onMessage: (message: Buffer, sender: RemoteInfo) => void = () => undefined
  readonly #socket: Socket
  readonly #context: BroadcastContext
  readonly #failed = Promise.withResolvers<never>()

  private constructor(socket: Socket, context: BroadcastContext) {
    this.#socket = socket
    this.#context = context
    this.#failed.promise.catch(() => undefined)
    socket.on('message', (message, sender) => this.onMessage(message, sender))
    socket.on('error', (error) => this.fail(error))
    context.signal.addEventListener('abort', this.#abort, { once: true })
  }

  /**
   * Opens an endpoint. Devices answer to a broadcast with a broadcast to the port of BACnet, which only a socket without an
   * own address receives.
   */
  static async open(context: BroadcastContext, { port, isBroadcast }: { port: number; isBroadcast: boolean }) {
    context.signal.throwIfAborted()
    const socket = createSocket({ type: 'udp4', reuseAddr: isBroadcast })
    const address = isBroadcast ? '0.0.0.0' : (context.options.localAddress ?? '0.0.0.0')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    socket.once('error', reject)
    socket.bind({ port, address }, resolve)
    try {
      await promise
      socket.setBroadcast(isBroadcast)
    } catch (error) {
      socket.close()
      throw portInUse(port, error)
    }
    socket.off('error', reject)
    return new Endpoint(socket, context)
  }

  get port(): number {
    return this.#socket.address().port
  }

  [Symbol.dispose](): void {
    this.#context.signal.removeEventListener('abort', this.#abort)
    this.#socket.close()
  }

  async send(message: Buffer, { address, port }: IpPlace, operation: BroadcastOperation): Promise<void> {
    const { permits, signal } = this.#context
    const forwarded = operation === 'DistributeBroadcast'
    const request = { address, protocol: 'bacnet', operation, kind: 'datagram_request', forwarded } as const
    using _permit = await takePermit(permits, request, signal)
    const sent = new Promise<void>((resolve, reject) => {
      this.#socket.send(message, port, address, (error) => (error ? reject(notSent(address, error)) : resolve()))
    })
    await sent
  }

  /** Waits for a time. Ends earlier with an error when the endpoint fails or the scan is canceled. */
  async wait(ms: number): Promise<undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>()
    using _timer = startTimer(ms, () => resolve(undefined))
    return await Promise.race([promise, this.#failed.promise])
  }

  fail(error: unknown): void {
    this.#failed.reject(error)
  }

  readonly #abort = () => this.fail(this.#context.signal.reason)
}

function portInUse(port: number, error: unknown): LinkError {
  const reason = error instanceof Error ? error.message : String(error)
  return new LinkError(
    'FAILED_PRECONDITION',
    `The link cannot receive answers at UDP port ${port} of the gateway (${reason}). End other BACnet programs on this machine, or scan without the option broadcast.`,
    { cause: error },
  )
}

function notSent(address: string, error: Error): LinkError {
  return new LinkError('UNAVAILABLE', `A datagram to ${address} could not be sent: ${error.message}.`, { cause: error })
}

/** Returns the address of this machine from which it sends to a place. Nothing is sent for this. */
async function localAddressTo({ address, port }: IpPlace, localAddress: string | undefined): Promise<string> {
  if (localAddress !== undefined) return localAddress
  const socket = createSocket('udp4')
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.connect(port, address, (error?: Error) => (error ? reject(notSent(address, error)) : resolve()))
    })
    return socket.address().address
  } finally {
    socket.close()
  }
}
