import type { Context } from '../../../platform/service.ts'
import type { TaskKinds } from '../../../platform/tasks/task.ts'
import { Deliverer, deliverTask } from './deliverer.ts'
import { subscriptionsTopic } from './delivery-store.ts'
import { pruneDeliveries } from './pruning.ts'
import { anyLogged } from './pruning-store.ts'
import { anyOwnerDisabled, anyRunnable, continueSubscriptions, listOwnerDisabled } from './runner-store.ts'

/**
 * The interval of the tasks. They find subscriptions whose process ended, whose events another process published, or whose
 * owner was enabled again.
 */
const sweepMs = 2_000
/** New events wake the task at most this often. */
const minPauseMs = 200
/** After this time without a renewal, another process runs the task. It is short, because all subscriptions wait for it. */
const leaseMs = 3_000
const minuteMs = 60_000

/** Creates the tasks that start the runners of subscriptions, continue paused subscriptions, and shorten the log. */
export function deliveryTasks(context: Context): TaskKinds {
  const { database, access } = context
  const deliverer = new Deliverer(context)
  return {
    // The task only starts runners. It does not wait for receivers, because periodic tasks share few places.
    [deliverTask]: {
      periodic: { everyMs: sweepMs, minPauseMs, pending: anyRunnable },
      leaseMs,
      async run({ tenantId }) {
        await deliverer.start(tenantId)
      },
    },
    'events.check-owners': {
      periodic: { everyMs: sweepMs, pending: anyOwnerDisabled },
      async run({ tenantId }) {
        const paused = await database.read({ tenantId }, listOwnerDisabled)
        const ids: string[] = []
        for (const { subscriptionId, principalId } of paused) {
          const held = await access.of(tenantId, principalId)
          if (held !== undefined && !held.principal.disabled) ids.push(subscriptionId)
        }
        if (ids.length === 0) return
        await database.transaction({ tenantId }, async (tx) => {
          await continueSubscriptions(tx, { ids, now: new Date(deliverer.parts.clock.now()) })
          tx.signal(subscriptionsTopic)
        })
      },
    },
    'events.prune-deliveries': {
      periodic: { everyMs: minuteMs, pending: anyLogged },
      run: (task) => pruneDeliveries(context, task),
    },
  }
}
