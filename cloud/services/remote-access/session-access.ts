import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { may, mayIn } from '../../platform/access/rights.ts'
import { readsAllAssets } from '../../platform/asset-visibility.ts'
import type { Context } from '../../platform/service.ts'
import { type AssetDescription, describeAssets, maySupervise } from './assets.ts'
import { assetsOfSessions, findSession, type SessionRow, type SessionVisibility } from './session-store.ts'

/**
 * Which sessions a caller can read. The asset must be readable, by its current access group. Users see their own sessions.
 * With `remote_access_approve` in the access group, they see the sessions of other users too. Hidden and missing sessions
 * return the same error.
 */

export type VisibleSession = {
  row: SessionRow
  /** The asset as it is now. */
  asset: AssetDescription
  isOwn: boolean
}

/** Returns a session that the caller can read. */
export async function requireVisible(context: Context, caller: Caller, id: string): Promise<VisibleSession> {
  const row = await context.database.read(caller, (handle) => findSession(handle, id))
  if (row === undefined) throw missingSession(id)
  const asset = (await describeAssets(context, caller, [row.assetId])).get(row.assetId) ?? formerAsset(row)
  const isOwn = row.principalId === caller.principal.id
  const isReadable = mayIn(caller, 'inventory_read_asset_data', asset.accessGroupId)
  if (isReadable && (isOwn || maySupervise(caller, asset))) return { row, asset, isOwn }
  throw missingSession(id)
}

/** Returns a session that the caller can approve, deny or replay. */
export async function requireSupervised(context: Context, caller: Caller, id: string): Promise<VisibleSession> {
  const session = await requireVisible(context, caller, id)
  const { accessGroupId } = session.asset
  if (maySupervise(caller, session.asset)) return session
  throw await context.database.read(caller, (handle) =>
    permissionDeniedIn(handle, caller, { permission: 'remote_access_approve', accessGroupId }),
  )
}

/** Returns a session of the caller. Throws `forbidden` for a visible session of another user. */
export async function requireOwn(context: Context, caller: Caller, id: string): Promise<VisibleSession> {
  const session = await requireVisible(context, caller, id)
  if (session.isOwn) return session
  throw new Problem('forbidden', 'Only the user of a session can do this. Open your own session')
}

/** Returns the condition for lists of sessions. */
export async function visibleSessions(
  context: Context,
  caller: Caller,
  { isForApproval }: { isForApproval: boolean },
): Promise<SessionVisibility> {
  const principalId = caller.principal.id
  const superviseAll = may(caller, 'remote_access_approve')
  if (readsAllAssets(caller) && superviseAll) return { principalId, ownOf: null, allOf: null }
  const hasGroups = superviseAll || caller.rights.inGroups.has('remote_access_approve')
  if (readsAllAssets(caller) && !hasGroups) return { principalId, ownOf: isForApproval ? [] : null, allOf: [] }
  const ids = await context.database.read(caller, assetsOfSessions)
  const assets = [...(await describeAssets(context, caller, ids)).values()]
  const readable = assets.filter(({ accessGroupId }) => mayIn(caller, 'inventory_read_asset_data', accessGroupId))
  const idsOf = (list: readonly AssetDescription[]) => list.map(({ id }) => id)
  const supervised = idsOf(readable.filter((asset) => maySupervise(caller, asset)))
  return { principalId, ownOf: isForApproval ? [] : idsOf(readable), allOf: supervised }
}

/** The asset of a session whose asset and history are deleted. */
function formerAsset({ assetId, accessGroupId }: SessionRow): AssetDescription {
  return { id: assetId, accessGroupId, isDeleted: true, isGatewayOrLink: false }
}

export function missingSession(id: string): Problem {
  return new Problem('not_found', `Remote session ${id} does not exist`)
}
