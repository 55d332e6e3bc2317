import { createSocket } from 'node:dgram'
import { connectOnce } from '@millwright/link-sdk/network/connect.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'

/**
 * The state of a port. A device that refuses a connection exists, and its port is `closed`. A port is `silent` if no
 * answer was received in time. The address is `unreachable` if the operating system or a router reports that no device has it.
 */
export type PortState = 'open' | 'closed' | 'silent' | 'unreachable'

export type Probe = {
  address: string
  /** The local address to send from. */
  localAddress: string | undefined
  timeoutMs: number
  signal: AbortSignal
}

/** `ProbeError` means that this machine cannot send. `code` is the error code of the operating system. */
export class ProbeError extends Error {
  readonly code: string

  constructor(code: string, options?: ErrorOptions) {
    super(code, options)
    this.name = 'ProbeError'
    this.code = code
  }
}

const stateByCode: Readonly<Record<string, PortState>> = {
  ECONNREFUSED: 'closed',
  ECONNRESET: 'closed',
  ETIMEDOUT: 'silent',
  EHOSTUNREACH: 'unreachable',
  EHOSTDOWN: 'unreachable',
}

/** Opens a TCP connection and closes it immediately, without sending data. */
export async function connectTo(port: number, { address, localAddress, timeoutMs, signal }: Probe): Promise<PortState> {
  const attempt = await connectOnce({ address, port, localAddress, timeoutMs, signal })
  if (attempt === 'silent') return 'silent'
  if (attempt instanceof Error) return stateOf(attempt)
  await new Promise((resolve) => attempt.once('close', resolve).destroy())
  return 'open'
}

function stateOf(error: NodeJS.ErrnoException): PortState {
  const state = stateByCode[error.code ?? '']
  if (state === undefined) throw new ProbeError(error.code ?? 'UNKNOWN', { cause: error })
  return state
}

/** The discard port. Devices ignore datagrams to it, or answer that the port is closed. */
const discardPort = 9

/**
 * Sends a UDP datagram without data to the discard port. On a local segment, the operating system resolves the MAC
 * address before it sends the datagram. A device that reports the port as closed exists.
 */
export function sendEmptyDatagram({ address, localAddress, timeoutMs, signal }: Probe): Promise<PortState> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    const end = (settle: () => void) => {
      timer[Symbol.dispose]()
      signal.removeEventListener('abort', abort)
      socket.removeAllListeners().on('error', () => undefined)
      socket.close(settle)
    }
    const timer = startTimer(timeoutMs, () => end(() => resolve('silent')))
    const abort = () => end(() => reject(signal.reason))
    signal.addEventListener('abort', abort)
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const state = stateByCode[error.code ?? '']
      if (state === undefined) end(() => reject(new ProbeError(error.code ?? 'UNKNOWN', { cause: error })))
      else end(() => resolve(state))
    })
    socket.on('message', () => end(() => resolve('open')))
    socket.bind({ port: 0, ...(localAddress === undefined ? {} : { address: localAddress }) }, () => {
      socket.connect(discardPort, address, (error?: Error) => {
        if (error === undefined) socket.send(new Uint8Array())
      })
    })
  })
}
