import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { statement } from '../../platform/database/statement.ts'
import type { AssetColumns } from './asset-store.ts'

/** Columns of an asset of which it is known how many assets have which value. */
export const facetColumns = [
  'type',
  'management_state',
  'reachability_state',
  'trust_state',
  'responsible',
  'firmware_version',
  'operating_mode',
  'manufacturer',
  'product_id',
  'product_family',
  'product_name',
] as const satisfies (keyof AssetColumns)[]

export type FacetColumn = (typeof facetColumns)[number]

type Counted = Pick<AssetColumns, FacetColumn> & { access_group_id: string }

type FacetCount = { facet: string; value: string | null; group: string; assets: number }

/** How many of these have which value. */
export function facetsOf(assets: Iterable<Counted>): FacetCount[] {
  const counts = new Map<string, FacetCount>()
  for (const asset of assets) {
    for (const facet of facetColumns) {
      const [value, group] = [asset[facet], asset.access_group_id]
      const key = `${facet} ${group} ${value === null ? '' : `=${value}`}`
      const known = counts.get(key)
      if (known === undefined) counts.set(key, { facet, value, group, assets: 1 })
      else known.assets++
    }
  }
  return [...counts.values()]
}

const named = facetColumns.map((name) => `('${name}', a.${name})`).join(', ')

const recountStatement = statement(
  `insert into asset_facets as f (tenant_id, facet, value, access_group_id, assets)
   select $1, c.facet, c.value, c."group", sum(c.assets) from (
     select n.facet, n.value, a.access_group_id as "group", -1 as assets
     from assets a, lateral (values ${named}) as n (facet, value)
     where a.tenant_id = $1 and a.id = any($2::uuid[])
     union all
     select facet, value, "group", assets
     from json_to_recordset($3::json) as r (facet text, value text, "group" uuid, assets bigint)
   ) as c
   group by c.facet, c.value, c."group" having sum(c.assets) <> 0
   on conflict (tenant_id, facet, value, access_group_id) do update set assets = f.assets + excluded.assets`,
)

/** Counts assets that are about to be written or deleted: as they are kept until now, and as they come. */
export async function recountFacets(
  tx: Transaction,
  { kept, coming }: { kept: readonly string[]; coming: readonly Counted[] },
): Promise<void> {
  if (kept.length + coming.length > 0) await tx.run(recountStatement, kept, jsonText(facetsOf(coming)))
}

const where = `tenant_id = $1 and facet = $2 and ($3::uuid[] is null or access_group_id = any($3))`

const valuesStatement = statement<{ value: string | null; count: number }>(
  `select value, sum(assets)::bigint as count from asset_facets where ${where}
   group by value having sum(assets) > 0 order by 2 desc, 1 limit $4`,
)

type Asked = { facet: FacetColumn; groups: readonly string[] | null }

/** The values of a column and how many assets have each, without counting. */
export function listFacet(handle: Handle, { facet, groups, limit }: Asked & { limit: number }) {
  return handle.rows(valuesStatement, facet, groups, limit)
}

const totalStatement = statement<{ total: number }>(
  `select coalesce(sum(assets), 0)::bigint as total from asset_facets where ${where} and value = any($4::text[])`,
)

/** How many assets have one of these values, without counting. */
export async function totalWith(handle: Handle, { facet, groups, values }: Asked & { values: readonly string[] }) {
  return (await handle.row(totalStatement, facet, groups, values))?.total ?? 0
}
