import { BackOff, pause } from '@millwright/api/back-off.ts'
import { gatewayTunnelProtocol, remoteAccess } from '@millwright/api/remote-access.ts'
import { Tunnel } from '@millwright/api/tunnel/tunnel.ts'
import { WebSocket } from 'ws'
import type { CloudConnection } from '../cloud-connection.ts'
import type { Log } from '../log.ts'
import type { PlatformConnector } from '../platform/platform-connector.ts'
import type { RemoteStreams } from './remote-streams.ts'
import { socketChannel } from './socket-channel.ts'

const path = remoteAccess.prefix + remoteAccess.operations.openTunnel.path

const timing = {
  /** The time limit of one attempt to open the WebSocket. */
  openMs: 10_000,
  /** The pauses between attempts. The first attempt after a lost connection has no pause, so that streams can resume. */
  firstMs: 250,
  /** The longest pause while the platform is not reachable. Users wait for the gateway after a restart of the platform. */
  longestUnreachableMs: 4_000,
  /** The longest pause while the platform refuses the tunnel. */
  longestRefusedMs: 30_000,
  /** The pause while the platform has no remote access, or refuses the tunnel of this gateway. */
  unavailableMs: 5 * 60_000,
} as const

/** The maximum size of a message from the platform. */
const messageBytes = 1024 * 1024

/** `TunnelState` is the state of the tunnel: `unavailable` if the platform has no remote access or refuses the tunnel. */
export type TunnelState = 'off' | 'connecting' | 'connected' | 'unavailable'

type Options = {
  cloud: CloudConnection
  log: Log
  streams: RemoteStreams
  platform: PlatformConnector
  unavailableMs?: number
}

/** `RefusedTunnelError` means that the platform answered the request for a WebSocket with another status. */
class RefusedTunnelError extends Error {
  override readonly name = 'RefusedTunnelError'
  readonly status: number

  constructor(status: number) {
    super(`The platform responded with HTTP status ${status}`)
    this.status = status
  }
}

/**
 * `TunnelAgent` holds the tunnel of the gateway open while remote access is enabled. After a lost connection, it attaches
 * a new WebSocket to the same tunnel, so that streams resume. After the resume time, it opens a new tunnel.
 */
export class TunnelAgent {
  readonly #options: Options
  readonly #stopping = new AbortController()
  #enabling = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #isEnabled = false
  #state: TunnelState = 'off'
  #tunnel: Tunnel | undefined

  constructor(options: Options) {
    this.#options = options
  }

  get state(): TunnelState {
    return this.#state
  }

  /** Opens the tunnel, or closes it and ends all streams. */
  enable(isEnabled: boolean): void {
    if (isEnabled === this.#isEnabled || this.#stopping.signal.aborted) return
    this.#isEnabled = isEnabled
    if (isEnabled) {
      this.#enabling = new AbortController()
      const { signal } = this.#enabling
      this.#running = this.#running.then(() => this.#run(signal))
    } else this.#end('Remote access is switched off on the gateway')
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#end('The gateway stops')
    await this.#running
  }

  #end(reason: string): void {
    this.#isEnabled = false
    this.#enabling.abort()
    this.#tunnel?.close(reason)
    this.#options.streams.endAll(reason)
    this.#state = 'off'
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    const { firstMs, longestUnreachableMs, longestRefusedMs } = timing
    const failures = new BackOff({ firstMs, longestMs: longestUnreachableMs })
    const refusals = new BackOff({ firstMs, longestMs: longestRefusedMs })
    this.#setState('connecting')
    while (!signal.aborted) {
      try {
        const socket = await this.#openSocket(signal)
        const openedAt = performance.now()
        this.#setState('connected')
        await this.#attach(socket, signal)
        failures.reset()
        // A connection that the platform closes again at once counts as a refusal.
        if (performance.now() - openedAt > firstMs) refusals.reset()
        else await pause(refusals.nextMs(), signal)
        if (!signal.aborted) this.#setState('connecting')
      } catch (error) {
        if (signal.aborted) break
        if (isUnavailable(error)) {
          this.#setState('unavailable')
          log.debug({ error }, 'the platform offers no remote access to this gateway')
          await pause(this.#options.unavailableMs ?? timing.unavailableMs, signal)
        } else {
          this.#setState('connecting')
          log.debug({ error }, 'the tunnel for remote access could not be opened; retrying')
          await pause((error instanceof RefusedTunnelError ? refusals : failures).nextMs(), signal)
        }
      }
    }
  }

  /** Uses an open WebSocket until it closes. */
  async #attach(socket: WebSocket, signal: AbortSignal): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
    })
    if (signal.aborted) return socket.terminate()
    this.#tunnel ??= this.#newTunnel()
    this.#tunnel.attach(socketChannel(socket))
    await closed
  }

  #newTunnel(): Tunnel {
    const { streams, log } = this.#options
    const tunnel = new Tunnel({ role: 'gateway', onOpen: streams.open })
    tunnel.on('closed', (reason) => {
      if (this.#tunnel === tunnel) this.#tunnel = undefined
      streams.endAll('The tunnel of the gateway was closed')
      log.info({ reason }, 'the tunnel for remote access was closed')
    })
    return tunnel
  }

  async #openSocket(signal: AbortSignal): Promise<WebSocket> {
    const { cloud, platform } = this.#options
    const { url, headers, onRefused } = await cloud.socketRequest(path)
    const connection = await platform.openSocket(url)
    const socket = new WebSocket(url, gatewayTunnelProtocol, {
      headers,
      handshakeTimeout: timing.openMs,
      maxPayload: messageBytes,
      perMessageDeflate: false,
      followRedirects: false,
      createConnection: () => connection,
    })
    return new Promise((resolve, reject) => {
      const onAbort = () => socket.terminate()
      signal.addEventListener('abort', onAbort, { once: true })
      socket.once('unexpected-response', (request, response) => {
        const { statusCode = 0 } = response
        request.destroy()
        if (statusCode === 401) onRefused()
        reject(new RefusedTunnelError(statusCode))
      })
      // The listener stays, because an error after the opening is followed by the event `close`.
      socket.on('error', reject)
      socket.once('open', () => {
        signal.removeEventListener('abort', onAbort)
        resolve(socket)
      })
      if (signal.aborted) onAbort()
    })
  }

  #setState(state: TunnelState): void {
    if (state === this.#state) return
    this.#state = state
    if (state === 'connected') this.#options.log.info('the tunnel for remote access is open')
  }
}

/** The statuses of a platform without remote access, or that does not permit this gateway to use it. */
function isUnavailable(error: unknown): boolean {
  return error instanceof RefusedTunnelError && [403, 404, 426, 501].includes(error.status)
}
