import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'

/** The names of the credentials that a scan tries after others, by the id of the others. */
export type Followers = {
  byId: ReadonlyMap<string, readonly string[]>
  /** Whether the rows are all credentials. Otherwise credentials can have more followers. */
  isComplete: boolean
}

type FollowersOptions = { total: number; isSearch: boolean }

type Row = Pick<ListedCredentialInstance, 'name' | 'places'>

/** Returns which credentials of a list a scan tries after which others, at any address. */
export function followersOf(rows: readonly Row[], { total, isSearch }: FollowersOptions): Followers {
  const byId = new Map<string, string[]>()
  for (const { name, places } of rows) {
    for (const id of new Set(places.flatMap(({ after }) => after.map((before) => before.id)))) {
      byId.set(id, [...(byId.get(id) ?? []), name])
    }
  }
  return { byId, isComplete: !isSearch && rows.length >= total }
}
