import { randomInt } from 'node:crypto'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Permits } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import { serviceTypesName } from './device.ts'
import { encodeQuery, parseAnswer } from './message.ts'

/** The group of multicast DNS. Routers do not forward it. */
export const mdnsGroup = '224.0.0.251'

/** The number of times that the query is sent, because devices can miss a datagram. The interval is that of RFC 6762. */
const attempts = 2
const intervalMs = 1_000
/** The time to live of RFC 6762, section 11. */
const timeToLive = 255

/** The limits of one query. Further answers are dropped. */
export const multicastLimits = { devices: 4_096, datagrams: 20_000 } as const

/**
 * `Responders` are the addresses that answered. The records of the answers are not used: every program in the segment can
 * send an answer with the address of another device.
 */
export type Responders = Set<string>

type MulticastOptions = {
  /** The address of the network interface to send from. */
  localAddress: string
  port: number
  timeoutMs: number
  permits: Permits
  signal: AbortSignal
  /** Returns whether the answers of an address are used. */
  accepts: (address: string) => boolean
}

/**
 * Queries the types of services of all devices of a segment. The socket has its own port and joins no group, so the
 * devices answer to this socket only (RFC 6762, section 6.7). Throws a `PermitRefusedError` if the budget does not allow
 * multicast.
 */
export async function findResponders(options: MulticastOptions): Promise<Responders> {
  const { localAddress, port, timeoutMs, permits, signal } = options
  const found: Responders = new Set()
  const id = randomInt(1, 0x1_0000)
  const query = encodeQuery(id, { name: serviceTypesName, type: 'PTR' }) ?? Buffer.alloc(0)
  const socket = createSocket('udp4')
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  socket.on('error', (error) => failed.reject(notSent(localAddress, error)))
  const collect = collector(found, { id, accepts: options.accepts })
  socket.on('message', (message, { address }) => collect(message, address))
  try {
    await Promise.race([bind(socket, localAddress), failed.promise])
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const request = { address: mdnsGroup, protocol: 'mdns', operation: 'Multicast PTR query' }
      using _permit = await permits.take({ ...request, kind: 'datagram_request' })
      signal.throwIfAborted()
      await Promise.race([sendTo(socket, query, port), failed.promise])
      await Promise.race([pause(attempt + 1 < attempts ? intervalMs : timeoutMs, signal), failed.promise])
    }
    return found
  } finally {
    socket.close()
  }
}

type CollectorOptions = { id: number; accepts: MulticastOptions['accepts'] }

/** Returns the function that stores the sender of an answer. Some devices answer with the id 0. */
function collector(found: Responders, { id, accepts }: CollectorOptions): (message: Buffer, address: string) => void {
  let datagrams = 0
  return (message, address) => {
    datagrams += 1
    if (datagrams > multicastLimits.datagrams || found.size >= multicastLimits.devices) return
    if (found.has(address) || !accepts(address)) return
    const answer = parseAnswer(message)
    if (answer?.id === id || answer?.id === 0) found.add(address)
  }
}

async function bind(socket: Socket, localAddress: string): Promise<void> {
  socket.bind({ address: localAddress, port: 0 })
  await once(socket, 'listening')
  socket.setMulticastInterface(localAddress)
  socket.setMulticastTTL(timeToLive)
  socket.setMulticastLoopback(true)
}

function sendTo(socket: Socket, message: Buffer, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(message, port, mdnsGroup, (error) => {
      if (error) reject(notSent(socket.address().address, error))
      else resolve()
    })
  })
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = () => reject(signal.reason)
  using _timer = startTimer(ms, resolve)
  signal.addEventListener('abort', abort, { once: true })
  await promise.finally(() => signal.removeEventListener('abort', abort))
}

function notSent(localAddress: string, error: Error): LinkError {
  const code = 'code' in error ? error.code : error.message
  return new LinkError(
    'UNAVAILABLE',
    `The multicast query could not be sent from ${localAddress} (${code}). Check the network interface, or switch off the option multicast.`,
  )
}
