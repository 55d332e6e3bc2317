import type { ActivityEntry } from '@millwright/api/activity.ts'
import { type AuditEntry, audit } from '@millwright/api/audit.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { hierarchyLimits } from '@millwright/api/hierarchy-limits.ts'
import { type AssetChange, changeLimits } from '@millwright/api/inventory/changes.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may, maySomewhere } from '../../platform/access/rights.ts'
import { findKinds, findNames } from '../../platform/access/store.ts'
import { isId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { activityQueries } from './activity-queries.ts'
import type { Position } from './cursor.ts'
import { auditEntry, changeEntry, entitiesIn, idsIn, targetOf } from './entry.ts'
import { auditSelected, changesSelected, type Filters, rangeOf } from './selection.ts'

/**
 * The entries of the activity. They come from two lists, each newest first: the changes of assets in the inventory, and the
 * audit trail. A page is merged from the next elements of both lists.
 */

export type PageOptions = { limit: number; isGrouped: boolean; position?: Position; groupId?: string }

export type EntryPage = { entries: ActivityEntry[]; next?: Position }

type Source<Element> = { elements: Element[]; hasMore: boolean; end?: Position['change'] }

export async function readPage(
  context: Context,
  caller: Caller,
  filters: Filters,
  options: PageOptions,
): Promise<EntryPage> {
  const { position, limit } = options
  const range = rangeOf({ ...filters, ...(position === undefined ? {} : { to: position.to }) })
  const [changes, trail] = await activityQueries.run(caller.tenantId, () =>
    Promise.all([
      nextChanges(context, caller, { selected: changesSelected(filters, range, caller), ...options }),
      nextAuditEntries(context, caller, {
        selected: options.groupId === undefined ? auditSelected(filters, range, caller) : undefined,
        ...options,
      }),
    ]),
  )
  // A list of changes that is incomplete ends at a position. Older audit entries wait for the next page.
  const horizon = changes.hasMore ? (changes.end?.time ?? '') : ''
  const waiting = trail.hasMore ? (trail.elements.at(-1)?.time ?? '') : ''
  const merged = [
    ...changes.elements.map((change) => ({ time: change.time, change })),
    ...trail.elements.map((entry) => ({ time: entry.time, entry })),
  ]
    .toSorted((a, b) => (a.time < b.time ? 1 : a.time > b.time ? -1 : 0))
    .filter(({ time }) => time >= horizon && time >= waiting)
    .slice(0, limit)
  const shownChanges = merged.flatMap((one) => ('change' in one ? [one.change] : []))
  const shownAudit = merged.flatMap((one) => ('entry' in one ? [one.entry] : []))
  const isComplete =
    !changes.hasMore && !trail.hasMore && merged.length === changes.elements.length + trail.elements.length
  const [names, kinds] = await Promise.all([
    namesOf(context, caller, shownAudit),
    kindsOf(context, caller, shownChanges),
  ])
  const entries = merged.map((one) => ('change' in one ? changeEntry(one.change, kinds) : auditEntry(one.entry, names)))
  if (isComplete) return { entries }
  const isEveryChangeShown = shownChanges.length === changes.elements.length
  const change = (isEveryChangeShown ? changes.end : undefined) ?? lastPosition(shownChanges) ?? position?.change
  const lastAudit = shownAudit.at(-1)?.id ?? position?.audit
  return {
    entries,
    next: {
      to: range.to,
      ...(change === undefined ? {} : { change }),
      ...(lastAudit === undefined ? {} : { audit: lastAudit }),
    },
  }
}

function lastPosition(changes: readonly AssetChange[]): Position['change'] {
  const last = changes.at(-1)
  return last === undefined ? undefined : { time: last.time, assetId: last.assetId, version: last.version }
}

type Selected<Selection> = PageOptions & { selected: Selection | undefined }

async function nextChanges(
  { peers }: Context,
  caller: Caller,
  { selected, limit, isGrouped, position, groupId }: Selected<ReturnType<typeof changesSelected>>,
): Promise<Source<AssetChange>> {
  if (selected === undefined) return { elements: [], hasMore: false }
  const { data, meta } = await peers(inventory, caller).listChanges({
    body: {
      data: {
        ...selected,
        limit,
        isGrouped,
        ...(groupId === undefined ? {} : { causeId: groupId }),
        ...(position?.change === undefined ? {} : { before: position.change }),
      },
    },
  })
  return { elements: data, hasMore: meta.next !== undefined, ...(meta.next === undefined ? {} : { end: meta.next }) }
}

async function nextAuditEntries(
  { peers }: Context,
  caller: Caller,
  { selected, limit, position }: Selected<ReturnType<typeof auditSelected>>,
): Promise<Source<AuditEntry>> {
  if (selected === undefined) return { elements: [], hasMore: false }
  const { data } = await peers(audit, caller).listActivity({
    body: {
      data: { ...selected, limit: limit + 1, ...(position?.audit === undefined ? {} : { before: position.audit }) },
    },
  })
  return { elements: data.slice(0, limit), hasMore: data.length > limit }
}

/** Returns the kinds of the authors of changes, by id. */
export async function kindsOf(
  { database }: Context,
  caller: Caller,
  changes: readonly Pick<AssetChange, 'principal'>[],
): Promise<Map<string, string>> {
  const ids = new Set(changes.flatMap(({ principal }) => principal ?? []))
  return ids.size === 0 ? new Map() : database.read(caller, (handle) => findKinds(handle, [...ids]))
}

/** The number of nodes in the name of a place. Many nodes are named like `Line 1`, so their parent is named too. */
const namedNodes = 2

/** Returns the name of a place, such as `Press shop › Line 1`. The path starts with the name of the hierarchy. */
function placeName([, ...nodes]: readonly string[]): string {
  return nodes.slice(-namedNodes).join(' › ')
}

/** Returns the names of the principals, access groups, assets and hierarchy nodes that audit entries name, by id. */
export async function namesOf(
  { database, peers }: Context,
  caller: Caller,
  entries: readonly AuditEntry[],
): Promise<Map<string, string>> {
  const targets = entries.flatMap((entry) => targetOf(entry) ?? [])
  const assetIds = targets.filter(({ kind, id }) => (kind === 'asset' || kind === 'gateway') && isId(id))
  const ids = new Set([...targets.map(({ id }) => id).filter(isId), ...entries.flatMap(({ detail }) => idsIn(detail))])
  if (ids.size === 0) return new Map()
  const names = await database.read(caller, (handle) => findNames(handle, [...ids]))
  const entities = entries.flatMap(({ detail }) => entitiesIn(detail))
  const related = entities.filter(({ type }) => type === 'asset')
  // A caller can read the audit trail without any asset.
  const isReader = maySomewhere(caller, 'inventory_read_asset_data')
  const gateways = entries.map(({ detail }) => ({ id: String(detail.gatewayId) })).filter(({ id }) => isId(id))
  const unnamed = isReader ? [...new Set([...assetIds, ...gateways, ...related].map(({ id }) => id))] : []
  for (let start = 0; start < unnamed.length; start += changeLimits.assets) {
    const batch = unnamed.slice(start, start + changeLimits.assets)
    const { data } = await peers(inventory, caller).readLastChanges({ body: { data: { ids: batch } } })
    for (const { assetId, name } of data) if (name !== null) names.set(assetId, name)
  }
  const ofNodes = may(caller, 'glb_hierarchy_read') ? entities.filter(({ type }) => type === 'node') : []
  const nodes = [...new Set(ofNodes.map(({ id }) => id))]
  for (let start = 0; start < nodes.length; start += hierarchyLimits.nodesPerBatch) {
    const nodeIds = nodes.slice(start, start + hierarchyLimits.nodesPerBatch)
    const { data } = await peers(hierarchy, caller).describeNodePaths({ body: { data: { nodeIds } } })
    for (const { nodeId, names: path } of data) names.set(nodeId, placeName(path))
  }
  return names
}
