import { connect, type Socket } from 'node:net'
import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import { normalAddress, type Target } from './target-rules.ts'

/** The time limit of a connection to a device, and the silence after which the system checks the connection. */
const connectMs = 10_000
const keepAliveMs = 30_000

/** Returns why a target is refused, or undefined. */
export type TargetCheck = (target: Target) => string | undefined

type DeviceConnectionOptions = {
  check: TargetCheck
  signal: AbortSignal
  /** Whether the device can send after the end of the other direction, and the reverse. */
  allowHalfOpen: boolean
}

/**
 * Connects to a device. The address that the socket really has is checked again. Throws a `StreamRefusal` if the rules
 * refuse the target or the device cannot be reached.
 */
export async function connectToDevice(target: Target, options: DeviceConnectionOptions): Promise<Socket> {
  const { check, signal, allowHalfOpen } = options
  requireAllowed(check, target)
  const host = normalAddress(target.address)
  if (host === undefined)
    throw new StreamRefusal({ code: 'target_not_allowed', detail: 'The target is not an address.' })
  const socket = connect({ host, port: target.port, allowHalfOpen, noDelay: true })
  try {
    await connected(socket, signal)
    requireAllowed(check, { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 })
  } catch (error) {
    socket.destroy()
    if (error instanceof StreamRefusal) throw error
    throw unreachable(`The gateway cannot connect to ${host}, port ${target.port}: ${reasonOf(error)}.`)
  }
  socket.setKeepAlive(true, keepAliveMs)
  return socket
}

export function unreachable(detail: string): StreamRefusal {
  return new StreamRefusal({ code: 'device_unreachable', detail })
}

function requireAllowed(check: TargetCheck, target: Target): void {
  const detail = check(target)
  if (detail !== undefined) throw new StreamRefusal({ code: 'target_not_allowed', detail })
}

function connected(socket: Socket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      socket.off('connect', onConnect)
      socket.off('error', settle)
      // A second error of the same connection has no receiver.
      socket.on('error', () => {})
      if (error === undefined) resolve()
      else reject(error)
    }
    const onAbort = () => settle(new Error('the request was canceled'))
    const onConnect = () => settle()
    const timer = setTimeout(() => settle(new Error(`no answer within ${connectMs / 1_000} seconds`)), connectMs)
    socket.on('connect', onConnect)
    socket.on('error', settle)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
  })
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the device refuses connections to this port',
  EHOSTUNREACH: 'the address is not reachable',
  ENETUNREACH: 'the network is not reachable',
  ETIMEDOUT: 'the device does not answer',
  ECONNRESET: 'the device ended the connection',
  EPIPE: 'the device ended the connection',
  EMFILE: 'the gateway has too many open connections',
}

/** Returns the reason of a socket error as part of a sentence. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return reasons[code ?? ''] ?? message
}
