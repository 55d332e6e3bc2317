import { Problem } from '@millwright/api/problem.ts'
import type { SignInPolicy, StepUpAction } from '@millwright/api/sign-in-security.ts'
import { v7 } from 'uuid'
import { type Handle, type ReferenceHandle, type Transaction, violatedConstraint } from '../database/database.ts'
import { storableText } from '../database/json.ts'
import { statement } from '../database/statement.ts'
import type { Listed, Paging } from './paging.ts'
import { type HeldRole, permissionsOf } from './rights.ts'
import { defaultSignInPolicy } from './sign-in-policy-store.ts'

// The functions for grants are in a separate file, because this file would be too long.
export * from './grant-store.ts'
export type { Listed, Paging } from './paging.ts'

export type StoredPrincipalKind = 'user' | 'server_user' | 'gateway' | 'external'

export type PrincipalRow = {
  id: string
  kind: StoredPrincipalKind
  name: string
  displayName: string
  disabled: boolean
  version: number
  createdAt: string
  modifiedAt: string
}

export type RoleRow = {
  name: string
  title: string
  permissions: string[]
  version: number
  createdAt: string
  modifiedAt: string
}

export type AccessGroupRow = { id: string; name: string; version: number; createdAt: string; modifiedAt: string }

type Count = { total: number }

const dates = 'version, created_at as "createdAt", modified_at as "modifiedAt"'

const nextVersion = statement<{ version: number }>(
  'update access_versions set version = version + 1 where tenant_id = $1 returning version',
)
const announce = statement(`select pg_notify('access', $1)`)
const versions = statement<{ tenantId: string; version: number }>(
  'select tenant_id as "tenantId", version from access_versions where tenant_id = any($1::uuid[])',
)
const allVersions = statement<{ tenantId: string; version: number }>(
  'select tenant_id as "tenantId", version from access_versions',
)

/**
 * Starts a change of access. It must be the first step of every transaction that changes access, because it serializes
 * the changes of one tenant. So a rule over all grants, such as "there is always an administrator", also holds with
 * concurrent requests.
 */
export async function changeAccess(tx: Transaction): Promise<void> {
  tx.signal('access')
  const next = await tx.row(nextVersion)
  if (next === undefined) throw new Problem('not_found', 'The tenant no longer exists')
  await tx.reference.rows(announce, `${tx.tenantId} ${next.version}`)
}

export async function listVersions(handle: ReferenceHandle, tenantIds: string[]) {
  return handle.rows(versions, tenantIds)
}

/** Returns the versions of all tenants. On a cluster this is faster than a list of ids, which every shard would receive. */
export async function listAllVersions(handle: ReferenceHandle) {
  return handle.rows(allVersions)
}

const principalColumns = `id, kind, name, display_name as "displayName", disabled, ${dates}`

const newPrincipal = statement<PrincipalRow>(
  `insert into principals (tenant_id, id, kind, name, display_name) values ($1, $2, $3, $4, $5)
   on conflict do nothing returning ${principalColumns}`,
)
const principalById = statement<PrincipalRow>(
  `select ${principalColumns} from principals where tenant_id = $1 and id = $2`,
)
const principalByName = statement<PrincipalRow>(
  `select ${principalColumns} from principals where tenant_id = $1 and kind = $2 and name = $3`,
)
const principalOfAnyKind = statement<{ id: string }>(
  `select id from principals
   where tenant_id = $1 and kind in ('user', 'server_user', 'gateway', 'external') and name = $2 limit 1`,
)
const principalsByKind = statement<PrincipalRow>(
  `select ${principalColumns} from principals where tenant_id = $1 and kind = $2 order by name limit $3 offset $4`,
)
const countByKind = statement<Count>('select count(*) as total from principals where tenant_id = $1 and kind = $2')
const changedPrincipal = statement<PrincipalRow>(
  `update principals
   set name = coalesce($3, name), display_name = coalesce($4, display_name), disabled = coalesce($5, disabled),
       version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2 returning ${principalColumns}`,
)
const lessPrincipal = statement('delete from principals where tenant_id = $1 and id = $2')

export async function insertPrincipal(
  tx: Transaction,
  principal: { id?: string; kind: StoredPrincipalKind; name: string; displayName?: string },
): Promise<PrincipalRow> {
  const { id = v7(), kind, name, displayName = '' } = principal
  const row = await tx.row(newPrincipal, id, kind, name, displayName)
  if (row === undefined) throw nameTaken(kind, name)
  return row
}

export async function findPrincipal(handle: Handle, id: string): Promise<PrincipalRow | undefined> {
  return handle.row(principalById, id)
}

export async function findPrincipalByName(
  handle: Handle,
  { kind, name }: { kind: StoredPrincipalKind; name: string },
): Promise<PrincipalRow | undefined> {
  return handle.row(principalByName, kind, name)
}

const namesById = statement<{ id: string; name: string }>(
  `select p.id, p.name from principals p where p.tenant_id = $1 and p.id = any($2::uuid[])
   union all
   select g.id, g.name from access_groups g where g.tenant_id = $1 and g.id = any($2::uuid[])`,
)

/** Returns the names of the principals and access groups among the ids, by id. */
export async function findNames(handle: Handle, ids: readonly string[]): Promise<Map<string, string>> {
  const rows = ids.length === 0 ? [] : await handle.rows(namesById, ids)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

const kindsById = statement<{ id: string; kind: StoredPrincipalKind }>(
  `select p.id, p.kind from principals p where p.tenant_id = $1 and p.id = any($2::uuid[])`,
)

/** Returns the kinds of the principals among the ids, by id. */
export async function findKinds(handle: Handle, ids: readonly string[]): Promise<Map<string, StoredPrincipalKind>> {
  const rows = await handle.rows(kindsById, ids)
  return new Map(rows.map(({ id, kind }) => [id, kind]))
}

/** Returns whether a principal of any kind has the name. */
export async function isPrincipalName(handle: Handle, name: string): Promise<boolean> {
  return (await handle.row(principalOfAnyKind, name)) !== undefined
}

export async function listPrincipals(
  handle: Handle,
  { kind, name, limit, offset }: Paging & { kind: StoredPrincipalKind; name?: string | undefined },
): Promise<Listed<PrincipalRow>> {
  if (name !== undefined) return pageOf(await handle.rows(principalByName, kind, name), { limit, offset })
  const rows = await handle.rows(principalsByKind, kind, limit, offset)
  return { rows, total: totalOf(await handle.row(countByKind, kind)) }
}

/** Updates a principal. Returns undefined if the principal does not exist. */
export async function updatePrincipal(
  tx: Transaction,
  id: string,
  change: { name?: string | undefined; displayName?: string | undefined; disabled?: boolean | undefined },
): Promise<PrincipalRow | undefined> {
  try {
    return await tx.row(changedPrincipal, id, change.name ?? null, change.displayName ?? null, change.disabled ?? null)
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error
    throw new Problem('already_exists', `The name ${change.name} is already in use`, { cause: error })
  }
}

/**
 * Deletes a principal with its grants. If the principal has keys in the tenant directory, such as a client id, the
 * caller must first remove them with `removeDirectoryEntries`.
 */
export async function deletePrincipal(tx: Transaction, id: string): Promise<boolean> {
  return (await tx.run(lessPrincipal, id)) > 0
}

const kindNames: Record<StoredPrincipalKind, string> = {
  user: 'user',
  server_user: 'service account',
  gateway: 'gateway',
  external: 'user of an identity provider',
}

function nameTaken(kind: StoredPrincipalKind, name: string): Problem {
  return new Problem('already_exists', `A ${kindNames[kind]} named ${name} already exists`)
}

type AccessRow = {
  version: number
  id: string
  kind: StoredPrincipalKind
  name: string
  displayName: string
  disabled: boolean
  grantId: string | null
  role: string | null
  accessGroupId: string | null
  permissions: string[] | null
  revoked: string[]
  stepUp: string[] | null
  stepUpMinutes: number | null
}

/** Reads the roles of a principal, the step-up rules and the version of the tenant's access, in one snapshot. */
const accessById = statement<AccessRow>(
  `select (select v.version from access_versions v where v.tenant_id = $1) as version,
          p.id, p.kind, p.name, p.display_name as "displayName", p.disabled,
          g.id as "grantId", g.role, g.access_group_id as "accessGroupId", r.permissions,
          array(select t.token_id::text from revoked_tokens t where t.tenant_id = $1 and t.principal_id = $2) as revoked,
          s.step_up as "stepUp", s.step_up_minutes as "stepUpMinutes"
   from principals p
   left join sign_in_policies s on s.tenant_id = $1
   left join grants g on g.tenant_id = $1 and g.principal_id = p.id
   left join roles r on r.tenant_id = $1 and r.name = g.role
   where p.tenant_id = $1 and p.id = $2
   order by g.id`,
)

export type PrincipalAccess = {
  version: number
  principal: Pick<PrincipalRow, 'id' | 'kind' | 'name' | 'displayName' | 'disabled'>
  held: HeldRole[]
  /** The ids of revoked tokens, token families and sessions. */
  revoked: ReadonlySet<string>
  /** The part of the sign-in policy that the HTTP front applies to each request. */
  policy: Pick<SignInPolicy, 'stepUp' | 'stepUpMinutes'>
}

export async function findAccess(handle: Handle, principalId: string): Promise<PrincipalAccess | undefined> {
  const rows = await handle.rows(accessById, principalId)
  const first = rows[0]
  if (first === undefined) return undefined
  const { version, id, kind, name, displayName, disabled } = first
  const held = rows.flatMap(({ grantId, role, accessGroupId, permissions }) =>
    grantId === null || role === null
      ? []
      : [{ grantId, role, accessGroupId, permissions: permissionsOf(role, permissions ?? undefined) }],
  )
  const revoked = new Set(first.revoked)
  const policy = {
    stepUp: (first.stepUp ?? defaultSignInPolicy.stepUp) as StepUpAction[],
    stepUpMinutes: first.stepUpMinutes ?? defaultSignInPolicy.stepUpMinutes,
  }
  return { version, principal: { id, kind, name, displayName, disabled }, held, revoked, policy }
}

const roleColumns = `name, title, permissions, ${dates}`

const newRole = statement<RoleRow>(
  `insert into roles (tenant_id, name, title, permissions) values ($1, $2, $3, $4)
   on conflict do nothing returning ${roleColumns}`,
)
const roleByName = statement<RoleRow>(`select ${roleColumns} from roles where tenant_id = $1 and name = $2`)
const rolesPage = statement<RoleRow>(
  `select ${roleColumns} from roles where tenant_id = $1 order by name limit $2 offset $3`,
)
const countRoles = statement<Count>('select count(*) as total from roles where tenant_id = $1')
const rolesWithPermission = statement<{ name: string }>(
  'select name from roles where tenant_id = $1 and $2 = any(permissions) order by name',
)
const changedRole = statement<RoleRow>(
  `update roles set title = coalesce($3, title), permissions = coalesce($4, permissions),
                    version = version + 1, modified_at = now()
   where tenant_id = $1 and name = $2 returning ${roleColumns}`,
)
const lessRole = statement('delete from roles where tenant_id = $1 and name = $2')

/** Inserts a role. Returns undefined if the name is in use. */
export async function insertRole(
  tx: Transaction,
  role: { name: string; title: string; permissions: readonly string[] },
): Promise<RoleRow | undefined> {
  return tx.row(newRole, role.name, role.title, role.permissions)
}

/** Finds a role that the tenant defined. Built-in roles are not in the database. */
export async function findRole(handle: Handle, name: string): Promise<RoleRow | undefined> {
  return handle.row(roleByName, name)
}

export async function listRoles(handle: Handle, { limit, offset }: Paging): Promise<Listed<RoleRow>> {
  const rows = await handle.rows(rolesPage, limit, offset)
  return { rows, total: totalOf(await handle.row(countRoles)) }
}

export async function listRolesWith(handle: Handle, permission: string): Promise<string[]> {
  return (await handle.rows(rolesWithPermission, permission)).map(({ name }) => name)
}

export async function updateRole(
  tx: Transaction,
  name: string,
  change: { title?: string | undefined; permissions?: readonly string[] | undefined },
): Promise<RoleRow | undefined> {
  return tx.row(changedRole, name, change.title ?? null, change.permissions ?? null)
}

export async function deleteRole(tx: Transaction, name: string): Promise<boolean> {
  return (await tx.run(lessRole, name)) > 0
}

const groupColumns = `id, name, ${dates}`

const newGroup = statement<AccessGroupRow>(
  `insert into access_groups (tenant_id, id, name) values ($1, $2, $3)
   on conflict do nothing returning ${groupColumns}`,
)
const groupById = statement<AccessGroupRow>(
  `select ${groupColumns} from access_groups where tenant_id = $1 and id = $2`,
)
const lockedGroup = statement<AccessGroupRow>(
  `select ${groupColumns} from access_groups where tenant_id = $1 and id = $2 for update`,
)
const keptGroups = statement<{ id: string }>(
  'select id from access_groups where tenant_id = $1 and id = any($2::uuid[]) order by id for key share',
)
const groupByName = statement<AccessGroupRow>(
  `select ${groupColumns} from access_groups where tenant_id = $1 and name = $2`,
)
const groupsPage = statement<AccessGroupRow>(
  `select ${groupColumns} from access_groups where tenant_id = $1 order by name limit $2 offset $3`,
)
const countGroups = statement<Count>('select count(*) as total from access_groups where tenant_id = $1')
const groupsAmong = statement<AccessGroupRow>(
  `select ${groupColumns} from access_groups where tenant_id = $1 and id = any($2::uuid[]) order by name`,
)
const renamedGroup = statement<AccessGroupRow>(
  `update access_groups set name = $3, version = version + 1, modified_at = now()
   where tenant_id = $1 and id = $2 returning ${groupColumns}`,
)
const lessGroup = statement('delete from access_groups where tenant_id = $1 and id = $2')

/** Inserts an access group. Returns undefined if the name is in use. */
export async function insertAccessGroup(tx: Transaction, name: string): Promise<AccessGroupRow | undefined> {
  return tx.row(newGroup, v7(), name)
}

export async function findAccessGroup(handle: Handle, id: string): Promise<AccessGroupRow | undefined> {
  return handle.row(groupById, id)
}

export async function lockAccessGroup(tx: Transaction, id: string): Promise<AccessGroupRow | undefined> {
  return tx.row(lockedGroup, id)
}

/**
 * Locks those of the given groups that exist, so that they are not deleted before the end of the transaction. Returns
 * their ids.
 */
export async function lockAccessGroups(tx: Transaction, ids: readonly string[]): Promise<Set<string>> {
  return new Set(ids.length === 0 ? [] : (await tx.rows(keptGroups, ids)).map(({ id }) => id))
}

export async function findAccessGroupByName(handle: Handle, name: string): Promise<AccessGroupRow | undefined> {
  return handle.row(groupByName, storableText(name))
}

export async function listAccessGroups(handle: Handle, { limit, offset }: Paging): Promise<Listed<AccessGroupRow>> {
  const rows = await handle.rows(groupsPage, limit, offset)
  return { rows, total: totalOf(await handle.row(countGroups)) }
}

/** Returns those of the given groups that exist, ordered by name. */
export async function listAccessGroupsAmong(handle: Handle, ids: readonly string[]): Promise<AccessGroupRow[]> {
  return handle.rows(groupsAmong, ids)
}

export async function renameAccessGroup(
  tx: Transaction,
  id: string,
  name: string,
): Promise<AccessGroupRow | undefined> {
  try {
    return await tx.row(renamedGroup, id, name)
  } catch (error) {
    if (violatedConstraint(error) === undefined) throw error
    throw new Problem('already_exists', `An access group named ${name} already exists`, { cause: error })
  }
}

/**
 * Deletes an empty access group. The content of a group references it by a foreign key named `<what>_access_group`, so
 * deleting a group with content fails.
 */
export async function deleteAccessGroup(tx: Transaction, { id, name }: { id: string; name: string }): Promise<boolean> {
  try {
    return (await tx.run(lessGroup, id)) > 0
  } catch (error) {
    const constraint = violatedConstraint(error)
    if (constraint === undefined) throw error
    const what = constraint.replace(/_access_group.*$/, '').replaceAll('_', ' ')
    throw new Problem(
      'access_group_not_empty',
      `The access group ${name} still contains ${what}. Move or delete them first`,
      { cause: error },
    )
  }
}

function totalOf(row: Count | undefined): number {
  return row?.total ?? 0
}

export function pageOf<Row>(rows: Row[], { limit, offset }: Paging): Listed<Row> {
  return { rows: rows.slice(offset, offset + limit), total: rows.length }
}
