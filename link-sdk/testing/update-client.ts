import type { MessageInitShape } from '@bufbuild/protobuf'
import { Client, type ClientDuplexStream, credentials, type ServiceError } from '@grpc/grpc-js'
import { artefactTransferVendor, interfaceName, linkServices, wireMethod } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactChunk,
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
  user?: { username: string; password: string }
  onStatus?: (status: Status) => void
  withinMs?: number
}

/** `UpdateResult` is what a link answered: its statuses, the number of its requests for content, and the gRPC code. */
export type UpdateResult = { statuses: Status[]; requests: number; code: number; details: string }

/** `UpdateClient` calls the update interfaces of a link in tests. */
export class UpdateClient implements Disposable {
  readonly #client: Client

  constructor(endpoint: string) {
    this.#client = new Client(endpoint, credentials.createInsecure())
  }

  prepare(options: UpdateOptions): Promise<UpdateResult> {
    return this.#step('prepareUpdate', options)
  }

  activate(options: UpdateOptions): Promise<UpdateResult> {
    return this.#step('activateUpdate', options)
  }

  async cancel(options: UpdateOptions): Promise<UpdateResult> {
    const stream = callStream(this.#client, {
      method: wireMethod(linkServices.artefactUpdate.method.cancelUpdate),
      request: metadataOf(options),
      withinMs: options.withinMs ?? 60_000,
    })
    const statuses: Status[] = []
    const end = await endOf(async () => {
      for await (const status of stream) statuses.push(named(status))
    })
    return { statuses, requests: 0, ...end }
  }

  /** Reads an artefact from a device, over the interface with the prefix `factory_x`. */
  async read(options: UpdateOptions): Promise<UpdateResult & { content: Buffer }> {
    const { artefactTransfer } = linkServices
    const stream = callStream(this.#client, {
      method: wireMethod(artefactTransfer.method.pullArtefact, interfaceName(artefactTransfer, artefactTransferVendor)),
      request: metadataOf(options),
      withinMs: options.withinMs ?? 60_000,
    })
    const statuses: Status[] = []
    const content: Uint8Array[] = []
    const end = await endOf(async () => {
      for await (const { data } of stream as AsyncIterable<ArtefactChunk>) {
        if (data.case === 'status') statuses.push(named(data.value))
        if (data.case === 'fileContent') content.push(data.value)
      }
    })
    return { statuses, requests: 0, content: Buffer.concat(content), ...end }
  }

  [Symbol.dispose](): void {
    this.#client.close()
  }

  async #step(name: 'prepareUpdate' | 'activateUpdate', options: UpdateOptions): Promise<UpdateResult> {
    const { path, requestSerialize, responseDeserialize } = wireMethod(linkServices.artefactUpdate.method[name])
    const stream: ClientDuplexStream<Parameters<typeof requestSerialize>[0], ArtefactMessage> =
      this.#client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, {
        deadline: Date.now() + (options.withinMs ?? 60_000),
      })
    stream.write({ data: { case: 'metadata', value: metadataOf(options) } })
    const result = { statuses: [] as Status[], requests: 0 }
    const end = await endOf(async () => {
      for await (const { message } of stream as AsyncIterable<ArtefactMessage>) {
        if (message.case === 'status') {
          const status = named(message.value)
          result.statuses.push(status)
          options.onStatus?.(status)
        }
        if (message.case !== 'request') continue
        result.requests += 1
        for (const value of options.content ?? []) stream.write({ data: { case: 'fileContent', value } })
        stream.end()
      }
    })
    return { ...result, ...end }
  }
}

function metadataOf({
  jobId,
  device,
  kind = 'AT_FIRMWARE',
  user,
}: UpdateOptions): MessageInitShape<typeof ArtefactMetaDataSchema> {
  const bytes = device instanceof Uint8Array ? device : Buffer.from(JSON.stringify(device))
  return {
    jobIdentifier: { jobId },
    artefactIdentifier: { type: ArtefactType[kind] },
    deviceIdentifier: { blob: Buffer.from(Buffer.from(bytes).toString('base64')) },
    ...(user === undefined ? {} : { deviceCredentials: user }),
  }
}

function named({ phase, state, message, progress }: ArtefactOperationStatus): Status {
  return { phase: ArtefactOperationPhase[phase], state: ArtefactOperationState[state], message, progress }
}

async function endOf(reading: () => Promise<void>): Promise<{ code: number; details: string }> {
  try {
    await reading()
    return { code: 0, details: '' }
  } catch (error) {
    const { code, details } = error as ServiceError
    if (typeof code !== 'number') throw error
    return { code, details }
  }
}
