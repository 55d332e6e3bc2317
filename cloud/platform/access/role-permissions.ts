import { builtInRoles, isBuiltInRole } from '@millwright/api/permission.ts'
import type { Handle } from '../database/database.ts'
import { findRole } from './store.ts'

/**
 * Returns the permissions of a built-in role or of a role of the tenant. Returns `undefined` when the role does not exist.
 */
export async function findPermissions(handle: Handle, role: string): Promise<readonly string[] | undefined> {
  return isBuiltInRole(role) ? builtInRoles[role].permissions : (await findRole(handle, role))?.permissions
}
