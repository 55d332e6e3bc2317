import { updates } from '@millwright/api/updates.ts'
import { type Context, type Handlers, service } from '../../platform/service.ts'
import { artefactTasks } from './artefact-tasks.ts'
import { artefactHandlers } from './artefacts.ts'
import { assetUpdateHandlers } from './asset-updates.ts'
import { campaignHandlers } from './campaigns.ts'
import { contentStores } from './content-store/stores.ts'
import { contentHandlers } from './contents.ts'
import { Downloads } from './downloads.ts'
import { driftHandlers } from './drift.ts'
import { retrievalHandlers } from './retrievals.ts'
import { trustAnchorHandlers } from './trust-anchors.ts'
import { Uploads } from './uploads.ts'
import { windowHandlers, windowTasks } from './windows.ts'

/** The parts of the service that hold files and running requests. A process has one of each. */
function createParts(context: Context) {
  const stores = contentStores(context)
  return { stores, uploads: new Uploads(context, stores), downloads: new Downloads(context, stores) }
}

const partsByContext = new WeakMap<Context, ReturnType<typeof createParts>>()

function partsOf(context: Context): ReturnType<typeof createParts> {
  const parts = partsByContext.get(context) ?? createParts(context)
  partsByContext.set(context, parts)
  return parts
}

/** The update hub: artefacts, campaigns that install them on devices, and the versions in use. */
export const updatesService = service({
  contract: updates,
  migrations: { module: 'updates', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context): Handlers<typeof updates> => ({
    ...artefactHandlers(context),
    ...contentHandlers(context, partsOf(context)),
    ...trustAnchorHandlers(context),
    ...retrievalHandlers(context),
    ...windowHandlers(context),
    ...driftHandlers(context),
    ...assetUpdateHandlers(context),
    ...campaignHandlers(context),
  }),
  tasks: (context) => ({ ...artefactTasks(context, partsOf(context)), ...windowTasks(context) }),
})
