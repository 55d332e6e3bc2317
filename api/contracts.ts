import { activity } from './activity.ts'
import { audit } from './audit.ts'
import { authorization } from './authorization.ts'
import type { Contract } from './contract.ts'
import { credentials } from './credentials.ts'
import { discovery } from './discovery.ts'
import { events } from './events.ts'
import { exports } from './exports.ts'
import { gatekeeper } from './gatekeeper.ts'
import { hierarchy } from './hierarchy.ts'
import { identity } from './identity.ts'
import { imports } from './imports.ts'
import { inbox } from './inbox.ts'
import { inventory } from './inventory/inventory.ts'
import { inventoryV1 } from './inventory-v1.ts'
import { jobs } from './jobs.ts'
import { monitoring } from './monitoring.ts'
import { onboarding } from './onboarding.ts'
import { type Permission, permissionNames, permissions } from './permission.ts'
import { type ProblemCode, problemCodes } from './problem.ts'
import { remoteAccess } from './remote-access.ts'
import { updates } from './updates.ts'
import { workflows } from './workflows.ts'

/** All contracts by name, for clients, documents and generated tests. */
export const contracts = {
  identity,
  authorization,
  audit,
  activity,
  events,
  inventory,
  'inventory-v1': inventoryV1,
  onboarding,
  gatekeeper,
  discovery,
  credentials,
  workflows,
  jobs,
  monitoring,
  hierarchy,
  exports,
  imports,
  inbox,
  'remote-access': remoteAccess,
  updates,
} as const

/** Returns the HTTP statuses of a problem code, such as `409, in the contract events 400`. */
export function statusText(code: ProblemCode): string {
  const others = Object.values<Contract>(contracts).flatMap(({ name, errorStatuses = {} }) =>
    errorStatuses[code] === undefined ? [] : [`in the contract ${name} ${errorStatuses[code]}`],
  )
  return [String(problemCodes[code].status), ...others].join(', ')
}

const requiredPermissions = new Set<string>(
  Object.values(contracts).flatMap(({ operations }) => Object.values(operations).map(({ access }) => access)),
)

/**
 * The permissions that are in use: at least one operation requires the permission itself or the permission in its `partOf`.
 * Lists of permissions show only these. The other names are reserved for services that do not exist yet. Roles that contain
 * reserved names stay valid.
 */
export const offeredPermissions: readonly Permission[] = permissionNames.filter((name) => {
  const { partOf } = permissions[name] as { partOf?: string }
  return requiredPermissions.has(name) || (partOf !== undefined && requiredPermissions.has(partOf))
})
