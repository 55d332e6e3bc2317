import { type EventEmitter, once } from 'node:events'
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServerDuplexStream, ServerWritableStream } from '@grpc/grpc-js'
import { linkServices, wireService } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactChunk,
  type ArtefactMessage,
  type ArtefactMessageSchema,
  type ArtefactMetaData,
  ArtefactOperationPhase,
  ArtefactOperationRequestType,
  ArtefactOperationState,
  type ArtefactOperationStatus,
  type ArtefactOperationStatusSchema,
  ArtefactType,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import type { LinkDefinition } from './define-link.ts'
import { LinkError, statusOf } from './link-error.ts'
import type { Log } from './log.ts'
import { type ServedService, type ServiceContext, signalOf } from './unary.ts'
import type { ArtefactKind, UpdateCall, UpdateCredential, UpdateSteps, UpdateTarget } from './update.ts'

type Stream = ServerDuplexStream<ArtefactChunk, MessageInitShape<typeof ArtefactMessageSchema>>
type Cancelling = ServerWritableStream<ArtefactMetaData, MessageInitShape<typeof ArtefactOperationStatusSchema>>
type Writable = EventEmitter & { write(message: unknown): boolean; end(): unknown; cancelled: boolean }

export type UpdateLink = LinkDefinition & Required<Pick<LinkDefinition, 'update'>>

/**
 * Returns the update service, which transfers artefacts to a device. The caller sends the content only when the link
 * requests it, with back-pressure.
 */
export function updateService({ update }: UpdateLink, context: ServiceContext): ServedService {
  const { log } = context
  const step = (work: (call: UpdateCall) => UpdateSteps) => (stream: Stream) => {
    ended(stream, { log, working: carryOut(stream, { work, ...context }) })
  }
  return {
    service: linkServices.artefactUpdate,
    definition: (name) => wireService(linkServices.artefactUpdate, name),
    implementation: {
      prepareUpdate: step((call) => update.prepare(call)),
      activateUpdate: step((call) => update.activate(call)),
      cancelUpdate: (stream: Cancelling) => {
        const cancel = async () => {
          const signal = signalOf(stream)
          using permits = context.permits.forCall({ signal })
          const call = { ...targetOf(stream.request), signal, log, permits }
          for await (const status of update.cancel(call)) await write(stream, statusMessage(status))
        }
        ended(stream, { log, working: cancel() })
      },
    },
  }
}

type Work = ServiceContext & { work: (call: UpdateCall) => UpdateSteps }

async function carryOut(stream: Stream, { work, log, permits: source }: Work): Promise<void> {
  const chunks: AsyncIterator<ArtefactChunk> = stream[Symbol.asyncIterator]()
  const { value: first } = await chunks.next()
  if (first?.data.case !== 'metadata') {
    throw new LinkError('INVALID_ARGUMENT', 'The first chunk must be the metadata of the artefact.')
  }
  let isRequested = false
  async function* content(): AsyncGenerator<Uint8Array> {
    if (isRequested) throw new LinkError('INTERNAL', 'The artefact can be requested only once.')
    isRequested = true
    const type = ArtefactOperationRequestType.AORT_ARTEFACT_TRANSMISSION
    await write(stream, { message: { case: 'request', value: { type } } })
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
      const { data } = next.value
      if (data.case !== 'fileContent')
        throw new LinkError('INVALID_ARGUMENT', 'A chunk does not contain content of the artefact.')
      yield data.value
    }
  }
  const signal = signalOf(stream)
  using permits = source.forCall({ signal })
  const call = { ...targetOf(first.data.value), content, signal, log, permits }
  for await (const status of work(call)) {
    await write(stream, { message: { case: 'status', value: statusMessage(status) } })
  }
}

function ended(stream: Writable, { working, log }: { working: Promise<void>; log: Log }): void {
  working.then(
    () => stream.end(),
    (error: unknown) => {
      if (stream.cancelled) return
      if (!(error instanceof LinkError)) log.error('An update failed.', { error })
      stream.emit('error', statusOf(error))
    },
  )
}

async function write(stream: Writable, message: ArtefactMessageInit | StatusInit): Promise<void> {
  if (!stream.write(message)) await once(stream, 'drain')
}

type ArtefactMessageInit = MessageInitShape<typeof ArtefactMessageSchema> | ArtefactMessage
type StatusInit = MessageInitShape<typeof ArtefactOperationStatusSchema> | ArtefactOperationStatus

const phases = {
  prepare: ArtefactOperationPhase.AOP_PREPARE,
  download: ArtefactOperationPhase.AOP_DOWNLOAD,
  installation: ArtefactOperationPhase.AOP_INSTALLATION,
  activation: ArtefactOperationPhase.AOP_ACTIVATION,
  cancellation: ArtefactOperationPhase.AOP_CANCELLATION,
} as const

const states = {
  ok: ArtefactOperationState.AOS_OK,
  failed: ArtefactOperationState.AOS_ERROR_FAIL,
  'another device': ArtefactOperationState.AOS_ERROR_IDENTITY_CHECK_FAIL,
  incompatible: ArtefactOperationState.AOS_ERROR_INCOMPATIBLE,
  'not supported': ArtefactOperationState.AOS_ERROR_NOT_SUPPORTED,
} as const

type StatusStep = UpdateSteps extends AsyncIterable<infer Status> | Iterable<infer Status> ? Status : never

function statusMessage({ phase, state = 'ok', message = '', progress = 0 }: StatusStep): StatusInit {
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

function targetOf(metadata: ArtefactMetaData): UpdateTarget {
  const { jobIdentifier, artefactIdentifier, deviceIdentifier, deviceCredentials, artefactCredentials } = metadata
  if (jobIdentifier === undefined || jobIdentifier.jobId === '') {
    throw new LinkError('INVALID_ARGUMENT', 'The metadata has no job.')
  }
  if (deviceIdentifier === undefined) throw new LinkError('INVALID_ARGUMENT', 'The metadata names no device.')
  return {
    jobId: jobIdentifier.jobId,
    kind: kinds[artefactIdentifier?.type ?? ArtefactType.AT_FIRMWARE] ?? 'firmware',
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
  return { [name]: { type, bytes, username, password } } as { [Key in Name]?: UpdateCredential }
}
