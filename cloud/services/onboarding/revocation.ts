import { discovery } from '@millwright/api/discovery.ts'
import { identity } from '@millwright/api/identity.ts'
import type { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import { remoteAccess } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { isReadableGateway } from '../../platform/asset-visibility.ts'
import { record } from '../../platform/audit/audit.ts'
import { emit } from '../../platform/events/events.ts'
import type { Context, Handlers } from '../../platform/service.ts'
import { trust } from './enrolment.ts'
import { showGateway, withAssets } from './gateway.ts'
import { reachabilityTopic } from './reachability.ts'
import * as store from './store.ts'

type Operations = 'revokeGateway' | 'revokeDeletedGateways'

export function revocationHandlers(context: Context): Pick<Handlers<typeof onboarding>, Operations> {
  return {
    async revokeGateway({ params: { id } }, caller) {
      const isReadable = await isReadableGateway(context, caller, id)
      const row = isReadable ? await revoke(context, caller, { id }) : undefined
      if (row === undefined) throw new Problem('not_found', `Gateway ${id} does not exist`)
      const [current = row] = await withAssets(context, caller, [row])
      return { data: showGateway(current, new Date()) }
    },

    /**
     * Revokes the gateways of deleted assets. The inventory repeats this call until it succeeds, so every step is
     * idempotent.
     */
    async revokeDeletedGateways({ body: { data } }, caller) {
      const ids = await context.database.read(caller, (handle) => store.findUnrevoked(handle, data.assets))
      for (const id of ids) await revoke(context, caller, { id, reason: 'asset_deleted' })
      return { data: { revoked: ids.length } }
    },
  }
}

/**
 * Revokes a gateway. First disables the principal, so that the token of the gateway is refused. Then ends open runs and
 * sets the trust state of the asset. Returns `undefined` when the gateway does not exist.
 */
export async function revoke(
  context: Context,
  caller: Caller,
  { id, reason }: { id: string; reason?: 'asset_deleted' },
): Promise<store.GatewayRow | undefined> {
  const { database } = context
  const gateway = await database.read(caller, (handle) => store.findGateway(handle, id))
  if (gateway === undefined) return undefined
  const system = systemCaller(caller)
  if (gateway.enrolledAt !== null)
    await context.peers(identity, system).updateGateway({ params: { id }, body: { data: { disabled: true } } })
  await context.peers(discovery, system).endGatewayRuns({ params: { gatewayId: id } })
  await context.peers(remoteAccess, system).endGatewaySessions({ params: { gatewayId: id } })
  const row = await database.transaction(caller, async (tx) => {
    const revoked = await store.setRevoked(tx, id)
    if (revoked === undefined) return undefined
    const why = reason === undefined ? {} : { reason }
    await record(tx, caller, { action: 'onboarding.revokeGateway', target: `gateway/${id}`, detail: why })
    await emit(tx, {
      type: 'onboarding.gateway.revoked',
      subject: `gateway/${id}`,
      data: { name: revoked.name, ...why },
    })
    tx.signal(reachabilityTopic)
    return revoked
  })
  await trust(context, system, { id, state: 'failed' })
  return row
}
