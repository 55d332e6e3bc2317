import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../../platform/access/cache.ts'
import { permissionDeniedIn } from '../../platform/access/permission-denied.ts'
import { mayIn, type Rights } from '../../platform/access/rights.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import type { createYield } from '../../platform/event-loop.ts'
import type { Jobs } from '../../platform/jobs/jobs.ts'
import type { Log } from '../../platform/log.ts'
import { isOfGateway } from './gateway-scope.ts'
import type { Handover } from './handover.ts'
import type { QueuedOperation } from './operation-store.ts'
import type { SchemaRegistry } from './schema.ts'
import type { StatusWaiters } from './statuses.ts'
import type { WorkingAsset, Workspace } from './workspace.ts'

/** What the applier works with. */
export type ApplierParts = {
  database: Database
  access: AccessCache
  schemas: SchemaRegistry
  waiters: StatusWaiters
  handover: Handover
  jobs: Pick<Jobs, 'enqueue'>
  log: Log
  /** How long one run applies writes while more are queued; until the queue is empty unless given. */
  sliceMs?: number
  /** How many relations end in one transaction because their assets are deleted. */
  endedAtOnce: number
  /** How many relations an asset may have that is merged into another. */
  relationsMerged: number
}

/** One accepted write while it is applied. */
export type Applying = {
  tx: Transaction
  workspace: Workspace
  operation: QueuedOperation
  rights: Rights
  /** Called between items: lets the event loop serve other requests during a large batch. */
  yieldTurn: ReturnType<typeof createYield>
}

/** A group may have been deleted since the write was accepted. */
export function requireGroup({ workspace }: Pick<Applying, 'workspace'>, accessGroupId: string): void {
  if (workspace.groups.has(accessGroupId)) return
  throw new Problem('access_group_not_found', `There is no access group ${accessGroupId} any more`)
}

/**
 * Returns the asset, or throws the problem of an item that names it. A missing asset and an asset that the caller cannot
 * read give the same error. `pointer` is the place of the id in a bulk request.
 */
export async function requireAsset(
  { tx, workspace, rights }: Pick<Applying, 'tx' | 'workspace' | 'rights'>,
  assetId: string,
  pointer?: string,
): Promise<WorkingAsset> {
  const asset = workspace.asset(assetId)
  if (asset !== undefined && mayWrite(rights, asset.accessGroupId)) return asset
  if (asset !== undefined && mayRead(rights, asset.accessGroupId))
    throw await writeDenied({ tx, rights }, asset.accessGroupId, pointer)
  const code = 'asset_not_found'
  const detail = `There is no asset ${assetId}`
  throw new Problem(code, detail, pointer === undefined ? {} : { errors: [{ pointer, code, detail }] })
}

export function writeDenied(
  { tx, rights }: Pick<Applying, 'tx' | 'rights'>,
  accessGroupId: string,
  pointer?: string,
): Promise<Problem> {
  return permissionDeniedIn(tx, { rights }, { permission: 'inventory_write_asset_data', accessGroupId, pointer })
}

export function mayRead(rights: Rights, accessGroupId: string): boolean {
  return mayIn({ rights }, 'inventory_read_asset_data', accessGroupId)
}

export function mayWrite(rights: Rights, accessGroupId: string): boolean {
  return mayIn({ rights }, 'inventory_write_asset_data', accessGroupId)
}

/** Whether the sender is a gateway that found the asset before: it may change it in any access group. */
export function isFoundBySender({ workspace, operation }: Applying, { id }: WorkingAsset): boolean {
  return isOfGateway(operation) && workspace.gatewayScope.isFoundBy(id, operation.principalId)
}
