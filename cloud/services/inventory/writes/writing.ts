import { Problem } from '@millwright/api/problem.ts'
import { permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { mayIn, type Rights } from '../../../platform/access/rights.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { createYield } from '../../../platform/event-loop.ts'
import type { SchemaRegistry } from '../schemas/schema.ts'
import type { Batch } from './batch.ts'
import type { Actor, Decision, WorkingAsset } from './change-set.ts'
import { isOfGateway } from './gateway-scope.ts'
import { refusalOf } from './item-result.ts'
import type { Needs, Sender } from './write.ts'

/** The state that a write reads while it is applied. */
export type Writing = {
  tx: Transaction
  batch: Batch
  /** The id of the write, which is also the id of its status. */
  id: string
  /** The sender, and the operation to which the write belongs. */
  sender: Sender & Actor
  rights: Rights
  schemas: SchemaRegistry
  /** The maximum number of relations of an asset that is merged into another asset. */
  relationsMerged: number
  /** Lets the event loop serve other requests during a large batch. It is called between items. */
  yieldTurn: ReturnType<typeof createYield>
}

/** The rules of one kind of write. */
export type KindRules<Payload> = {
  /**
   * Whether the write needs its own transaction. This is true for two kinds of writes. A write that moves identifiers
   * between assets would change the owners of identifiers that other writes of the batch rely on. A write that reads
   * stored relations would miss relations of the batch, because they are saved at the end of the batch.
   */
  isAlone: boolean
  needs(payload: Payload): Needs
  /** Applies the write and returns its result: an object, or an array with one result for each item. */
  apply(writing: Writing, payload: Payload): Promise<unknown>
}

/** Adds the changes of an item to the batch and returns its result. An item that is refused changes nothing. */
export async function applyItem<Result>(
  { batch, id }: Pick<Writing, 'batch' | 'id'>,
  decide: () => Decision<Result> | Promise<Decision<Result>>,
): Promise<Result | ReturnType<Problem['toDocument']>> {
  try {
    const { result, changes } = await decide()
    batch.add(changes)
    return result
  } catch (error) {
    return refusalOf(error).toDocument({ traceId: id })
  }
}

/** Requires that the access group exists, because it may have been deleted since the write was accepted. */
export function requireGroup({ batch }: Pick<Writing, 'batch'>, accessGroupId: string): void {
  if (batch.accessGroups.has(accessGroupId)) return
  throw new Problem('access_group_not_found', `The access group ${accessGroupId} no longer exists`)
}

/**
 * Returns an asset that the sender can write, or throws. Missing and hidden assets give the same error. `pointer` is
 * the JSON pointer of the asset id in a bulk request.
 */
export async function requireAsset(
  { tx, batch, rights }: Pick<Writing, 'tx' | 'batch' | 'rights'>,
  assetId: string,
  pointer?: string,
): Promise<WorkingAsset> {
  const asset = batch.asset(assetId)
  if (asset !== undefined && mayWrite(rights, asset.accessGroupId)) return asset
  if (asset !== undefined && mayRead(rights, asset.accessGroupId))
    throw await writeDenied({ tx, rights }, asset.accessGroupId, pointer)
  const code = 'asset_not_found'
  const detail = `Asset ${assetId} does not exist`
  throw new Problem(code, detail, pointer === undefined ? {} : { errors: [{ pointer, code, detail }] })
}

export function writeDenied(
  { tx, rights }: Pick<Writing, 'tx' | 'rights'>,
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

/**
 * Returns whether the sender is a gateway that has found the asset before. Such a gateway may change the asset in any
 * access group.
 */
export function isFoundBySender({ batch, sender }: Writing, { id }: WorkingAsset): boolean {
  return isOfGateway(sender) && batch.gatewayScope.isFoundBy(id, sender.principalId)
}
