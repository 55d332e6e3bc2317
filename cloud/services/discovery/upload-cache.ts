import { PayloadCache } from '../../platform/payload-cache.ts'
import type { Context } from '../../platform/service.ts'
import type { Upload, UploadKey } from './finding-store.ts'

/** The maximum number of devices and device errors in the cache. */
const capacity = 5_000

const caches = new WeakMap<Context, PayloadCache<Upload>>()

/** Caches an upload until the background task of this process ingests it. */
export function cacheUpload(context: Context, uploadKey: UploadKey, upload: Upload): void {
  cacheOf(context).keep(keyOf(uploadKey), { payload: upload, weight: upload.assets.length + upload.errors.length })
}

export function takeCachedUpload(context: Context, uploadKey: UploadKey): Upload | undefined {
  return cacheOf(context).take(keyOf(uploadKey))
}

function cacheOf(context: Context): PayloadCache<Upload> {
  const cache = caches.get(context) ?? new PayloadCache<Upload>({ capacity })
  caches.set(context, cache)
  return cache
}

function keyOf({ runId, lease, sequence }: UploadKey): string {
  return `${runId}/${lease}/${sequence}`
}
