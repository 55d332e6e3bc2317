import { Problem } from '@millwright/api/problem.ts'
import type { Context } from '../../../platform/service.ts'
import type { ContentStore, StoreName } from './content-store.ts'
import { HomeStore } from './home-store.ts'
import { S3Store } from './s3-store.ts'

/** The stores of a process. New contents go to `current`. Contents of a former setting stay where they are. */
export type ContentStores = { readonly current: ContentStore; named(name: StoreName): ContentStore }

export function contentStores({ settings, outbound }: Pick<Context, 'settings' | 'outbound'>): ContentStores {
  const { folder, s3 } = settings.artefacts
  const home = new HomeStore(folder)
  const objects = s3 === undefined ? undefined : new S3Store({ s3, folder, outbound })
  return {
    current: objects ?? home,
    named(name) {
      if (name === 'home') return home
      if (objects !== undefined) return objects
      throw new Problem(
        'unavailable',
        'The content is in an S3-compatible store that is not configured. Set MILLWRIGHT_ARTEFACT_STORE again',
      )
    },
  }
}
