import type { Caller } from '../platform/access/caller.ts'
import { recordOutside } from '../platform/audit/audit.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/log.ts'
import { WindowLimit } from '../platform/window-limit.ts'

const auditedEveryMs = 10_000

/**
 * Records denied requests in the audit trail. Denied requests of one caller for the same action are recorded at most
 * once in ten seconds, so that a client cannot flood the audit trail.
 */
export function deniedRequests({ database, log }: { database: Database; log: Log }) {
  const audited = new WindowLimit({ most: 1, windowMs: auditedEveryMs })
  return (caller: Caller, action: string): void => {
    if (!audited.take(`${caller.tenantId} ${caller.principal.id} ${action}`)) return
    recordOutside(database, caller, caller, { action, outcome: 'denied' }).catch((error: unknown) => {
      log.error({ error, action }, 'A denied request could not be recorded in the audit trail')
    })
  }
}
