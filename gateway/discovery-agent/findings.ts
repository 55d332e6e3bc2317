import { createHash } from 'node:crypto'
import { type CredentialUse, type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { Mapped } from '../mapping/asset.ts'
import { type Document, documentsOf } from '../mapping/document.ts'
import { canonical } from './device-address.ts'
import { errorOfMapping } from './device-error.ts'

/** What is handed in at once: as much as one request of the cloud takes, and no later than after a second. */
export const batchLimits = {
  assets: gatekeeperLimits.foundPerUpload,
  errors: gatekeeperLimits.errorsPerUpload,
  uses: gatekeeperLimits.usesPerUpload,
  bytes: 700 * 1024,
  ageMs: 1_000,
} as const

/** What is handed in at once, printed: it goes to the disk and to the cloud as it is. */
export type Batch = { assets: string[]; errors: string[]; uses: string[] }

/** Which credentials were tried at an address, and whether they were right. */
export type Use = Omit<CredentialUse, 'asset'>

export type Finding = {
  devices?: { mapped: Mapped; use?: Use }[]
  errors?: DeviceError[]
  uses?: Use[]
}

/** Devices of one scan that are remembered, so that a second pass does not report them again. */
const mostRemembered = 100_000

/** Gathers what a scan finds into batches and hands them on, one after the other. */
export class Findings {
  readonly #handIn: (batch: Batch) => Promise<void>
  #batch = emptyBatch()
  #bytes = 0
  #waiting = 0
  #handing: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  readonly #identities = new Set<string>()

  constructor(handIn: (batch: Batch) => Promise<void>) {
    this.#handIn = handIn
  }

  /** Back when there is room for more: whoever finds faster than the cloud takes is held up here. */
  async add({ devices = [], errors = [], uses = [] }: Finding): Promise<void> {
    for (const { mapped, use } of devices) {
      const fault = errorOfMapping(mapped)
      const piece = mapped.asset === undefined ? undefined : pieceOfAsset(mapped.asset)
      if (piece !== undefined) await this.#put(piece)
      if (mapped.asset !== undefined && this.#identities.size < mostRemembered) {
        this.#identities.add(identityOf(mapped.asset))
      }
      if (use !== undefined && piece?.kind === 'assets') this.#putBeside(use)
      else if (use !== undefined) await this.#put(pieceOf('uses', use))
      if (fault !== undefined) await this.#put(pieceOf('errors', fault))
    }
    for (const error of errors) await this.#put(pieceOf('errors', error))
    for (const use of uses) await this.#put(pieceOf('uses', use))
  }

  /** Whether the device was added before. */
  has({ asset }: Mapped): boolean {
    return asset !== undefined && this.#identities.has(identityOf(asset))
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

  /** A promise only where there is no room: most of what is found has some. */
  #put(piece: Piece): Promise<void> | undefined {
    if (!this.#hasRoomFor(piece)) return this.flush().then(() => this.#keep(piece))
    this.#keep(piece)
    return undefined
  }

  #keep({ kind, text, bytes }: Piece): void {
    this.#batch[kind].push(text)
    this.#bytes += bytes
    this.#timer ??= setTimeout(() => this.#flushAged(), batchLimits.ageMs)
  }

  /** Beside the last asset, which it is about, however full the batch is: a use is small. */
  #putBeside(use: Use): void {
    this.#keep(pieceOf('uses', { ...use, asset: this.#batch.assets.length - 1 }))
  }

  #hasRoomFor({ kind, bytes }: Piece): boolean {
    // Some room for uses is left to those that stand beside an asset.
    const most = kind === 'uses' ? batchLimits.uses - batchLimits.assets : batchLimits[kind]
    return this.#batch[kind].length < most && this.#bytes + bytes <= batchLimits.bytes
  }
}

function identityOf({ asset_identifiers: identifiers }: Document): string {
  const printed = documentsOf(identifiers).map(canonical).toSorted()
  return createHash('sha1').update(JSON.stringify(printed)).digest('base64').slice(0, 16)
}

type Piece = { kind: keyof Batch; text: string; bytes: number }

function pieceOf(kind: Piece['kind'], value: Document | DeviceError | CredentialUse): Piece {
  const text = JSON.stringify(value)
  return { kind, text, bytes: Buffer.byteLength(text) }
}

function pieceOfAsset(asset: Document): Piece {
  const piece = pieceOf('assets', asset)
  if (piece.bytes <= batchLimits.bytes) return piece
  const description = `A device tells ${piece.bytes} bytes about itself, more than the ${batchLimits.bytes} that can be taken over`
  return pieceOf('errors', { code: Code.OUT_OF_RANGE, description })
}

function emptyBatch(): Batch {
  return { assets: [], errors: [], uses: [] }
}
