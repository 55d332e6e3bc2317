import { type EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js'
import { artefactTransferVendor, linkServices, wireService } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactChunk,
  type ArtefactChunkSchema,
  type ArtefactMessageSchema,
  type ArtefactMetaData,
  ArtefactOperationPhase,
  ArtefactOperationRequestType,
  ArtefactOperationState,
  type ArtefactOperationStatusSchema,
  ArtefactType,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import { withHiddenValues } from './credential.ts'
import type { LinkDefinition } from './define-link.ts'
import { LinkError, statusOf } from './link-error.ts'
import { type ServedService, type ServiceContext, signalOf } from './unary.ts'
import type {
  ArtefactKind,
  DeviceCall,
  UpdateCall,
  UpdateCredential,
  UpdateStatus,
  UpdateSteps,
  UpdateTarget,
} from './update.ts'

type Stream = ServerDuplexStream<ArtefactChunk, MessageInitShape<typeof ArtefactMessageSchema>>
type StatusStream = ServerWritableStream<ArtefactMetaData, MessageInitShape<typeof ArtefactOperationStatusSchema>>
type ContentStream = ServerWritableStream<ArtefactMetaData, MessageInitShape<typeof ArtefactChunkSchema>>
type StatusMessage = MessageInitShape<typeof ArtefactOperationStatusSchema>

export type UpdateLink = LinkDefinition & Required<Pick<LinkDefinition, 'update'>>

type UpdateContext = ServiceContext & { stopping: AbortSignal }

const limits = {
  /** The time in which the caller must send the metadata. */
  metadataMs: 30_000,
  /** The time in which the caller must send the next chunk of the content. */
  chunkMs: 300_000,
  /** The time in which a cancellation must follow the end of the content. */
  cancelMs: 200,
  /** The maximum size of a chunk that the link sends. */
  chunkBytes: 64 * 1024,
} as const

/**
 * Returns the services of a link with updates. The caller sends the content of an artefact only when the link requests
 * it, with back-pressure. A link that can read artefacts from devices also has the service `artefactTransfer`.
 */
export function updateServices({ update }: UpdateLink, context: UpdateContext): ServedService[] {
  const { artefactUpdate, artefactTransfer } = linkServices
  const devices = new Set<string>()
  const step = (work: (call: UpdateCall) => UpdateSteps) =>
    handler(context, (stream: Stream, signal) => runStep(stream, { work, devices, context, signal }))
  const steps = {
    prepareUpdate: step((call) => update.prepare(call)),
    activateUpdate: step((call) => update.activate(call)),
    cancelUpdate: handler(context, async (stream: StatusStream, signal) => {
      using permits = context.permits.forCall({ signal })
      await sendSteps(update.cancel(callOf(stream.request, { ...context, signal, permits })), {
        send: (status) => write(stream, statusMessage(status), signal),
      })
    }),
  }
  const updateService: ServedService = {
    service: artefactUpdate,
    definition: (name) => wireService(artefactUpdate, name),
    implementation: steps,
  }
  const { read } = update
  if (read === undefined) return [updateService]
  const transferService: ServedService = {
    service: artefactTransfer,
    vendors: [artefactTransferVendor],
    definition: (name) => wireService(artefactTransfer, name),
    implementation: {
      ...steps,
      pushArtefact: handler(context, async (_stream: Stream) => {
        throw new LinkError('UNIMPLEMENTED', 'The link transfers artefacts only with PrepareUpdate.')
      }),
      pullArtefact: handler(context, async (stream: ContentStream, signal) => {
        using permits = context.permits.forCall({ signal })
        await sendSteps(read(callOf(stream.request, { ...context, signal, permits })), {
          send: (status) => write(stream, { data: { case: 'status', value: statusMessage(status) } }, signal),
          sendContent: (value) => write(stream, { data: { case: 'fileContent', value } }, signal),
        })
      }),
    },
  }
  return [updateService, transferService]
}

type Work = {
  work: (call: UpdateCall) => UpdateSteps
  /** The devices for which a step is running. */
  devices: Set<string>
  context: UpdateContext
  signal: AbortSignal
}

async function runStep(stream: Stream, { work, devices, context, signal }: Work): Promise<void> {
  const chunks: AsyncIterator<ArtefactChunk> = stream[Symbol.asyncIterator]()
  const { value: first } = await within(limits.metadataMs, chunks.next(), signal)
  if (first?.data.case !== 'metadata') {
    throw new LinkError('INVALID_ARGUMENT', 'The first chunk must be the metadata of the artefact.')
  }
  let isRequested = false
  async function* content(): AsyncGenerator<Uint8Array> {
    if (isRequested) throw new LinkError('INTERNAL', 'The artefact can be requested only once.')
    isRequested = true
    const type = ArtefactOperationRequestType.AORT_ARTEFACT_TRANSMISSION
    await write(stream, { message: { case: 'request', value: { type } } }, signal)
    for (;;) {
      const next = await within(limits.chunkMs, chunks.next(), signal)
      if (next.done === true) return requireComplete(signal)
      const { data } = next.value
      if (data.case !== 'fileContent')
        throw new LinkError('INVALID_ARGUMENT', 'A chunk does not contain content of the artefact.')
      yield data.value
    }
  }
  using permits = context.permits.forCall({ signal })
  const call = { ...callOf(first.data.value, { ...context, signal, permits }), content }
  const device = Buffer.from(call.device).toString('base64')
  if (devices.has(device)) {
    throw new LinkError('RESOURCE_EXHAUSTED', 'Another update of the device is running. Retry when it has ended.')
  }
  devices.add(device)
  try {
    await sendSteps(work(call), {
      send: (status) => write(stream, { message: { case: 'status', value: statusMessage(status) } }, signal),
    })
  } finally {
    devices.delete(device)
  }
}

/**
 * Throws if the caller canceled the transfer. Some gRPC clients close their side before they cancel a call. Without this
 * check, a part of an artefact could be taken as the complete artefact.
 */
async function requireComplete(signal: AbortSignal): Promise<void> {
  await delay(limits.cancelMs, undefined, { signal })
}

type Sending = {
  send: (status: UpdateStatus) => Promise<void>
  sendContent?: (content: Uint8Array) => Promise<void>
}

/** Sends the statuses and the content of a step. A status with an error ends the step. */
async function sendSteps(
  steps: AsyncIterable<UpdateStatus | Uint8Array> | Iterable<UpdateStatus | Uint8Array>,
  { send, sendContent }: Sending,
): Promise<void> {
  for await (const one of steps) {
    if (one instanceof Uint8Array) {
      for (let start = 0; start < one.length; start += limits.chunkBytes) {
        await sendContent?.(one.subarray(start, start + limits.chunkBytes))
      }
      continue
    }
    await send(one)
    if ((one.state ?? 'ok') !== 'ok') return
  }
}

type OpenStream = EventEmitter & { write(message: never): boolean; end(): unknown; cancelled: boolean }
type Answering<Call> = (stream: Call, signal: AbortSignal) => Promise<void>

/** Returns a gRPC handler that ends the call when `work` ends. A thrown error becomes the status of the call. */
function handler<Call extends OpenStream>({ log, stopping }: UpdateContext, work: Answering<Call>) {
  return (stream: Call): void => {
    const signal = AbortSignal.any([signalOf(stream), stopping])
    work(stream, signal).then(
      () => stream.end(),
      (error: unknown) => {
        if (stream.cancelled) return
        const reason = stopping.aborted ? new LinkError('UNAVAILABLE', 'The link is stopping.') : error
        if (!(reason instanceof LinkError)) log.error('An update failed.', { error })
        stream.emit('error', statusOf(reason))
      },
    )
  }
}

async function write<Message>(
  stream: EventEmitter & { write(message: Message): boolean },
  message: Message,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  if (!stream.write(message)) await once(stream, 'drain', { signal })
}

/** Waits for a chunk of the caller, until the time has passed or the signal is aborted. */
async function within<Result>(milliseconds: number, waiting: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const ending = new AbortController()
  const late = delay(milliseconds, undefined, { signal: AbortSignal.any([signal, ending.signal]) }).then(() => {
    throw new LinkError('DEADLINE_EXCEEDED', `The caller sent nothing for ${milliseconds / 1_000} s.`)
  })
  try {
    return await Promise.race([waiting, late])
  } finally {
    ending.abort()
  }
}

const phases = {
  prepare: ArtefactOperationPhase.AOP_PREPARE,
  download: ArtefactOperationPhase.AOP_DOWNLOAD,
  installation: ArtefactOperationPhase.AOP_INSTALLATION,
  activation: ArtefactOperationPhase.AOP_ACTIVATION,
  cancellation: ArtefactOperationPhase.AOP_CANCELLATION,
  archive: ArtefactOperationPhase.AOP_ARCHIVE,
  upload: ArtefactOperationPhase.AOP_UPLOAD,
} as const

const states = {
  ok: ArtefactOperationState.AOS_OK,
  failed: ArtefactOperationState.AOS_ERROR_FAIL,
  'another device': ArtefactOperationState.AOS_ERROR_IDENTITY_CHECK_FAIL,
  incompatible: ArtefactOperationState.AOS_ERROR_INCOMPATIBLE,
  'not supported': ArtefactOperationState.AOS_ERROR_NOT_SUPPORTED,
} as const

function statusMessage({ phase, state = 'ok', message = '', progress = 0 }: UpdateStatus): StatusMessage {
  return {
    phase: phases[phase],
    state: states[state],
    message,
    progress: Math.max(0, Math.min(100, Math.round(progress))),
  }
}

const kinds: Readonly<Record<ArtefactType, ArtefactKind>> = {
  [ArtefactType.AT_FIRMWARE]: 'firmware',
  [ArtefactType.AT_SOFTWARE]: 'software',
  [ArtefactType.AT_BACKUP]: 'backup',
  [ArtefactType.AT_CONFIGURATION]: 'configuration',
  [ArtefactType.AT_LOGFILE]: 'logfile',
}

type CallContext = Pick<DeviceCall, 'signal' | 'log' | 'permits' | 'home'>

function callOf(metadata: ArtefactMetaData, { signal, log, permits, home }: CallContext): DeviceCall {
  return { ...targetOf(metadata), signal, log, permits, home }
}

function targetOf(metadata: ArtefactMetaData): UpdateTarget {
  const { jobIdentifier, artefactIdentifier, deviceIdentifier, deviceCredentials, artefactCredentials } = metadata
  if (jobIdentifier === undefined || jobIdentifier.jobId === '') {
    throw new LinkError('INVALID_ARGUMENT', 'The metadata has no job.')
  }
  if (deviceIdentifier === undefined || deviceIdentifier.blob.length === 0) {
    throw new LinkError('INVALID_ARGUMENT', 'The metadata names no device.')
  }
  const type = artefactIdentifier?.type ?? ArtefactType.AT_FIRMWARE
  const kind = kinds[type]
  if (kind === undefined) throw new LinkError('INVALID_ARGUMENT', `The kind of artefact ${type} is not known.`)
  return {
    jobId: jobIdentifier.jobId,
    kind,
    // The bytes contain the base64 text that the link reported as metadata of the device.
    device: Buffer.from(Buffer.from(deviceIdentifier.blob).toString('latin1'), 'base64'),
    ...credentialOf('deviceCredential', deviceCredentials),
    ...credentialOf('artefactCredential', artefactCredentials),
  }
}

function credentialOf<Name extends string>(
  name: Name,
  credentials: ArtefactMetaData['deviceCredentials'] | ArtefactMetaData['artefactCredentials'],
): { [Key in Name]?: UpdateCredential } {
  if (credentials === undefined) return {}
  const { credentialType: type, credentials: bytes, username, password } = credentials
  const credential = withHiddenValues({ type, bytes, username, password })
  return { [name]: credential } as { [Key in Name]?: UpdateCredential }
}
