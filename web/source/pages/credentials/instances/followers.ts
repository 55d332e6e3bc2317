import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

/** How many credentials a scan tries at the addresses of others, by the id of the others. */
export type Followers = {
  /** The number of credentials that a scan tries where it tries the credentials with this id before others. */
  placesById: ReadonlyMap<string, number>
  /** Whether the rows are all credentials. Otherwise credentials can have more followers. */
  isComplete: boolean
}

type FollowersOptions = { total: number; isSearch: boolean }

type Row = Pick<ListedCredentialInstance, 'places'>

/** Returns how many credentials of a list a scan tries after which others. Credentials that it does not try do not count. */
export function followersOf(rows: readonly Row[], { total, isSearch }: FollowersOptions): Followers {
  const placesById = new Map<string, number>()
  for (const { place, after } of rows.flatMap(({ places }) => places)) {
    if (place === undefined) continue
    for (const { id } of after) placesById.set(id, Math.max(place, placesById.get(id) ?? 0))
  }
  return { placesById, isComplete: !isSearch && rows.length >= total }
}
