import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

type Credentials = Pick<ListedCredentialInstance, 'assetId' | 'metadata' | 'places'>

/**
 * The place of credentials among those of the same asset link that a scan tries. `laterIn` and `notIn` are the IP ranges with another
 * place. `after` are the names of the credentials that a scan tries before. `monitoring` and `asset` are credentials that scans do
 * not use.
 */
export type ScanOrder =
  | { kind: 'place'; place: number; after: string[]; laterIn: string[]; notIn: string[] }
  | { kind: 'none' | 'monitoring' | 'asset' }

/** Returns the place of credentials in scans. The first of their places is the best one, and is the place at most addresses. */
export function scanOrderOf({ assetId, metadata: { purpose }, places }: Credentials): ScanOrder {
  if (assetId !== undefined) return { kind: 'asset' }
  if (purpose === 'monitoring') return { kind: 'monitoring' }
  const [first, ...others] = places
  if (first?.place === undefined) return { kind: 'none' }
  const rangesOf = (isTried: boolean) =>
    others.filter(({ place }) => (place !== undefined) === isTried).flatMap(({ ipRanges }) => ipRanges)
  return {
    kind: 'place',
    place: first.place,
    after: first.after.map(({ name }) => name),
    laterIn: rangesOf(true),
    notIn: rangesOf(false),
  }
}
