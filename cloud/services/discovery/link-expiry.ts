import { inventory } from '@millwright/api/inventory/inventory.ts'
import { record } from '../../platform/audit/audit.ts'
import { emitAll } from '../../platform/events/events.ts'
import type { Context } from '../../platform/service.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { silenceProblem } from './link.ts'
import { anyLinkExpired, listExpiredLinks, stopExpiredLink } from './link-store.ts'
import { systemOf } from './run-start.ts'

/** The interval of the task. A link may be shown as running for this time after its registration expired. */
const everyMs = 15_000

/**
 * Ends the `is_running_on` relations of links whose registration expired because their gateway did not report. Such a
 * gateway is down, disconnected, revoked or deleted. The next report of the gateway sets the state of the links again.
 */
export function linkExpiryTasks(context: Context): TaskKinds {
  const { database } = context
  return {
    'discovery.link-expiry': {
      periodic: { everyMs, pending: anyLinkExpired },
      async run({ tenantId, signal }) {
        const system = await systemOf(context, tenantId)
        for (const link of await database.read(system, listExpiredLinks)) {
          if (signal.aborted) return
          const { gatewayId, appInstanceId, assetId } = link
          const data = { assetLink: assetId, gateway: gatewayId }
          await context.peers(inventory, system).recordLinkStopped({ body: { data } })
          await database.transaction(system, async (tx) => {
            if (!(await stopExpiredLink(tx, link, silenceProblem(link.lastSeenAt)))) return
            const state = 'unreachable'
            await record(tx, system, {
              action: 'discovery.expireLink',
              target: `gateway/${gatewayId}`,
              detail: { links: [{ link: appInstanceId, state, silentSince: link.lastSeenAt }] },
            })
            await emitAll(tx, [
              {
                type: `discovery.link.${state}`,
                subject: `asset/${assetId}`,
                data: { gatewayId, assetLinkId: appInstanceId, state },
              },
            ])
          })
        }
      },
    },
  }
}
