import type { Handle } from '../../platform/database/database.ts'
import { isId } from '../../platform/database/id.ts'
import { statement } from '../../platform/database/statement.ts'
import { type FieldSources, reporterOf } from './assets/field-sources.ts'
import { containsGateways, type Groups, isGatewayOrLink, lastGroupOf, wasLastReadable } from './visibility.ts'

const allGatewaysStatement = statement<{ id: string }>(
  `select a.id from assets a where a.tenant_id = $1 and a.type = 'Gateway'`,
)
const gatewaysInStatement = statement<{ id: string }>(
  `select a.id from assets a where a.tenant_id = $1 and a.type = 'Gateway' and a.access_group_id = any($2::uuid[])`,
)

/** Returns all readable gateways at once, not in pages, because a tenant has a few thousand gateways at most. */
export async function listReadableGateways(handle: Handle, groups: Groups): Promise<string[]> {
  const isAll = groups === null || containsGateways(groups)
  const rows = isAll ? await handle.rows(allGatewaysStatement) : await handle.rows(gatewaysInStatement, groups)
  return rows.map(({ id }) => id)
}

const describeStatement = statement<{ id: string; name: string | null; accessGroupId: string }>(
  `select a.id, a.name, a.access_group_id as "accessGroupId" from assets a
   where a.tenant_id = $1 and a.id = any($2::uuid[]) and a.type = 'Gateway'`,
)

export function describeGateways(handle: Handle, ids: readonly string[]) {
  return handle.rows(describeStatement, ids)
}

const describeAssetsStatement = statement<{
  id: string
  accessGroupId: string
  isDeleted: boolean
  isGatewayOrLink: boolean
}>(
  `select f.id, ${lastGroupOf('f.id')} as "accessGroupId",
     (select true from assets a where a.tenant_id = $1 and a.id = f.id) is null as "isDeleted",
     (select ${isGatewayOrLink('g')} from assets g where g.tenant_id = $1 and g.id = f.id) is true as "isGatewayOrLink"
   from unnest($2::uuid[]) as f (id) where ${lastGroupOf('f.id')} is not null`,
)

/** Returns the access groups of assets. Deleted assets are included, with their last access group. */
export function describeAssets(handle: Handle, ids: readonly string[]) {
  return handle.rows(describeAssetsStatement, [...new Set(ids)])
}

const classifyStatement = statement<{ id: string; readable: boolean }>(
  `select f.id, ${wasLastReadable('f.id', '$3')} is true as readable from unnest($2::uuid[]) as f (id)
   where ${lastGroupOf('f.id')} is not null`,
)

/**
 * Sorts the ids of assets into readable and hidden ones. Ids of deleted assets are included; ids of other entities are left
 * out.
 */
export async function classifyAssets(handle: Handle, ids: readonly string[], groups: Groups) {
  const rows = await handle.rows(classifyStatement, [...new Set(ids)], groups)
  const of = (readable: boolean) => rows.filter((row) => row.readable === readable).map(({ id }) => id)
  return { readable: of(true), hidden: of(false) }
}

type ChangeAuthor = { principal: string | null; principalName: string | null; sourceValue: string | null }

/** Removes the author and the source of a change if they are a gateway that the caller cannot read. */
export async function withoutHiddenAuthors<Row extends ChangeAuthor>(
  handle: Handle,
  rows: readonly Row[],
  groups: Groups,
): Promise<Row[]> {
  const ids = rows.flatMap(({ principal, sourceValue }) => [principal, sourceValue]).filter((id) => isId(id ?? ''))
  if (groups === null || ids.length === 0) return [...rows]
  const hidden = new Set((await classifyAssets(handle, ids as string[], groups)).hidden)
  return rows.map((row) => ({
    ...row,
    ...(hidden.has(row.principal ?? '') ? { principal: null, principalName: 'hidden gateway' } : {}),
    ...(hidden.has(row.sourceValue ?? '') ? { sourceValue: null } : {}),
  }))
}

const linksOfStatement = statement<{ id: string; source: string | null }>(
  `select object_id as id, source_value as source from relations
   where tenant_id = $1 and subject_id = $2 and predicate = 'found_by_asset_link' and subject_type = 'asset'
     and object_type = 'asset'`,
)

/**
 * Returns which reports about an asset the caller cannot read: the reports of hidden gateways, and those of links whose
 * assets are all hidden.
 */
export async function hiddenReports(
  handle: Handle,
  { id, groups, sources }: { id: string; groups: Groups; sources: FieldSources },
): Promise<ReadonlySet<string>> {
  if (groups === null || Object.keys(sources).length === 0) return new Set()
  const links = await handle.rows(linksOfStatement, id)
  const reporters = Object.keys(sources).map(reporterOf).filter(isId)
  const hidden = new Set((await classifyAssets(handle, [...reporters, ...links.map((link) => link.id)], groups)).hidden)
  const isHidden = (key: string) => {
    const same = links.filter(({ source }) => source === sources[key]?.source)
    return hidden.has(reporterOf(key)) || (same.length > 0 && same.every((link) => hidden.has(link.id)))
  }
  return new Set(Object.keys(sources).filter(isHidden))
}
