import { inbox } from '@millwright/api/inbox.ts'
import { service } from '../../platform/service.ts'
import { decisionTasks } from './decision-run.ts'
import { decisionHandlers } from './decisions.ts'
import { inboxAssetHandlers } from './inbox-assets.ts'
import { retentionTasks } from './retention.ts'
import { ruleRunHandlers } from './rule-run.ts'
import { ruleHandlers } from './rules.ts'

/** The review of new assets. The inventory stores the assets, and the hierarchy service stores the nodes. */
export const inboxService = service({
  contract: inbox,
  migrations: { module: 'inbox', folder: new URL('./migrations/', import.meta.url) },
  handlers: (context) => ({
    ...inboxAssetHandlers(context),
    ...decisionHandlers(context),
    ...ruleHandlers(context),
    ...ruleRunHandlers(context),
  }),
  tasks: (context) => ({ ...decisionTasks(context), ...retentionTasks(context) }),
})
