import { permissionNames } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import type { Caller } from './caller.ts'

const nobody = '00000000-0000-0000-0000-000000000000'

/**
 * Creates the caller for work of the platform in a tenant: background tasks, the first start, calls between processes.
 */
export function systemCaller(
  tenant: { tenantId: string; tenantName: string } = { tenantId: nobody, tenantName: '' },
): Caller {
  return {
    ...tenant,
    principal: { id: nobody, kind: 'system', name: 'millwright' },
    roles: [],
    rights: { everywhere: new Set(permissionNames), inGroups: new Map() },
    request: { id: v7(), address: undefined },
  }
}
