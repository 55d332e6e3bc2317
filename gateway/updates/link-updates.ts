import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import {
  type ArtefactMessage,
  ArtefactOperationState,
  type ArtefactOperationStatus,
  ArtefactType,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import { FirmwareStatus, FirmwareUpdateMode } from '@millwright/api/proto/generated/firmware-update_pb.js'
import type { ArtefactKind } from '@millwright/api/updates.ts'
import { type Credential, redactedText } from '../job-credentials.ts'
import { isBusy, isServiceError, LinkClient, linkErrorText, offers } from '../link-client.ts'
import type { Registration } from '../registry/registration.ts'
import { silenceVariable } from '../settings.ts'
import { UpdateError } from './update-error.ts'

/**
 * This file is the client of the three update interfaces of links:
 * - the current one, `<vendor>.industrialassethub.artefact_update.v1`,
 * - an earlier variant of it, `factory_x.artefact_update.v1`, which can also read artefacts from a device,
 * - the one of the first generation, `FirmwareupdateApi`, in which the link reads the artefact from a file.
 *
 * The gateway sends the content of an artefact only after the link requested it, which the link can do once.
 */

export type UpdateInterface = 'artefactUpdate' | 'artefactTransfer' | 'firstFirmwareUpdate'

/** Returns the interface with which a link installs artefacts, or undefined if it has none. */
export function updateInterfaceOf(link: { interfaces: readonly string[] }): UpdateInterface | undefined {
  return (['artefactUpdate', 'artefactTransfer', 'firstFirmwareUpdate'] as const).find((one) => offers(link, one))
}

/** `UpdateCall` describes one call: the job, the device, its credentials, and the artefact. */
export type UpdateCall = {
  jobId: string
  kind: ArtefactKind
  version: string
  device: UpdateDevice
  credential?: Credential | undefined
  /** The chunks of `content` are valid until the next chunk is read. */
  artefact: { path: string; content: () => AsyncIterable<Uint8Array> }
  /** The maximum time between two messages of the link. */
  silenceMs: number
  /** The maximum time of the call. A link can send messages without an end. */
  longestMs: number
  signal: AbortSignal
  onProgress?: (progress: UpdateProgress) => void
}

export type UpdateProgress = { sentBytes?: number; percent?: number; message?: string }

export type UpdateDevice = {
  /** The base64 text by which the link identifies the device. */
  blob: string
  /** The text by which links of the first generation identify the device. */
  id: string
}

type Answers = AsyncIterable<ArtefactMessage> | AsyncIterable<ArtefactOperationStatus>

/**
 * `LinkUpdates` calls the update interface of one link. Its functions throw an `UpdateError`. The code `link_lost` or
 * `link_silent` means that the link did not answer: it is unknown whether the device carried out the call.
 */
export class LinkUpdates implements Disposable {
  readonly #link: LinkClient
  readonly #interface: UpdateInterface
  readonly #name: string

  constructor(registration: Registration, { interfaces }: { interfaces: readonly string[] }) {
    const found = updateInterfaceOf({ interfaces })
    if (found === undefined)
      throw new UpdateError('not_supported', `Asset link ${registration.appInstanceId} has no update interface`)
    this.#interface = found
    this.#name = registration.appInstanceId
    this.#link = new LinkClient({ ...registration, interfaces: [...interfaces] }, { purpose: 'update' })
  }

  /** Resolves when the link accepts connections. A call that fails before is known not to have reached the link. */
  async ready(): Promise<void> {
    try {
      await this.#link.ready()
    } catch {
      throw new UpdateError('link_lost', `Asset link ${this.#name} is not reachable. Start the asset link`)
    }
  }

  /** Transfers the artefact to the device. */
  async prepare(call: UpdateCall): Promise<void> {
    if (this.#interface !== 'firstFirmwareUpdate') return this.#exchange('prepareUpdate', call)
    try {
      await this.#firmware('firmwareDownload', call)
    } catch (error) {
      // Some links transfer, install and activate in one call, which belongs to the activation.
      if (!isUnimplemented(error)) throw this.#errorOf(error, call)
    }
  }

  /** Activates the artefact. This function must be called once for a job. */
  async activate(call: UpdateCall): Promise<void> {
    if (this.#interface !== 'firstFirmwareUpdate') return this.#exchange('activateUpdate', call)
    try {
      await this.#firmware('firmwareInstall', call)
    } catch (error) {
      // A link that does not implement a method has not changed the device.
      if (!isUnimplemented(error)) throw this.#errorOf(error, call)
      return this.#activateWithoutInstall(call)
    }
    await this.#firmware('firmwareActivate', call).catch((error: unknown) => {
      if (!isUnimplemented(error)) throw this.#errorOf(error, call)
    })
  }

  async #activateWithoutInstall(call: UpdateCall): Promise<void> {
    for (const method of ['firmwareActivate', 'firmwareUpdate'] as const) {
      try {
        return await this.#firmware(method, call)
      } catch (error) {
        if (!isUnimplemented(error)) throw this.#errorOf(error, call)
      }
    }
    throw new UpdateError('not_supported', `Asset link ${this.#name} cannot activate firmware`)
  }

  /** Discards the artefact on the device. */
  async cancel(call: UpdateCall): Promise<void> {
    using silence = new SilenceLimit(call)
    try {
      if (this.#interface === 'firstFirmwareUpdate') {
        const { firmwareCancel } = linkServices.firstFirmwareUpdate.method
        const limits = { signal: call.signal, deadlineMs: call.silenceMs }
        const reply = await this.#link.call(firmwareCancel, firmwareRequest(call), limits)
        requireSuccess(reply)
        return
      }
      const { cancelUpdate } = linkServices[this.#interface].method
      const answers = this.#link.stream(cancelUpdate, metadataOf(call), { signal: silence.signal })
      await readAnswers(answers, { call, silence })
    } catch (error) {
      throw this.#errorOf(error, call, silence)
    }
  }

  async #exchange(name: 'prepareUpdate' | 'activateUpdate', call: UpdateCall): Promise<void> {
    if (this.#interface === 'firstFirmwareUpdate') return
    const method = linkServices[this.#interface].method[name]
    using silence = new SilenceLimit(call)
    const stream = this.#link.exchange(method, { signal: silence.signal })
    let isEnded = false
    /** Resolves the chunk that waits for the connection. */
    let release = () => {}
    const end = () => {
      isEnded = true
      release()
    }
    let sending: Promise<void> | undefined
    let isSent = false
    const send = async () => {
      let sentBytes = 0
      for await (const chunk of call.artefact.content()) {
        if (isEnded) return
        // Each chunk waits until the connection accepted the one before, so that memory does not grow. `write` then
        // encodes the chunk at once, before the next one is read into the same buffer.
        await new Promise<void>((resolve) => {
          release = resolve
          stream.write({ data: { case: 'fileContent', value: chunk } }, () => resolve())
        })
        silence.reset()
        sentBytes += chunk.length
        call.onProgress?.({ sentBytes })
      }
      isSent = true
      stream.end()
    }
    try {
      stream.write({ data: { case: 'metadata', value: metadataOf(call) } })
      await readAnswers(stream, {
        call,
        silence,
        onRequest: () => {
          if (sending !== undefined)
            throw new UpdateError('link_protocol', 'The asset link requested the content a second time')
          sending = send()
          sending.catch(() => stream.cancel())
        },
      })
      if (sending !== undefined && !isSent)
        throw new UpdateError('link_protocol', 'The asset link ended the call before it received the whole content')
    } catch (error) {
      end()
      // An error of the file is the reason why the call ended.
      await sending?.catch((fault: unknown) => {
        throw fault
      })
      throw this.#errorOf(error, call, silence)
    } finally {
      end()
      stream.cancel()
    }
  }

  async #firmware(
    name: 'firmwareDownload' | 'firmwareInstall' | 'firmwareActivate' | 'firmwareUpdate',
    call: UpdateCall,
  ): Promise<void> {
    const method = linkServices.firstFirmwareUpdate.method[name]
    using silence = new SilenceLimit(call)
    let last: FirmwareStatus | undefined
    try {
      for await (const reply of this.#link.stream(method, firmwareRequest(call), { signal: silence.signal })) {
        silence.reset()
        last = reply.status
        if (reply.status !== FirmwareStatus.IN_PROGRESS) requireSuccess(reply)
        const percent = Number.parseFloat(reply.progressStatus?.percentage ?? '')
        if (Number.isFinite(percent)) call.onProgress?.({ percent: percentOf(percent) })
      }
    } catch (error) {
      throw silence.isExceeded ? this.#errorOf(error, call, silence) : error
    }
    if (last === FirmwareStatus.IN_PROGRESS)
      throw new UpdateError('link_lost', 'The asset link ended the call without a result')
  }

  #errorOf(error: unknown, { credential }: UpdateCall, silence?: SilenceLimit): UpdateError {
    return linkFailureOf(error, { name: this.#name, silence, credential })
  }

  [Symbol.dispose](): void {
    this.#link.close()
  }
}

type FailureOptions = {
  name: string
  silence: SilenceLimit | undefined
  credential: Credential | undefined
}

/** Returns the error of a call. Its text is replaced if it contains the credentials. */
export function linkFailureOf(error: unknown, { name, silence, credential }: FailureOptions): UpdateError {
  if (silence?.isExceeded) return new UpdateError('link_silent', `Asset link ${name} ${silence.problem}`)
  if (error instanceof UpdateError) return error
  const text = linkErrorText(error)
  return new UpdateError(codeOf(error), credential?.secret.isIn(text) ? redactedText : text)
}

/**
 * `SilenceLimit` aborts a call when the link sends nothing for too long, when the call takes too long, or when the signal of the
 * call aborts.
 */
export class SilenceLimit implements Disposable {
  readonly signal: AbortSignal
  readonly #exceeded = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #end: NodeJS.Timeout
  #problem = ''

  constructor({ signal, silenceMs, longestMs }: Pick<UpdateCall, 'signal' | 'silenceMs' | 'longestMs'>) {
    this.signal = AbortSignal.any([signal, this.#exceeded.signal])
    const abort = (problem: string) => {
      this.#problem = problem
      this.#exceeded.abort()
    }
    const silent = `sent nothing for ${silenceMs / 1_000} seconds (${silenceVariable})`
    this.#timer = setTimeout(() => abort(silent), silenceMs)
    this.#end = setTimeout(() => abort(`did not end the call within ${longestMs / 1_000} seconds`), longestMs)
  }

  /** What the link did wrong. */
  get problem(): string {
    return this.#problem
  }

  get isExceeded(): boolean {
    return this.#exceeded.signal.aborted
  }

  reset(): void {
    this.#timer.refresh()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#end)
  }
}

type ReadOptions = { call: UpdateCall; silence: SilenceLimit; onRequest?: () => void }

/** Reads the messages of a link until it ends the call. Throws the first error that the link reports. */
async function readAnswers(answers: Answers, { call, silence, onRequest }: ReadOptions): Promise<void> {
  let failure: UpdateError | undefined
  for await (const answer of answers) {
    silence.reset()
    const report = 'message' in answer && typeof answer.message === 'object' ? answer.message : undefined
    if (report?.case === 'request') {
      if (failure === undefined) onRequest?.()
      continue
    }
    const reported = report === undefined ? (answer as ArtefactOperationStatus) : report.value
    if (reported === undefined) continue
    if (reported.state !== ArtefactOperationState.AOS_OK) failure ??= refusalOf(reported, call.credential)
    else call.onProgress?.({ percent: percentOf(reported.progress), message: textOf(reported, call.credential) })
  }
  if (failure !== undefined) throw failure
}

const refusals: Readonly<Record<number, { code: UpdateError['code']; text: string }>> = {
  [ArtefactOperationState.AOS_ERROR_IDENTITY_CHECK_FAIL]: {
    code: 'another_device',
    text: 'The update is for another device',
  },
  [ArtefactOperationState.AOS_ERROR_INCOMPATIBLE]: {
    code: 'incompatible',
    text: 'The artefact is not compatible with the device',
  },
  [ArtefactOperationState.AOS_ERROR_NOT_SUPPORTED]: {
    code: 'not_supported',
    text: 'The device does not support the update',
  },
}

/** Returns the error of a status that is not OK. */
export function refusalOf(reported: ArtefactOperationStatus, credential?: Credential): UpdateError {
  const { code, text } = refusals[reported.state] ?? { code: 'link_failed', text: 'The device reported an error' }
  const message = textOf(reported, credential)
  return new UpdateError(code, message === '' ? text : `${text}: ${message}`)
}

const longestText = 500

/** Returns the text of a status. The text is replaced if it contains the credentials. */
function textOf({ message }: ArtefactOperationStatus, credential: Credential | undefined): string {
  return credential?.secret.isIn(message) ? redactedText : message.slice(0, longestText)
}

function percentOf(progress: number): number {
  return Math.max(0, Math.min(100, Math.round(progress)))
}

const artefactTypes: Readonly<Record<ArtefactKind, ArtefactType>> = {
  firmware: ArtefactType.AT_FIRMWARE,
  software: ArtefactType.AT_SOFTWARE,
  backup: ArtefactType.AT_BACKUP,
  configuration: ArtefactType.AT_CONFIGURATION,
  logfile: ArtefactType.AT_LOGFILE,
}

type MetadataFields = Pick<UpdateCall, 'jobId' | 'kind' | 'device' | 'credential'>

/** Returns the metadata of a call. The credentials are sent as JSON and, if they contain them, as user name and password. */
export function metadataOf({ jobId, kind, device, credential }: MetadataFields) {
  return {
    jobIdentifier: { jobId },
    artefactIdentifier: { type: artefactTypes[kind] },
    deviceIdentifier: { blob: Buffer.from(device.blob) },
    ...(credential === undefined ? {} : { deviceCredentials: credentialsOf(credential) }),
  }
}

function credentialsOf({ schemaUri, secret }: Credential) {
  const text = secret.reveal()
  let fields: { username?: unknown; user?: unknown; password?: unknown } = {}
  try {
    fields = JSON.parse(text) ?? {}
  } catch {
    // Credentials that are not JSON have no user name.
  }
  const { username = fields.user, password } = fields
  return {
    credentialType: schemaUri,
    credentials: Buffer.from(text),
    username: typeof username === 'string' ? username : '',
    password: typeof password === 'string' ? password : '',
  }
}

function firmwareRequest({ jobId, version, device, artefact, silenceMs }: UpdateCall) {
  return {
    deviceId: device.id,
    jobId,
    timeout: Math.ceil(silenceMs / 1_000),
    retry: 0,
    metaData: [{ firmwareFile: artefact.path, version, mode: FirmwareUpdateMode.ALWAYS }],
  }
}

function requireSuccess({ status: reported, errorMsg }: { status: FirmwareStatus; errorMsg: string }): void {
  if (reported === FirmwareStatus.SUCCESS) return
  const name = FirmwareStatus[reported] ?? String(reported)
  throw new UpdateError('link_failed', `The device reported ${name}: ${errorMsg.slice(0, longestText)}`)
}

function isUnimplemented(error: unknown): boolean {
  return isServiceError(error) && error.code === status.UNIMPLEMENTED
}

/** The status codes with which the gRPC client reports that the connection to the link was lost. */
const lost: readonly number[] = [status.UNAVAILABLE, status.CANCELLED, status.DEADLINE_EXCEEDED]

function codeOf(error: unknown): UpdateError['code'] {
  if (!isServiceError(error)) return 'link_failed'
  if (isBusy(error)) return 'link_busy'
  if (lost.includes(error.code)) return 'link_lost'
  if (error.code === status.UNIMPLEMENTED) return 'not_supported'
  const isRefused = error.code === status.UNAUTHENTICATED || error.code === status.PERMISSION_DENIED
  return isRefused ? 'unauthenticated' : 'link_failed'
}
