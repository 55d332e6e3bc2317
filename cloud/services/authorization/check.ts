import type { Reason } from '@millwright/api/authorization.ts'
import { type Permission, permissions } from '@millwright/api/permission.ts'
import { type HeldRole, reasonsFor } from '../../platform/access/rights.ts'

export type Question = {
  name: string
  disabled: boolean
  held: readonly HeldRole[]
  permission: Permission
  /** null: in the whole tenant. */
  accessGroup: string | null
}

/** What the sentence needs to know besides: names of access groups by id, and the roles that contain the permission. */
export type Names = { accessGroups: ReadonlyMap<string, string>; rolesWith: readonly string[] }

export type Verdict = { allowed: boolean; because: Reason[]; explanation: string }

/** May somebody do something, and why: the same answer as a list of grants and as a sentence. */
export function judge(question: Question, names: Names): Verdict {
  const { name, disabled, held, permission, accessGroup } = question
  const deed = deedOf(question, names)
  if (disabled) return refusal(`${name} may not ${deed}: ${name} is disabled`)
  const reasons = reasonsFor(held, permission, accessGroup)
  if (reasons.length === 0) return refusal(`${name} may not ${deed}: ${whyNot(question, names)}`)
  const why = reasons.map((role) => because(role, names)).join(', and ')
  return { allowed: true, because: reasons.map(showReason), explanation: `${name} may ${deed} because ${why}` }
}

function refusal(explanation: string): Verdict {
  return { allowed: false, because: [], explanation }
}

function deedOf({ permission, accessGroup }: Question, names: Names): string {
  const { title, scope } = permissions[permission]
  const place = scope === 'global' ? null : accessGroup
  return `${title.charAt(0).toLowerCase()}${title.slice(1)} (${permission}) ${within(place, names)}`
}

function whyNot({ held, permission }: Question, names: Names): string {
  const narrower = held.filter((role) => role.permissions.includes(permission))
  if (narrower.length === 0) return `no granted role contains it; roles that would: ${names.rolesWith.join(', ')}`
  const granted = `${narrower.map((role) => because(role, names)).join(', and ')} only`
  return permissions[permission].scope === 'global'
    ? `${granted}, and this is held in the whole tenant or not at all`
    : granted
}

function because({ role, accessGroupId }: HeldRole, names: Names): string {
  return `the role ${role} was granted ${within(accessGroupId, names)}`
}

function within(accessGroup: string | null, names: Names): string {
  if (accessGroup === null) return 'in the whole tenant'
  return `in the access group ${names.accessGroups.get(accessGroup) ?? accessGroup}`
}

function showReason({ grantId, role, accessGroupId }: HeldRole): Reason {
  return { grant: grantId, role, accessGroup: accessGroupId }
}
