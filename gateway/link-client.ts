import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import {
  interfaceName,
  type LinkService,
  linkServices,
  parseInterfaceName,
  wireMethod,
} from '@millwright/api/link-protocol.ts'
import { endpointOf, type Registration } from './registry/registration.ts'

/** The time limit of a call that the link answers without accessing a device. */
const answerMs = 10_000

/** The largest message of a link. Messages of scans contain many devices, but must fit into the memory of a small machine. */
const largestMessageBytes = { answer: 4 * 1024 * 1024, scan: 16 * 1024 * 1024 } as const

const channelOptions = {
  // Links are on the local network, so the proxy for the platform is not used.
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // Keep-alive detects a machine that failed. Links close connections with a shorter interval.
  'grpc.keepalive_time_ms': 330_000,
  'grpc.keepalive_timeout_ms': 20_000,
} as const

type StreamOptions<Read> = {
  signal: AbortSignal
  read?: (bytes: Buffer) => Read
  metadata?: Readonly<Record<string, string>>
}
type CallOptions<Read> = { signal?: AbortSignal; deadlineMs?: number; read?: (bytes: Buffer) => Read }

/** `LinkClient` calls one link, with the vendor prefix of that link. */
export class LinkClient {
  readonly #client: Client
  readonly #registration: Registration

  constructor(registration: Registration, purpose: keyof typeof largestMessageBytes = 'answer') {
    this.#registration = registration
    this.#client = new Client(endpointOf(registration), credentials.createInsecure(), {
      ...channelOptions,
      'grpc.max_receive_message_length': largestMessageBytes[purpose],
    })
  }

  /**
   * Calls a unary method. Throws a `ServiceError` with the status of the link. `read` decodes the response instead
   * of the generated message.
   */
  call<Method extends DescMethod, Read = MessageShape<Method['output']>>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { signal, deadlineMs = answerMs, read }: CallOptions<Read> = {},
  ): Promise<Read> {
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const deserialize = (read ?? wire.responseDeserialize) as (bytes: Buffer) => Read
    return new Promise((resolve, reject) => {
      const call = this.#client.makeUnaryRequest(
        wire.path,
        wire.requestSerialize,
        deserialize,
        request,
        new Metadata(),
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
   * Yields the messages of a stream, with back-pressure to the link. The signal ends the call. `read` decodes the bytes of a
   * message instead of the generated message.
   */
  stream<Method extends DescMethod, Read = MessageShape<Method['output']>>(
    method: Method,
    request: MessageInitShape<Method['input']>,
    { signal, read, metadata = {} }: StreamOptions<Read>,
  ): AsyncIterable<Read> {
    const wire = wireMethod(method, interfaceOf(this.#registration, method))
    const deserialize = (read ?? wire.responseDeserialize) as (bytes: Buffer) => Read
    const call = this.#client.makeServerStreamRequest(
      wire.path,
      wire.requestSerialize,
      deserialize,
      request,
      Metadata.fromHttp2Headers(metadata),
      {},
    )
    const cancel = () => call.cancel()
    signal.addEventListener('abort', cancel)
    call.on('close', () => signal.removeEventListener('abort', cancel))
    if (signal.aborted) cancel()
    return call
  }

  /**
   * Opens a stream, sends nothing and reports whether the link knows the method: an unknown one ends with UNIMPLEMENTED.
   * Throws when the link does not answer.
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

  close(): void {
    this.#client.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/** The registered name of the interface, or the name with the vendor prefix of the link. */
function interfaceOf({ interfaces, vendor }: Registration, method: DescMethod): string {
  const service = serviceOf(method)
  const registered = interfaces.find((name) => parseInterfaceName(name)?.service === service)
  return registered ?? interfaceName(method.parent, vendor)
}

function serviceOf(method: DescMethod): LinkService | undefined {
  const services = Object.entries(linkServices) as [LinkService, DescMethod['parent']][]
  return services.find(([, service]) => service.typeName === method.parent.typeName)?.[0]
}

/** True when a link has an interface, with any vendor prefix. */
export function offers({ interfaces }: { interfaces: readonly string[] }, service: LinkService): boolean {
  return interfaces.some((name) => parseInterfaceName(name)?.service === service)
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && typeof (error as Partial<ServiceError>).code === 'number' && 'details' in error
}

/** True when the error is a status from the link, and not from the connection. */
export function isLinkStatus(error: unknown): error is ServiceError {
  const away = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED]
  return isServiceError(error) && !away.includes(error.code)
}

/** True when the link reports that it is busy. A message that is too large has the same code, but comes from the client. */
export function isBusy(error: unknown): boolean {
  return (
    isServiceError(error) && error.code === status.RESOURCE_EXHAUSTED && !error.details.startsWith('Received message')
  )
}

/** The text of an error of a link, for people. */
export function linkErrorText(error: unknown): string {
  if (!isServiceError(error)) return error instanceof Error ? error.message : String(error)
  return `${status[error.code] ?? error.code}: ${error.details}`
}
