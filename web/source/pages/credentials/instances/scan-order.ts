import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

type Credentials = Pick<ListedCredentialInstance, 'order' | 'resourceIdentifier'>

/**
 * Returns the credentials of an IP address in the order in which a scan tries them there, by asset link. Credentials that a scan does
 * not try there are last.
 */
export function inScanOrder<Row extends Credentials>(rows: readonly Row[]): Row[] {
  const tried = rows.filter(({ order }) => order !== undefined)
  const byLink = [...Map.groupBy(tried, ({ resourceIdentifier }) => resourceIdentifier).values()]
  const ordered = byLink.flatMap((ofLink) => ofLink.toSorted((a, b) => Number(a.order) - Number(b.order)))
  return [...ordered, ...rows.filter(({ order }) => order === undefined)]
}

/** Returns the number of asset links with credentials that a scan tries. Each link has its own order. */
export function triedLinks(rows: readonly Credentials[]): number {
  return new Set(rows.flatMap(({ order, resourceIdentifier }) => (order === undefined ? [] : resourceIdentifier))).size
}
