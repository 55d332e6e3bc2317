import {
  type Metadata,
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import {
  linkIdKey,
  linkServices,
  linkTokenKey,
  permitKindNumbers,
  scanMetadataKey,
  wireService,
} from '@millwright/api/link-protocol.ts'
import { PermitRefusal } from '@millwright/api/permit-issuer.ts'
import type { PermitAnswer, PermitMessage, TakePermit } from '@millwright/api/proto/generated/permits_pb.js'
import { packetClassOf } from '@millwright/api/receipt.ts'
import { type PermitRequest, permitKinds } from '@millwright/api/scan-budget.ts'
import type { BuiltInLink } from '../link-runner/link-process.ts'
import type { Registry } from '../registry/registry.ts'
import type { GatewayTls, TlsPeer } from '../tls/gateway-tls.ts'
import type { GatewayPermits } from './gateway-permits.ts'

type Stream = ServerDuplexStream<PermitMessage, Partial<PermitAnswer>>

type PermitServiceOptions = {
  permits: GatewayPermits
  registry: Registry
  /** The links that the gateway can run. The tables of their functions are known. */
  links: readonly Pick<BuiltInLink, 'appInstanceId' | 'functions'>[]
  /** With TLS, the caller is the link in the certificate. */
  tls?: GatewayTls | undefined
  /** The time for which a link can hold the permit of a connection. */
  connectionMs?: number
}

type ServedOptions = PermitServiceOptions & { others: OtherLinks }

const limits = {
  /** The maximum number of permits that one call waits for, and that all calls of other links together wait for. */
  waiting: 4_096,
  /** The maximum number of calls of other links at the same time. */
  calls: 256,
  /** The maximum length of an address, a protocol and an operation. */
  text: 256,
  connectionMs: 10 * 60_000,
} as const

/**
 * Returns the gRPC service through which links take permits. A link names its id. With the id of a link that the gateway
 * runs, it must also send the token of the process. Other links need no token, but all of them together hold at most half
 * of the connections, so that they cannot stop the links of the gateway.
 */
export function permitService(options: PermitServiceOptions): [ServiceDefinition, UntypedServiceImplementation] {
  const others = new OtherLinks(options.permits)
  return [wireService(linkServices.permits), { takePermits: (stream: Stream) => serve(stream, { ...options, others }) }]
}

/** `OtherLinks` counts what all links hold that the gateway does not run. */
class OtherLinks {
  readonly #permits: GatewayPermits
  readonly #waitingForConnection: (() => void)[] = []
  calls = 0
  waiting = 0
  #connections = 0

  constructor(permits: GatewayPermits) {
    this.#permits = permits
  }

  /**
   * Waits until fewer than half of the connections of the gateway are in use. Returns the function that ends the use.
   * Throws if the call ends before.
   */
  async enterConnection(signal: AbortSignal): Promise<() => void> {
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#waitingForConnection.splice(this.#waitingForConnection.indexOf(enter), 1)
        reject(signal.reason)
      }
      const enter = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.throwIfAborted()
      signal.addEventListener('abort', onAbort)
      this.#waitingForConnection.push(enter)
      this.#admit()
    })
    return () => {
      this.#connections -= 1
      this.#admit()
    }
  }

  #admit(): void {
    const most = Math.ceil(this.#permits.budget.perGateway.connections / 2)
    while (this.#connections < most) {
      const next = this.#waitingForConnection.shift()
      if (next === undefined) return
      this.#connections += 1
      next()
    }
  }
}

/** Serves one call of a link, or refuses it. */
function serve(stream: Stream, options: ServedOptions): void {
  const linkId = linkIdIn(stream.metadata)
  const caller = callerOf(stream, options)
  const refusal = 'refusal' in caller ? caller.refusal : refusalOf(linkId, stream.metadata, { ...options, ...caller })
  if (linkId === undefined || 'refusal' in caller || refusal !== undefined) {
    stream.emit('error', refusal)
    return
  }
  const call = new PermitCall(stream, linkId, options)
  const onRevoked = () => call.refuse('The certificate of the link was revoked.')
  caller.peer?.revoked.addEventListener('abort', onRevoked)
  stream.on('close', () => caller.peer?.revoked.removeEventListener('abort', onRevoked))
  stream.on('data', ({ message }: PermitMessage) => {
    if (message.case === 'take') void call.take(message.value)
    if (message.case === 'release') call.release(message.value)
  })
  stream.on('cancelled', () => call.end())
  stream.on('error', () => call.end())
  stream.on('end', () => {
    call.end()
    stream.end()
  })
}

type Refusal = { code: status; details: string }

/** Returns the owner of the certificate of a call over TLS, or why it is refused. */
function callerOf(stream: Stream, { tls }: ServedOptions): { peer: TlsPeer | undefined } | { refusal: Refusal } {
  try {
    return { peer: tls?.peerOf(stream.getAuthContext().sslPeerCertificate, 'link') }
  } catch (error) {
    return { refusal: { code: status.PERMISSION_DENIED, details: (error as Error).message } }
  }
}

type CheckOptions = ServedOptions & { peer: TlsPeer | undefined }

function refusalOf(linkId: string | undefined, metadata: Metadata, options: CheckOptions): Refusal | undefined {
  const { registry, others, peer } = options
  if (linkId === undefined)
    return { code: status.INVALID_ARGUMENT, details: 'A call for permits must name the link. Update the link.' }
  const fault = registry.certificateFault(linkId, peer)
  if (fault !== undefined) return { code: status.PERMISSION_DENIED, details: fault }
  if (!registry.isAllowed(linkId, textIn(metadata, linkTokenKey)))
    return {
      code: status.PERMISSION_DENIED,
      details: `The gateway runs the asset link ${linkId} itself. Only its process gets permits.`,
    }
  if (!registry.isReserved(linkId) && others.calls >= limits.calls)
    return {
      code: status.RESOURCE_EXHAUSTED,
      details: `Links that the gateway does not run can have at most ${limits.calls} calls at a time.`,
    }
  return undefined
}

/** `PermitCall` gives permits to one call of a link, within the limits of the call. */
class PermitCall {
  readonly #stream: Stream
  readonly #linkId: string
  readonly #connectionMs: number
  readonly #takePermit: (request: PermitRequest) => Promise<Disposable>
  readonly #classes: Promise<ReadonlySet<string> | undefined>
  readonly #permits: GatewayPermits
  /** The counts of all links that the gateway does not run, if this is a call of one of them. */
  readonly #others: OtherLinks | undefined
  #waiting = 0
  readonly #over = new AbortController()
  readonly #connections = new Map<bigint, Disposable>()

  constructor(stream: Stream, linkId: string, options: ServedOptions) {
    const { permits, registry, links, others, connectionMs = limits.connectionMs } = options
    this.#stream = stream
    this.#linkId = linkId
    this.#connectionMs = connectionMs
    const scanId = textIn(stream.metadata, scanMetadataKey)
    this.#takePermit = permits.forCall({ linkId, scanId, signal: this.#over.signal })
    this.#classes = classesOf(links.find(({ appInstanceId }) => appInstanceId === linkId))
    this.#permits = permits
    this.#others = registry.isReserved(linkId) ? undefined : others
    if (this.#others !== undefined) this.#others.calls += 1
  }

  async take({ id, ...rest }: TakePermit): Promise<void> {
    const request = requestOf(rest)
    if (request === undefined) return void this.#fail(status.INVALID_ARGUMENT, 'The request for a permit is not valid.')
    if (Math.max(this.#waiting, this.#others?.waiting ?? 0) >= limits.waiting)
      return void this.#fail(
        status.RESOURCE_EXHAUSTED,
        `Links can wait for at most ${limits.waiting} permits at a time.`,
      )
    this.#countWaiting(1)
    try {
      const permit = await this.#granted(request)
      if (this.#over.signal.aborted) return permit[Symbol.dispose]()
      if (request.kind === 'connection') this.#connections.set(id, permit)
      this.#stream.write({ id, refusal: '', reason: '', intervalMs: this.#permits.intervalMs(request.kind) })
    } catch (error) {
      if (this.#over.signal.aborted) return
      const { reason, message } =
        error instanceof PermitRefusal ? error : { reason: 'canceled', message: String(error) }
      this.#stream.write({ id, refusal: message, reason })
    } finally {
      this.#countWaiting(-1)
    }
  }

  release(id: bigint): void {
    this.#connections.get(id)?.[Symbol.dispose]()
    this.#connections.delete(id)
  }

  /** Ends the call and its connections. */
  end(): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    for (const id of [...this.#connections.keys()]) this.release(id)
    if (this.#others !== undefined) this.#others.calls -= 1
  }

  /** Ends the call, because the caller may no longer take permits. */
  refuse(details: string): void {
    this.#fail(status.PERMISSION_DENIED, details)
  }

  #countWaiting(change: number): void {
    this.#waiting += change
    if (this.#others !== undefined) this.#others.waiting += change
  }

  /** Waits for a permit. The result ends the connection, if the permit is for one. */
  async #granted(request: PermitRequest): Promise<Disposable> {
    const name = packetClassOf(request)
    if ((await this.#classes)?.has(name) === false)
      throw new PermitRefusal('protocol', `The table of functions of ${this.#linkId} does not contain ${name}.`)
    using slots = new DisposableStack()
    if (request.kind === 'connection' && this.#others !== undefined)
      slots.defer(await this.#others.enterConnection(this.#over.signal))
    slots.use(await this.#takePermit(request))
    if (request.kind === 'connection') {
      const timer = setTimeout(() => this.#onHeldTooLong(), this.#connectionMs)
      slots.defer(() => clearTimeout(timer))
    }
    return slots.move()
  }

  #onHeldTooLong(): void {
    const seconds = this.#connectionMs / 1_000
    this.#fail(status.DEADLINE_EXCEEDED, `A link can hold the permit of a connection for at most ${seconds} seconds.`)
  }

  #fail(code: status, details: string): void {
    this.end()
    this.#stream.emit('error', { code, details })
  }
}

/** Returns the classes of traffic of a built-in link. Returns undefined for a link whose table of functions is not known. */
async function classesOf(link: Pick<BuiltInLink, 'functions'> | undefined): Promise<ReadonlySet<string> | undefined> {
  const functions = await link?.functions?.()
  return functions && new Set(functions.map(packetClassOf))
}

function textIn(metadata: Metadata, key: string): string | undefined {
  const [value] = metadata.get(key)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Returns the id of the link in the metadata, which is percent-encoded. */
function linkIdIn(metadata: Metadata): string | undefined {
  try {
    return decodeURIComponent(textIn(metadata, linkIdKey) ?? '') || undefined
  } catch {
    return undefined
  }
}

function requestOf({
  address,
  protocol,
  operation,
  kind,
  forwarded,
}: Omit<TakePermit, 'id'>): PermitRequest | undefined {
  const name = permitKinds.find((one) => permitKindNumbers[one] === kind)
  const isValid = [address, protocol, operation].every((text) => text !== '' && text.length <= limits.text)
  if (name === undefined || !isValid) return undefined
  return { address, protocol, operation, kind: name, ...(forwarded ? { forwarded } : {}) }
}
