import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { stateOf } from './gateway.ts'
import * as store from './store.ts'

/** Signalled when a gateway enrols, reconnects or is revoked. */
export const reachabilityTopic = 'gateway-attendance'

/** The maximum delay of the asset after a gateway counts as offline. */
const everyMs = 15_000

/**
 * Updates `reachability_state` of the gateways' assets: `reached` while online, `failed` while offline or revoked. The
 * asset is written when the state changes, not at each heartbeat.
 */
export function reachabilityTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    'onboarding.reachability': {
      periodic: { everyMs, wakeOn: reachabilityTopic, pending: store.anyReachabilityChanged },
      async run({ tenantId, signal }) {
        const tenant = await context.tenants.byId(tenantId)
        const system = systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
        const changed = await database.read(system, store.listReachabilityChanged)
        for (const row of changed) {
          if (signal.aborted) return
          const value = stateOf(row, new Date()) === 'online' ? 'reached' : 'failed'
          await writeReachability(context, system, { id: row.id, value })
          await database.transaction(system, (tx) => store.setReachability(tx, row.id, value))
        }
      },
    },
  }
}

type Reachability = { id: string; value: 'reached' | 'failed' }

/** Without an asset there is nothing to write. The inventory reports the deleted asset, and the gateway is revoked. */
async function writeReachability(context: Context, system: Caller, { id, value }: Reachability): Promise<void> {
  await context
    .peers(inventory, system)
    .setReachabilityState({ params: { id }, body: { data: { state_value: value } } })
    .catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    })
}
