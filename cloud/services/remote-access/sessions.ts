import { credentials } from '@millwright/api/credentials.ts'
import { Problem } from '@millwright/api/problem.ts'
import {
  type RemoteSession,
  type remoteAccess,
  remoteAccessLimits,
  type SessionRequest,
  servicePorts,
} from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { mayConnect } from './assets.ts'
import { policyOf } from './policy-store.ts'
import { storedBytes } from './recording-store.ts'
import { showSession } from './session.ts'
import { missingSession, requireOwn, requireVisible, visibleSessions } from './session-access.ts'
import type { SessionConnector } from './session-connector.ts'
import { endSession } from './session-end.ts'
import { reportSession, tryReportJob } from './session-report.ts'
import type { SessionRow } from './session-store.ts'
import * as store from './session-store.ts'
import { switchStates } from './switch-store.ts'
import { type AssetTarget, findTarget, type Route, requirePort, requireRoute } from './targets.ts'
import { WebHost } from './web/web-host.ts'

type Operations = 'createSession' | 'listSessions' | 'readSession' | 'endSession' | 'extendSession'

/** The operations of the users of sessions. `session-task.ts` describes how sessions end automatically. */
export function sessionHandlers(
  context: Context,
  connector: SessionConnector,
): Pick<Handlers<typeof remoteAccess>, Operations> {
  const { database, settings } = context
  return {
    async createSession({ body: { data: request } }, caller) {
      const port = portOf(request)
      requireSensible(request, context)
      const target = await findTarget(context, caller, { assetId: request.assetId, missing: 'asset_not_found' })
      requirePort(target, port)
      requireRecordable(target, { service: request.service, port })
      requireDuration(target, request)
      const needsApproval = target.policy.approval === 'required'
      const route = requireRoute(target, { mustBeConnected: !needsApproval })
      await requireCredential(context, caller, { request, route })
      const created = await database.transaction(caller, async (tx) => {
        await requireCapacity(tx, target, route)
        const row = await store.insertSession(tx, caller, newSession(request, { target, route, port }))
        await reportSession(tx, caller, {
          row,
          action: 'createSession',
          event: 'requested',
          detail: { ...(row.reason === null ? {} : { reason: row.reason }), needsApproval, recording: row.recording },
        })
        return row
      })
      await tryReportJob(context, caller, created)
      const row = needsApproval ? created : await connector.connect(caller, created, route)
      return answer(201, { data: show(row) }, { location: `/remote-access/v1/sessions/${row.id}` })
    },

    async listSessions({ query: { limit = 50, offset = 0, awaitsMe = false, state, assetId, gatewayId } }, caller) {
      const isPerson = canDecide(caller)
      const visible = await visibleSessions(context, caller, { isForApproval: awaitsMe })
      const filter = { state, assetId, gatewayId, ...(awaitsMe ? { awaits: caller.principal.id } : {}) }
      if (awaitsMe && !isPerson) return { data: [], meta: { totalElements: 0, elements: 0, offset } }
      const { rows, total } = await database.read(caller, (handle) =>
        store.listSessions(handle, { visible, filter, page: { limit, offset } }),
      )
      const data = rows.map((row) => showSession(row, { settings, isOwn: row.principalId === caller.principal.id }))
      return { data, meta: { totalElements: total, elements: rows.length, offset } }
    },

    async readSession({ params: { id } }, caller) {
      const { row, isOwn } = await requireVisible(context, caller, id)
      return { data: showSession(row, { settings, isOwn }) }
    },

    async endSession({ params: { id } }, caller) {
      const { isOwn } = await requireVisible(context, caller, id)
      const ending = isOwn ? 'ended-by-user' : 'ended-by-reviewer'
      const ended = await database.transaction(caller, (tx) => endSession(tx, caller, { id, ending, by: caller }))
      // A session that has ended already stays as it is, so that the request can be repeated.
      if (ended !== undefined) await tryReportJob(context, caller, ended)
      return answer(204)
    },

    async extendSession({ params: { id }, body: { data } }, caller) {
      const { asset } = await requireOwn(context, caller, id)
      if (!mayConnect(caller, asset)) throw missingSession(id)
      const row = await database.transaction(caller, async (tx) => {
        const current = await store.lockSession(tx, id)
        if (current === undefined) throw missingSession(id)
        const { maxMinutes, approval } = await policyOf(tx, asset.accessGroupId)
        const limits = extended(current, { ...data, maxMinutes, isApproved: approval === 'none' })
        const extendedRow = await store.extendSession(tx, id, limits)
        if (extendedRow === undefined) throw missingSession(id)
        const detail = { minutes: data.minutes, expiresAt: extendedRow.expiresAt }
        await reportSession(tx, caller, { row: extendedRow, action: 'extendSession', event: 'extended', detail })
        return extendedRow
      })
      return { data: show(row) }
    },
  }

  function show(row: SessionRow): RemoteSession {
    return showSession(row, { settings, isOwn: true })
  }
}

/** Returns whether a caller is a person, who can decide about the sessions of other users. */
export function canDecide({ principal }: Caller): boolean {
  return principal.kind === 'user' || principal.kind === 'external'
}

function portOf({ service, port }: SessionRequest): number {
  const used = port ?? servicePorts[service]
  if (used !== undefined) return used
  throw invalidField('/data/port', `A session for ${service} must name its port`)
}

/** Refuses credentials for services other than ssh, and web sessions if the platform has no wildcard host. */
function requireSensible({ service, credentialInstanceId }: SessionRequest, { settings }: Context): void {
  if (credentialInstanceId !== undefined && service !== 'ssh')
    throw invalidField('/data/credentialInstanceId', `Credentials are used only for ssh, not for ${service}`)
  if (service === 'http' || service === 'https') new WebHost(settings).requireOn()
}

/**
 * Refuses plain TCP connections that would bypass the recording of terminals and web pages. With the mode `all`, all `tcp`
 * sessions are refused. With the mode `terminal`, web sessions can have plain TCP connections, so they cannot use port 22.
 */
function requireRecordable(
  { policy: { recording } }: AssetTarget,
  { service, port }: Pick<SessionRow, 'service' | 'port'>,
): void {
  if (service === 'ssh' || recording === 'none') return
  if (recording === 'terminal' ? port !== servicePorts.ssh : service !== 'tcp') return
  throw new Problem(
    'forbidden',
    'Sessions of this access group are recorded, and a plain TCP connection cannot be recorded. Open a session for ssh, http or https',
  )
}

/** Refuses a longer duration than the policy allows. A shorter session than requested would end unexpectedly. */
function requireDuration({ policy: { maxMinutes } }: AssetTarget, { durationMinutes = 0 }: SessionRequest): void {
  if (durationMinutes <= maxMinutes) return
  throw new Problem(
    'conflict',
    `The session would last ${durationMinutes} minutes. The policy of the access group allows ${maxMinutes} minutes. Request a shorter duration`,
  )
}

function invalidField(pointer: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer, code: 'invalid', detail }] })
}

/** Requires that the chosen credential can be delivered for the device. Hidden and missing ones return the same error. */
async function requireCredential(
  { peers }: Context,
  caller: Caller,
  { request: { credentialInstanceId: instanceId, assetId }, route }: { request: SessionRequest; route: Route },
): Promise<void> {
  if (instanceId === undefined) return
  const { gatewayId, address, isOwnAddress } = route
  const { data } = await peers(credentials, systemCaller(caller)).checkChosen({
    body: { data: { jobId: newId(), gatewayId, instanceId, assetId, address, isOwnAddress } },
  })
  if (data.isAllowed) return
  const detail = `Credential instance ${instanceId} does not exist, or is neither assigned to the asset nor valid for its address`
  throw fieldProblem('invalid_reference', '/data/credentialInstanceId', detail)
}

/** Requires that no limit is reached. The transaction holds a lock, so that concurrent requests do not exceed a limit. */
async function requireCapacity(tx: Transaction, { policy }: AssetTarget, { gatewayId }: Route): Promise<void> {
  const { sessionsPerTenant, sessionsPerGateway, storedRecordingBytes } = remoteAccessLimits
  const { ofTenant, ofGateway } = await store.countUnended(tx, gatewayId)
  const refuse = (owner: string, count: number, limit: number) =>
    new Problem(
      'too_many_sessions',
      `The ${owner} has ${count} sessions that have not ended. The limit is ${limit}. End a session, or retry later`,
      { retryAfter: 30 },
    )
  if (ofTenant >= sessionsPerTenant) throw refuse('tenant', ofTenant, sessionsPerTenant)
  if (ofGateway >= sessionsPerGateway) throw refuse('gateway', ofGateway, sessionsPerGateway)
  const { isTenantEnabled, disabledGateways } = await switchStates(tx, [gatewayId])
  if (!isTenantEnabled || disabledGateways.has(gatewayId))
    throw new Problem('remote_access_off', 'Remote access was switched off. Ask an administrator to switch it on')
  if (policy.recording === 'none') return
  if ((await storedBytes(tx)) >= storedRecordingBytes)
    throw new Problem(
      'conflict',
      `The stored recordings of the tenant have reached ${storedRecordingBytes / 1024 ** 3} GiB, which is the limit. Sessions of this access group must be recorded, so no session can start until old recordings are deleted`,
    )
}

function newSession(
  request: SessionRequest,
  { target, route, port }: { target: AssetTarget; route: Route; port: number },
): store.NewSession {
  const { policy } = target
  const durationMinutes = request.durationMinutes ?? policy.maxMinutes
  const createdAt = new Date()
  const needsApproval = policy.approval === 'required'
  const minutes = needsApproval ? remoteAccessLimits.approvalMinutes : durationMinutes
  return {
    id: newId(),
    jobId: newId(),
    state: needsApproval ? 'pending-approval' : 'connecting',
    assetId: target.assetId,
    assetName: target.assetName,
    accessGroupId: target.accessGroupId,
    gatewayId: route.gatewayId,
    service: request.service,
    address: null,
    isOwnAddress: false,
    port,
    credentialInstanceId: request.credentialInstanceId ?? null,
    reason: request.reason ?? null,
    durationMinutes,
    createdAt: createdAt.toISOString(),
    expiresAt: new Date(createdAt.getTime() + minutes * 60_000).toISOString(),
    policy,
  }
}

/** Returns the limits of an extended session. Throws if it cannot be extended. */
export function extended(
  { state, needsApproval, durationMinutes, expiresAt }: SessionRow,
  { minutes, maxMinutes, isApproved }: { minutes: number; maxMinutes: number; isApproved: boolean },
): Pick<SessionRow, 'expiresAt' | 'durationMinutes'> {
  if (state !== 'open')
    throw new Problem('conflict', `The session has the state ${state}. Only an open session can be extended`)
  if (needsApproval || !isApproved)
    throw new Problem('conflict', 'A session that needs approval cannot be extended. Request a new session')
  const total = durationMinutes + minutes
  if (total > maxMinutes)
    throw new Problem(
      'conflict',
      `The session would last ${total} minutes. The policy of the access group allows ${maxMinutes} minutes`,
    )
  return { durationMinutes: total, expiresAt: new Date(Date.parse(expiresAt) + minutes * 60_000).toISOString() }
}
