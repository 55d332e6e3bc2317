import type { IdentityConflict } from '@millwright/api/inventory/identity.ts'
import type { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { readableGroups } from '../visibility.ts'
import { type IdentityConflictRow, listIdentityConflicts } from './identity-conflict-store.ts'

type Names = 'listIdentityConflicts'

/**
 * Handlers of identity conflicts. A conflict is visible to callers who can read both its asset and the asset of its
 * gateway.
 */
export function identityConflictHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  return {
    async listIdentityConflicts({ query: { asset, gateway, limit = 50, offset = 0 } }, caller) {
      const options = { groups: readableGroups(caller), asset, gateway, limit, offset }
      const { rows, total } = await database.read(caller, (handle) => listIdentityConflicts(handle, options))
      return { data: rows.map(showConflict), meta: { totalElements: total, elements: rows.length, offset } }
    },
  }
}

function showConflict(row: IdentityConflictRow): IdentityConflict {
  return {
    asset: { id: row.assetId, name: row.assetName },
    gateway: { id: row.gatewayId, name: row.gatewayName },
    jobId: row.jobId,
    runId: row.runId,
    deviceName: row.deviceName,
    identifiers: row.identifiers,
    firstSeenTimestamp: row.firstSeen,
    lastSeenTimestamp: row.lastSeen,
  }
}
