import { remoteAccessLimits, type SessionEnding } from '@millwright/api/remote-access.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import type { Context } from '../../platform/service.ts'
import { takeoverMs } from '../../platform/tasks/task.ts'
import type { TaskKinds } from '../../platform/tasks/tasks.ts'
import { type AssetDescription, describeAssets, mayConnect } from './assets.ts'
import { deleteParts } from './recording-store.ts'
import type { SessionCloser } from './session-closer.ts'
import type { SessionConnector } from './session-connector.ts'
import { endByPlatform } from './session-end.ts'
import { platformCaller, reportJob, sessionsTopic } from './session-report.ts'
import type { SessionRow } from './session-store.ts'
import * as store from './session-store.ts'
import { trafficMs } from './session-time.ts'
import { anyExpiredTicket, deleteExpiredTickets } from './ticket-store.ts'

/**
 * The background work of sessions. The task of a tenant runs at an interval and after each change of a session. It ends
 * sessions whose time is over, that are idle, whose user has lost a permission, or whose asset or gateway was deleted. It
 * connects approved sessions, closes ended ones, and reports the states of sessions to their jobs. One process runs the
 * task of a tenant at a time. Sessions whose time was over while no process ran end at the next start.
 */

const everyMs = 2_000
/** The shortest pause between two runs, so that many changes cause one run. */
const minPauseMs = 50
const pruneMs = 3_600_000
const reportsPerRun = 200
const partsPerDeletion = 32
const sessionsPerDeletion = 200

type Parts = { connector: SessionConnector; closer: SessionCloser }

export function sessionTasks(context: Context, parts: Parts): TaskKinds {
  const { database } = context
  return {
    'remote-access.sessions': {
      periodic: { everyMs, wakeOn: sessionsTopic, minPauseMs, pending: store.anyUnclosed },
      async run({ tenantId, signal }) {
        await superviseSessions(context, parts, { tenantId, signal })
      },
    },
    'remote-access.jobs': {
      periodic: { everyMs: takeoverMs, pending: store.anyUnreported },
      async run({ tenantId, signal }) {
        const rows = await database.read({ tenantId }, (handle) => store.listUnreported(handle, reportsPerRun))
        for (const row of rows) {
          if (signal.aborted) return
          await reportJob(context, { tenantId }, row)
        }
      },
    },
    'remote-access.tickets': {
      periodic: { everyMs: 60_000, pending: anyExpiredTicket },
      async run({ tenantId }) {
        await database.transaction({ tenantId }, (tx) => deleteExpiredTickets(tx, new Date().toISOString()))
      },
    },
    'remote-access.prune': {
      periodic: { everyMs: pruneMs, pending: store.anyExpired },
      async run({ tenantId, signal }) {
        await prune(context, { tenantId, signal })
      },
    },
  }
}

type Run = { tenantId: string; signal: AbortSignal }

async function superviseSessions(context: Context, { connector, closer }: Parts, { tenantId, signal }: Run) {
  const rows = await context.database.read({ tenantId }, store.listUnclosed)
  const running = rows.filter(({ state }) => state !== 'ended')
  const system = await platformCaller(context, tenantId)
  const ids = running.map(({ assetId }) => assetId)
  const assets = running.length === 0 ? new Map() : await describeAssets(context, system, ids)
  const connecting: SessionRow[] = []
  const supervise = async (row: SessionRow): Promise<void> => {
    if (row.state === 'ended') return closer.close(system, row)
    const asset: AssetDescription | undefined = assets.get(row.assetId)
    const end = (await endOf(context, tenantId, { row, asset })) ?? timeEndOf(row, Date.now())
    if (end !== undefined) {
      await endByPlatform(context, tenantId, { id: row.id, ...end })
      return
    }
    if (asset !== undefined && asset.accessGroupId !== row.accessGroupId)
      await context.database.transaction({ tenantId }, (tx) => store.setAccessGroup(tx, row.id, asset.accessGroupId))
    if (row.state === 'connecting') connecting.push(row)
  }
  /** The error of one session must not prevent the end of other sessions. */
  const logged = (row: SessionRow) => (error: unknown) =>
    context.log.error({ error, session: row.id }, 'A remote session could not be supervised')
  for (const row of rows) {
    if (signal.aborted) return
    await supervise(row).catch(logged(row))
  }
  // A gateway that does not answer delays only its own sessions, and the next run by some seconds.
  await Promise.all(connecting.map((row) => connector.retry(system, row).catch(logged(row))))
}

type SessionOutcome = { ending: SessionEnding; detail?: string }

/** Returns why a session ends because of its asset, its user or its gateway. Returns undefined if it continues. */
async function endOf(
  context: Context,
  tenantId: string,
  { row, asset }: { row: SessionRow; asset: AssetDescription | undefined },
): Promise<SessionOutcome | undefined> {
  if (asset === undefined || asset.isDeleted) return { ending: 'asset-deleted', detail: 'The asset was deleted' }
  const user = await currentCaller(context, tenantId, row)
  if (!mayConnect(user, asset))
    return { ending: 'permission-lost', detail: 'The user of the session no longer has the permission for the asset' }
  const gateway = await context.access.of(tenantId, row.gatewayId)
  if (gateway === undefined || gateway.principal.disabled)
    return { ending: 'gateway-offline', detail: 'The gateway was revoked or deleted' }
  return undefined
}

/** Returns why a session ends at this time. Returns undefined if it continues. */
export function timeEndOf(
  { state, expiresAt, activeAt, idleMinutes }: Pick<SessionRow, 'state' | 'expiresAt' | 'activeAt' | 'idleMinutes'>,
  now: number,
): SessionOutcome | undefined {
  if (Date.parse(expiresAt) <= now) {
    if (state === 'pending-approval')
      return {
        ending: 'approval-expired',
        detail: `No person approved or denied the request within ${remoteAccessLimits.approvalMinutes} minutes`,
      }
    if (state === 'connecting')
      return {
        ending: 'gateway-offline',
        detail: 'The gateway did not connect before the time of the session was over',
      }
    return { ending: 'expired', detail: 'The time of the session is over' }
  }
  if (state !== 'open' || Date.parse(activeAt) + idleMinutes * 60_000 + trafficMs > now) return undefined
  return { ending: 'idle', detail: `No byte was transferred for ${idleMinutes} minutes` }
}

/** Deletes recordings and sessions after their retention. */
async function prune({ database }: Context, { tenantId, signal }: Run): Promise<void> {
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
  for (;;) {
    const before = daysAgo(remoteAccessLimits.recordingDays)
    const id = await database.read({ tenantId }, (handle) => store.nextExpiredRecording(handle, before))
    if (id === undefined || signal.aborted) break
    await database.transaction({ tenantId }, async (tx) => {
      if (await deleteParts(tx, id, partsPerDeletion)) await store.markRecordingDeleted(tx, id)
    })
  }
  const before = daysAgo(remoteAccessLimits.sessionDays)
  const remove = () => database.transaction({ tenantId }, (tx) => store.deleteExpired(tx, before, sessionsPerDeletion))
  while (!signal.aborted && (await remove()) === sessionsPerDeletion);
}
