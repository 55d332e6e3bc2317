import { onboarding, onboardingLimits } from '@millwright/api/onboarding.ts'
import { systemCaller } from '../../../platform/access/system.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Context } from '../../../platform/service.ts'
import type { TaskKinds, Tasks } from '../../../platform/tasks/tasks.ts'

const kind = 'inventory.report-deleted'

type Payload = { assets: string[] }

/**
 * Queues the report of deleted assets in the transaction that deletes them. The report is therefore neither lost nor sent
 * before the commit.
 */
export async function reportDeleted(tx: Transaction, tasks: Pick<Tasks, 'enqueue'>, assets: string[]): Promise<void> {
  for (let from = 0; from < assets.length; from += onboardingLimits.deletedAssets) {
    const payload: Payload = { assets: assets.slice(from, from + onboardingLimits.deletedAssets) }
    await tasks.enqueue(tx, { kind, payload })
  }
}

/**
 * Reports deleted assets to the onboarding service, which revokes the gateways among them. The task is repeated until
 * it succeeds.
 */
export function deletedAssetTasks(context: Context): TaskKinds {
  return {
    [kind]: {
      maxAttempts: 1_000,
      async run({ tenantId, payload }) {
        const { assets } = payload as Payload
        const tenant = await context.tenants.byId(tenantId)
        const system = systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
        await context.peers(onboarding, system).revokeDeletedGateways({ body: { data: { assets } } })
      },
    },
  }
}
