import { type Static, Type } from 'typebox'
import { contract, empty } from './contract.ts'
import { closed, data, describedPattern, Name, page, pageQuery, Timestamp, Uuid } from './envelope.ts'
import { type Permission, permissionNames } from './permission.ts'

export const PermissionName = Type.Unsafe<Permission>(Type.String({ enum: permissionNames }))

/**
 * The name of a role. Access tokens contain the names of roles, so the character set is restricted.
 */
export const RoleName = Type.String({
  pattern: describedPattern(
    '^[a-z][a-z0-9_-]{0,62}$',
    'must start with a lower-case letter, and consist of up to 63 lower-case letters, digits, dashes and underscores',
  ),
  examples: ['operator'],
})

export const Role = closed({
  name: RoleName,
  title: Type.String({ maxLength: 256 }),
  permissions: Type.Array(PermissionName, { uniqueItems: true }),
  builtIn: Type.Boolean(),
  createdTimestamp: Type.Optional(Timestamp),
  lastModifiedTimestamp: Type.Optional(Timestamp),
})
export type Role = Static<typeof Role>

export const AccessGroup = closed({
  id: Uuid,
  name: Name,
  createdTimestamp: Timestamp,
  lastModifiedTimestamp: Timestamp,
})
export type AccessGroup = Static<typeof AccessGroup>

export const Grant = closed({
  id: Uuid,
  principal: Uuid,
  principalName: Type.String(),
  role: RoleName,
  accessGroup: Type.Union([Uuid, Type.Null()], { description: 'null for the whole tenant' }),
  provider: Type.Union([Name, Type.Null()], {
    description: 'The title of the identity provider whose claims created the grant. null for a manual grant',
  }),
  createdTimestamp: Timestamp,
})
export type Grant = Static<typeof Grant>

/**
 * `Reason` is a grant that explains why a principal has a permission: the role of the grant
 * contains the permission.
 */
export const Reason = closed({
  grant: Uuid,
  role: RoleName,
  accessGroup: Type.Union([Uuid, Type.Null()]),
})
export type Reason = Static<typeof Reason>

const Check = closed({
  allowed: Type.Boolean(),
  principal: Uuid,
  permission: PermissionName,
  accessGroup: Type.Union([Uuid, Type.Null()]),
  because: Type.Array(Reason),
  explanation: Type.String({ description: 'The result as a sentence' }),
})

const Rights = closed({
  principal: Uuid,
  name: Type.String(),
  tenant: Type.String(),
  roles: Type.Array(RoleName),
  permissions: Type.Array(
    closed({
      permission: PermissionName,
      accessGroups: Type.Union([Type.Literal('all'), Type.Array(Uuid)]),
    }),
  ),
})

const byId = closed({ id: Uuid })
const byName = closed({ name: RoleName })

export const authorization = contract({
  name: 'authorization',
  title: 'Authorization',
  description: 'Roles, access groups, grants, and explanations of access.',
  version: '1.0.0',
  prefix: '/authorization/v1',
  operations: {
    listPermissions: {
      method: 'GET',
      path: '/permissions',
      summary: 'List the permissions that operations require',
      access: 'signed-in',
      answers: {
        200: data(
          Type.Array(
            closed({
              name: PermissionName,
              title: Type.String(),
              scope: Type.Union([Type.Literal('global'), Type.Literal('access-group')]),
            }),
          ),
        ),
      },
    },
    listHolders: {
      method: 'GET',
      path: '/permissions/{permission}/holders',
      summary: 'List the principals with a permission, and the grants that give it',
      access: 'glb_access_manage',
      params: closed({ permission: PermissionName }),
      query: closed({ accessGroup: Type.Optional(Uuid), ...pageQuery }),
      answers: {
        200: page(closed({ principal: Uuid, principalName: Type.String(), because: Type.Array(Reason) })),
      },
    },
    listRoles: {
      method: 'GET',
      path: '/roles',
      summary: 'List roles, built-in roles first',
      access: 'glb_access_manage',
      query: closed(pageQuery),
      answers: { 200: page(Role) },
    },
    createRole: {
      method: 'POST',
      path: '/roles',
      summary: 'Create a custom role',
      access: 'glb_access_manage',
      stepUp: 'access',
      body: data(
        closed({
          name: RoleName,
          title: Type.Optional(Type.String({ maxLength: 256 })),
          permissions: Type.Array(PermissionName, { uniqueItems: true, maxItems: permissionNames.length }),
        }),
      ),
      answers: { 201: data(Role) },
      errors: ['already_exists', 'would_escalate'],
    },
    readRole: {
      method: 'GET',
      path: '/roles/{name}',
      summary: 'Read a role',
      access: 'glb_access_manage',
      params: byName,
      tagged: true,
      answers: { 200: data(Role) },
      errors: ['not_found'],
    },
    updateRole: {
      method: 'PATCH',
      path: '/roles/{name}',
      summary: 'Change a custom role; takes effect within one second',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byName,
      headers: ['if-match'],
      body: data(
        Type.Object(
          {
            title: Type.Optional(Type.String({ maxLength: 256 })),
            permissions: Type.Optional(
              Type.Array(PermissionName, { uniqueItems: true, maxItems: permissionNames.length }),
            ),
          },
          { additionalProperties: false, minProperties: 1 },
        ),
      ),
      answers: { 200: data(Role) },
      errors: ['not_found', 'built_in', 'would_escalate', 'precondition_failed', 'conflict'],
    },
    deleteRole: {
      method: 'DELETE',
      path: '/roles/{name}',
      summary: 'Delete a role without grants',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byName,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'built_in', 'role_in_use', 'precondition_failed'],
    },
    listAccessGroups: {
      method: 'GET',
      path: '/access-groups',
      summary: 'List access groups by name',
      access: 'signed-in',
      query: closed({ name: Type.Optional(Name), ...pageQuery }),
      description:
        'A caller sees the groups in which it has a permission. A caller with `glb_access_manage` sees all groups.',
      answers: { 200: page(AccessGroup) },
    },
    createAccessGroup: {
      method: 'POST',
      path: '/access-groups',
      summary: 'Create an access group',
      access: 'glb_access_manage',
      stepUp: 'access',
      body: data(closed({ name: Name })),
      answers: { 201: data(AccessGroup) },
      errors: ['already_exists'],
    },
    readAccessGroup: {
      method: 'GET',
      path: '/access-groups/{id}',
      summary: 'Read an access group',
      access: 'signed-in',
      params: byId,
      tagged: true,
      answers: { 200: data(AccessGroup) },
      errors: ['not_found'],
    },
    updateAccessGroup: {
      method: 'PATCH',
      path: '/access-groups/{id}',
      summary: 'Rename an access group',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      body: data(closed({ name: Name })),
      answers: { 200: data(AccessGroup) },
      errors: ['not_found', 'already_exists', 'built_in', 'precondition_failed'],
    },
    deleteAccessGroup: {
      method: 'DELETE',
      path: '/access-groups/{id}',
      summary: 'Delete an access group without assets and grants',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      headers: ['if-match'],
      answers: { 204: empty },
      errors: ['not_found', 'built_in', 'access_group_not_empty', 'precondition_failed'],
    },
    listGrants: {
      method: 'GET',
      path: '/grants',
      summary: 'List grants, newest first',
      access: 'glb_access_manage',
      query: closed({
        principal: Type.Optional(Uuid),
        role: Type.Optional(RoleName),
        accessGroup: Type.Optional(Uuid),
        ...pageQuery,
      }),
      answers: { 200: page(Grant) },
    },
    createGrant: {
      method: 'POST',
      path: '/grants',
      summary: 'Grant a role to a principal, in the tenant or in one access group',
      access: 'glb_access_manage',
      stepUp: 'access',
      body: data(closed({ principal: Uuid, role: RoleName, accessGroup: Type.Optional(Uuid) })),
      description: 'If the grant exists, the response is 200 with the existing grant.',
      answers: { 200: data(Grant), 201: data(Grant) },
      errors: ['principal_not_found', 'role_not_found', 'access_group_not_found', 'would_escalate'],
    },
    readGrant: {
      method: 'GET',
      path: '/grants/{id}',
      summary: 'Read a grant',
      access: 'glb_access_manage',
      params: byId,
      tagged: true,
      answers: { 200: data(Grant) },
      errors: ['not_found'],
    },
    deleteGrant: {
      method: 'DELETE',
      path: '/grants/{id}',
      summary: 'Revoke a grant; takes effect within one second in every process',
      access: 'glb_access_manage',
      stepUp: 'access',
      params: byId,
      answers: { 204: empty },
      errors: ['not_found', 'last_administrator', 'would_escalate', 'conflict'],
    },
    check: {
      method: 'GET',
      path: '/check',
      summary: 'Check whether a principal has a permission, and explain why',
      description:
        'Without `principal`, the caller is checked. Checking other principals requires `glb_access_manage`. The check uses the current grants, not the roles of the token.',
      access: 'signed-in',
      query: closed({
        permission: PermissionName,
        principal: Type.Optional(Uuid),
        accessGroup: Type.Optional(Uuid),
      }),
      answers: { 200: data(Check) },
      errors: ['principal_not_found', 'access_group_not_found'],
    },
    readOwnRights: {
      method: 'GET',
      path: '/rights',
      summary: 'Read the permissions of the token',
      access: 'signed-in',
      answers: { 200: data(Rights) },
    },
  },
})
