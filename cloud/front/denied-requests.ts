import type { Caller } from '../platform/access/caller.ts'
import { recordOutside } from '../platform/audit/audit.ts'
import type { Database } from '../platform/database/database.ts'
import type { Log } from '../platform/log.ts'

const quietMs = 10_000
const remembered = 1_000

/** Puts refused requests on the audit trail: one entry for repetitions within ten seconds, so that a client cannot flood it. */
export function deniedRequests({ database, log }: { database: Database; log: Log }) {
  const recent = new Map<string, number>()
  return (caller: Caller, action: string): void => {
    const what = `${caller.tenantId} ${caller.principal.id} ${action}`
    const now = performance.now()
    if (now - (recent.get(what) ?? Number.NEGATIVE_INFINITY) < quietMs) return
    if (recent.size >= remembered) recent.delete(recent.keys().next().value ?? '')
    recent.set(what, now)
    recordOutside(database, caller, caller, { action, outcome: 'denied' }).catch((error: unknown) => {
      log.error({ error, action }, 'a refused request could not be put on the audit trail')
    })
  }
}
