import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import {
  interfaceNameOnLink,
  type LinkService,
  linkServices,
  parseInterfaceName,
  scanMetadataKey,
  wireMethod,
} from '@millwright/api/link-protocol.ts'
import { linkTlsName } from '@millwright/api/link-tls.ts'
import { endpointOf, type Registration } from './registry/registration.ts'
import { traceHeaders } from './trace-context.ts'

/** The time limit of a call that the link answers without accessing a device. */
const answerMs = 10_000

/**
 * The maximum size of a message from a link. A message of a scan contains many devices, but it must fit into the memory
 * of a small machine.
 */
const largestMessageBytes = { answer: 4 * 1024 * 1024, scan: 16 * 1024 * 1024, update: 4 * 1024 * 1024 } as const

const channelOptions = {
  // Links are on the local network, so calls to links do not use the proxy for the platform.
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // Keep-alive detects that the machine of a link has failed. The interval is long, because links close a connection on
  // which keep-alive pings arrive more often.
  'grpc.keepalive_time_ms': 330_000,
  'grpc.keepalive_timeout_ms': 20_000,
} as const

type MetadataFields = Readonly<Record<string, string>>
type StreamOptions<Read> = { signal: AbortSignal; read?: (bytes: Buffer) => Read; metadata?: MetadataFields }
type ClientOptions = {
  purpose?: keyof typeof largestMessageBytes
  /** The scan that the calls belong to. The link names it when it takes permits. */
  scanId?: string | undefined
}
type CallOptions<Read> = { signal?: AbortSignal; deadlineMs?: number; read?: (bytes: Buffer) => Read }

/**
 * The options for updates. The library must not repeat a call, and would also store the sent messages for a repetition. Each
 * update has its own connection, because transfers to other devices would delay an activation on the same connection.
 */
const updateOptions = { 'grpc.enable_retries': 0, 'grpc.use_local_subchannel_pool': 1 } as const

/** `LinkClient` calls one link. It uses the vendor prefix of that link. */
export class LinkClient {
  readonly #client: Client
  readonly #registration: Registration
  readonly #metadata: MetadataFields

  constructor(registration: Registration, { purpose = 'answer', scanId }: ClientOptions = {}) {
    this.#registration = registration
    this.#metadata = scanId === undefined ? {} : { [scanMetadataKey]: scanId }
    const { tls } = registration
    this.#client = new Client(endpointOf(registration), tls?.credentials ?? credentials.createInsecure(), {
      ...channelOptions,
      // The certificate identifies the link, so the requested name does not matter.
      ...(tls === undefined ? {} : { 'grpc.ssl_target_name_override': linkTlsName }),
      'grpc.max_receive_message_length': largestMessageBytes[purpose],
      ...(purpose === 'update' ? updateOptions : {}),
    })
  }

  /**
   * Calls a unary method. Throws a `ServiceError` with the status from the link. If `read` is given, it decodes the
   * response instead of the generated message type.
   */
  call<Method extends DescMethod, Read = MessageShape<Method['output']>>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { signal: given, deadlineMs = answerMs, read }: CallOptions<Read> = {},
  ): Promise<Read> {
    const signal = this.#endOf(given)
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const deserialize = (read ?? wire.responseDeserialize) as (bytes: Buffer) => Read
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        wire.path,
        wire.requestSerialize,
        deserialize,
        request,
        this.#metadataFor(),
        { deadline: Date.now() + deadlineMs },
        (error, value) => {
          signal?.removeEventListener('abort', cancel)
          if (error !== null) reject(error)
          else if (value === undefined) reject(new Error(`${wire.path} returned an empty response`))
          else resolve(value)
        },
      )
      const cancel = () => call.cancel()
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted) cancel()
    })
  }

  /**
   * Yields the messages of a stream, with back-pressure to the link. Aborting the signal ends the call. If `read` is
   * given, it decodes the messages instead of the generated message type.
   */
  stream<Method extends DescMethod, Read = MessageShape<Method['output']>>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { signal: given, read, metadata = {} }: StreamOptions<Read>,
  ): AsyncIterable<Read> {
    const signal = this.#endOf(given)
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const deserialize = (read ?? wire.responseDeserialize) as (bytes: Buffer) => Read
    const call = this.#client.makeServerStreamRequest(
      wire.path,
      wire.requestSerialize,
      deserialize,
      request,
      this.#metadataFor(metadata),
      {},
    )
    const cancel = () => call.cancel()
    signal.addEventListener('abort', cancel)
    call.on('close', () => {
      signal.removeEventListener('abort', cancel)
      // A caller that does not read all messages closes only the stream. Without this, the call would stay open.
      call.cancel()
    })
    if (signal.aborted) cancel()
    return call
  }

  /** Opens a stream in both directions. Aborting the signal ends the call. */
  exchange<Method extends DescMethod>(
    method: Method,
    { signal: given }: { signal: AbortSignal },
  ): ClientDuplexStream<MessageInitShape<Method['input']>, MessageShape<Method['output']>> {
    const signal = this.#endOf(given)
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const call = this.#client.makeBidiStreamRequest(
      wire.path,
      wire.requestSerialize,
      wire.responseDeserialize,
      this.#metadataFor(),
    )
    const cancel = () => call.cancel()
    signal.addEventListener('abort', cancel)
    call.on('close', () => {
      signal.removeEventListener('abort', cancel)
      // A caller that does not read all messages closes only the stream. Without this, the call would stay open.
      call.cancel()
    })
    if (signal.aborted) cancel()
    return call
  }

  /** Resolves when the link accepts connections. Throws when it does not within the time limit. */
  ready(withinMs = answerMs): Promise<void> {
    return new Promise((resolve, reject) =>
      this.#client.waitForReady(Date.now() + withinMs, (error) => (error === undefined ? resolve() : reject(error))),
    )
  }

  /**
   * Returns whether the link implements a streaming method. Opens a stream and sends nothing: a link without the method
   * returns UNIMPLEMENTED. Throws when the link does not respond.
   */
  knows<Method extends DescMethod>(method: Method, signal: AbortSignal): Promise<boolean> {
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const call = this.#client.makeBidiStreamRequest(
      wire.path,
      wire.requestSerialize,
      wire.responseDeserialize,
      new Metadata(),
      { deadline: Date.now() + answerMs },
    )
    const cancel = () => call.cancel()
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    return new Promise<boolean>((resolve, reject) => {
      call.on('error', (error) => (isLinkStatus(error) ? resolve(error.code !== status.UNIMPLEMENTED) : reject(error)))
      call.on('end', () => resolve(true))
      call.on('data', () => resolve(true))
      call.end()
    }).finally(() => {
      signal.removeEventListener('abort', cancel)
      call.cancel()
    })
  }

  /** Returns the metadata of a call. It continues the trace of the job that the call belongs to. */
  #metadataFor(more: MetadataFields = {}): Metadata {
    return Metadata.fromHttp2Headers({ ...traceHeaders(), ...this.#metadata, ...more })
  }

  /** Returns the signal that ends a call: that of the caller, or the revocation of the certificate of the link. */
  #endOf<Given extends AbortSignal | undefined>(signal: Given): Given | AbortSignal {
    const revoked = this.#registration.tls?.revoked
    if (revoked === undefined) return signal
    return signal === undefined ? revoked : AbortSignal.any([signal, revoked])
  }

  close(): void {
    this.#client.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/**
 * Returns the name under which the link registered the interface. If the interface is not registered, returns its name
 * with the vendor prefix of the link.
 */
function interfaceOf({ interfaces, vendor }: Registration, method: DescMethod): string {
  const service = serviceOf(method)
  const registered = interfaces.find((name) => parseInterfaceName(name)?.service === service)
  return registered ?? interfaceNameOnLink(method.parent, vendor)
}

function serviceOf(method: DescMethod): LinkService | undefined {
  const services = Object.entries(linkServices) as [LinkService, DescMethod['parent']][]
  return services.find(([, service]) => service.typeName === method.parent.typeName)?.[0]
}

/** Returns true when a link has the interface of a service, with any vendor prefix. */
export function offers({ interfaces }: { interfaces: readonly string[] }, service: LinkService): boolean {
  return interfaces.some((name) => parseInterfaceName(name)?.service === service)
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && typeof (error as Partial<ServiceError>).code === 'number' && 'details' in error
}

/** Returns true when the error is a status that the link returned, and not an error of the connection. */
export function isLinkStatus(error: unknown): error is ServiceError {
  const away = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED]
  return isServiceError(error) && !away.includes(error.code)
}

/**
 * Returns true when the link reports that it is busy. The gRPC client uses the same code for a message that is too
 * large, and that error does not mean that the link is busy.
 */
export function isBusy(error: unknown): boolean {
  return (
    isServiceError(error) && error.code === status.RESOURCE_EXHAUSTED && !error.details.startsWith('Received message')
  )
}

/**
 * The details with which the gRPC client reports that the process of a link was killed during a call. A link that ends
 * regularly cancels its calls.
 */
const lostConnection = /^Connection dropped|ECONNRESET|EPIPE|Stream removed/

/** Returns whether the gateway has no connection to the link. The error is then not an error of a device. */
export function isLinkAway(error: unknown): boolean {
  if (!isServiceError(error)) return false
  const isLost = error.details.startsWith('No connection established') || lostConnection.test(error.details)
  return error.code === status.CANCELLED || (error.code === status.UNAVAILABLE && isLost)
}

/** Returns the text of an error from a link, for people. */
export function linkErrorText(error: unknown): string {
  if (!isServiceError(error)) return error instanceof Error ? error.message : String(error)
  const isLost = error.code === status.UNAVAILABLE && lostConnection.test(error.details)
  if (isLost || error.code === status.CANCELLED)
    return 'The asset link stopped during the call. Its log contains the reason.'
  return `${status[error.code] ?? error.code}: ${error.details}`
}
