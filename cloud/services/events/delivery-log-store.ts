import type { Handle } from '../../platform/database/database.ts'
import { highestId } from '../../platform/database/id.ts'
import { statement } from '../../platform/database/statement.ts'
import type { DeliveryPage } from './delivery/delivery-store.ts'

/** The last delivery that an offset skips. Each filter has its own statement, so that the index of the filter is used. */

type Skipped = { id: string }

const page = 'tenant_id = $1 and subscription_id = $2 and id < $3'
const skipStatement = statement<Skipped>(
  `select id from event_deliveries where ${page} order by id desc offset $4 limit 1`,
)
const skipSucceededStatement = statement<Skipped>(
  `select id from event_deliveries where ${page} and state = 'succeeded' order by id desc offset $4 limit 1`,
)
const skipUnsentStatement = statement<Skipped>(
  `select id from event_deliveries
   where ${page} and state <> 'succeeded' and state = $5 order by id desc offset $4 limit 1`,
)
const skipDeadStatement = statement<Skipped>(
  `select id from event_deliveries where ${page} and is_dead_letter order by id desc offset $4 limit 1`,
)

/**
 * Skips deliveries of a list, newest first. Returns the id of the last one, or `undefined` if the list has fewer
 * deliveries. `offset` is at least 1.
 */
export async function skipDeliveries(
  handle: Handle,
  filter: Omit<DeliveryPage, 'limit'>,
  offset: number,
): Promise<string | undefined> {
  const { subscriptionId, state, deadLetters, before = highestId } = filter
  const values = [subscriptionId, before, offset - 1]
  // Only failed deliveries are dead letters. The list of another state is then empty, with and without an offset.
  if (deadLetters === true) return (await handle.row(skipDeadStatement, ...values))?.id
  if (state === undefined) return (await handle.row(skipStatement, ...values))?.id
  if (state === 'succeeded') return (await handle.row(skipSucceededStatement, ...values))?.id
  return (await handle.row(skipUnsentStatement, ...values, state))?.id
}
