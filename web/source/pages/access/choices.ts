import type { Permission } from '@millwright/api/permission.ts'
import { useQuery } from '@tanstack/react-query'
import { useText } from '../../app/language-context.tsx'
import { useOperationQuery } from '../../app/queries.ts'
import type { Choice } from '../../components/fields.tsx'
import { accessMessages } from './messages.ts'

const asked = { query: { limit: 100 } }

export function useRoleChoices(): Choice[] {
  const query = useOperationQuery()
  const { data } = useQuery(query(['authorization', 'listRoles'], asked, { live: ['authorization.role'] }))
  return data?.data.map(({ name, title }) => ({ value: name, label: `${name} – ${title}` })) ?? []
}

/** Everybody that a role can be given to: people first. */
export function usePrincipalChoices(): Choice[] {
  const text = useText(accessMessages)
  const query = useOperationQuery()
  const people = useQuery(query(['identity', 'listUsers'], asked))
  const programs = useQuery(query(['identity', 'listServerUsers'], asked))
  return [
    ...(people.data?.data.map(({ id, name }) => ({ value: id, label: `${name} (${text.person})` })) ?? []),
    ...(programs.data?.data.map(({ id, name }) => ({ value: id, label: `${name} (${text.program})` })) ?? []),
  ]
}

export type KnownPermission = { name: Permission; title: string; scope: 'global' | 'access-group' }

export function usePermissions(): readonly KnownPermission[] {
  const query = useOperationQuery()
  const { data } = useQuery(query(['authorization', 'listPermissions'], {}))
  return data?.data ?? []
}
