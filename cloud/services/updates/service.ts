import { updates } from '@millwright/api/updates.ts'
import { type Handlers, service } from '../../platform/service.ts'
import { artefactTasks } from './artefact-tasks.ts'
import { artefactHandlers } from './artefacts.ts'
import { assetUpdateHandlers } from './asset-updates.ts'
import { campaignActionHandlers } from './campaign-actions.ts'
import { campaignDeviceHandlers } from './campaign-devices.ts'
import { campaignTasks } from './campaign-task.ts'
import { campaignHandlers } from './campaigns.ts'
import { contentHandlers } from './contents.ts'
import { driftHandlers } from './drift.ts'
import { partsOf } from './parts.ts'
import { retrievalTasks } from './retrieval-task.ts'
import { retrievalHandlers } from './retrievals.ts'
import { trustAnchorHandlers } from './trust-anchors.ts'
import { windowHandlers, windowTasks } from './windows.ts'

/** The update hub: artefacts, campaigns that install them on devices, and the versions in use. */
export const updatesService = service({
  contract: updates,
  migrations: { module: 'updates', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context): Handlers<typeof updates> => ({
    ...artefactHandlers(context),
    ...contentHandlers(context, partsOf(context)),
    ...trustAnchorHandlers(context),
    ...retrievalHandlers(context, partsOf(context)),
    ...windowHandlers(context),
    ...driftHandlers(context),
    ...assetUpdateHandlers(context),
    ...campaignHandlers(context),
    ...campaignActionHandlers(context),
    ...campaignDeviceHandlers(context),
  }),
  tasks: (context) => ({
    ...artefactTasks(context, partsOf(context)),
    ...retrievalTasks(context),
    ...windowTasks(context),
    ...campaignTasks(context),
  }),
})
