import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { linkServices, permitKindNumbers, scanMetadataKey, wireMethod } from '@millwright/api/link-protocol.ts'
import { PermitIssuer, PermitRefusal } from '@millwright/api/permit-issuer.ts'
import type { PermitAnswer, PermitMessage } from '@millwright/api/proto/generated/permits_pb.js'
import { defaultBudget, type PermitRequest, type RefusalReason, refusalReasons } from '@millwright/api/scan-budget.ts'
import { LinkError } from '../link-error.ts'
import type { Manifest } from '../manifest.ts'
import { type Permit, PermitRefusedError, type Permits } from './permits.ts'

/** `CallPermits` are the permits of one call. Disposing them ends the connections of the call. */
export type CallPermits = Permits & Disposable

export type PermitSource = {
  /** Returns the permits of one call. `scan` is the id that the gateway gave to the scan. */
  forCall: (call: { signal: AbortSignal; scan?: string }) => CallPermits
  close: () => void
}

type Options = { manifest: Manifest; registry?: string }

/**
 * Returns the source of permits: the gateway at whose registry the link registers. A link without a gateway has the
 * default budget for itself.
 */
export function openPermitSource({ manifest, registry }: Options): PermitSource {
  const source = registry === undefined ? ownPermits() : gatewayPermits(registry)
  const known = new Set((manifest.sends ?? []).map(({ protocol, operation }) => `${protocol} ${operation}`))
  return {
    close: source.close,
    forCall: (call) => {
      const permits = source.forCall(call)
      return {
        take: async (request) => {
          if (known.has(`${request.protocol} ${request.operation}`)) return permits.take(request)
          throw new LinkError(
            'INTERNAL',
            `The link may not send ${request.protocol} ${request.operation}, because the table "sends" of its manifest does not contain it.`,
          )
        },
        [Symbol.dispose]: () => permits[Symbol.dispose](),
      }
    },
  }
}

function ownPermits(): PermitSource {
  const issuer = new PermitIssuer(defaultBudget)
  return {
    close: () => undefined,
    forCall: ({ signal }) => {
      const ended = new AbortController()
      const open = new Set<Permit>()
      const either = AbortSignal.any([signal, ended.signal])
      return {
        take: async (request) => {
          const permit = await issuer.take(request, { signal: either }).catch(refused)
          if (request.kind !== 'connection') return permit
          open.add(permit)
          return {
            [Symbol.dispose]: () => {
              open.delete(permit)
              permit[Symbol.dispose]()
            },
          }
        },
        [Symbol.dispose]: () => {
          ended.abort()
          for (const permit of open) permit[Symbol.dispose]()
          open.clear()
        },
      }
    },
  }
}

function refused(error: unknown): never {
  throw error instanceof PermitRefusal ? new PermitRefusedError(error.reason, error.message) : error
}

function gatewayPermits(registry: string): PermitSource {
  const client = new Client(registry, credentials.createInsecure(), { 'grpc.enable_http_proxy': 0 })
  return { close: () => client.close(), forCall: (call) => new RemotePermits(client, call) }
}

type Waiter = { resolve: (permit: Permit) => void; reject: (error: Error) => void; isConnection: boolean }

/** `RemotePermits` asks the gateway for the permits of one call, over one stream that opens with the first permit. */
class RemotePermits implements CallPermits {
  readonly #client: Client
  readonly #signal: AbortSignal
  readonly #scan: string | undefined
  readonly #waiting = new Map<bigint, Waiter>()
  #stream: ClientDuplexStream<PermitMessage, PermitAnswer> | undefined
  #lastId = 0n
  #failure: Error | undefined

  constructor(client: Client, { signal, scan }: { signal: AbortSignal; scan?: string }) {
    this.#client = client
    this.#signal = signal
    this.#scan = scan
    signal.addEventListener('abort', () => this.#end(canceled()), { once: true })
  }

  take({ kind, ...request }: PermitRequest): Promise<Permit> {
    if (this.#signal.aborted) return Promise.reject(canceled())
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    this.#stream ??= this.#open()
    const stream = this.#stream
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, isConnection: kind === 'connection' })
      const take = { id, ...request, kind: permitKindNumbers[kind] }
      stream.write({ message: { case: 'take', value: take } } as PermitMessage)
    })
  }

  [Symbol.dispose](): void {
    this.#end(canceled())
  }

  #open(): ClientDuplexStream<PermitMessage, PermitAnswer> {
    const method = wireMethod(linkServices.permits.method.takePermits)
    const metadata = new Metadata()
    if (this.#scan !== undefined) metadata.set(scanMetadataKey, this.#scan)
    const { path, requestSerialize, responseDeserialize } = method
    const stream = this.#client.makeBidiStreamRequest<PermitMessage, PermitAnswer>(
      path,
      requestSerialize,
      responseDeserialize,
      metadata,
    )
    stream.on('data', (answer) => this.#onAnswer(answer))
    stream.on('error', (error: ServiceError) => this.#end(withoutGateway(error)))
    stream.on('end', () => this.#end(new LinkError('UNAVAILABLE', 'The gateway no longer gives permits.')))
    return stream
  }

  #onAnswer({ id, refusal, reason }: PermitAnswer): void {
    const waiter = this.#waiting.get(id)
    if (waiter === undefined) return
    this.#waiting.delete(id)
    if (refusal !== '') {
      waiter.reject(new PermitRefusedError(reasonOf(reason), refusal))
      return
    }
    let isHeld = waiter.isConnection
    waiter.resolve({
      [Symbol.dispose]: () => {
        if (isHeld && this.#failure === undefined)
          this.#stream?.write({ message: { case: 'release', value: id } } as PermitMessage)
        isHeld = false
      },
    })
  }

  #end(error: Error): void {
    if (this.#failure !== undefined) return
    this.#failure = error
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    this.#stream?.cancel()
  }
}

function reasonOf(text: string): RefusalReason {
  return refusalReasons.find((reason) => reason === text) ?? 'canceled'
}

function canceled(): PermitRefusedError {
  return new PermitRefusedError('canceled', 'The scan was canceled.')
}

function withoutGateway(error: ServiceError): LinkError {
  if (error.code === status.UNIMPLEMENTED) {
    return new LinkError(
      'FAILED_PRECONDITION',
      'The gateway gives no permits, so the link sends nothing. Update the gateway.',
      { cause: error },
    )
  }
  return new LinkError('UNAVAILABLE', `The gateway gives no permits (${error.details}), so the link sends nothing.`, {
    cause: error,
  })
}
