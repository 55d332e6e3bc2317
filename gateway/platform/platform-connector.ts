import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { Agent, buildConnector, type Dispatcher, ProxyAgent } from 'undici'
import { connectionError, type PlatformTrust, requireTrusted, tlsOptionsOf } from './platform-trust.ts'
import { openProxyTunnel } from './proxy-tunnel.ts'

/**
 * The time limit of a response. It is longer than 30 seconds, because the cloud delays a response by up to 30 seconds
 * while there is no new work.
 */
const answerMs = 75_000

/** The time limit of one connection attempt. */
const connectMs = 10_000

type Options = {
  baseUrl: string
  /** Which certificate of the platform is accepted. */
  tls?: PlatformTrust | undefined
  /** The HTTP proxy for connections to the platform. */
  proxy?: string | undefined
}

type Target = Pick<buildConnector.Options, 'protocol' | 'hostname' | 'port'> & Partial<buildConnector.Options>

/**
 * `PlatformConnector` opens all connections to the platform: for requests, downloads and WebSockets, directly or through an
 * HTTP proxy. It checks the certificate of the platform before anything is sent.
 */
export class PlatformConnector {
  readonly #options: Options
  readonly #connect: buildConnector.connector
  /** The dispatcher for HTTP requests to the platform. */
  readonly dispatcher: Dispatcher

  constructor(options: Options) {
    this.#options = options
    const { baseUrl, tls, proxy } = options
    this.#connect = buildConnector({
      ...tlsOptionsOf(tls),
      timeout: connectMs,
      allowH2: false,
      // Node does not check the certificate again when a TLS session is resumed.
      maxCachedSessions: 0,
    })
    const limits = { headersTimeout: answerMs, bodyTimeout: answerMs, connections: 64 }
    // A proxy forwards requests to a platform without TLS. Many proxies refuse the method CONNECT for such a platform.
    const isForwarded = proxy !== undefined && new URL(baseUrl).protocol === 'http:'
    this.dispatcher = isForwarded
      ? new ProxyAgent({ uri: proxy, connect: { timeout: connectMs }, ...limits })
      : new Agent({
          ...limits,
          connect: (target, callback) =>
            void this.#open(target).then(
              (socket) => callback(null, socket),
              (error: Error) => callback(error, null),
            ),
        })
  }

  /** Opens a connection for a WebSocket. */
  openSocket({ protocol, hostname, port }: URL): Promise<Socket> {
    return this.#open({ protocol, hostname: hostname.replace(/^\[|\]$/g, ''), port })
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy()
  }

  async #open(target: Target): Promise<Socket> {
    const { tls, proxy } = this.#options
    const tunnel = proxy === undefined ? undefined : await openProxyTunnel(new URL(proxy), target)
    if (tunnel !== undefined && target.protocol !== 'https:') return tunnel
    try {
      const socket = await this.#connected({ ...target, ...(tunnel === undefined ? {} : { httpSocket: tunnel }) })
      if (socket instanceof TLSSocket) requireTrustedOrDestroy(socket, target.hostname, tls)
      return socket
    } catch (error) {
      tunnel?.destroy()
      throw connectionError(error, target.hostname, tls)
    }
  }

  #connected(target: buildConnector.Options): Promise<Socket> {
    return new Promise((resolve, reject) => {
      this.#connect(target, (error, socket) => (error === null ? resolve(socket) : reject(error)))
    })
  }
}

function requireTrustedOrDestroy(socket: TLSSocket, host: string, tls: PlatformTrust | undefined): void {
  try {
    requireTrusted(socket, host, tls)
  } catch (error) {
    socket.destroy()
    throw error
  }
}
