import { Problem } from '@millwright/api/problem.ts'
import type { SessionEnding } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { currentCaller } from '../../platform/access/current-caller.ts'
import type { Context } from '../../platform/service.ts'
import { endByPlatform } from './session-end.ts'
import { platformCaller, reportSession, tryReportJob } from './session-report.ts'
import { findSession, openSession, type SessionRow } from './session-store.ts'
import type { SessionStreams } from './session-streams.ts'
import { findTarget, type Route, requirePort } from './targets.ts'

/**
 * The time after which the task of sessions connects a session that its request should have connected, because the process
 * of the request died.
 */
const abandonedMs = 8_000

/** `SessionConnector` opens sessions: the gateway confirms that its own rules allow the target. */
export class SessionConnector {
  readonly #context: Context
  readonly #streams: SessionStreams

  constructor(context: Context, streams: SessionStreams) {
    this.#context = context
    this.#streams = streams
  }

  /** Opens a new session, in the request of its user. If the gateway refuses the target, the session ends. */
  async connect(caller: Caller, row: SessionRow, route: Route): Promise<SessionRow> {
    try {
      return await this.#open(caller, row, route)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const ending = endingOf(error) ?? 'gateway-offline'
      await endByPlatform(this.#context, caller.tenantId, { id: row.id, ending, detail: error.message })
      throw error
    }
  }

  /** Opens an approved session, if its gateway is connected. Otherwise the task of sessions tries again. */
  async retry({ tenantId }: Caller, row: SessionRow): Promise<void> {
    const isAbandoned = Date.parse(row.createdAt) < Date.now() - abandonedMs
    if (!row.needsApproval && !isAbandoned) return
    try {
      const user = await currentCaller(this.#context, tenantId, row)
      const target = await findTarget(this.#context, user, { assetId: row.assetId, missing: 'not_found' })
      requirePort(target, row.port)
      const routes = target.routes.filter(({ gatewayId }) => gatewayId === row.gatewayId)
      const [route] = routes
      if (route === undefined) throw new Problem('no_address', 'The gateway no longer has an address for the device')
      if (route.isConnected) await this.#open(user, row, route)
    } catch (error) {
      const ending = error instanceof Problem ? endingOf(error) : undefined
      if (ending !== undefined)
        await endByPlatform(this.#context, tenantId, { id: row.id, ending, detail: (error as Problem).message })
      else this.#context.log.warn({ error, session: row.id }, 'A remote session could not be connected yet')
    }
  }

  async #open(caller: Caller, row: SessionRow, route: Route): Promise<SessionRow> {
    const { database } = this.#context
    const { gatewayId, address, isOwnAddress } = route
    const system = await platformCaller(this.#context, caller.tenantId)
    const target = { sessionId: row.id, assetId: row.assetId, address, port: row.port }
    await this.#streams.check(system, gatewayId, target)
    const opened = await database.transaction({ tenantId: caller.tenantId }, async (tx) => {
      const now = new Date().toISOString()
      const current = await openSession(tx, row.id, { gatewayId, address, isOwnAddress }, now)
      if (current !== undefined)
        await reportSession(tx, system, { row: current, action: 'openSession', event: 'opened' })
      return current
    })
    if (opened !== undefined) {
      await tryReportJob(this.#context, caller, opened)
      return opened
    }
    const current = await database.read({ tenantId: caller.tenantId }, (handle) => findSession(handle, row.id))
    if (current?.state === 'open') return current
    throw new Problem('conflict', current?.endingDetail ?? 'The session was ended before it was open')
  }
}

/** Returns how a session ends because of an error. Returns undefined if the gateway may connect later. */
function endingOf({ code }: Problem): SessionEnding | undefined {
  if (code === 'target_not_allowed' || code === 'no_address') return 'target-not-allowed'
  if (code === 'not_found') return 'asset-deleted'
  return code === 'forbidden' ? 'permission-lost' : undefined
}
