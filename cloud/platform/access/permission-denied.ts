import type { Permission } from '@millwright/api/permission.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Handle } from '../database/database.ts'
import { isVisibleGroup, may, type Rights } from './rights.ts'
import { findAccessGroup } from './store.ts'

type Holder = { readonly rights: Rights }
type MissingPermission = {
  permission: Permission
  /**
   * The name of the access group. Undefined if the caller cannot see the group, or if the permission is not limited
   * to a group.
   */
  accessGroup?: string | undefined
  /** The JSON pointer to the part of the request body that needs the permission. */
  pointer?: string | undefined
}

/** Creates the error for a missing permission. All services use the same text. */
export function permissionDenied({ permission, accessGroup, pointer }: MissingPermission): Problem {
  const place = accessGroup === undefined ? '' : ` in access group \`${accessGroup}\``
  const detail = `Permission denied: requires \`${permission}\`${place}`
  const errors = pointer === undefined ? {} : { errors: [{ pointer, code: 'forbidden', detail }] }
  return new Problem('forbidden', detail, errors)
}

type MissingInGroup = { permission: Permission; accessGroupId: string; pointer?: string | undefined }

/**
 * Creates the error for a missing permission in an access group, given by its id. The name of the group is omitted if
 * the caller cannot see the group.
 */
export async function permissionDeniedIn(
  handle: Handle,
  { rights }: Holder,
  { permission, accessGroupId, pointer }: MissingInGroup,
): Promise<Problem> {
  const accessGroup = isVisibleGroup(rights, accessGroupId) ? await nameOf(handle, accessGroupId) : undefined
  return permissionDenied({ permission, accessGroup, pointer })
}

type Names = Map<string, Promise<string | undefined>>

/**
 * The names of access groups, cached per handle. Thousands of items of one request may lack the same permission, so
 * each name is read once.
 */
const namesByHandle = new WeakMap<Handle, Names>()

function nameOf(handle: Handle, accessGroupId: string): Promise<string | undefined> {
  const names: Names = namesByHandle.get(handle) ?? new Map()
  namesByHandle.set(handle, names)
  const name = names.get(accessGroupId) ?? findAccessGroup(handle, accessGroupId).then((group) => group?.name)
  names.set(accessGroupId, name)
  return name
}

/** Throws unless the caller holds the permission in the whole tenant. */
export function requirePermission(holder: Holder, permission: Permission): void {
  if (!may(holder, permission)) throw permissionDenied({ permission })
}
