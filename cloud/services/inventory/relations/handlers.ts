import { type inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { RelationBatchResult } from '@millwright/api/inventory/relations.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { requirePermission } from '../../../platform/access/permission-denied.ts'
import { recordAll } from '../../../platform/audit/audit.ts'
import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { emitAll } from '../../../platform/events/events.ts'
import { exportedPage } from '../../../platform/export-page.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import { wasReadable } from '../assets/list-store.ts'
import { pageMeta, rangesOf, totalFromPage, writeCursor } from '../assets/listing.ts'
import { readableGroups } from '../visibility.ts'
import { withoutHiddenAuthors } from '../visibility-store.ts'
import { exportedRelations } from './exported-relations.ts'
import {
  authorOf,
  type RelationRow,
  relationDetail,
  relationEvents,
  showRelation,
  showRelationChange,
} from './relation.ts'
import { listPredicates, totalRelations } from './relation-count-store.ts'
import {
  everyRelation,
  orderOf,
  parseRelationFilter,
  predicatesAlone,
  type RelationFilter,
  requireNarrow,
} from './relation-filter.ts'
import { listRelationChanges } from './relation-history-store.ts'
import * as store from './relation-store.ts'
import { RelationWriter } from './relation-writer.ts'

type Names =
  | 'createRelation'
  | 'createRelations'
  | 'listRelations'
  | 'exportRelations'
  | 'deleteRelations'
  | 'deleteRelationsByFilter'
  | 'listPredicates'
  | 'listAssetRelations'
  | 'readRelationHistory'

export function relationHandlers({ database }: Context): Pick<Handlers<typeof inventory>, Names> {
  const writer = new RelationWriter(database)
  return {
    async createRelation({ body: { data } }, caller) {
      const put = await writer.write(caller, data)
      const created = put.some(({ outcome }) => outcome === 'created')
      return answer(created ? 201 : 200, { data: put.map(({ relation }) => showRelation(relation)) })
    },

    async createRelations({ body: { data }, itemErrors }, caller) {
      const results = await writer.writeMany(caller, data.relations, itemErrors)
      const count = (outcome: RelationBatchResult['outcome']) => results.filter((one) => one.outcome === outcome).length
      const counts = { created: count('created'), refreshed: count('refreshed'), failed: count('failed') }
      return { data: { ...counts, results } }
    },

    async listRelations({ query }, caller) {
      const { filter, caseInsensitive = false, sort, cursor, count = true, limit = 50, offset = 0 } = query
      const parsed = filter === undefined ? undefined : parseRelationFilter(filter, { caseInsensitive })
      const condition = parsed?.condition ?? everyRelation
      const order = orderOf(sort)
      const identity = JSON.stringify([filter, caseInsensitive, sort])
      const ranges = rangesOf({ cursor, query: identity, order }, condition.values.length + 2)
      return database.read(caller, async (handle) => {
        const rows = await store.listRelations(handle, condition, { ranges, order, limit, offset })
        const lastPageTotal = cursor === undefined ? totalFromPage(rows, { limit, offset }) : undefined
        const last = rows.length === limit ? rows.at(-1) : undefined
        const total = count ? (lastPageTotal ?? (await totalOf(handle, parsed))) : undefined
        const nextCursor = last === undefined ? undefined : writeCursor(identity, last.place)
        return { data: rows.map(showRelation), meta: pageMeta({ total, elements: rows.length, offset, nextCursor }) }
      })
    },

    async exportRelations({ body: { data: query } }, caller) {
      const { filter, caseInsensitive = false, sort, cursor, count, limit } = query
      const parsed = filter === undefined ? undefined : parseRelationFilter(filter, { caseInsensitive })
      const groups = readableGroups(caller)
      const condition = parsed?.condition ?? everyRelation
      const order = orderOf(sort)
      const identity = JSON.stringify([filter, caseInsensitive, sort])
      const ranges = rangesOf({ cursor, query: identity, order }, condition.values.length + 2)
      return database.read(caller, async (handle) => {
        const rows = await store.listRelations(handle, condition, { ranges, order, limit, offset: 0 })
        const last = rows.length === limit ? rows.at(-1) : undefined
        const nextCursor = last === undefined ? undefined : writeCursor(identity, last.place)
        const total = count && groups === null ? await totalOf(handle, parsed) : undefined
        // A statement that selects readable relations would read all others in between, so they are left out here.
        const lines = (await exportedRelations(handle, rows, groups)).map((relation) => [JSON.stringify(relation)])
        return exportedPage(pageMeta({ total, elements: lines.length, offset: 0, nextCursor }), lines)
      })
    },

    async deleteRelations({ body: { data } }, caller) {
      requirePermission(caller, 'glb_inventory_read_relation_data')
      return database.transaction(caller, async (tx) => {
        const ended = await store.endRelations(tx, data.ids, authorOf(caller))
        await recordDeletions(tx, caller, { ended, operation: 'deleteRelations' })
        const deleted = new Set(ended.map(({ id }) => id))
        return { data: { deleted: deleted.size, notFound: data.ids.filter((id) => !deleted.has(id)) } }
      })
    },

    async deleteRelationsByFilter({ query: { relationsFilter, caseInsensitive = false } }, caller) {
      const filter = parseRelationFilter(relationsFilter, { caseInsensitive })
      requireNarrow(filter)
      requirePermission(caller, 'glb_inventory_read_relation_data')
      return database.transaction(caller, async (tx) => {
        const oldest = await store.lockOldest(tx, filter.condition, inventoryLimits.relationsDeletedByFilter)
        const deletable = await store.countRelations(tx, filter.condition)
        const ended = await store.endRelations(tx, oldest, authorOf(caller))
        await recordDeletions(tx, caller, { ended, operation: 'deleteRelationsByFilter' })
        return { data: { deletable, deleted: ended.length } }
      })
    },

    async listPredicates(_request, caller) {
      return { data: await database.read(caller, listPredicates) }
    },

    async listAssetRelations({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      const asset = { id, groups: readableGroups(caller) }
      return database.read(caller, async (handle) => {
        if (!(await store.isReadable(handle, asset))) throw new Problem('not_found', `Asset ${id} does not exist`)
        return page(await store.listRelationsOf(handle, asset, { limit, offset }), offset)
      })
    },

    async readRelationHistory({ params: { id }, query: { limit = 50, offset = 0 } }, caller) {
      return database.read(caller, async (handle) => {
        const asset = { id, groups: readableGroups(caller) }
        if (!(await wasReadable(handle, asset))) throw new Problem('not_found', `Asset ${id} does not exist`)
        const { rows, total } = await listRelationChanges(handle, asset, { limit, offset })
        return {
          data: (await withoutHiddenAuthors(handle, rows, asset.groups)).map(showRelationChange),
          meta: { totalElements: total, elements: rows.length, offset },
        }
      })
    },
  }
}

/**
 * Returns the total of a list of relations. The totals of all relations and of predicates are stored. Other totals are
 * counted.
 */
function totalOf(handle: Handle, filter: RelationFilter | undefined): Promise<number> {
  if (filter === undefined) return totalRelations(handle, null)
  const predicates = predicatesAlone(filter)
  return predicates === undefined ? store.countRelations(handle, filter.condition) : totalRelations(handle, predicates)
}

type Deletions = { ended: readonly RelationRow[]; operation: 'deleteRelations' | 'deleteRelationsByFilter' }

async function recordDeletions(tx: Transaction, caller: Caller, { ended, operation }: Deletions): Promise<void> {
  if (ended.length === 0) return
  await recordAll(
    tx,
    ended.map((relation) => ({
      who: caller,
      action: `inventory.${operation}`,
      target: `relation/${relation.id}`,
      detail: relationDetail(relation),
    })),
  )
  await emitAll(tx, relationEvents('deleted', ended))
}

function page({ rows, total }: store.Listed<RelationRow>, offset: number) {
  return { data: rows.map(showRelation), meta: { totalElements: total, elements: rows.length, offset } }
}
