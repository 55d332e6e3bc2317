import { authorization } from '@millwright/api/authorization.ts'
import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from './platform-command.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  platformCommand(command, terminal, async ({ api, bearer, output }) => {
    const [user, { data: rights }] = await Promise.all([
      api(identity).userInfo({}),
      api(authorization).readOwnRights({}),
    ])
    if (!output.isText) return output.show({ data: { url: bearer.url, ...user, permissions: rights.permissions } })
    await output.show({
      data: {
        platform: bearer.url,
        'signed in with': bearer.from,
        name: user.preferred_username,
        tenant: user.tenant_name,
        kind: user.kind === 'server_user' ? 'service account' : user.kind,
        roles: user.roles,
      },
    })
    await terminal.print('')
    await output.list(
      { data: rights.permissions },
      {
        columns: {
          permission: 'permission',
          'access groups': ({ accessGroups }) => (accessGroups === 'all' ? 'all' : accessGroups),
        },
        nothing: 'You have no permissions. Ask an administrator to assign a role.',
      },
    )
  })
}
