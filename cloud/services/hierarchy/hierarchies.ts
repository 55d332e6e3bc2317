import {
  type Hierarchy,
  type hierarchy,
  hierarchyLimits,
  hierarchyTemplates,
  templateNames,
} from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { groupsWith, may } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { record } from '../../platform/audit/audit.ts'
import { type Handle, type Transaction, violatedConstraint } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { emit } from '../../platform/events/events.ts'
import { etagOf, requireMatch } from '../../platform/http/etag.ts'
import { answer, type Context, type Handlers } from '../../platform/service.ts'
import { countNoted } from './assignment-store.ts'
import { countReadable, deleteProjected, startProjection } from './count-store.ts'
import * as store from './node-store.ts'
import * as writes from './node-write-store.ts'
import { countScope } from './tree.ts'

type Names =
  | 'listHierarchies'
  | 'createHierarchy'
  | 'listTemplates'
  | 'readHierarchy'
  | 'updateHierarchy'
  | 'deleteHierarchy'

export function hierarchyHandlers(context: Context): Pick<Handlers<typeof hierarchy>, Names> {
  const { database } = context
  return {
    async listHierarchies({ query: { limit = 50, offset = 0 } }, caller) {
      const { rows, total } = await database.read(caller, (handle) => store.listHierarchies(handle, { limit, offset }))
      return { data: rows.map(showHierarchy), meta: { totalElements: total, elements: rows.length, offset } }
    },

    async listTemplates() {
      return { data: templateNames.map((name) => ({ name, ...levelsOf(name) })) }
    },

    async createHierarchy({ body: { data } }, caller) {
      const id = newId()
      return database.transaction(caller, async (tx) => {
        await store.lockCreation(tx)
        if ((await store.countHierarchies(tx)) >= hierarchyLimits.hierarchies)
          throw new Problem(
            'conflict',
            `The tenant has ${hierarchyLimits.hierarchies} hierarchies, which is the limit. Delete a hierarchy first`,
          )
        const { name, description = null, template = null } = data
        await store
          .insertHierarchy(tx, { id, name, description, template }, new Date().toISOString())
          .catch(nameTaken(name))
        await startProjection(tx)
        const row = await getHierarchy(tx, id)
        await reportHierarchy(tx, caller, { action: 'createHierarchy', event: 'created', row })
        const headers = { location: `/hierarchy/v1/hierarchies/${id}`, etag: etagOf(row.version) }
        return answer(201, { data: showHierarchy(row) }, headers)
      })
    },

    async readHierarchy({ params: { id } }, caller) {
      const row = await database.read(caller, (handle) => getHierarchy(handle, id))
      return answer(200, { data: showHierarchy(row) }, { etag: etagOf(row.version) })
    },

    async updateHierarchy({ params: { id }, headers, body: { data } }, caller) {
      return database.transaction(caller, async (tx) => {
        const before = await lockedHierarchy(tx, id)
        requireMatch(headers['if-match'], before.version)
        const { name = before.name, description = before.description } = data
        if (name === before.name && description === before.description)
          return answer(200, { data: showHierarchy(before) }, { etag: etagOf(before.version) })
        await store.updateHierarchy(tx, { id, name, description }, new Date().toISOString()).catch(nameTaken(name))
        const row = await getHierarchy(tx, id)
        await reportHierarchy(tx, caller, { action: 'updateHierarchy', event: 'updated', row })
        return answer(200, { data: showHierarchy(row) }, { etag: etagOf(row.version) })
      })
    },

    async deleteHierarchy({ params: { id }, headers, query: { recursive = false, dryRun = false } }, caller) {
      const nodes = () =>
        database.read(caller, async (handle) => {
          await getHierarchy(handle, id)
          return store.nodesOf(handle, id)
        })
      return deleteCounted(
        context,
        caller,
        nodes,
        async (tx, { ids, remainingRelations, shownRelations, readableAssets, hiddenNote, requireCounted }) => {
          const row = await lockedHierarchy(tx, id)
          requireMatch(headers['if-match'], row.version)
          await requireCounted(tx, await store.nodesOf(tx, id))
          const counts = { deletedNodes: ids.length, deletedRules: row.rules.length }
          const data = { ...counts, assignedAssets: readableAssets, remainingRelations: shownRelations }
          if (dryRun) return { data }
          if (ids.length > 0 && !recursive)
            throw new Problem(
              'hierarchy_not_empty',
              `The hierarchy ${row.name} is not empty (nodes: ${ids.length}, assigned assets: ${readableAssets}, rules: ${row.rules.length}).${hiddenNote} To delete the hierarchy with all its nodes, add recursive=true. The assets are not deleted`,
              { counts: { childNodes: ids.length, assignedAssets: readableAssets, assignmentRules: row.rules.length } },
            )
          if (ids.length > 0) {
            await deleteProjected(tx, ids)
            await writes.deleteNodes(tx, { ids, hierarchyId: id, deletedWith: id, now: new Date().toISOString() })
          }
          await store.deleteHierarchy(tx, id)
          const detail = { ...counts, remainingRelations }
          await reportHierarchy(tx, caller, { action: 'deleteHierarchy', event: 'deleted', row, detail })
          return { data }
        },
      )
    },
  }
}

function levelsOf(name: keyof typeof hierarchyTemplates) {
  const { title, levels } = hierarchyTemplates[name]
  return { title, levels: [...levels] }
}

function showHierarchy(row: store.HierarchyRow): Hierarchy {
  const { id, name, description, template, nodes, createdAt, modifiedAt } = row
  return {
    id,
    name,
    ...(description === null ? {} : { description }),
    ...(template === null ? {} : { template, levels: levelsOf(template).levels }),
    nodeCount: nodes,
    createdTimestamp: createdAt,
    lastModifiedTimestamp: modifiedAt,
  }
}

export async function getHierarchy(handle: Handle, id: string): Promise<store.HierarchyRow> {
  const row = await store.findHierarchy(handle, id)
  if (row === undefined) throw new Problem('not_found', `Hierarchy ${id} does not exist`)
  return row
}

/** Locks a hierarchy for a change of its structure. */
export async function lockedHierarchy(tx: Transaction, id: string): Promise<store.HierarchyRow> {
  const row = await store.lockHierarchy(tx, id)
  if (row === undefined) throw new Problem('not_found', `Hierarchy ${id} does not exist`)
  return row
}

/** The number of nodes in one request to the inventory. */
const nodesPerRequest = 5_000

/** Returns how many assets have a relation to each of the nodes, in all access groups. Nodes without assets are left out. */
export async function relationsOf({ peers }: Context, caller: Caller, nodeIds: readonly string[]) {
  const system = systemCaller({ tenantId: caller.tenantId, tenantName: caller.tenantName })
  const counted: { nodeId: string; relations: number }[] = []
  for (let start = 0; start < nodeIds.length; start += nodesPerRequest) {
    const part = nodeIds.slice(start, start + nodesPerRequest)
    counted.push(...(await peers(inventory, system).countNodeRelations({ body: { data: { nodeIds: part } } })).data)
  }
  return counted
}

type CountedNodes = {
  ids: readonly string[]
  remainingRelations: number
  /** The number of these relations that the response contains. */
  shownRelations: number
  /** The number of assigned assets that the caller can read. */
  readableAssets: number
  /** A sentence for a refused deletion if other assets are assigned too. It does not contain their number. */
  hiddenNote: string
  /** Throws if the nodes with the lock are not the counted nodes, or have new assignments. */
  requireCounted(tx: Transaction, ids: readonly string[]): Promise<void>
}

class NodesChanged extends Error {}

const countAttempts = 5

/**
 * Deletes nodes together with a count of their relations. The inventory counts before the transaction starts, so that no
 * lock is held while another service works. If other nodes or new assignments are found with the lock, the relations are
 * counted again.
 */
export async function deleteCounted<Result>(
  context: Context,
  caller: Caller,
  listIds: () => Promise<string[]>,
  remove: (tx: Transaction, counted: CountedNodes) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const ids = await listIds()
    const assignments = await context.database.read(caller, (handle) => countNoted(handle, ids))
    const relations = await relationsOf(context, caller, ids)
    const counted = new Set(ids)
    const requireCounted = async (tx: Transaction, current: readonly string[]) => {
      const isSame = current.length === counted.size && current.every((id) => counted.has(id))
      if (!isSame || (await countNoted(tx, ids)) !== assignments) throw new NodesChanged()
    }
    const remainingRelations = relations.reduce((sum, one) => sum + one.relations, 0)
    const readableAssets =
      groupsWith(caller, 'inventory_read_asset_data') === 'all'
        ? remainingRelations
        : await context.database.read(caller, (handle) => countReadable(handle, ids, countScope(caller)))
    // A caller that cannot list relations gets the number of assets that it can read.
    const shownRelations = may(caller, 'glb_inventory_read_relation_data') ? remainingRelations : readableAssets
    const hiddenNote = readableAssets < remainingRelations ? ' Assets that you cannot read are assigned too.' : ''
    try {
      return await context.database.transaction(caller, (tx) =>
        remove(tx, { ids, remainingRelations, shownRelations, readableAssets, hiddenNote, requireCounted }),
      )
    } catch (error) {
      if (!(error instanceof NodesChanged)) throw error
      if (attempt === countAttempts)
        throw new Problem('conflict', 'Other requests changed the nodes at the same time. Retry the request', {
          cause: error,
        })
    }
  }
}

function nameTaken(name: string) {
  return (error: unknown): never => {
    if (violatedConstraint(error) !== 'hierarchies_name') throw error
    const detail = `A hierarchy named ${name} already exists`
    const errors = [{ pointer: '/data/name', code: 'already_exists', detail }]
    throw new Problem('already_exists', detail, { errors, cause: error })
  }
}

type HierarchyChange = {
  action: string
  event: string
  row: Pick<store.HierarchyRow, 'id' | 'name'>
  detail?: Record<string, unknown>
}

/** Writes the audit entry and the event of a change of a hierarchy. */
export async function reportHierarchy(
  tx: Transaction,
  caller: Caller,
  { action, event, row, detail = {} }: HierarchyChange,
): Promise<void> {
  const subject = `hierarchy/${row.id}`
  const data = { name: row.name, ...detail }
  await record(tx, caller, { action: `hierarchy.${action}`, target: subject, detail: data })
  await emit(tx, { type: `hierarchy.hierarchy.${event}`, subject, data })
}
