import type { AccessGroup } from '@millwright/api/authorization.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from './queries.ts'

/** Returns the access groups that the user can read. The list is empty until it is loaded. */
export function useAccessGroups(): readonly AccessGroup[] {
  const query = useOperationQuery()
  const input = { query: { limit: 100 } }
  const { data } = useQuery(
    query(['authorization', 'listAccessGroups'], input, { live: ['authorization.access-group'] }),
  )
  return data?.data ?? []
}

/** Returns the names of access groups by id. */
export function useGroupNames(): ReadonlyMap<string, string> {
  return new Map(useAccessGroups().map(({ id, name }) => [id, name]))
}
