import { hierarchy } from '@millwright/api/hierarchy.ts'
import { type Handlers, service } from '../../platform/service.ts'
import { assetPathHandlers } from './asset-paths.ts'
import { assignmentTasks } from './assignment-run.ts'
import { assignmentHandlers } from './assignments.ts'
import { exchangeHandlers } from './exchange.ts'
import { getHierarchy, hierarchyHandlers } from './hierarchies.ts'
import { nodeHandlers } from './nodes.ts'
import { placementHandlers } from './placement.ts'
import { projectionTasks } from './projection.ts'
import { retentionTasks } from './retention.ts'
import { ruleHandlers } from './rules.ts'

/**
 * Hierarchies are trees of nodes. The service stores the nodes. The inventory stores the assignment of assets as relations.
 */
export const hierarchyService = service({
  contract: hierarchy,
  migrations: { module: 'hierarchy', folder: new URL('./migrations/', import.meta.url) },
  handlers(context): Handlers<typeof hierarchy> {
    const { database, tasks } = context
    return {
      ...hierarchyHandlers(context),
      ...nodeHandlers(context),
      ...assignmentHandlers(context),
      ...ruleHandlers(context),
      ...exchangeHandlers(context),
      ...assetPathHandlers(context),
      ...placementHandlers(context),

      async rebuildCounts({ params: { id } }, caller) {
        return database.transaction(caller, async (tx) => {
          await getHierarchy(tx, id)
          await tasks.enqueue(tx, { kind: 'hierarchy.rebuild', key: id, payload: { hierarchyId: id } })
          return { data: { hierarchyId: id } }
        })
      },
    }
  },
  tasks: (context) => ({ ...projectionTasks(context), ...assignmentTasks(context), ...retentionTasks(context) }),
})
