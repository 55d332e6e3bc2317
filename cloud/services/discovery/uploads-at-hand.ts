import type { Context } from '../../platform/service.ts'
import type { Place, Upload } from './finding-store.ts'

/** How many devices the uploads that are remembered may hold. */
const most = 5_000

/**
 * What gateways handed in, until it is ingested, if that happens in this process: what is at hand need not be read and
 * parsed again. Nothing relies on it, so the oldest are forgotten when there are too many.
 */
class UploadsAtHand {
  readonly #uploads = new Map<string, Upload>()
  #devices = 0

  keep(place: Place, upload: Upload): void {
    this.#uploads.set(keyOf(place), upload)
    this.#devices += devicesIn(upload)
    for (const [oldest, kept] of this.#uploads) {
      if (this.#devices <= most) return
      this.#forget(oldest, kept)
    }
  }

  /** Answers it once: whoever tries again reads what is stored. */
  take(place: Place): Upload | undefined {
    const key = keyOf(place)
    const upload = this.#uploads.get(key)
    if (upload !== undefined) this.#forget(key, upload)
    return upload
  }

  #forget(key: string, upload: Upload): void {
    this.#uploads.delete(key)
    this.#devices -= devicesIn(upload)
  }
}

const kept = new WeakMap<Context, UploadsAtHand>()

/** In one process there is one such memory: what one request brings, a background job takes. */
export function uploadsAtHand(context: Context): UploadsAtHand {
  const known = kept.get(context) ?? new UploadsAtHand()
  kept.set(context, known)
  return known
}

function devicesIn({ assets, errors }: Upload): number {
  return assets.length + errors.length
}

function keyOf({ runId, lease, sequence }: Place): string {
  return `${runId}/${lease}/${sequence}`
}
