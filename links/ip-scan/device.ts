import { createSocket } from 'node:dgram'
import { connect } from 'node:net'

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

/**
 * Opens a TCP connection and closes it immediately, without sending data. The socket is closed when the promise
 * resolves. The limit of one second prevents the operating system from repeating the first packet.
 */
export function connectTo(port: number, { address, localAddress, timeoutMs, signal }: Probe): Promise<PortState> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    let state: PortState = 'silent'
    let failure: unknown
    const socket = connect({ host: address, port, ...(localAddress === undefined ? {} : { localAddress }) })
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    const abort = () => socket.destroy()
    signal.addEventListener('abort', abort)
    socket.on('connect', () => {
      state = 'open'
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const known = stateByCode[error.code ?? '']
      if (known === undefined) failure = new ProbeError(error.code ?? 'UNKNOWN', { cause: error })
      else state = known
    })
    socket.on('close', () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      if (signal.aborted) reject(signal.reason)
      else if (failure !== undefined) reject(failure)
      else resolve(state)
    })
  })
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
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
      socket.removeAllListeners().on('error', () => undefined)
      socket.close(settle)
    }
    const timer = setTimeout(() => end(() => resolve('silent')), timeoutMs)
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
