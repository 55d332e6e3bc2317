import { type DeviceError, gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { Code } from '@millwright/api/proto/generated/code_pb.js'
import type { Mapped } from '../mapping/asset.ts'
import type { Document } from '../mapping/document.ts'
import { errorOfMapping } from './device-error.ts'

/** What is handed in at once: as much as one request of the cloud takes, and no later than after a second. */
export const batchLimits = {
  assets: gatekeeperLimits.foundPerUpload,
  errors: gatekeeperLimits.errorsPerUpload,
  bytes: 700 * 1024,
  ageMs: 1_000,
} as const

/** Assets and errors, printed: they go to the disk and to the cloud as they are. */
export type Batch = { assets: string[]; errors: string[] }

/** Gathers what a scan finds into batches and hands them on, one after the other. */
export class Findings {
  readonly #handIn: (batch: Batch) => Promise<void>
  #batch: Batch = { assets: [], errors: [] }
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
  async add({ mapped, errors = [] }: { mapped: readonly Mapped[]; errors?: readonly DeviceError[] }): Promise<void> {
    for (const piece of [...mapped.flatMap(piecesOf), ...errors.map(pieceOfError)]) {
      if (!this.#hasRoomFor(piece)) await this.flush()
      this.#batch[piece.kind].push(piece.text)
      this.#bytes += piece.bytes
      this.counts[piece.kind === 'assets' ? 'found' : 'errors'] += 1
      this.#timer ??= setTimeout(() => this.#flushAged(), batchLimits.ageMs)
    }
  }

  /** Hands in what is there; back when all of it is safe. Throws when something could not be kept. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const batch = this.#batch
    this.#batch = { assets: [], errors: [] }
    this.#bytes = 0
    if (batch.assets.length === 0 && batch.errors.length === 0) return this.#handing
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

  #hasRoomFor({ kind, bytes }: Piece): boolean {
    return this.#batch[kind].length < batchLimits[kind] && this.#bytes + bytes <= batchLimits.bytes
  }
}

type Piece = { kind: keyof Batch; text: string; bytes: number }

function piecesOf(mapped: Mapped): Piece[] {
  const fault = errorOfMapping(mapped)
  const told = fault === undefined ? [] : [pieceOfError(fault)]
  return mapped.asset === undefined ? told : [pieceOfAsset(mapped.asset), ...told]
}

function pieceOfAsset(asset: Document): Piece {
  const text = JSON.stringify(asset)
  const bytes = Buffer.byteLength(text)
  if (bytes <= batchLimits.bytes) return { kind: 'assets', text, bytes }
  const description = `A device tells ${bytes} bytes about itself, more than the ${batchLimits.bytes} that can be taken over`
  return pieceOfError({ code: Code.OUT_OF_RANGE, description })
}

function pieceOfError(error: DeviceError): Piece {
  const text = JSON.stringify(error)
  return { kind: 'errors', text, bytes: Buffer.byteLength(text) }
}
