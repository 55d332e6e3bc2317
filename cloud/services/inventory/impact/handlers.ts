import { assetClassOf } from '@millwright/api/asset-class.ts'
import { hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import type { ImpactedAsset, ImpactMode, ImpactReport } from '@millwright/api/inventory/impact.ts'
import { type inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import { may, mayIn } from '../../../platform/access/rights.ts'
import { readsAllAssets } from '../../../platform/asset-visibility.ts'
import { record } from '../../../platform/audit/audit.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { newId } from '../../../platform/database/id.ts'
import { createYield } from '../../../platform/event-loop.ts'
import { attachment } from '../../../platform/files/attachment.ts'
import { answer, type Context, type Handlers } from '../../../platform/service.ts'
import { boundsFor, extend, isDone, startTraversal } from '../graph/graph.ts'
import { describeAssets, findHops } from '../graph/graph-store.ts'
import { graphQueries } from '../graph/handlers.ts'
import { listNodesOf } from '../relations/node-assignment-store.ts'
import { listPredicates } from '../relations/relation-count-store.ts'
import { isReadable } from '../relations/relation-store.ts'
import { type Groups, readableGroups } from '../visibility.ts'
import { classifyAssets } from '../visibility-store.ts'
import { type Effect, ignoredPredicates, impactOf } from './impact.ts'
import * as store from './report-store.ts'
import { csvOf, type StoredImpact, summaryOf } from './summary.ts'

type Names =
  | 'readImpact'
  | 'exportImpact'
  | 'createImpactReport'
  | 'listImpactReports'
  | 'readImpactReport'
  | 'deleteImpactReport'

/** An impact with the name of its asset. The names of nodes are added outside the transaction. */
type ComputedImpact = { name: string | undefined; assets: ImpactedAsset[]; truncated: boolean }

export function impactHandlers(context: Context): Pick<Handlers<typeof inventory>, Names> {
  const { database } = context

  /** Returns undefined if the asset does not exist or is not readable. */
  async function compute(caller: Caller, id: string, mode: ImpactMode) {
    const groups = readableGroups(caller)
    const found = await graphQueries.run(caller.tenantId, () =>
      database.read(caller, async (handle): Promise<ComputedImpact | undefined> => {
        if (!(await isReadable(handle, { id, groups }))) return undefined
        return readImpact(handle, { id, mode, groups })
      }),
    )
    if (found === undefined) return undefined
    const { name, assets, truncated } = found
    const nodes = await nodesOf(context, caller, assets)
    const stored: StoredImpact = { assets, nodes, truncated }
    return { name, stored }
  }

  const shownImpact = (
    asset: { id: string; name: string | undefined },
    mode: ImpactMode,
    { stored, time }: { stored: StoredImpact; time: string },
  ) => ({
    asset: { id: asset.id, ...(asset.name === undefined ? {} : { name: asset.name }) },
    mode,
    time,
    ...summaryOf(stored),
    assets: stored.assets,
    truncated: stored.truncated,
  })

  return {
    async readImpact({ params: { id }, query: { mode = 'depends' } }, caller) {
      const found = await compute(caller, id, mode)
      if (found === undefined) throw missingAsset(id)
      const { name, stored } = found
      return { data: shownImpact({ id, name }, mode, { stored, time: new Date().toISOString() }) }
    },

    async exportImpact({ params: { id }, query: { mode = 'depends' } }, caller) {
      const found = await compute(caller, id, mode)
      if (found === undefined) throw missingAsset(id)
      return answer(200, csvOf(found.stored), {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': attachment(`impact of ${found.name ?? id}.csv`),
      })
    },

    async createImpactReport({ body: { data } }, caller) {
      const { assetId, mode = 'depends' } = data
      const found = await compute(caller, assetId, mode)
      if (found === undefined) throw new Problem('asset_not_found', `Asset ${assetId} does not exist`)
      const { name: assetName, stored } = found
      const createdAt = new Date().toISOString()
      const { affected, degraded } = summaryOf(stored).total
      const row: store.ReportRow = {
        id: newId(),
        name: data.name ?? `${assetName ?? assetId} ${createdAt.slice(0, 10)}`.slice(0, maxName),
        assetId,
        assetName: assetName ?? null,
        mode,
        affected,
        degraded,
        createdAt,
        principalId: caller.principal.id,
        principalName: caller.principal.name,
      }
      await database.transaction(caller, async (tx) => {
        const limit = inventoryLimits.impactReports
        if ((await store.countReports(tx)) >= limit)
          throw new Problem(
            'conflict',
            `The tenant has ${limit} impact reports, which is the limit. Delete a report first`,
          )
        await store.insertReport(tx, row, stored)
        const detail = { name: row.name, assetId, mode, affected, degraded }
        await record(tx, caller, { action: 'inventory.createImpactReport', target: `impact-report/${row.id}`, detail })
      })
      return answer(201, { data: shownReport(row, caller) }, { location: `/inventory/v2/impact-reports/${row.id}` })
    },

    async listImpactReports({ query: { limit = 50, offset = 0, asset } }, caller) {
      const groups = readableGroups(caller)
      const { rows, total } = await database.read(caller, (handle) =>
        store.listReports(handle, { groups, assetId: asset, limit, offset }),
      )
      const data = rows.map((row) => listedReport(row, caller))
      return { data, meta: { totalElements: total, elements: data.length, offset } }
    },

    async readImpactReport({ params: { id } }, caller) {
      const groups = readableGroups(caller)
      return database.read(caller, async (handle) => {
        const row = await getReport(handle, id, groups)
        const stored = await readablePart(handle, row.result, { groups, caller })
        const asset = { id: row.assetId, name: row.assetName ?? undefined }
        const impact = shownImpact(asset, row.mode, { stored, time: row.createdAt })
        return { data: { ...shownReport({ ...row, ...impact.total }, caller), impact } }
      })
    },

    async deleteImpactReport({ params: { id } }, caller) {
      await database.transaction(caller, async (tx) => {
        const row = await getReport(tx, id, readableGroups(caller))
        const canWrite = mayIn(caller, 'inventory_write_asset_data', row.accessGroupId ?? '')
        if (row.principalId !== caller.principal.id && !canWrite)
          throw new Problem(
            'forbidden',
            `Only ${row.principalName}, or a user that can write the asset, can delete this report`,
          )
        await store.deleteReport(tx, id)
        const detail = { name: row.name, assetId: row.assetId }
        await record(tx, caller, { action: 'inventory.deleteImpactReport', target: `impact-report/${id}`, detail })
      })
      return answer(204)
    },
  }
}

const maxName = 128

function missingAsset(id: string): Problem {
  return new Problem('not_found', `Asset ${id} does not exist`)
}

async function getReport(handle: Handle, id: string, groups: Groups) {
  const row = await store.findReport(handle, id, groups)
  if (row === undefined) throw new Problem('not_found', `Impact report ${id} does not exist`)
  return row
}

function shownReport(row: store.ReportRow, caller: Caller): ImpactReport {
  const { id, name, assetId, assetName, mode, affected, degraded, createdAt, principalId, principalName } = row
  return {
    id,
    name,
    assetId,
    ...(assetName === null ? {} : { assetName }),
    mode,
    affected,
    degraded,
    createdTimestamp: createdAt,
    principalName,
    isOwn: principalId === caller.principal.id,
  }
}

/** A stored count includes assets that only the author could read. */
function listedReport(row: store.ReportRow, caller: Caller): ImpactReport {
  const { affected: _, degraded: __, ...uncounted } = shownReport(row, caller)
  return readsAllAssets(caller) ? shownReport(row, caller) : uncounted
}

type Extent = { id: string; mode: ImpactMode; groups: Groups }

/** Reads the graph around an asset, and computes the effects on the other assets. */
async function readImpact(handle: Handle, { id, mode, groups }: Extent): Promise<ComputedImpact> {
  const predicates = (await listPredicates(handle))
    .map(({ predicate }) => predicate)
    .filter((predicate) => !ignoredPredicates.has(predicate))
  const traversal = startTraversal({ type: 'asset', id })
  const bounds = boundsFor(inventoryLimits.impactAssets)
  const view = { groups, direction: 'both' as const, predicates, at: undefined, limit: bounds.edges }
  while (!isDone(traversal, inventoryLimits.connectionDepth)) {
    const frontier = traversal.frontier.filter(({ type }) => type === 'asset')
    extend(traversal, await findHops(handle, frontier, view), bounds)
  }
  const reached = [...traversal.nodes.values()].filter(({ type }) => type === 'asset').map((node) => node.id)
  const descriptions = await describeAssets(handle, reached, { groups, at: undefined })
  const relations = [...traversal.edges.values()]
    .filter(({ subjectType, objectType }) => subjectType === 'asset' && objectType === 'asset')
    .map(({ subjectId, predicate, objectId }) => ({ subject: subjectId, predicate, object: objectId }))
  const gateways = new Set(reached.filter((each) => descriptions.get(each)?.type === 'Gateway'))
  const effects = await impactOf({ start: id, mode, relations, gateways }, createYield(handle.tenantId))
  const assigned = Map.groupBy(await listNodesOf(handle, [...effects.keys()]), ({ subjectId }) => subjectId)
  const assets = [...effects].map(([each, effect]) => {
    const nodeIds = (assigned.get(each) ?? []).map(({ objectId }) => objectId)
    return impactedAsset(each, effect, { description: descriptions.get(each), nodeIds })
  })
  return {
    name: descriptions.get(id)?.name ?? undefined,
    assets: assets.toSorted(byEffect),
    truncated: traversal.truncated,
  }
}

type Description = Awaited<ReturnType<typeof describeAssets>> extends Map<string, infer Value> ? Value : never

function impactedAsset(
  id: string,
  effect: Effect,
  { description, nodeIds }: { description: Description | undefined; nodeIds: string[] },
): ImpactedAsset {
  const { name, type, family, product, reachabilityState } = description ?? {}
  return {
    id,
    ...(name == null ? {} : { name }),
    ...(type == null ? {} : { functional_object_type: type }),
    ...(product == null ? {} : { product_name: product }),
    class: assetClassOf({ type, family, product, name }),
    reachability_state: reachabilityState ?? 'unknown',
    ...effect,
    nodeIds,
  }
}

function byEffect(one: ImpactedAsset, other: ImpactedAsset): number {
  if (one.effect !== other.effect) return one.effect === 'affected' ? -1 : 1
  return one.depth - other.depth || (one.name ?? '').localeCompare(other.name ?? '') || (one.id < other.id ? -1 : 1)
}

/** Returns the names of the nodes of assets, if the caller can read hierarchies. */
async function nodesOf({ peers }: Context, caller: Caller, assets: readonly ImpactedAsset[]) {
  const ids = [...new Set(assets.flatMap(({ nodeIds }) => nodeIds))]
  if (!may(caller, 'glb_hierarchy_read')) return []
  const nodes: StoredImpact['nodes'] = []
  for (let start = 0; start < ids.length; start += hierarchyLimits.nodesPerBatch) {
    const nodeIds = ids.slice(start, start + hierarchyLimits.nodesPerBatch)
    const { data } = await peers(hierarchy, caller).describeNodePaths({ body: { data: { nodeIds } } })
    nodes.push(...data.map(({ nodeId, names }) => ({ nodeId, names })))
  }
  return nodes
}

/** Returns the part of a stored impact that the caller can read now. */
async function readablePart(
  handle: Handle,
  { assets, nodes, truncated }: StoredImpact,
  { groups, caller }: { groups: Groups; caller: Caller },
): Promise<StoredImpact> {
  const canReadNodes = may(caller, 'glb_hierarchy_read')
  const readable = new Set<string>()
  for (let start = 0; start < assets.length; start += inventoryLimits.classified) {
    const ids = assets.slice(start, start + inventoryLimits.classified).map(({ id }) => id)
    for (const id of (await classifyAssets(handle, ids, groups)).readable) readable.add(id)
  }
  return {
    assets: assets
      .filter(({ id }) => readable.has(id))
      .map(({ via, ...asset }) => ({ ...asset, ...(via !== undefined && readable.has(via) ? { via } : {}) })),
    nodes: canReadNodes ? nodes : [],
    truncated,
  }
}
