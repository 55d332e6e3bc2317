import { createHash } from 'node:crypto'
import { canonicalJson } from '@millwright/api/canonical-json.ts'
import {
  type CredentialUse,
  type DeviceAddress,
  type DeviceError,
  gatekeeperLimits,
} from '@millwright/api/gatekeeper.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { MappingResult } from '../mapping/asset.ts'
import { type Document, documentsOf } from '../mapping/document.ts'
import { errorOfMapping } from './device-error.ts'

/** The limits of a batch: the limits of one request, and a maximum age of one second. */
export const batchLimits = {
  assets: gatekeeperLimits.foundPerUpload,
  errors: gatekeeperLimits.errorsPerUpload,
  uses: gatekeeperLimits.usesPerUpload,
  deviceAddresses: gatekeeperLimits.foundPerUpload,
  bytes: 700 * 1024,
  ageMs: 1_000,
} as const

/** `Batch` contains findings as JSON texts, which are stored and sent without changes. */
export type Batch = { assets: string[]; errors: string[]; uses: string[]; deviceAddresses: string[] }

/** `Use` records that credentials were used at an address, and whether they were accepted. */
export type Use = Omit<CredentialUse, 'asset'>

export type Finding = {
  /** The devices, with the address at which the link found the device. */
  devices?: { mapped: MappingResult; use?: Use; address?: string }[]
  errors?: DeviceError[]
  uses?: Use[]
}

/**
 * The maximum number of devices of one scan that are remembered. The second scan, which uses credentials, does not
 * report remembered devices again.
 */
const maxRemembered = 100_000

/** `Findings` collects the findings of a scan into batches and delivers them in order. */
export class Findings {
  readonly #deliver: (batch: Batch) => Promise<void>
  #batch = emptyBatch()
  #bytes = 0
  #waiting = 0
  #handing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  readonly #identities = new Set<string>()

  constructor(deliver: (batch: Batch) => Promise<void>) {
    this.#deliver = deliver
  }

  /** Adds findings. Waits while a full batch is delivered, so that the scan does not run faster than the delivery. */
  async add({ devices = [], errors = [], uses = [] }: Finding): Promise<void> {
    for (const { mapped, use, address } of devices) {
      const fault = errorOfMapping(mapped)
      const item = mapped.asset === undefined ? undefined : batchItemOfAsset(mapped.asset)
      if (item !== undefined) await this.#put(item)
      if (mapped.asset !== undefined && this.#identities.size < maxRemembered) {
        this.#identities.add(identityOf(mapped.asset))
      }
      if (address !== undefined && item?.kind === 'assets') this.#putWithAsset('deviceAddresses', { address })
      if (use !== undefined && item?.kind === 'assets') this.#putWithAsset('uses', use)
      else if (use !== undefined) await this.#put(batchItemOf('uses', use))
      if (fault !== undefined) await this.#put(batchItemOf('errors', fault))
    }
    for (const error of errors) await this.#put(batchItemOf('errors', error))
    for (const use of uses) await this.#put(batchItemOf('uses', use))
  }

  /** Returns true when these findings already contain the device. */
  has({ asset }: MappingResult): boolean {
    return asset !== undefined && this.#identities.has(identityOf(asset))
  }

  /** Delivers all findings. Resolves when they are stored. Rejects when a batch could not be stored. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#batch
    this.#batch = emptyBatch()
    this.#bytes = 0
    if (batch.assets.length + batch.errors.length + batch.uses.length === 0) return this.#handing
    this.#waiting += 1
    this.#handing = this.#handing
      .then(() => this.#deliver(batch))
      .finally(() => {
        this.#waiting -= 1
      })
    return this.#handing
  }

  /**
   * Delivers the current batch when it is one second old. While an earlier batch is still being delivered, the current
   * batch continues to grow instead.
   */
  #flushAged(): void {
    this.#timer = undefined
    if (this.#waiting > 0) this.#timer = setTimeout(() => this.#flushAged(), batchLimits.ageMs)
    // The error is ignored here: the next call of `flush` reports a batch that could not be stored.
    else this.flush().catch(() => undefined)
  }

  /**
   * Adds an item. Returns a promise only when the batch is full, because creating a promise for each finding is
   * expensive.
   */
  #put(item: BatchItem): Promise<void> | undefined {
    if (!this.#hasRoomFor(item)) return this.flush().then(() => this.#keep(item))
    this.#keep(item)
    return undefined
  }

  #keep({ kind, text, bytes }: BatchItem): void {
    this.#batch[kind].push(text)
    this.#bytes += bytes
    this.#timer ??= setTimeout(() => this.#flushAged(), batchLimits.ageMs)
  }

  /**
   * Adds the address of the last asset, or the use of its credentials, to the batch of the asset. The record is small, so
   * it is added even if the batch is full.
   */
  #putWithAsset(kind: 'deviceAddresses' | 'uses', value: Use | Pick<DeviceAddress, 'address'>): void {
    this.#keep(batchItemOf(kind, { ...value, asset: this.#batch.assets.length - 1 }))
  }

  #hasRoomFor({ kind, bytes }: BatchItem): boolean {
    // Some space is reserved for uses that belong to an asset in the batch.
    const most = kind === 'uses' ? batchLimits.uses - batchLimits.assets : batchLimits[kind]
    return this.#batch[kind].length < most && this.#bytes + bytes <= batchLimits.bytes
  }
}

function identityOf({ asset_identifiers: identifiers }: Document): string {
  const printed = documentsOf(identifiers).map(canonicalJson).toSorted()
  return createHash('sha1').update(JSON.stringify(printed)).digest('base64').slice(0, 16)
}

type BatchItem = { kind: keyof Batch; text: string; bytes: number }

function batchItemOf(kind: BatchItem['kind'], value: object): BatchItem {
  const text = JSON.stringify(value)
  return { kind, text, bytes: Buffer.byteLength(text) }
}

function batchItemOfAsset(asset: Document): BatchItem {
  const item = batchItemOf('assets', asset)
  if (item.bytes <= batchLimits.bytes) return item
  const description = `A device has ${item.bytes} bytes of data, which exceeds the limit of ${batchLimits.bytes} bytes`
  return batchItemOf('errors', { code: Code.OUT_OF_RANGE, description })
}

function emptyBatch(): Batch {
  return { assets: [], errors: [], uses: [], deviceAddresses: [] }
}
