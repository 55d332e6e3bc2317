import type { MessageInitShape } from '@bufbuild/protobuf'
import { Client, type ClientDuplexStream, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { interfaceNameOnLink, linkServices, ourVendor, wireMethod } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactChunkSchema,
  type ArtefactMessage,
  type ArtefactMetaDataSchema,
  ArtefactOperationPhase,
  ArtefactOperationState,
  type ArtefactOperationStatus,
  ArtefactType,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import { callStream } from '../call.ts'

/** `Status` is a status that a link sent, with the names of its phase and its state. */
export type Status = { phase: string; state: string; message: string; progress: number }

export type UpdateOptions = {
  jobId: string
  /** The bytes that name the device. An object is sent as JSON. */
  device: Uint8Array | object
  kind?: keyof typeof ArtefactType
  content?: readonly Uint8Array[]
  deviceCredentials?: { username?: string; password?: string; credentials?: Uint8Array }
  onStatus?: (status: Status) => void
  /** Is called when the link requests the content. The content is sent when it resolves. */
  onRequest?: () => Promise<void> | void
  /** Cancels the call when it is aborted. */
  signal?: AbortSignal
}

/** `UpdateResult` is what a link answered: its statuses, the number of its requests for content, and the gRPC code. */
export type UpdateResult = { statuses: Status[]; requests: number; code: number; details: string }

type ClientSettings = {
  endpoint: string
  vendor?: string
  /** Whether to use the interface with the prefix `factory_x` for all calls. */
  isTransfer?: boolean
  withinMs?: number
}

/** `UpdateClient` calls the update interfaces of a link. */
export class UpdateClient implements Disposable {
  readonly #client: Client
  readonly #settings: ClientSettings

  constructor(settings: ClientSettings) {
    this.#settings = settings
    this.#client = new Client(settings.endpoint, credentials.createInsecure())
  }

  prepare(options: UpdateOptions): Promise<UpdateResult> {
    return this.#step('prepareUpdate', options)
  }

  activate(options: UpdateOptions): Promise<UpdateResult> {
    return this.#step('activateUpdate', options)
  }

  async cancel(options: UpdateOptions): Promise<UpdateResult> {
    const stream = callStream(this.#client, {
      method: this.#method('cancelUpdate'),
      request: metadataOf(options),
      withinMs: this.#withinMs,
    })
    const statuses: Status[] = []
    const end = await endOf(async () => {
      for await (const one of stream) statuses.push(named(one))
    })
    return { statuses, requests: 0, ...end }
  }

  /** Reads an artefact from a device, over the interface with the prefix `factory_x`. */
  async read(options: UpdateOptions): Promise<UpdateResult & { content: Buffer }> {
    const { artefactTransfer } = linkServices
    const stream = callStream(this.#client, {
      method: wireMethod(artefactTransfer.method.pullArtefact, interfaceNameOnLink(artefactTransfer, ourVendor)),
      request: metadataOf(options),
      withinMs: this.#withinMs,
    })
    const statuses: Status[] = []
    const content: Uint8Array[] = []
    const end = await endOf(async () => {
      for await (const { data } of stream) {
        if (data.case === 'status') statuses.push(named(data.value))
        if (data.case === 'fileContent') content.push(data.value)
      }
    })
    return { statuses, requests: 0, content: Buffer.concat(content), ...end }
  }

  [Symbol.dispose](): void {
    this.#client.close()
  }

  get #withinMs(): number {
    return this.#settings.withinMs ?? 60_000
  }

  #method<Name extends keyof typeof linkServices.artefactUpdate.method>(name: Name) {
    const { artefactUpdate, artefactTransfer } = linkServices
    const { isTransfer = false, vendor = ourVendor } = this.#settings
    return wireMethod(
      artefactUpdate.method[name],
      interfaceNameOnLink(isTransfer ? artefactTransfer : artefactUpdate, vendor),
    )
  }

  async #step(name: 'prepareUpdate' | 'activateUpdate', options: UpdateOptions): Promise<UpdateResult> {
    const { path, requestSerialize, responseDeserialize } = this.#method(name)
    const deadline = Date.now() + this.#withinMs
    const stream = this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, { deadline })
    options.signal?.addEventListener('abort', () => stream.cancel(), { once: true })
    stream.write({ data: { case: 'metadata', value: metadataOf(options) } })
    const result = { statuses: [] as Status[], requests: 0 }
    const end = await endOf(async () => {
      for await (const { message } of stream as AsyncIterable<ArtefactMessage>) {
        if (message.case === 'status') {
          const one = named(message.value)
          result.statuses.push(one)
          options.onStatus?.(one)
        }
        if (message.case !== 'request') continue
        result.requests += 1
        if (result.requests === 1) void sendContent(stream, options)
      }
    })
    return { ...result, ...end }
  }
}

type Stream = ClientDuplexStream<MessageInitShape<typeof ArtefactChunkSchema>, ArtefactMessage>

async function sendContent(stream: Stream, { onRequest, content = [] }: UpdateOptions): Promise<void> {
  await onRequest?.()
  for (const value of content) stream.write({ data: { case: 'fileContent', value } })
  stream.end()
}

function metadataOf(options: UpdateOptions): MessageInitShape<typeof ArtefactMetaDataSchema> {
  const { jobId, device, kind = 'AT_FIRMWARE', deviceCredentials } = options
  const bytes = device instanceof Uint8Array ? device : Buffer.from(JSON.stringify(device))
  return {
    jobIdentifier: { jobId },
    artefactIdentifier: { type: ArtefactType[kind] },
    deviceIdentifier: { blob: Buffer.from(Buffer.from(bytes).toString('base64')) },
    ...(deviceCredentials === undefined ? {} : { deviceCredentials }),
  }
}

function named({ phase, state, message, progress }: ArtefactOperationStatus): Status {
  const { [phase]: phaseName = String(phase) } = ArtefactOperationPhase
  const { [state]: stateName = String(state) } = ArtefactOperationState
  return { phase: phaseName, state: stateName, message, progress }
}

async function endOf(reading: () => Promise<void>): Promise<{ code: number; details: string }> {
  try {
    await reading()
    return { code: status.OK, details: '' }
  } catch (error) {
    const { code, details } = error as ServiceError
    if (typeof code !== 'number') throw error
    return { code, details }
  }
}
