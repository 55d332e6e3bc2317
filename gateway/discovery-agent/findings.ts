import { type CredentialUse, type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { Mapped } from '../mapping/asset.ts'
import type { Document } from '../mapping/document.ts'
import { errorOfMapping } from './device-error.ts'

/** What is handed in at once: as much as one request of the cloud takes, and no later than after a second. */
export const batchLimits = {
  assets: gatekeeperLimits.foundPerUpload,
  errors: gatekeeperLimits.errorsPerUpload,
  uses: gatekeeperLimits.usesPerUpload,
  bytes: 700 * 1024,
  ageMs: 1_000,
} as const

export type Batch = { assets: Document[]; errors: DeviceError[]; uses: CredentialUse[] }

/** Which credentials were tried at an address, and whether they were right. */
export type Use = Omit<CredentialUse, 'asset'>

export type Finding = {
  devices?: { mapped: Mapped; use?: Use }[]
  errors?: DeviceError[]
  uses?: Use[]
}

/** Gathers what a scan finds into batches and hands them on, one after the other. */
export class Findings {
  readonly #handIn: (batch: Batch) => Promise<void>
  #batch = emptyBatch()
  #bytes = 0
  #waiting = 0
  #handing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  /** What was found and went wrong so far. */
  readonly counts: { found: number; errors: number } = { found: 0, errors: 0 }

  constructor(handIn: (batch: Batch) => Promise<void>) {
    this.#handIn = handIn
  }

  /** Back when there is room for more: whoever finds faster than the cloud takes is held up here. */
  async add({ devices = [], errors = [], uses = [] }: Finding): Promise<void> {
    for (const { mapped, use } of devices) {
      const fault = errorOfMapping(mapped)
      const asset = mapped.asset === undefined ? undefined : await this.#addAsset(mapped.asset)
      if (use !== undefined) await this.#addUse(use, asset)
      if (fault !== undefined) await this.#addError(fault)
    }
    for (const error of errors) await this.#addError(error)
    for (const use of uses) await this.#addUse(use)
  }

  /** Hands in what is there; back when all of it is safe. Throws when something could not be kept. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#batch
    this.#batch = emptyBatch()
    this.#bytes = 0
    if (batch.assets.length + batch.errors.length + batch.uses.length === 0) return this.#handing
    this.#waiting += 1
    this.#handing = this.#handing
      .then(() => this.#handIn(batch))
      .finally(() => {
        this.#waiting -= 1
      })
    return this.#handing
  }

  /** Behind a batch that is held up the next one grows until it is full: no queue of small ones builds up. */
  #flushAged(): void {
    this.#timer = undefined
    if (this.#waiting > 0) this.#timer = setTimeout(() => this.#flushAged(), batchLimits.ageMs)
    // A batch that could not be kept shows at the next one, or at the end.
    else this.flush().catch(() => undefined)
  }

  /** Its place in the batch; undefined when it is too large for any. */
  async #addAsset(asset: Document): Promise<number | undefined> {
    const bytes = Buffer.byteLength(JSON.stringify(asset))
    if (bytes > batchLimits.bytes) {
      const description = `A device tells ${bytes} bytes about itself, more than the ${batchLimits.bytes} that can be taken over`
      await this.#addError({ code: Code.OUT_OF_RANGE, description })
      return undefined
    }
    if (this.#batch.assets.length >= batchLimits.assets) await this.flush()
    await this.#makeRoom(bytes)
    this.#batch.assets.push(asset)
    this.counts.found += 1
    return this.#batch.assets.length - 1
  }

  /** Beside the asset that it is about, however full the batch is: a use is small. */
  async #addUse(use: Use, asset?: number): Promise<void> {
    if (asset === undefined && this.#batch.uses.length >= batchLimits.uses - batchLimits.assets) await this.flush()
    this.#batch.uses.push({ ...use, ...(asset === undefined ? {} : { asset }) })
    this.#timer ??= setTimeout(() => this.#flushAged(), batchLimits.ageMs)
  }

  async #addError(error: DeviceError): Promise<void> {
    if (this.#batch.errors.length >= batchLimits.errors) await this.flush()
    await this.#makeRoom(Buffer.byteLength(JSON.stringify(error)))
    this.#batch.errors.push(error)
    this.counts.errors += 1
  }

  async #makeRoom(bytes: number): Promise<void> {
    if (this.#bytes + bytes > batchLimits.bytes) await this.flush()
    this.#bytes += bytes
    this.#timer ??= setTimeout(() => this.#flushAged(), batchLimits.ageMs)
  }
}

function emptyBatch(): Batch {
  return { assets: [], errors: [], uses: [] }
}
