import { permissionNames } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import type { Caller } from './caller.ts'

const nilId = '00000000-0000-0000-0000-000000000000'

/**
 * Creates the caller for work of the platform in a tenant: background tasks, the first start, calls between processes.
 */
export function systemCaller(
  tenant: { tenantId: string; tenantName: string } = { tenantId: nilId, tenantName: '' },
): Caller {
  return {
    ...tenant,
    principal: { id: nilId, kind: 'system', name: 'millwright' },
    roles: [],
    rights: { everywhere: new Set(permissionNames), inGroups: new Map() },
    request: { id: v7(), address: undefined },
  }
}
