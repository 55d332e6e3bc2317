import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BackOff, pause } from '@millwright/api/back-off.ts'
import { type AnyInput, requestFor } from '@millwright/api/client.ts'
import { linkServices } from '@millwright/api/link-protocol.ts'
import { Problem } from '@millwright/api/problem.ts'
import {
  ArtefactOperationState,
  type ArtefactOperationStatus,
} from '@millwright/api/proto/generated/artefact-update_pb.js'
import { updateLimits, updates } from '@millwright/api/updates.ts'
import { workflowLimits } from '@millwright/api/workflows.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { DeviceAccess } from '../device-info/device-info.ts'
import { syncFolder } from '../durable-file.ts'
import { JobCredentials } from '../job-credentials.ts'
import type { JobOutcome, LeasedJob } from '../jobs/leased-job.ts'
import { LinkClient, linkErrorText, offers } from '../link-client.ts'
import type { LinkMonitor } from '../link-monitor/link-monitor.ts'
import type { Registry } from '../registry/registry.ts'
import { isOutOfSpace } from './artefact-download.ts'
import { problemOf } from './artefact-source.ts'
import { linkFailureOf, metadataOf, refusalOf, SilenceLimit } from './link-updates.ts'
import { DeviceCredentials, type DeviceNames, updateDeviceOf } from './update-device.ts'
import { UpdateError } from './update-error.ts'
import type { RetrievalDefinition } from './update-job.ts'

/**
 * A retrieval reads a backup, a configuration or a log file from a device. The gateway first stores the content in a file,
 * because a device can send other content the next time. The upload of the file continues after a lost connection, and after
 * a restart of the gateway.
 */

type Options = DeviceNames & {
  folder: string
  /** The maximum size of the content. */
  limitBytes: number
  cloud: CloudConnection
  registry: Registry
  monitor: LinkMonitor
  linkSilenceMs: number
  retryMs: number
  /** The maximum time of one call of a link. */
  longestCallMs: number
}

const limits = {
  attempts: 4,
  inspectedMs: 5_000,
  /** The size of one part of the upload. */
  partBytes: 8 * 1024 * 1024,
  /** The time after which the file of a job that was not finished is deleted. */
  fileMs: updateLimits.uploadDays * 24 * 60 * 60_000,
} as const

type RetrievalRun = { leased: LeasedJob; definition: RetrievalDefinition; signal: AbortSignal }

export class Retrievals {
  readonly #options: Options

  private constructor(options: Options) {
    this.#options = options
  }

  static async open(options: Options): Promise<Retrievals> {
    const { folder } = options
    await mkdir(folder, { recursive: true, mode: 0o700 })
    for (const name of await readdir(folder)) {
      const file = join(folder, name)
      const { mtimeMs } = await stat(file)
      if (name.endsWith('.part') || Date.now() - mtimeMs > limits.fileMs) await rm(file, { force: true })
    }
    return new Retrievals(options)
  }

  /** Reads the device and uploads the content. Returns undefined if the gateway stops. */
  async run(run: RetrievalRun): Promise<JobOutcome | undefined> {
    const { leased, signal } = run
    if (leased.job.status.state === 'CANCELING') return { state: 'CANCELED' }
    try {
      const file = this.#fileOf(leased)
      const isStored = await exists(file)
      if (!isStored) await this.#read(run, file)
      const size = (await stat(file)).size
      await this.#upload(run, { file, size, isNew: !isStored })
      return { state: 'FINISHED', result: { size } }
    } catch (error) {
      if (leased.stopReason === 'canceled') return { state: 'CANCELED' }
      if (signal.aborted) return undefined
      const code = error instanceof UpdateError ? { result: { code: error.code } } : {}
      return { state: 'FAILED', message: linkErrorText(error).slice(0, workflowLimits.message), ...code }
    }
  }

  /** Removes the file of a job that has ended. */
  async remove(leased: LeasedJob): Promise<void> {
    await rm(this.#fileOf(leased), { force: true })
  }

  #fileOf({ job: { id } }: LeasedJob): string {
    if (!/^[0-9A-Za-z-]{1,64}$/.test(id)) throw new Error('The id of the job is not valid')
    return join(this.#options.folder, id)
  }

  /** Reads the content into the file. Starts again a few times if the connection to the link is lost. */
  async #read(run: RetrievalRun, file: string): Promise<void> {
    const { leased, definition, signal } = run
    const backOff = new BackOff({ firstMs: this.#options.retryMs, longestMs: 30_000 })
    using secrets = new JobCredentials({ leased, assetLinkId: definition.assetLinkId, cloud: this.#options.cloud })
    const credentials = new DeviceCredentials(secrets, definition)
    leased.enterPhase('reading')
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#readWithCredentials(run, { file, credentials })
      } catch (error) {
        const code = error instanceof UpdateError ? error.code : undefined
        const mayRetry = code === 'link_lost' || code === 'link_busy' || code === 'link_not_found'
        if (!mayRetry || attempt >= limits.attempts || signal.aborted) throw error
        await pause(backOff.nextMs(), signal)
      } finally {
        await rm(`${file}.part`, { force: true })
      }
    }
  }

  async #readWithCredentials(
    run: RetrievalRun,
    { file, credentials }: { file: string; credentials: DeviceCredentials },
  ): Promise<void> {
    try {
      return await this.#readOnce(run, { file })
    } catch (error) {
      const isRefusal = (one: unknown) =>
        one instanceof UpdateError && (one.code === 'unauthenticated' || one.code === 'link_failed')
      if (!isRefusal(error)) throw error
      let failure = error
      for (const access of await credentials.choices().catch(() => [])) {
        try {
          return await this.#readOnce(run, { file, access })
        } catch (another) {
          if (!isRefusal(another)) throw another
          failure = another
        }
      }
      throw failure
    }
  }

  async #readOnce(
    { leased, definition, signal }: RetrievalRun,
    { file, access }: { file: string; access?: DeviceAccess },
  ): Promise<void> {
    const { linkSilenceMs: silenceMs, longestCallMs: longestMs, limitBytes } = this.#options
    using link = await this.#link(definition.assetLinkId, signal)
    using silence = new SilenceLimit({ signal, silenceMs, longestMs })
    const request = metadataOf({
      jobId: leased.job.id,
      kind: definition.kind,
      device: updateDeviceOf(definition, this.#options, access),
      credential: access?.credential,
    })
    const { pullArtefact } = linkServices.artefactTransfer.method
    const part = await open(`${file}.part`, 'w', 0o600)
    let bytes = 0
    let failure: UpdateError | undefined
    try {
      for await (const { data } of link.stream(pullArtefact, request, { signal: silence.signal })) {
        silence.reset()
        if (data.case === 'status') {
          failure ??= failureOf(data.value, access)
          if (failure === undefined) leased.note('Reading the device', data.value.progress)
        }
        if (data.case !== 'fileContent') continue
        bytes += data.value.length
        if (bytes > limitBytes)
          throw new UpdateError('artefact_too_large', `The device sent more than ${limitBytes} bytes`)
        await append(part, data.value)
      }
      if (failure !== undefined) throw failure
      if (bytes === 0) throw new UpdateError('empty_content', 'The device sent no content')
      await part.sync()
    } catch (error) {
      if (isOutOfSpace(error))
        throw new UpdateError('storage_full', 'The disk of the gateway is full. Free space on the disk')
      throw linkFailureOf(error, { name: definition.assetLinkId, silence, credential: access?.credential })
    } finally {
      await part.close()
    }
    await rename(`${file}.part`, file)
    await syncFolder(dirname(file))
  }

  async #link(name: string, signal: AbortSignal): Promise<LinkClient> {
    const { registry, monitor } = this.#options
    await monitor.inspected(name, { withinMs: limits.inspectedMs, signal })
    const registration = registry.find(name)
    if (registration === undefined)
      throw new UpdateError(
        'link_not_found',
        `Asset link ${name} is not registered with the gateway. Start the asset link`,
      )
    const { interfaces } = monitor.reportOf(name) ?? registration
    if (!offers({ interfaces }, 'artefactTransfer'))
      throw new UpdateError('not_supported', `Asset link ${name} cannot read artefacts from a device`)
    return new LinkClient({ ...registration, interfaces: [...interfaces] }, { purpose: 'update' })
  }

  /** Uploads the file in parts. Continues at the last byte that the platform has. */
  async #upload(
    { leased, signal }: RetrievalRun,
    { file, size, isNew }: { file: string; size: number; isNew: boolean },
  ): Promise<void> {
    const backOff = new BackOff({ firstMs: 250, longestMs: 30_000 })
    leased.enterPhase('uploading')
    for (;;) {
      try {
        const offset = await this.#offset(leased, signal)
        if ((isNew && offset > 0) || offset > size)
          throw new UpdateError(
            'hash_mismatch',
            'The gateway lost the content that it had uploaded in part. Start the retrieval again',
          )
        if (offset === size) return
        isNew = false
        await this.#uploadFrom(leased, { file, size, offset, signal, onPart: () => backOff.reset() })
        return
      } catch (error) {
        if (error instanceof UpdateError || isFinal(error) || signal.aborted) throw error
        await pause(backOff.nextMs(), signal)
        if (signal.aborted) throw error
      }
    }
  }

  async #uploadFrom(
    leased: LeasedJob,
    { file, size, offset, signal, onPart }: UploadRange & { size: number; offset: number; onPart: () => void },
  ): Promise<void> {
    for (let first = offset; first < size; first += limits.partBytes) {
      const last = Math.min(first + limits.partBytes, size) - 1
      const { method, path } = requestFor(updates, updates.operations.putJobContent, inputOf(leased))
      const headers = {
        'content-type': 'application/octet-stream',
        'content-length': String(last - first + 1),
        'content-range': `bytes ${first}-${last}/${last === size - 1 ? size : '*'}`,
      }
      const body = createReadStream(file, { start: first, end: last })
      const answer = await this.#options.cloud.send({ method, path, headers, body, signal })
      if (answer.status >= 300) throw await problemOf(answer)
      answer.body.resume()
      onPart()
      leased.note('Uploading', Math.floor(((last + 1) / size) * 100))
    }
  }

  async #offset(leased: LeasedJob, signal: AbortSignal): Promise<number> {
    const { method, path } = requestFor(updates, updates.operations.readJobOffset, inputOf(leased))
    const answer = await this.#options.cloud.send({ method, path, signal })
    if (answer.status >= 300) throw await problemOf(answer)
    answer.body.resume()
    const offset = Number(answer.headers['upload-offset'])
    if (Number.isSafeInteger(offset) && offset >= 0) return offset
    throw new Error('The platform did not report the offset of the upload')
  }
}

type UploadRange = { file: string; signal: AbortSignal }

function inputOf({ job, lease }: LeasedJob): AnyInput {
  return { params: { jobId: job.id }, query: { lease } }
}

function failureOf(status: ArtefactOperationStatus, access: DeviceAccess | undefined): UpdateError | undefined {
  return status.state === ArtefactOperationState.AOS_OK ? undefined : refusalOf(status, access?.credential)
}

/** Returns whether the platform rejects the upload permanently. A lost lease is renewed, and an offset is read again. */
function isFinal(error: unknown): boolean {
  const final = ['not_found', 'storage_full', 'body_too_large', 'invalid_header']
  return error instanceof Problem && final.includes(error.code)
}

async function append(file: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let written = 0; written < chunk.length; )
    written += (await file.write(chunk, written, chunk.length - written)).bytesWritten
}

async function exists(file: string): Promise<boolean> {
  return (await stat(file).catch(() => undefined)) !== undefined
}
