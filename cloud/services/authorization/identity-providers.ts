import { identity } from '@millwright/api/identity.ts'
import { type IdentityProvider, providerLimits } from '@millwright/api/identity-providers.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import type { Context } from '../../platform/service.ts'

/** Returns the identity providers of the tenant. The caller must have `glb_access_manage`. */
export async function identityProvidersOf({ peers }: Context, caller: Caller): Promise<IdentityProvider[]> {
  const { data } = await peers(identity, caller).listIdentityProviders({ query: { limit: providerLimits.providers } })
  return data
}

/**
 * Refuses a role with `glb_access_manage` if an identity provider maps groups to the role but must not grant
 * administrator roles.
 */
export async function requireMappable(context: Context, caller: Caller, role: string): Promise<void> {
  const providers = await identityProvidersOf(context, caller)
  const provider = providers.find(
    ({ mayGrantAdministrator, mappings }) =>
      !mayGrantAdministrator && mappings.some((mapping) => mapping.role === role),
  )
  if (provider === undefined) return
  throw new Problem(
    'conflict',
    `The identity provider ${provider.title} maps groups to the role ${role}, but it must not grant roles with glb_access_manage. Remove the mapping, or set mayGrantAdministrator of the provider.`,
  )
}

/** Refuses the deletion of a role to which an identity provider maps groups. */
export async function requireUnmapped(context: Context, caller: Caller, role: string): Promise<void> {
  const providers = await identityProvidersOf(context, caller)
  const provider = providers.find(({ mappings }) => mappings.some((mapping) => mapping.role === role))
  if (provider === undefined) return
  throw new Problem(
    'role_in_use',
    `The identity provider ${provider.title} maps groups to the role ${role}. Remove the mapping first.`,
  )
}
