import { type AccessGroup, authorization } from '@millwright/api/authorization.ts'
import { type Permission, permissionNames } from '@millwright/api/permission.ts'
import type { Command } from 'commander'
import { groupId, principalId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Columns } from '../output/table.ts'
import type { Terminal } from '../output/terminal.ts'
import { online, repeated } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addServerUsers } from './server-users.ts'
import { addUsers } from './users.ts'

export function addCommands(access: Command, terminal: Terminal): void {
  addUsers(access.command('users').description('users'), terminal)
  addServerUsers(access.command('server-users').description('service accounts'), terminal)
  addRoles(access.command('roles').description('roles: named sets of permissions'), terminal)
  addGroups(access.command('groups').description('access groups of assets'), terminal)
  addGrants(access, terminal)

  online(access.command('permissions').description('list all permissions'), terminal, async ({ api, output }) =>
    output.list(await api(authorization).listPermissions({}), {
      columns: { permission: 'name', scope: 'scope', 'what for': 'title' },
      nothing: 'No entries.',
    }),
  )

  online(
    access
      .command('why')
      .description('check whether an account has a permission, and why')
      .argument('<permission>')
      .argument('[who]', 'user, service account or gateway, by id or name (default: you)')
      .option('--group <group>', 'in this access group'),
    terminal,
    why,
  ).addHelpText('after', '\nExample:\n  millwright access why inventory_write_asset_data jane.doe --group line-1')

  online(
    access
      .command('who')
      .description('list the accounts with a permission, and their grants')
      .argument('<permission>')
      .option('--group <group>', 'in this access group'),
    terminal,
    who,
  )
}

function permission(given: string): Permission {
  const found = permissionNames.find((name) => name === given)
  if (found === undefined)
    throw usageError(`There is no permission ${given}.`, 'millwright access permissions shows them')
  return found
}

async function why(
  session: Session,
  given: string,
  somebody: string | undefined,
  { group }: { group?: string },
): Promise<void> {
  const answer = await session.api(authorization).check({
    query: {
      permission: permission(given),
      ...(somebody === undefined ? {} : { principal: await principalId(session, somebody) }),
      ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }),
    },
  })
  const { allowed, explanation } = answer.data
  await session.output.done(`${allowed ? 'Yes' : 'No'}: ${explanation}`, answer)
}

async function who(session: Session, given: string, { group }: { group?: string }): Promise<void> {
  const answer = await session.api(authorization).listHolders({
    params: { permission: permission(given) },
    query: { limit: 100, ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }) },
  })
  await session.output.list(answer, {
    columns: {
      principal: 'principal',
      name: 'principalName',
      roles: ({ because }) => [...new Set((because as { role: string }[]).map(({ role }) => role))],
    },
    nothing: 'Nobody holds it.',
  })
}

function addRoles(roles: Command, terminal: Terminal): void {
  online(
    paged(roles.command('list').description('list roles, built-in roles first')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(authorization).listRoles({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          name: 'name',
          title: 'title',
          'built in': 'builtIn',
          permissions: ({ permissions }) => (permissions as string[]).length,
        },
        nothing: 'No entries.',
      })
    },
  )
  online(
    roles.command('show').description('show a role and its permissions').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => output.show(await api(authorization).readRole({ params: { name } })),
  )
  online(
    roles
      .command('create')
      .description('create a custom role')
      .argument('<name>')
      .requiredOption('--permission <name>', 'a permission of the role; repeatable', repeated)
      .option('--title <title>', 'display text'),
    terminal,
    async ({ api, output }, name: string, options: { permission: string[]; title?: string }) => {
      const { title, permission: names } = options
      const data = { name, permissions: names.map(permission), ...(title === undefined ? {} : { title }) }
      const answer = await api(authorization).createRole({ body: { data } })
      await output.done(`${name} created`, answer)
    },
  )
  online(
    roles.command('delete').description('delete a role without grants').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => {
      await api(authorization).deleteRole({ params: { name } })
      await output.done(`${name} deleted`, { data: { name } })
    },
  )
}

function addGroups(groups: Command, terminal: Terminal): void {
  const columns: Columns = { id: 'id', name: 'name', created: 'createdTimestamp' }
  online(
    paged(groups.command('list').description('list access groups by name')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) =>
        api(authorization).listAccessGroups({ query: { limit, offset } }),
      )
      await output.list(await pages, { columns, nothing: 'You see none.' })
    },
  )
  online(
    groups.command('create').description('create an access group').argument('<name>'),
    terminal,
    async ({ api, output }, name: string) => {
      const answer = await api(authorization).createAccessGroup({ body: { data: { name } } })
      await output.done(answer.data.id, answer)
    },
  )
  online(
    groups.command('rename').description('rename an access group').argument('<group>').argument('<name>'),
    terminal,
    async (session, given: string, name: string) => {
      const id = await groupId(session, given)
      const answer = await session.api(authorization).updateAccessGroup({ params: { id }, body: { data: { name } } })
      await session.output.done(`${id} is ${name} now`, answer)
    },
  )
  online(
    groups.command('delete').description('delete an empty access group').argument('<group>'),
    terminal,
    async (session, given: string) => {
      const id = await groupId(session, given)
      await session.api(authorization).deleteAccessGroup({ params: { id } })
      await session.output.done(`${id} deleted`, { data: { id } })
    },
  )
}

/** Names of access groups by id, for tables. */
async function groupNames({ api }: Session): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const pages = pagesOf({ limit: 100, offset: 0, all: true }, ({ limit, offset }) =>
    api(authorization).listAccessGroups({ query: { limit, offset } }),
  )
  for await (const { data } of pages as AsyncIterable<{ data: AccessGroup[] }>)
    for (const { id, name } of data) names.set(id, name)
  return names
}

type GrantOptions = Paging & { principal?: string; role?: string; group?: string }

function addGrants(access: Command, terminal: Terminal): void {
  online(
    paged(access.command('grants').description('list grants, newest first'))
      .option('--principal <who>', 'user, service account or gateway')
      .option('--role <role>', 'of this role')
      .option('--group <group>', 'in this access group'),
    terminal,
    async (session, { principal, role, group, ...options }: GrantOptions) => {
      const wanted = {
        ...(principal === undefined ? {} : { principal: await principalId(session, principal) }),
        ...(role === undefined ? {} : { role }),
        ...(group === undefined ? {} : { accessGroup: await groupId(session, group) }),
      }
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(authorization).listGrants({ query: { ...wanted, limit, offset } }),
      )
      const names = session.output.isText ? await groupNames(session) : new Map<string, string>()
      await session.output.list(await pages, {
        columns: {
          id: 'id',
          who: 'principalName',
          role: 'role',
          'access group': ({ accessGroup }) =>
            accessGroup === null ? 'all' : (names.get(String(accessGroup)) ?? accessGroup),
          created: 'createdTimestamp',
        },
        nothing: 'No entries.',
      })
    },
  )
  online(
    access
      .command('grant')
      .description('grant a role, in the tenant or in one access group')
      .argument('<who>', 'user, service account or gateway, by id or name')
      .argument('<role>')
      .option('--group <group>', 'in this access group only'),
    terminal,
    async (session, somebody: string, role: string, { group }: { group?: string }) => {
      const principal = await principalId(session, somebody)
      const accessGroup = group === undefined ? {} : { accessGroup: await groupId(session, group) }
      const answer = await session
        .api(authorization)
        .createGrant({ body: { data: { principal, role, ...accessGroup } } })
      await session.output.done(
        `${somebody} is ${role}${group === undefined ? '' : ` in ${group}`} (grant ${answer.data.id})`,
        answer,
      )
    },
  )
  online(
    access
      .command('revoke')
      .description('revoke a grant; takes effect within one second')
      .argument('<grant>', 'its id'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(authorization).deleteGrant({ params: { id } })
      await output.done(`${id} revoked`, { data: { id } })
    },
  )
}
