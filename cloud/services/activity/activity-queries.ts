import { Semaphore } from '@millwright/api/semaphore.ts'

/** At most this many queries of a tenant may wait. */
const waitingQueries = 64

/**
 * Limits the queries that read the changes and the audit entries of up to a year. A tenant runs only a few of them at once, so
 * that they do not use all connections of the database.
 */
export const activityQueries = new Semaphore({
  capacity: 4,
  perKey: 2,
  waitingPerKey: waitingQueries,
  refusal: `${waitingQueries} activity queries of this tenant are already waiting. Send fewer requests at the same time`,
})
