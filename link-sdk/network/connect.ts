import { connect, type Socket } from 'node:net'
import { LinkError } from '../link-error.ts'
import { type Permit, type Permits, takePermit } from './permits.ts'
import { startTimer } from './timer.ts'

/*
 * This file opens TCP connections. The operating system repeats packets of a connection without a permit: the first packet
 * (SYN) after one second without an answer, and data and the end of a connection (FIN) until the device confirms them.
 * So one attempt to connect ends before that second, and each further attempt has its own permit. A connection that is
 * canceled, or whose device does not answer, is reset, after which the operating system sends nothing for it.
 */

/** The longest attempt to connect. Linux repeats the first packet after 1,000 ms. */
export const longestAttemptMs = 900

type AttemptOptions = {
  address: string
  port: number
  /** The local address to send from. */
  localAddress?: string | undefined
  timeoutMs: number
  signal: AbortSignal
}

/** The result of an attempt to connect: the socket, an error of the operating system, or silence. */
export type Attempt = Socket | NodeJS.ErrnoException | 'silent'

/**
 * Tries to connect once, with one packet to the device if the time is at most `longestAttemptMs`. A connection that was
 * accepted while this process paused is used. Throws the reason of the signal when it is aborted.
 */
export async function connectOnce({ timeoutMs, signal, ...options }: AttemptOptions): Promise<Attempt> {
  signal.throwIfAborted()
  const { address: host, port, localAddress } = options
  const socket = connect({ host, port, noDelay: true, ...(localAddress === undefined ? {} : { localAddress }) })
  const { promise, resolve } = Promise.withResolvers<Attempt>()
  const stop = () => resolve('silent')
  // The operating system does not pause with this process, so each pause counts.
  using _timer = startTimer(timeoutMs, stop, { slices: 1 })
  socket.once('connect', () => resolve(socket))
  // The listener stays, because the connection can fail before the caller uses the socket.
  socket.on('error', resolve)
  signal.addEventListener('abort', stop, { once: true })
  const attempt = await promise
  signal.removeEventListener('abort', stop)
  if (attempt !== socket) socket.destroy()
  else if (signal.aborted) resetConnection(socket)
  signal.throwIfAborted()
  return attempt
}

/** Ends a connection immediately. The operating system then sends nothing for it, also if the device does not answer. */
export function resetConnection(socket: Socket): void {
  if (socket.connecting) socket.destroy()
  else if (!socket.destroyed) socket.resetAndDestroy()
}

type ConnectionOptions = AttemptOptions & {
  permits: Permits
  /** The protocol and the operation of the permits. */
  protocol: string
  operation: string
}

/** The errors that mean the same as silence: there is no service at the port. */
const silence: readonly (string | undefined)[] = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EHOSTDOWN',
  'ETIMEDOUT',
]

/**
 * Opens a connection. If the device does not answer, the attempt is repeated with a new permit until the time has passed.
 * Returns undefined if there is no answer, or if the connection is refused. Throws other errors of the operating system,
 * and the reason of the signal. The permit ends with the socket. When the signal is aborted, the connection is reset.
 */
export async function openConnection(options: ConnectionOptions): Promise<Socket | undefined> {
  const { address, port, localAddress, timeoutMs, permits, protocol, operation, signal } = options
  for (let leftMs = timeoutMs; leftMs > 0; leftMs -= longestAttemptMs) {
    using unused = new DisposableStack()
    const permit = unused.use(await takePermit(permits, { address, protocol, operation, kind: 'connection' }, signal))
    const attemptMs = Math.min(leftMs, longestAttemptMs)
    const attempt = await connectOnce({ address, port, localAddress, timeoutMs: attemptMs, signal })
    if (attempt === 'silent') continue
    if (attempt instanceof Error) {
      if (silence.includes(attempt.code)) return undefined
      throw attempt
    }
    unused.move()
    endWith(attempt, { permit, signal })
    return attempt
  }
  return undefined
}

/** Opens a connection as `openConnection` does. Throws errors of the operating system as a `LinkError`. */
export async function connectToDevice(options: ConnectionOptions): Promise<Socket | undefined> {
  try {
    return await openConnection(options)
  } catch (error) {
    options.signal.throwIfAborted()
    if (error instanceof LinkError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new LinkError('UNAVAILABLE', `The connection could not be opened: ${reason}.`, { cause: error })
  }
}

function endWith(socket: Socket, { permit, signal }: { permit: Permit; signal: AbortSignal }): void {
  const reset = () => resetConnection(socket)
  signal.addEventListener('abort', reset, { once: true })
  socket.once('close', () => {
    signal.removeEventListener('abort', reset)
    permit[Symbol.dispose]()
  })
}
