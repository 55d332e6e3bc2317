import type { Reason } from '@millwright/api/authorization.ts'
import { type Permission, permissions } from '@millwright/api/permission.ts'
import { type HeldRole, reasonsFor } from '../../platform/access/rights.ts'

export type PermissionQuery = {
  name: string
  disabled: boolean
  held: readonly HeldRole[]
  permission: Permission
  /** The access group for which the permission is checked. Null means the whole tenant. */
  accessGroup: string | null
}

/** The names that the explanation uses: the access group names by id, and the roles that contain the permission. */
export type ExplanationNames = { accessGroups: ReadonlyMap<string, string>; rolesWith: readonly string[] }

export type Verdict = { allowed: boolean; because: Reason[]; explanation: string }

/** Returns whether a principal has a permission, with the reasons as a list of grants and as a sentence. */
export function evaluate(query: PermissionQuery, names: ExplanationNames): Verdict {
  const { name, disabled, held, permission, accessGroup } = query
  const action = actionText(query, names)
  if (disabled) return refusal(`${name} may not ${action}: ${name} is disabled`)
  const reasons = reasonsFor(held, permission, accessGroup)
  if (reasons.length === 0) return refusal(`${name} may not ${action}: ${refusalReason(query, names)}`)
  const why = reasons.map((role) => because(role, names)).join(', and ')
  return { allowed: true, because: reasons.map(showReason), explanation: `${name} may ${action} because ${why}` }
}

function refusal(explanation: string): Verdict {
  return { allowed: false, because: [], explanation }
}

function actionText({ permission, accessGroup }: PermissionQuery, names: ExplanationNames): string {
  const { title, scope } = permissions[permission]
  const place = scope === 'global' ? null : accessGroup
  return `${title.charAt(0).toLowerCase()}${title.slice(1)} (${permission}) ${within(place, names)}`
}

function refusalReason({ held, permission }: PermissionQuery, names: ExplanationNames): string {
  const narrower = held.filter((role) => role.permissions.includes(permission))
  if (narrower.length === 0)
    return `no granted role contains the permission; roles that contain it: ${names.rolesWith.join(', ')}`
  const granted = `${narrower.map((role) => because(role, names)).join(', and ')} only`
  return permissions[permission].scope === 'global'
    ? `${granted}, but this permission applies only in the whole tenant`
    : granted
}

function because({ role, accessGroupId }: HeldRole, names: ExplanationNames): string {
  return `the role ${role} was granted ${within(accessGroupId, names)}`
}

function within(accessGroup: string | null, names: ExplanationNames): string {
  if (accessGroup === null) return 'in the whole tenant'
  return `in the access group ${names.accessGroups.get(accessGroup) ?? accessGroup}`
}

function showReason({ grantId, role, accessGroupId }: HeldRole): Reason {
  return { grant: grantId, role, accessGroup: accessGroupId }
}
