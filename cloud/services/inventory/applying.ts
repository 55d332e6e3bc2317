import { Problem } from '@millwright/api/problem.ts'
import type { AccessCache } from '../../platform/access/cache.ts'
import { mayIn, type Rights } from '../../platform/access/rights.ts'
import type { Database, Transaction } from '../../platform/database/database.ts'
import { isTransient } from '../../platform/database/transient.ts'
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
  /** How many relations end in one transaction because their assets are deleted. */
  endedAtOnce: number
  /** How many relations an asset may have that is merged into another. */
  relationsMerged: number
}

/** One accepted write while it is applied. */
export type Applying = { tx: Transaction; workspace: Workspace; operation: QueuedOperation; rights: Rights }

/**
 * The reason why a write, or one of its items, is refused. Every other error is thrown on: a transient one says nothing about
 * the write, which stays queued.
 */
export function refusalOf(error: unknown): Problem {
  if (!(error instanceof Problem) || isTransient(error)) throw error
  return error
}

/** A group may have been deleted since the write was accepted. */
export function requireGroup({ workspace }: Pick<Applying, 'workspace'>, accessGroupId: string): void {
  if (workspace.groups.has(accessGroupId)) return
  throw new Problem('access_group_not_found', `There is no access group ${accessGroupId} any more`)
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
