import { PayloadCache } from '../../platform/payload-cache.ts'
import type { Context } from '../../platform/service.ts'
import type { Place, Upload } from './finding-store.ts'

/** In devices. */
const capacity = 5_000

const caches = new WeakMap<Context, PayloadCache<Upload>>()

/** Caches an upload until the background task of this process ingests it. */
export function cacheUpload(context: Context, place: Place, upload: Upload): void {
  cacheOf(context).keep(keyOf(place), { payload: upload, weight: upload.assets.length + upload.errors.length })
}

export function takeCachedUpload(context: Context, place: Place): Upload | undefined {
  return cacheOf(context).take(keyOf(place))
}

function cacheOf(context: Context): PayloadCache<Upload> {
  const cache = caches.get(context) ?? new PayloadCache<Upload>({ capacity })
  caches.set(context, cache)
  return cache
}

function keyOf({ runId, lease, sequence }: Place): string {
  return `${runId}/${lease}/${sequence}`
}
