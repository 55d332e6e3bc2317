import type { Context } from '../../platform/service.ts'
import { contentStores } from './content-store/stores.ts'
import { Downloads } from './downloads.ts'
import { Uploads } from './uploads.ts'

/** The parts of the service that hold files and running requests. A process has one of each. */
function createParts(context: Context) {
  const stores = contentStores(context)
  return { stores, uploads: new Uploads(context, stores), downloads: new Downloads(context, stores) }
}

const partsByContext = new WeakMap<Context, ReturnType<typeof createParts>>()

export function partsOf(context: Context): ReturnType<typeof createParts> {
  const parts = partsByContext.get(context) ?? createParts(context)
  partsByContext.set(context, parts)
  return parts
}
