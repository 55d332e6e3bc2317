import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { stateOf } from './gateway.ts'
import * as store from './store.ts'

/** The topic that is signalled when a gateway enrols, reconnects or is revoked. */
export const reachabilityTopic = 'gateway-attendance'

/**
 * Updates `reachability_state` of the gateways' assets: `reached` while the gateway is online, `failed` while it is offline
 * or revoked. The asset is written when the state changes, not at each heartbeat.
 */
export function reachabilityTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    'onboarding.reachability': {
      periodic: { everyMs: takeoverMs, wakeOn: reachabilityTopic, pending: store.anyReachabilityChanged },
      async run({ tenantId, signal }) {
        const tenant = await context.tenants.byId(tenantId)
        const system = systemCaller({ tenantId, tenantName: tenant?.name ?? '' })
        const changed = await database.read(system, store.listReachabilityChanged)
        for (const row of changed) {
          if (signal.aborted) return
          const value = stateOf(row, new Date()) === 'online' ? 'reached' : 'failed'
          await writeReachability(context, system, { id: row.id, value, since: sinceOf(row, value) })
          await database.transaction(system, (tx) => store.setReachability(tx, row.id, value))
        }
      },
    },
  }
}

type Reachability = { id: string; value: 'reached' | 'failed'; since: string | undefined }

/**
 * Returns the time since which a gateway is not reachable: of its last contact, not of this check. The platform can have been down
 * in between.
 */
function sinceOf({ lastSeenAt, enrolledAt, revokedAt }: store.GatewayRow, value: Reachability['value']) {
  if (value === 'reached' || revokedAt !== null) return undefined
  return lastSeenAt ?? enrolledAt ?? undefined
}

/**
 * Writes the reachability state to the gateway's asset. It ignores a missing asset, because the inventory reports deleted
 * assets and the gateway is then revoked.
 */
async function writeReachability(context: Context, system: Caller, { id, value, since }: Reachability): Promise<void> {
  await context
    .peers(inventory, system)
    .setReachabilityState({
      params: { id },
      body: { data: { state_value: value, ...(since !== undefined && { state_timestamp: since }) } },
    })
    .catch((error: unknown) => {
      if (!(error instanceof Problem) || error.code !== 'not_found') throw error
    })
}
