import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { RemoteGateway, remoteAccess } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { requireStepUp } from '../../platform/access/step-up.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { isReadableGateway } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { endSession, type SessionEnd } from './session-end.ts'
import { tryReportJob } from './session-report.ts'
import { countByGateway, countUnended, listUnended, type SessionOwner, type SessionRow } from './session-store.ts'
import { deleteSwitch, isTenantEnabled, putSwitch, switchStates } from './switch-store.ts'
import { listTunnels } from './tunnel-store.ts'

type Operations =
  | 'readSwitch'
  | 'putSwitch'
  | 'listGateways'
  | 'putGatewaySwitch'
  | 'endGatewaySessions'
  | 'endUserSessions'

/** A topic with this prefix and the id of a gateway is signalled when the tunnel of the gateway must be closed. */
export const tunnelTopic = 'remote-access.tunnel/'

/** A placeholder id. The lock of the limits is for the tenant and does not depend on a gateway. */
const noGateway = '00000000-0000-0000-0000-000000000000'

/** The switches that end all sessions of the tenant or of a gateway, and prevent new ones. */
export function switchHandlers(context: Context): Pick<Handlers<typeof remoteAccess>, Operations> {
  const { database } = context
  return {
    async readSwitch(_request, caller) {
      return { data: { isEnabled: await database.read(caller, isTenantEnabled) } }
    },

    async putSwitch({ body: { data } }, caller) {
      const ended = await database.transaction(caller, async (tx) => {
        const { isEnabled } = data
        if (isEnabled) await requireStepUp(tx, caller, 'remote-access')
        // New sessions are counted with the same lock, so none is created between the two steps.
        await countUnended(tx, noGateway)
        await putSwitch(tx, { isEnabled, now: new Date().toISOString() })
        await record(tx, caller, { action: 'remote-access.putSwitch', target: 'tenant', detail: { isEnabled } })
        await emit(tx, { type: 'remote-access.switch.changed', subject: 'tenant', data: { isEnabled } })
        const detail = 'Remote access was switched off for the tenant'
        return isEnabled ? [] : endAll(tx, caller, { ending: 'switched-off', detail, by: caller })
      })
      await reportAll(context, caller, ended)
      return { data }
    },

    async listGateways({ query }, caller) {
      const { data, meta } = await context.peers(onboarding, caller).listGateways({ query })
      const ids = data.map(({ id }) => id)
      const gateways = await database.read(caller, (handle) => describeGateways(handle, ids))
      return { data: gateways, meta }
    },

    async putGatewaySwitch({ params: { gatewayId }, body: { data } }, caller) {
      await requireGateway(context, caller, gatewayId)
      const { isEnabled } = data
      const ended = await database.transaction(caller, async (tx) => {
        if (isEnabled) await requireStepUp(tx, caller, 'remote-access')
        await countUnended(tx, gatewayId)
        await putSwitch(tx, { gatewayId, isEnabled, now: new Date().toISOString() })
        const target = `gateway/${gatewayId}`
        await record(tx, caller, { action: 'remote-access.putGatewaySwitch', target, detail: { isEnabled } })
        await emit(tx, { type: 'remote-access.switch.changed', subject: target, data: { gatewayId, isEnabled } })
        const detail = 'Remote access through the gateway was switched off'
        return isEnabled ? [] : endAll(tx, caller, { gatewayId, ending: 'switched-off', detail, by: caller })
      })
      await reportAll(context, caller, ended)
      const [gateway] = await database.read(caller, (handle) => describeGateways(handle, [gatewayId]))
      return { data: gateway as RemoteGateway }
    },

    async endGatewaySessions({ params: { gatewayId } }, caller) {
      const detail = 'The gateway was revoked or deleted'
      const ended = await database.transaction(caller, async (tx) => {
        await countUnended(tx, gatewayId)
        await deleteSwitch(tx, gatewayId)
        tx.signal(tunnelTopic + gatewayId)
        return endAll(tx, caller, { gatewayId, ending: 'gateway-offline', detail })
      })
      await reportAll(context, caller, ended)
      return { data: { ended: ended.length } }
    },

    async endUserSessions({ params: { principalId } }, caller) {
      const detail = 'All sign-in sessions of the user were ended'
      const end = { principalId, ending: 'permission-lost', detail } as const
      const ended = await database.transaction(caller, (tx) => endAll(tx, caller, end))
      await reportAll(context, caller, ended)
      return { data: { ended: ended.length } }
    },
  }
}

async function describeGateways(handle: Handle, ids: readonly string[]): Promise<RemoteGateway[]> {
  if (ids.length === 0) return []
  const tunnels = new Set((await listTunnels(handle, ids)).map(({ gatewayId }) => gatewayId))
  const { disabledGateways } = await switchStates(handle, ids)
  const sessions = await countByGateway(handle, ids)
  return ids.map((gatewayId) => ({
    gatewayId,
    isConnected: tunnels.has(gatewayId),
    isEnabled: !disabledGateways.has(gatewayId),
    sessions: sessions.get(gatewayId) ?? 0,
  }))
}

/** Requires that a gateway exists and that the caller can read it. */
async function requireGateway(context: Context, caller: Caller, id: string): Promise<void> {
  const missing = new Problem('not_found', `Gateway ${id} does not exist`)
  if (!(await isReadableGateway(context, caller, id))) throw missing
  await context
    .peers(onboarding, systemCaller(caller))
    .resolveGateway({ params: { id } })
    .catch((error: unknown) => {
      throw error instanceof Problem && error.code === 'not_found' ? missing : error
    })
}

/** Ends all sessions of the tenant, or those of a gateway or of a user. */
async function endAll(
  tx: Transaction,
  caller: Caller,
  { gatewayId, principalId, ...end }: SessionEnd & SessionOwner,
): Promise<SessionRow[]> {
  const ended: SessionRow[] = []
  for (const id of await listUnended(tx, { gatewayId, principalId })) {
    const row = await endSession(tx, caller, { ...end, id })
    if (row !== undefined) ended.push(row)
  }
  return ended
}

async function reportAll(context: Context, { tenantId }: Caller, rows: readonly SessionRow[]): Promise<void> {
  // The jobs of further sessions are reported by the task of sessions, so that the response does not wait for them.
  for (const row of rows.slice(0, 10)) await tryReportJob(context, { tenantId }, row)
}
