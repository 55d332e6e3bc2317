import type { Permission } from '@millwright/api/permission.ts'
import type { Rights } from '../../platform/access/rights.ts'
import { may, mayIn, maySomewhere } from '../../platform/access/rights.ts'

type Holder = { readonly rights: Rights }
type Told = { readonly type: string; readonly data: Readonly<Record<string, unknown>> }
type Rule = (holder: Holder, event: Told) => boolean

/**
 * Who may read the events of a thing: whoever may read the thing. By the beginning of the type, in whole words; the
 * longest that fits counts.
 */
const rules: Readonly<Record<string, Rule>> = {
  'inventory.asset': inGroupOfAsset('inventory_read_asset_data'),
  'inventory.relation': anyOf('glb_inventory_read_relation_data'),
  'inventory.custom-property': somewhere('inventory_read_asset_data'),
  'inventory.schema': somewhere('inventory_read_asset_data'),
  'inventory.settings': somewhere('inventory_read_asset_data'),
  authorization: anyOf('glb_access_manage', 'glb_audit_read'),
  identity: anyOf('glb_access_manage', 'glb_audit_read'),
  credentials: anyOf('glb_credential_read', 'glb_audit_read'),
  workflows: anyOf('glb_jobs_read'),
}

/** What nobody thought of is for those who may see everything that happened. */
const otherwise = anyOf('glb_audit_read')

export function maySee(holder: Holder, event: Told): boolean {
  return ruleFor(event.type)(holder, event)
}

function ruleFor(type: string): Rule {
  for (let end = type.length; end > 0; end = type.lastIndexOf('.', end - 1)) {
    const beginning = type.slice(0, end)
    if (Object.hasOwn(rules, beginning)) return rules[beginning] ?? otherwise
  }
  return otherwise
}

function anyOf(...permissions: Permission[]): Rule {
  return (holder) => permissions.some((permission) => may(holder, permission))
}

function somewhere(permission: Permission): Rule {
  return (holder) => maySomewhere(holder, permission)
}

/** The group that the asset was in when it happened. */
function inGroupOfAsset(permission: Permission): Rule {
  return (holder, { data: { accessGroupId } }) =>
    typeof accessGroupId === 'string' ? mayIn(holder, permission, accessGroupId) : may(holder, permission)
}
