import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { AssetColumns } from '../assets/asset-store.ts'

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
  const found: FacetCount[] = []
  for (const [group, members] of Map.groupBy(assets, ({ access_group_id }) => access_group_id)) {
    for (const facet of facetColumns) {
      const counts = new Map<string | null, number>()
      for (const { [facet]: value } of members) counts.set(value, (counts.get(value) ?? 0) + 1)
      for (const [value, count] of counts) found.push({ facet, value, group, assets: count })
    }
  }
  return found
}

const named = facetColumns.map((name) => `('${name}', a.${name})`).join(', ')

const coming = rowset<FacetCount>({ facet: 'text', value: 'text', group: 'uuid', assets: 'bigint' })
const recountStatement = statement(
  `insert into asset_facets as f (tenant_id, facet, value, access_group_id, assets)
   select $1, c.facet, c.value, c."group", sum(c.assets) from (
     select n.facet, n.value, a.access_group_id as "group", -1 as assets
     from assets a, lateral (values ${named}) as n (facet, value)
     where a.tenant_id = $1 and a.id = any($6::uuid[])
     union all
     select facet, value, "group", assets from ${coming.rows}
   ) as c
   group by c.facet, c.value, c."group" having sum(c.assets) <> 0
   on conflict (tenant_id, facet, value, access_group_id) do update set assets = f.assets + excluded.assets`,
)

/** Counts assets that are about to be written or deleted: as they are kept until now, and as they come. */
export async function recountFacets(
  tx: Transaction,
  assets: { kept: readonly string[]; coming: readonly Counted[] },
): Promise<void> {
  if (assets.kept.length + assets.coming.length === 0) return
  await tx.run(recountStatement, ...coming.values(facetsOf(assets.coming)), arrayOf('uuid', assets.kept))
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
