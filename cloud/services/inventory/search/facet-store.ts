import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { AssetColumns } from '../assets/asset-store.ts'

/** The columns for which the number of assets with each value is stored. */
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

/** The facet of products and their versions. Its values combine several columns. */
const productVersionFacet = 'product_firmware_version'

/** The part of a column in a combined value. Index entries have a maximum size. */
const combinedCharacters = 128
const separator = '\u001f'
const combinedColumns = ['manufacturer', 'product_id', 'product_name', 'firmware_version'] as const

type FacetValues = Pick<AssetColumns, FacetColumn> & { access_group_id: string }

/** Returns the SQL of a combined value: the columns of an asset with a product, in order. The value of others is null. */
export function productVersionSql(asset: string): string {
  const parts = combinedColumns.map(
    (column) => `left(translate(coalesce(${asset}.${column}, ''), E'\\u001f', ' '), ${combinedCharacters})`,
  )
  return `case when ${asset}.type = 'SoftwareArtifact' or ${asset}.manufacturer is null
      or (${asset}.product_id is null and ${asset}.product_name is null) then null
    else ${parts.join(` || E'\\u001f' || `)} end`
}

/** Returns the same value for an asset that is written. */
function productVersionOf(asset: FacetValues): string | null {
  if (asset.type === 'SoftwareArtifact' || asset.manufacturer === null) return null
  if (asset.product_id === null && asset.product_name === null) return null
  const part = (text: string | null) =>
    [...(text ?? '').replaceAll(separator, ' ')].slice(0, combinedCharacters).join('')
  return combinedColumns.map((column) => part(asset[column])).join(separator)
}

type FacetCount = { facet: string; value: string | null; group: string; assets: number }

/** Returns, for each access group, facet column and value, the number of these assets that have the value. */
export function facetsOf(assets: Iterable<FacetValues>): FacetCount[] {
  const facets: FacetCount[] = []
  for (const [group, members] of Map.groupBy(assets, ({ access_group_id }) => access_group_id)) {
    const count = (facet: string, read: (asset: FacetValues) => string | null) => {
      const counts = new Map<string | null, number>()
      for (const asset of members) {
        const value = read(asset)
        counts.set(value, (counts.get(value) ?? 0) + 1)
      }
      for (const [value, assets] of counts) facets.push({ facet, value, group, assets })
    }
    for (const facet of facetColumns) count(facet, (asset) => asset[facet])
    count(productVersionFacet, productVersionOf)
  }
  return facets
}

/** The facets and their values, as SQL rows of an asset `a`. */
export const facetPairs = [
  ...facetColumns.map((name) => `('${name}', a.${name})`),
  `('${productVersionFacet}', ${productVersionSql('a')})`,
].join(', ')

const newCounts = rowset<FacetCount>({ facet: 'text', value: 'text', group: 'uuid', assets: 'bigint' })
const recountStatement = statement(
  `insert into asset_facets as f (tenant_id, facet, value, access_group_id, assets)
   select $1, c.facet, c.value, c."group", sum(c.assets) from (
     select n.facet, n.value, a.access_group_id as "group", -1 as assets
     from assets a, lateral (values ${facetPairs}) as n (facet, value)
     where a.tenant_id = $1 and a.id = any($6::uuid[])
     union all
     select facet, value, "group", assets from ${newCounts.rows}
   ) as c
   group by c.facet, c.value, c."group" having sum(c.assets) <> 0
   on conflict (tenant_id, facet, value, access_group_id) do update set assets = f.assets + excluded.assets`,
)

/**
 * Updates the counts before assets are written or deleted. `stored` contains the ids of existing assets that are replaced
 * or deleted. `written` contains the new states.
 */
export async function recountFacets(
  tx: Transaction,
  { stored, written }: { stored: readonly string[]; written: readonly FacetValues[] },
): Promise<void> {
  if (stored.length + written.length === 0) return
  await tx.run(recountStatement, ...newCounts.values(facetsOf(written)), arrayOf('uuid', stored))
}

const where = `tenant_id = $1 and facet = $2 and ($3::uuid[] is null or access_group_id = any($3))`

const valuesStatement = statement<{ value: string | null; count: number }>(
  `select value, sum(assets)::bigint as count from asset_facets where ${where}
   group by value having sum(assets) > 0 order by 2 desc, 1 limit $4`,
)

type FacetQuery = { facet: FacetColumn; groups: readonly string[] | null }

/** Returns the values of a column, each with the stored number of assets that have it. */
export function listFacet(handle: Handle, { facet, groups, limit }: FacetQuery & { limit: number }) {
  return handle.rows(valuesStatement, facet, groups, limit)
}

const totalStatement = statement<{ total: number }>(
  `select coalesce(sum(assets), 0)::bigint as total from asset_facets where ${where} and value = any($4::text[])`,
)

/** Returns the stored number of assets with one of these values. */
export async function totalWith(handle: Handle, { facet, groups, values }: FacetQuery & { values: readonly string[] }) {
  return (await handle.row(totalStatement, facet, groups, values))?.total ?? 0
}

const productVersionsStatement = statement<{ value: string; devices: number }>(
  `select value, sum(assets)::bigint as devices from asset_facets
   where ${where} and value is not null group by value having sum(assets) > 0 order by value limit $4`,
)

export type ProductVersion = {
  manufacturer: string
  productId?: string
  productName?: string
  firmwareVersion?: string
  devices: number
}

const foundVersionsStatement = statement<{ value: string; devices: number }>(
  `select v.value, count(*)::bigint as devices from (
     select distinct r.subject_id as id from relations r where r.tenant_id = $1 and r.predicate = 'found_by_asset_link'
   ) as f join assets a on a.tenant_id = $1 and a.id = f.id, lateral (select ${productVersionSql('a')} as value) as v
   where ($2::uuid[] is null or a.access_group_id = any($2)) and v.value is not null
   group by v.value order by v.value limit $3`,
)

/**
 * Returns the stored number of assets with each product and firmware version. Long texts are cut off. Gateways that are readable
 * only because they are gateways are not counted.
 */
export async function listProductVersions(
  handle: Handle,
  groups: readonly string[] | null,
  limit: number,
): Promise<ProductVersion[]> {
  return productVersionsOf(await handle.rows(productVersionsStatement, productVersionFacet, groups, limit))
}

/** Returns the number of assets that an asset link has found, with each product and firmware version. */
export async function listFoundVersions(
  handle: Handle,
  groups: readonly string[] | null,
  limit: number,
): Promise<ProductVersion[]> {
  return productVersionsOf(await handle.rows(foundVersionsStatement, groups, limit))
}

function productVersionsOf(rows: readonly { value: string; devices: number }[]): ProductVersion[] {
  return rows.map(({ value, devices }) => {
    const [manufacturer = '', productId = '', productName = '', firmwareVersion = ''] = value.split(separator)
    return {
      manufacturer,
      ...(productId === '' ? {} : { productId }),
      ...(productName === '' ? {} : { productName }),
      ...(firmwareVersion === '' ? {} : { firmwareVersion }),
      devices,
    }
  })
}
