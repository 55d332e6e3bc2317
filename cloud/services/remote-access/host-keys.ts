import { Problem } from '@millwright/api/problem.ts'
import type { HostKey, remoteAccess } from '@millwright/api/remote-access.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn } from '../../platform/access/rights.ts'
import { record } from '../../platform/audit/audit.ts'
import { emit } from '../../platform/events/events.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { describeAssets, mayConnect, maySupervise } from './assets.ts'
import * as store from './host-key-store.ts'
import { endSession } from './session-end.ts'
import { platformCaller, tryReportJob } from './session-report.ts'
import type { SessionRow } from './session-store.ts'

/**
 * The host keys of devices. The first key that a device presents on a port is stored. A device with another key, or with a key of
 * another algorithm, is refused and its session ends, until a supervisor deletes the stored key.
 */
export function hostKeyHandlers(
  context: Context,
): Pick<Handlers<typeof remoteAccess>, 'listHostKeys' | 'deleteHostKey'> {
  const { database } = context
  return {
    async listHostKeys({ query: { assetId, limit = 50, offset = 0 } }, caller) {
      const asset = (await describeAssets(context, caller, [assetId])).get(assetId)
      if (asset === undefined || !(mayConnect(caller, asset) || maySupervise(caller, asset)))
        throw new Problem('not_found', `Asset ${assetId} does not exist`)
      const { rows, total } = await database.read(caller, (handle) =>
        store.listHostKeys(handle, assetId, { limit, offset }),
      )
      return { data: rows.map(showHostKey), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async deleteHostKey({ params: { id } }, caller) {
      const key = await database.read(caller, (handle) => store.findHostKey(handle, id))
      const asset = key && (await describeAssets(context, caller, [key.assetId])).get(key.assetId)
      const missing = new Problem('not_found', `Host key ${id} does not exist`)
      if (key === undefined || asset === undefined) throw missing
      const { accessGroupId } = asset
      if (!mayIn(caller, 'inventory_read_asset_data', accessGroupId)) throw missing
      if (!maySupervise(caller, asset))
        throw await database.read(caller, (handle) =>
          permissionDeniedIn(handle, caller, { permission: 'remote_access_approve', accessGroupId }),
        )
      await database.transaction(caller, async (tx) => {
        if (!(await store.deleteHostKey(tx, id))) throw missing
        const { assetId, port, algorithm, fingerprint } = key
        const detail = { assetId, port, algorithm, fingerprint }
        await record(tx, caller, { action: 'remote-access.deleteHostKey', target: `asset/${assetId}`, detail })
        await emit(tx, {
          type: 'remote-access.host-key.deleted',
          subject: `asset/${assetId}`,
          data: { assetId, accessGroupId, port, algorithm },
        })
      })
      return answer(204)
    },
  }
}

export type HostKeyDecision = { isAccepted: boolean; isNew: boolean; detail?: string }

type DeviceKey = { algorithm: string; fingerprint: string }

/**
 * Decides about the key that the device of a session presents. The first key of a device is stored. Another key ends the
 * session.
 */
export async function decideHostKey(
  context: Context,
  scope: Pick<Caller, 'tenantId'>,
  { row, key }: { row: SessionRow; key: DeviceKey },
): Promise<HostKeyDecision> {
  const { tenantId } = scope
  const { assetId, port, accessGroupId } = row
  const system = await platformCaller(context, tenantId)
  const { decision, ended } = await context.database.transaction({ tenantId }, async (tx) => {
    const seen = { assetId, port, ...key }
    const { stored, isNew } = await store.noteHostKey(tx, seen, new Date().toISOString())
    if (isNew) {
      const detail = { assetId, port, ...key, sessionId: row.id }
      await record(tx, system, { action: 'remote-access.storeHostKey', target: `asset/${assetId}`, detail })
      await emit(tx, {
        type: 'remote-access.host-key.stored',
        subject: `asset/${assetId}`,
        data: { assetId, accessGroupId, port, algorithm: key.algorithm },
      })
    }
    if (stored.algorithm === key.algorithm && stored.fingerprint === key.fingerprint)
      return { decision: { isAccepted: true, isNew } }
    const detail =
      `The device presented the key ${key.algorithm} ${key.fingerprint}, but the stored key is ${stored.algorithm} ` +
      `${stored.fingerprint}. If the device was replaced or reset, delete the stored key. Otherwise, another device may answer at its address`
    return {
      decision: { isAccepted: false, isNew: false, detail },
      ended: await endSession(tx, system, { id: row.id, ending: 'host-key-changed', detail }),
    }
  })
  if (ended !== undefined) await tryReportJob(context, scope, ended)
  return decision
}

function showHostKey(row: store.HostKeyRow): HostKey {
  const { id, assetId, port, algorithm, fingerprint, firstSeenAt, lastSeenAt } = row
  return { id, assetId, port, algorithm, fingerprint, firstSeenTimestamp: firstSeenAt, lastSeenTimestamp: lastSeenAt }
}
