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

/** How long a question to a link may take that it can answer by itself. */
const answerMs = 10_000

/** What a link may say at once: a scan may put many devices into one message, but a small machine must be able to take it. */
const largestMessageBytes = { answer: 4 * 1024 * 1024, scan: 16 * 1024 * 1024 } as const

const channelOptions = {
  // Links are on this network: a proxy for the way to the cloud is not for them.
  'grpc.enable_http_proxy': 0,
  'grpc.initial_reconnect_backoff_ms': 250,
  'grpc.max_reconnect_backoff_ms': 5_000,
  // A machine that died without a word is noticed at last; links hang up on whoever asks more often than this.
  'grpc.keepalive_time_ms': 330_000,
  'grpc.keepalive_timeout_ms': 20_000,
} as const

type StreamOptions<Read> = {
  signal: AbortSignal
  read?: (bytes: Buffer) => Read
  metadata?: Readonly<Record<string, string>>
}
type CallOptions<Read> = { signal?: AbortSignal; deadlineMs?: number; read?: (bytes: Buffer) => Read }

/** The questions of the gateway to one link, under the prefix under which that link speaks. */
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
   * Calls a unary method. Throws a `ServiceError` with the status of the link's answer. `read` decodes the answer where
   * the generated message is not wanted.
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
          else if (value === undefined) reject(new Error(`${wire.path} answered nothing`))
          else resolve(value)
        },
      )
      const cancel = () => call.cancel()
      signal?.addEventListener('abort', cancel)
      if (signal?.aborted) cancel()
    })
  }

  /**
   * Messages as the link sends them; reading slowly makes the link send slowly. The signal ends the call. `read` says what
   * the bytes of a message become, where that is not the message itself.
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
      call.on('error', (error) => (isAnswer(error) ? resolve(error.code !== status.UNIMPLEMENTED) : reject(error)))
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

/** The interface by the name that the link registered it under, else by the prefix under which the link speaks. */
function interfaceOf({ interfaces, vendor }: Registration, method: DescMethod): string {
  const service = serviceOf(method)
  const registered = interfaces.find((name) => parseInterfaceName(name)?.service === service)
  return registered ?? interfaceName(method.parent, vendor)
}

function serviceOf(method: DescMethod): LinkService | undefined {
  const services = Object.entries(linkServices) as [LinkService, DescMethod['parent']][]
  return services.find(([, service]) => service.typeName === method.parent.typeName)?.[0]
}

/** Whether a link has an interface, under any vendor prefix. */
export function offers({ interfaces }: { interfaces: readonly string[] }, service: LinkService): boolean {
  return interfaces.some((name) => parseInterfaceName(name)?.service === service)
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && typeof (error as Partial<ServiceError>).code === 'number' && 'details' in error
}

/** Whether the error is a status that the link itself answered. */
export function isAnswer(error: unknown): error is ServiceError {
  const away = [status.UNAVAILABLE, status.DEADLINE_EXCEEDED, status.CANCELLED]
  return isServiceError(error) && !away.includes(error.code)
}

/** Whether the link said that it is busy, and not our side that a message is too large, which has the same code. */
export function isBusy(error: unknown): boolean {
  return (
    isServiceError(error) && error.code === status.RESOURCE_EXHAUSTED && !error.details.startsWith('Received message')
  )
}

/** What went wrong with a link, for people. */
export function linkTrouble(error: unknown): string {
  if (!isServiceError(error)) return error instanceof Error ? error.message : String(error)
  return `${status[error.code] ?? error.code}: ${error.details}`
}
