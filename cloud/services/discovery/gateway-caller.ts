import type { Caller } from '../../platform/access/caller.ts'
import { gatewayRights, noRights } from '../../platform/access/rights.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { Context } from '../../platform/service.ts'

type Tenant = { tenantId: string; tenantName: string }
type Gateway = { id: string; name: string; access_group: string }

/**
 * Returns a caller with the rights of the platform, for operations that only services may call. The audit trail and the
 * history name the gateway as the author.
 */
export function onBehalfOf(gateway: Pick<Gateway, 'id' | 'name'>, tenant: Tenant): Caller {
  return { ...systemCaller(tenant), principal: { id: gateway.id, kind: 'system', name: `gateway ${gateway.name}` } }
}

/**
 * Returns the gateway as the caller of asset writes, with its current permissions. The inventory uses these permissions
 * only to accept a write. It evaluates the permissions of the gateway again when it applies the write.
 */
export async function gatewayCaller({ access }: Context, tenant: Tenant, gateway: Gateway): Promise<Caller> {
  const principalAccess = await access.of(tenant.tenantId, gateway.id)
  return {
    ...systemCaller(tenant),
    principal: { id: gateway.id, kind: 'gateway', name: `gateway ${gateway.name}` },
    rights: gatewayRights(principalAccess?.rights ?? noRights, gateway.access_group),
  }
}
