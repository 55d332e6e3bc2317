import { parentPredicates } from '@millwright/api/asset-columns.ts'
import type { PlacementResult } from '@millwright/api/inventory/import-rows.ts'
import type { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { permissionDenied, permissionDeniedIn } from '../../../platform/access/permission-denied.ts'
import { may } from '../../../platform/access/rights.ts'
import type { Transaction } from '../../../platform/database/database.ts'
import type { Context, Handlers } from '../../../platform/service.ts'
import { lockRelationsFrom } from '../identity/merge-store.ts'
import { readableGroups } from '../visibility.ts'
import { reportRelations } from './node-assignments.ts'
import { authorOf, type RelationRow } from './relation.ts'
import { endRelations, lockAssets, putRelations } from './relation-store.ts'
import { refusalOf } from './relation-writer.ts'

/** Relations of assets to their parents, for the import service. */
export function parentHandlers({ database }: Context): Pick<Handlers<typeof inventory>, 'placeBelowParents'> {
  return {
    async placeBelowParents({ body: { data } }, caller) {
      return { data: await database.transaction(caller, (tx) => place(tx, caller, data)) }
    },
  }
}

type Placement = { assetId: string; parentId: string }

async function place(
  tx: Transaction,
  caller: Caller,
  { placements, dryRun }: { placements: readonly Placement[]; dryRun: boolean },
): Promise<PlacementResult[]> {
  const assetIds = [...new Set(placements.flatMap(({ assetId, parentId }) => [assetId, parentId]))]
  const groups = await lockAssets(tx, assetIds, readableGroups(caller))
  const subjectIds = placements.map(({ assetId }) => assetId)
  const locked = await lockRelationsFrom(tx, { subjectIds, predicates: parentPredicates })
  const parents = Map.groupBy(
    locked.filter(({ objectType }) => objectType === 'asset'),
    ({ subjectId }) => subjectId,
  )
  const results: PlacementResult[] = []
  const created: ReturnType<typeof relationTo>[] = []
  const endedIds: string[] = []
  for (const placement of placements) {
    const before = parents.get(placement.assetId) ?? []
    const relation = relationTo(placement, before)
    const refusal = await refusalIn(tx, caller, { relation, groups, before })
    const isPlaced = before.some(({ objectId }) => objectId === placement.parentId)
    if (refusal !== undefined) results.push({ outcome: 'failed', code: refusal.code, detail: refusal.message })
    else if (isPlaced) results.push({ outcome: 'unchanged' })
    else {
      results.push({ outcome: 'updated' })
      created.push(relation)
      endedIds.push(...before.map(({ id }) => id))
    }
  }
  if (dryRun) return results
  const author = authorOf(caller)
  const ended = endedIds.length === 0 ? [] : await endRelations(tx, endedIds, author)
  const put = await putRelations(
    tx,
    created.map((relation) => ({ ...relation, source: { type: 'manual' as const }, author })),
  )
  await reportRelations(tx, caller, { created: put.map(({ relation }) => relation), ended })
  return results
}

/** Returns the relation to a parent. It has the predicate of the relation that it replaces. */
function relationTo({ assetId, parentId }: Placement, before: readonly RelationRow[]) {
  return {
    subject: { type: 'asset' as const, id: assetId },
    predicate: before[0]?.predicate ?? parentPredicates[0],
    object: { type: 'asset' as const, id: parentId },
  }
}

type CheckedRelation = {
  relation: ReturnType<typeof relationTo>
  groups: ReadonlyMap<string, string>
  before: readonly RelationRow[]
}

/** Returns why the caller cannot place the asset. The check is the same whether or not the asset is already placed. */
async function refusalIn(
  tx: Transaction,
  caller: Caller,
  { relation, groups, before }: CheckedRelation,
): Promise<Problem | undefined> {
  if (relation.subject.id === relation.object.id)
    return new Problem('conflict', 'An asset cannot be its own parent. Enter another asset as the parent')
  const needed = ['glb_inventory_write_relation_data', 'glb_inventory_read_relation_data'] as const
  const missing = needed.slice(0, before.length === 0 ? 1 : 2).find((permission) => !may(caller, permission))
  if (missing !== undefined) return permissionDenied({ permission: missing })
  const refusal = refusalOf({ caller, relation, pointer: '' }, groups)
  return refusal === undefined || refusal instanceof Problem ? refusal : permissionDeniedIn(tx, caller, refusal)
}
