import { Client, type ClientDuplexStream, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import {
  linkIdKey,
  linkServices,
  linkTokenKey,
  permitKindNumbers,
  scanMetadataKey,
  wireMethod,
} from '@millwright/api/link-protocol.ts'
import { PermitIssuer, PermitRefusal } from '@millwright/api/permit-issuer.ts'
import type { PermitAnswer, PermitMessage } from '@millwright/api/proto/generated/permits_pb.js'
import { packetClassOf } from '@millwright/api/receipt.ts'
import { defaultBudget, type PermitRequest, type RefusalReason, refusalReasons } from '@millwright/api/scan-budget.ts'
import { LinkError } from '../link-error.ts'
import type { Manifest } from '../manifest.ts'
import { type LinkTls, registryCredentials, registryOptions } from '../tls.ts'
import { PermitPace } from './permit-pace.ts'
import { type Permit, PermitRefusedError, type Permits } from './permits.ts'

/** `CallPermits` are the permits of one call. Disposing them ends the connections of the call. */
export type CallPermits = Permits & Disposable

export type PermitSource = {
  /** Returns the permits of one call. `scan` is the id that the gateway gave to the scan. */
  forCall: (call: { signal: AbortSignal; scan?: string }) => CallPermits
  close: () => void
}

type Options = {
  manifest: Manifest
  registry?: string | undefined
  /** The id with which the link registers. The default is the id of the manifest. */
  instance?: string | undefined
  /** The token from the gateway that started the link. */
  token?: string | undefined
  /** The certificate of the link for a gateway on another machine. */
  tls?: LinkTls | undefined
}

/**
 * Returns the source of permits: the gateway at whose registry the link registers. A link without a gateway has the
 * default budget for itself.
 */
export function openPermitSource({ manifest, registry, instance = manifest.id, token, tls }: Options): PermitSource {
  const source = registry === undefined ? ownPermits() : gatewayPermits(registry, { id: instance, token, tls })
  const known = new Set((manifest.sends ?? []).map(packetClassOf))
  return {
    close: source.close,
    forCall: (call) => {
      const permits = source.forCall(call)
      return {
        take: async (request) => {
          if (known.has(packetClassOf(request))) return permits.take(request)
          throw new LinkError(
            'INTERNAL',
            `The link may not send ${packetClassOf(request)}, because the table "sends" of its manifest does not contain it.`,
          )
        },
        [Symbol.dispose]: () => permits[Symbol.dispose](),
      }
    },
  }
}

function ownPermits(): PermitSource {
  const issuer = new PermitIssuer({ ...defaultBudget, localAddresses: true })
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

type LinkIdentity = { id: string; token: string | undefined; tls: LinkTls | undefined }

function gatewayPermits(registry: string, link: LinkIdentity): PermitSource {
  const client = new Client(registry, registryCredentials(link.tls), registryOptions(link.tls))
  return { close: () => client.close(), forCall: (call) => new RemotePermits(client, { ...call, link }) }
}

type Waiter = { resolve: (permit: Permit) => void; reject: (error: Error) => void; kind: PermitRequest['kind'] }

/** `RemotePermits` asks the gateway for the permits of one call, over one stream that opens with the first permit. */
class RemotePermits implements CallPermits {
  readonly #client: Client
  readonly #signal: AbortSignal
  readonly #scan: string | undefined
  readonly #link: LinkIdentity
  readonly #waiting = new Map<bigint, Waiter>()
  readonly #paces = new Map<PermitRequest['kind'], PermitPace>()
  #stream: ClientDuplexStream<PermitMessage, PermitAnswer> | undefined
  #lastId = 0n
  #failure: Error | undefined

  constructor(client: Client, { signal, scan, link }: { signal: AbortSignal; scan?: string; link: LinkIdentity }) {
    this.#client = client
    this.#signal = signal
    this.#scan = scan
    this.#link = link
    signal.addEventListener('abort', () => this.#end(canceled()), { once: true })
  }

  take({ kind, forwarded = false, ...request }: PermitRequest): Promise<Permit> {
    if (this.#signal.aborted) return Promise.reject(canceled())
    if (this.#failure !== undefined) return Promise.reject(this.#failure)
    this.#stream ??= this.#open()
    const stream = this.#stream
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, kind })
      const take = { id, ...request, forwarded, kind: permitKindNumbers[kind] }
      stream.write({ message: { case: 'take', value: take } } as PermitMessage)
    })
  }

  [Symbol.dispose](): void {
    this.#end(canceled())
  }

  #open(): ClientDuplexStream<PermitMessage, PermitAnswer> {
    const method = wireMethod(linkServices.permits.method.takePermits)
    const metadata = new Metadata()
    metadata.set(linkIdKey, encodeURIComponent(this.#link.id))
    if (this.#link.token !== undefined) metadata.set(linkTokenKey, this.#link.token)
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

  #onAnswer({ id, refusal, reason, intervalMs }: PermitAnswer): void {
    const waiter = this.#waiting.get(id)
    if (waiter === undefined) return
    if (refusal === '') {
      this.#paceOf(waiter.kind).add(intervalMs, () => this.#use(id, waiter))
      return
    }
    this.#waiting.delete(id)
    waiter.reject(new PermitRefusedError(reasonOf(reason), refusal))
  }

  #paceOf(kind: PermitRequest['kind']): PermitPace {
    const pace = this.#paces.get(kind) ?? new PermitPace()
    this.#paces.set(kind, pace)
    return pace
  }

  #use(id: bigint, waiter: Waiter): void {
    this.#waiting.delete(id)
    let isHeld = waiter.kind === 'connection'
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
    for (const pace of this.#paces.values()) pace.end()
    this.#stream?.cancel()
  }
}

function reasonOf(text: string): RefusalReason {
  return refusalReasons.find((reason) => reason === text) ?? 'canceled'
}

function canceled(): PermitRefusedError {
  return new PermitRefusedError('canceled', 'The call has ended or was canceled.')
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
