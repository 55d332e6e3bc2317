import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'

/**
 * The platform at work with what a gateway handed in: the audit trail and the history name the gateway, which itself may
 * write nothing.
 */
export function onBehalfOf(
  gateway: { id: string; name: string },
  tenant: { tenantId: string; tenantName: string },
): Caller {
  return { ...systemCaller(tenant), principal: { id: gateway.id, kind: 'system', name: `gateway ${gateway.name}` } }
}
