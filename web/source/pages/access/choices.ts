import type { Role } from '@millwright/api/authorization.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { useQuery } from '@tanstack/react-query'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useLanguage, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import type { Choice } from '../../components/forms/fields.tsx'
import { accessMessages } from './messages.ts'
import { permissionTitle, roleTitle } from './roles/role-titles.ts'

const input = { query: { limit: 100 } }

/** Returns all roles with their titles in the language of the user. */
export function useRoles(): readonly Role[] {
  const language = useLanguage()
  const query = useOperationQuery()
  const { data } = useQuery(query(['authorization', 'listRoles'], input, { live: ['authorization.role'] }))
  return data?.data.map((role) => ({ ...role, title: roleTitle(role, language) })) ?? []
}

/**
 * Returns the roles that a user can assign. The gateway role is left out, because gateways get it automatically at
 * enrolment.
 */
export function useRoleChoices(): Choice[] {
  return useRoles()
    .filter(({ name }) => name !== 'gateway')
    .map(({ name, title }) => ({ value: name, label: `${name} – ${title}` }))
}

/** `Principal` is a user, service account or gateway that roles can be assigned to. */
export type Principal = { id: string; name: string; kind: 'user' | 'serviceAccount' | 'gateway'; disabled: boolean }

/**
 * Returns the users, the service accounts and the enrolled gateways. Gateways are left out if the user has no
 * permission to list them.
 */
export function usePrincipals(): readonly Principal[] {
  const query = useOperationQuery()
  const users = useQuery(query(['identity', 'listUsers'], input, { live: ['identity.user'] }))
  const serviceAccounts = useQuery(query(['identity', 'listServerUsers'], input, { live: ['identity.server-user'] }))
  const canListGateways = usePermission('glb_jobs_read')
  const gatewayQuery = query(['onboarding', 'listGateways'], input, { live: ['onboarding.gateway'] })
  const gateways = useQuery({ ...gatewayQuery, enabled: canListGateways })
  return [
    ...(users.data?.data.map(({ id, name, disabled }) => ({ id, name, disabled, kind: 'user' as const })) ?? []),
    ...(serviceAccounts.data?.data.map(({ id, name, disabled }) => ({
      id,
      name,
      disabled,
      kind: 'serviceAccount' as const,
    })) ?? []),
    ...(gateways.data?.data.flatMap(({ id, name, state }) =>
      state === 'online' || state === 'offline' ? [{ id, name, disabled: false, kind: 'gateway' as const }] : [],
    ) ?? []),
  ]
}

export function usePrincipalChoices(): Choice[] {
  const text = useText(accessMessages)
  return usePrincipals().map(({ id, name, kind }) => ({ value: id, label: `${name} (${text[kind]})` }))
}

export type PermissionItem = { name: Permission; title: string; scope: 'global' | 'access-group' }

/** Returns all permissions with their titles in the language of the user. */
export function usePermissions(): readonly PermissionItem[] {
  const language = useLanguage()
  const query = useOperationQuery()
  const { data } = useQuery(query(['authorization', 'listPermissions'], {}))
  return data?.data.map((permission) => ({ ...permission, title: permissionTitle(permission, language) })) ?? []
}
