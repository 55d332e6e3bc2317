import { openConnection } from '@millwright/link-sdk/network/connect.ts'
import { type Permits, takePermit } from '@millwright/link-sdk/network/permits.ts'
import { startTimer } from '@millwright/link-sdk/network/timer.ts'
import type { ClientSecureChannelLayer, ClientSecureChannelLayerOptions, StatusCode } from 'node-opcua-client'
import type { ClientCertificate } from './client-certificate.ts'
import type { Library } from './library.ts'
import { type Operation, protocol } from './services.ts'
import { SocketTransport, TransportError } from './transport.ts'

/** `Contact` is the access to one server: its address, and the limits of what is sent to it. */
export type Contact = {
  library: Library
  address: string
  port: number
  /** The address of the network interface to send from. */
  localAddress?: string | undefined
  permits: Permits
  /** Aborted when the call is canceled, or when the time for the server has passed. */
  signal: AbortSignal
  /** Called when the server has accepted a connection. */
  onConnect: () => void
  /** The time for a TCP connection. */
  connectMs: number
  /** The time for each answer of the server. */
  answerMs: number
  /** The folder of the client certificate. */
  home: string | undefined
  /** The number of requests that may still be sent to the server. It decreases with each request. */
  requests: { left: number }
}

/** The security of a channel. Without it, the channel has no security. */
type ChannelSecurity = {
  mode: 'Sign' | 'SignAndEncrypt'
  policyUri: string
  serverCertificate: Buffer
  client: ClientCertificate
}

/** `ServiceError` means that the server answered a request with an error. */
export class ServiceError extends Error {
  readonly statusCode: number

  constructor(operation: Operation, { name, value }: Pick<StatusCode, 'name' | 'value'>) {
    super(`the server rejects ${operation} with ${name}`)
    this.name = 'ServiceError'
    this.statusCode = value
  }
}

type Request = Parameters<ClientSecureChannelLayer['performMessageTransaction']>[0]
type OpenOptions = { endpointUrl: string; security?: ChannelSecurity | undefined }

/**
 * `Channel` is a secure channel to a server. Each request takes a permit, and must be answered in time. The library does
 * not retry, reconnect or renew the channel, so nothing is sent without a permit.
 */
export class Channel implements AsyncDisposable {
  readonly #contact: Contact
  readonly #layer: ClientSecureChannelLayer
  readonly #transport: SocketTransport

  private constructor(contact: Contact, transport: SocketTransport, layer: ClientSecureChannelLayer) {
    this.#contact = contact
    this.#transport = transport
    this.#layer = layer
  }

  /** Opens a channel. Returns undefined if the port does not accept connections. */
  static async open(contact: Contact, { endpointUrl, security }: OpenOptions): Promise<Channel | undefined> {
    const { address, port, signal } = contact
    const transport = await transportTo(contact)
    if (transport === undefined) return undefined
    try {
      await takeRequestPermit(contact, 'OpenSecureChannel')
      const layer = layerOver(transport, { contact, security })
      const channel = new Channel(contact, transport, layer)
      const what = `${address}:${port} does not open a secure channel`
      await channel.#answer<void>(what, (callback) => layer.create(endpointUrl, (error) => callback(error ?? null)))
      return channel
    } catch (error) {
      transport.fail(error instanceof Error ? error : new Error(String(error)))
      signal.throwIfAborted()
      throw error
    }
  }

  /** Sends a request, and returns its response. Throws a `ServiceError` if the server rejects the request. */
  async send<Response>(operation: Operation, request: object): Promise<Response> {
    await takeRequestPermit(this.#contact, operation)
    const what = `the server does not answer ${operation}`
    const response = await this.#answer<ServiceResponse>(what, (callback) =>
      this.#layer.performMessageTransaction(request as Request, (error, answer) => {
        const fault = (error as { response?: ServiceResponse } | null)?.response ?? answer
        const result = fault?.responseHeader.serviceResult
        if (result !== undefined && result.value !== 0) callback(new ServiceError(operation, result))
        else callback(error, answer)
      }),
    )
    return response as Response
  }

  /** Closes the channel. After a failure or a cancellation, nothing is sent. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      if (this.#transport.failure !== undefined || this.#contact.signal.aborted) return
      await takeRequestPermit(this.#contact, 'CloseSecureChannel', { isClosing: true })
      await this.#answer<void>('the channel does not close', (callback) => this.#layer.close(() => callback(null)))
    } catch {
      // The connection ends in any case.
    } finally {
      this.#transport.fail(new TransportError('the connection is closed'))
      this.#layer.dispose()
    }
  }

  /** Waits for an answer. Ends the connection if the answer does not arrive in time. */
  #answer<Answer>(what: string, start: (callback: AnswerCallback<Answer>) => void): Promise<Answer> {
    const { answerMs } = this.#contact
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const expire = () => this.#transport.fail(new TransportError(`${what} within ${answerMs} ms`))
    const timer = startTimer(answerMs, expire)
    const onClose = (failure: Error) => reject(failure)
    this.#transport.once('close', onClose)
    try {
      start((error, answer) => {
        if (error === null) resolve(answer as Answer)
        else reject(this.#transport.failure ?? error)
      })
    } catch (error) {
      reject(error as Error)
    }
    return promise.finally(() => {
      timer[Symbol.dispose]()
      this.#transport.off('close', onClose)
    })
  }
}

type ServiceResponse = { responseHeader: { serviceResult: StatusCode } }
type AnswerCallback<Answer> = (error: Error | null, answer?: Answer) => void

/** Connects to the server. */
async function transportTo(contact: Contact): Promise<SocketTransport | undefined> {
  const { address, port, localAddress, connectMs, permits, signal } = contact
  const socket = await openConnection({
    address,
    port,
    localAddress,
    timeoutMs: connectMs,
    permits,
    protocol,
    operation: 'Hello',
    signal,
  })
  if (socket === undefined) return undefined
  contact.onConnect()
  const transport = new SocketTransport(socket)
  const cancel = () => transport.fail(signal.reason)
  signal.addEventListener('abort', cancel, { once: true })
  transport.once('close', () => signal.removeEventListener('abort', cancel))
  return transport
}

/** Takes a permit for a request. Closing a session or a channel is possible after the last request too. */
async function takeRequestPermit(contact: Contact, operation: Operation, { isClosing = false } = {}): Promise<void> {
  const { address, permits, requests, signal } = contact
  if (requests.left <= 0 && !isClosing && operation !== 'CloseSession') {
    throw new TransportError('the server needs more requests than the link sends to one server')
  }
  requests.left -= 1
  await takePermit(permits, { address, protocol, operation, kind: 'request' }, signal)
}

type LayerContext = { contact: Contact; security: ChannelSecurity | undefined }

function layerOver(transport: SocketTransport, { contact, security }: LayerContext): ClientSecureChannelLayer {
  const { library } = contact
  const { ClientSecureChannelLayer, MessageSecurityMode, coerceSecurityPolicy } = library
  const secured: ClientSecureChannelLayerOptions =
    security === undefined
      ? { securityMode: MessageSecurityMode.None }
      : {
          securityMode: MessageSecurityMode[security.mode],
          securityPolicy: coerceSecurityPolicy(security.policyUri),
          serverCertificate: security.serverCertificate,
          parent: security.client.provider,
        }
  const layer = new ClientSecureChannelLayer({
    ...secured,
    connectionStrategy: { maxRetry: 0 },
    // The channel ends requests itself, because the limits of the library count pauses of this process.
    transportTimeout: channelLifetimeMs,
    defaultTransactionTimeout: channelLifetimeMs,
    defaultSecureTokenLifetime: channelLifetimeMs,
    transportFactory: { create: () => transport },
  })
  // The channel is shorter than its token, so it is never renewed, also if the server reports a shorter lifetime.
  layer.beforeSecurityRenew = () => new Promise(() => undefined)
  return layer
}

const channelLifetimeMs = 600_000
