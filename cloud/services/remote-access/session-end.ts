import type { SessionEnding } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Transaction } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import { endedTopic, platformCaller, reportSession, tryReportJob } from './session-report.ts'
import type { SessionRow } from './session-store.ts'
import * as store from './session-store.ts'
import { deleteEntries } from './ticket-store.ts'

/**
 * Ends sessions. The end takes effect with its transaction: from then on, no stream can be opened, tickets and cookies are
 * deleted, and every process closes its streams. When the last bytes are counted, the task of sessions closes the session
 * and writes the audit entry with the bytes, the duration and the digest of the recording.
 */

export type SessionEnd = {
  ending: SessionEnding
  detail?: string | undefined
  /** The operation in the audit entry. */
  action?: string
  /** The person who ended the session. */
  by?: Caller | undefined
  /** Whether the person denied the approval. */
  isDecision?: boolean
}

/** Ends a session in a transaction. Returns undefined if it has ended already. */
export async function endSession(
  tx: Transaction,
  caller: Caller,
  { id, ending, detail, action = 'endSession', by, isDecision = false }: SessionEnd & { id: string },
): Promise<SessionRow | undefined> {
  const end = { ending, detail, by: by?.principal, isDecision }
  const row = await store.endSession(tx, id, end, new Date().toISOString())
  if (row === undefined) return undefined
  await deleteEntries(tx, id)
  await reportSession(tx, caller, {
    row,
    action,
    event: 'ended',
    ...(detail === undefined ? {} : { detail: { reason: detail } }),
  })
  tx.signal(endedTopic + id)
  return row
}

/** Ends a session in the name of the platform, in its own transaction. */
export async function endByPlatform(
  context: Context,
  tenantId: string,
  end: Omit<SessionEnd, 'by' | 'action'> & { id: string },
): Promise<SessionRow | undefined> {
  const system = await platformCaller(context, tenantId)
  const row = await context.database.transaction({ tenantId }, (tx) => endSession(tx, system, end))
  if (row !== undefined) await tryReportJob(context, { tenantId }, row)
  return row
}
