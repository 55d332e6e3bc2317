import { type AccessGroup, authorization } from '@millwright/api/authorization.ts'
import { pagesOf } from '../output/paging.ts'
import type { Session } from '../session/session.ts'

/** Returns the names of access groups by id, for tables. */
export async function groupNames({ api }: Session): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const pages = pagesOf({ limit: 100, offset: 0, all: true }, ({ limit, offset }) =>
    api(authorization).listAccessGroups({ query: { limit, offset } }),
  )
  for await (const { data } of pages as AsyncIterable<{ data: AccessGroup[] }>)
    for (const { id, name } of data) names.set(id, name)
  return names
}
