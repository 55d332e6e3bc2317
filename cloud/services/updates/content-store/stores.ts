import type { Context } from '../../../platform/service.ts'
import type { ContentStore, StoreName } from './content-store.ts'
import { HomeStore } from './home-store.ts'

/** The stores of a process. New contents go to `current`. Contents of a former setting stay where they are. */
export type ContentStores = { readonly current: ContentStore; named(name: StoreName): ContentStore }

export function contentStores({ settings }: Pick<Context, 'settings'>): ContentStores {
  const home = new HomeStore(settings.artefacts.folder)
  return { current: home, named: () => home }
}
