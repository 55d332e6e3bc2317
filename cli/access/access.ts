import { authorization } from '@millwright/api/authorization.ts'
import { type Permission, permissionNames } from '@millwright/api/permission.ts'
import type { Command } from 'commander'
import { groupId, principalId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { collect, platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { groupNames } from './group-names.ts'
import { addProviders } from './providers.ts'
import { addServerUsers } from './server-users.ts'
import { addSignInPolicy } from './sign-in-policy.ts'
import { addUserSessions } from './user-sessions.ts'
import { addUsers } from './users.ts'

export function addCommands(access: Command, terminal: Terminal): void {
  addUsers(access.command('users').description('users'), terminal)
  addServerUsers(access.command('server-users').description('service accounts'), terminal)
  addRoles(access.command('roles').description('roles: named sets of permissions'), terminal)
  addGroups(access.command('groups').description('access groups: sets of assets'), terminal)
  addGrants(access, terminal)
  addProviders(access.command('providers').description('identity providers for single sign-on'), terminal)
  addSignInPolicy(access, terminal)
  addUserSessions(access.command('sessions').description('sign-in sessions of users'), terminal)

  platformCommand(
    access.command('permissions').description('list all permissions'),
    terminal,
    async ({ api, output }) =>
      output.list(await api(authorization).listPermissions({}), {
        columns: { permission: 'name', scope: 'scope', description: 'title' },
        nothing: 'No permissions.',
      }),
  )

  platformCommand(
    access
      .command('why')
      .description('check whether a user, service account or gateway has a permission, and why')
      .argument('<permission>')
      .argument('[who]', 'id or name of a user, service account or gateway (default: you)')
      .option('--group <group>', 'in this access group'),
    terminal,
    why,
  ).addHelpText('after', '\nExample:\n  millwright access why inventory_write_asset_data jane.doe --group line-1')

  platformCommand(
    access
      .command('who')
      .description('list the users, service accounts and gateways with a permission')
      .argument('<permission>')
      .option('--group <group>', 'in this access group'),
    terminal,
    who,
  )
}

function permissionOf(text: string): Permission {
  const permission = permissionNames.find((name) => name === text)
  if (permission === undefined) throw usageError(`Permission "${text}" not found.`, 'millwright access permissions')
  return permission
}

async function why(
  session: Session,
  permission: string,
  who: string | undefined,
  { group }: { group?: string },
): Promise<void> {
  const answer = await session.api(authorization).check({
    query: {
      permission: permissionOf(permission),
      ...(who === undefined ? {} : { principal: await principalId(session, who) }),
      ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }),
    },
  })
  const { allowed, explanation } = answer.data
  await session.output.done(`${allowed ? 'Yes' : 'No'}: ${explanation}`, answer)
}

async function who(session: Session, permission: string, { group }: { group?: string }): Promise<void> {
  const answer = await session.api(authorization).listHolders({
    params: { permission: permissionOf(permission) },
    query: { limit: 100, ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }) },
  })
  await session.output.list(answer, {
    columns: {
      principal: 'principal',
      name: 'principalName',
      roles: ({ because }) => [...new Set((because as { role: string }[]).map(({ role }) => role))],
    },
    nothing: 'No user, service account or gateway has this permission.',
  })
}

function addRoles(roles: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(roles.command('list').description('list roles, built-in roles first')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(authorization).listRoles({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          name: 'name',
          title: 'title',
          'built in': 'builtIn',
          permissions: ({ permissions }) => (permissions as string[]).length,
        },
        nothing: 'No roles.',
      })
    },
  )
  platformCommand(
    roles.command('show').description('show a role and its permissions').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => output.show(await api(authorization).readRole({ params: { name } })),
  )
  platformCommand(
    roles
      .command('create')
      .description('create a custom role')
      .argument('<name>')
      .requiredOption('--permission <name>', 'permission of the role; repeatable', collect)
      .option('--title <title>', 'display name'),
    terminal,
    async ({ api, output }, name: string, options: { permission: string[]; title?: string }) => {
      const { title, permission: names } = options
      const data = { name, permissions: names.map(permissionOf), ...(title === undefined ? {} : { title }) }
      const answer = await api(authorization).createRole({ body: { data } })
      await output.done(`${name} created`, answer)
    },
  )
  platformCommand(
    roles.command('delete').description('delete a role that is not assigned').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => {
      await api(authorization).deleteRole({ params: { name } })
      await output.done(`${name} deleted`, { data: { name } })
    },
  )
}

function addGroups(groups: Command, terminal: Terminal): void {
  const columns: Columns = { id: 'id', name: 'name', created: 'createdTimestamp' }
  platformCommand(
    withPagingOptions(groups.command('list').description('list access groups, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(authorization).listAccessGroups({ query: { limit, offset } }),
      )
      await output.list(await pages, { columns, nothing: 'No access groups that you can read.' })
    },
  )
  platformCommand(
    groups.command('create').description('create an access group').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => {
      const answer = await api(authorization).createAccessGroup({ body: { data: { name } } })
      await output.done(answer.data.id, answer)
    },
  )
  platformCommand(
    groups.command('rename').description('rename an access group').argument('<group>').argument('<name>'),
    terminal,
    async (session, nameOrId: string, name: string) => {
      const id = await groupId(session, nameOrId)
      const answer = await session.api(authorization).updateAccessGroup({ params: { id }, body: { data: { name } } })
      await session.output.done(`${id} renamed to ${name}`, answer)
    },
  )
  platformCommand(
    groups.command('delete').description('delete an empty access group without grants').argument('<group>'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await groupId(session, nameOrId)
      await session.api(authorization).deleteAccessGroup({ params: { id } })
      await session.output.done(`${id} deleted`, { data: { id } })
    },
  )
}

type GrantOptions = PagingOptions & { principal?: string; role?: string; group?: string }

function addGrants(access: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(access.command('grants').description('list role assignments, newest first'))
      .option('--principal <who>', 'of this user, service account or gateway')
      .option('--role <role>', 'of this role')
      .option('--group <group>', 'in this access group'),
    terminal,
    async (session, { principal, role, group, ...options }: GrantOptions) => {
      const filters = {
        ...(principal === undefined ? {} : { principal: await principalId(session, principal) }),
        ...(role === undefined ? {} : { role }),
        ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }),
      }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(authorization).listGrants({ query: { ...filters, limit, offset } }),
      )
      const names = session.output.isText ? await groupNames(session) : new Map<string, string>()
      await session.output.list(await pages, {
        columns: {
          id: 'id',
          principal: 'principalName',
          role: 'role',
          'access group': ({ accessGroup }) =>
            accessGroup === null ? 'all' : (names.get(String(accessGroup)) ?? accessGroup),
          created: 'createdTimestamp',
          provider: 'provider',
        },
        nothing: 'No role assignments.',
      })
    },
  )
  platformCommand(
    access
      .command('grant')
      .description('assign a role, in the whole tenant or in one access group')
      .argument('<who>', 'id or name of a user, service account or gateway')
      .argument('<role>')
      .option('--group <group>', 'in this access group only'),
    terminal,
    async (session, who: string, role: string, { group }: { group?: string }) => {
      const principal = await principalId(session, who)
      const accessGroup = group === undefined ? {} : { accessGroup: await groupId(session, group) }
      const answer = await session
        .api(authorization)
        .createGrant({ body: { data: { principal, role, ...accessGroup } } })
      await session.output.done(
        `${who} has role ${role}${group === undefined ? '' : ` in ${group}`} (grant ${answer.data.id})`,
        answer,
      )
    },
  )
  platformCommand(
    access.command('revoke').description('revoke a role assignment').argument('<grant>', 'id of the grant'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(authorization).deleteGrant({ params: { id } })
      await output.done(`${id} revoked`, { data: { id } })
    },
  )
}
