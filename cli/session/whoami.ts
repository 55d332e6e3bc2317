import { authorization } from '@millwright/api/authorization.ts'
import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { online } from './platform-command.ts'

export function addCommands(command: Command, terminal: Terminal): void {
  online(command, terminal, async ({ api, bearer, output }) => {
    const [who, { data: rights }] = await Promise.all([
      api(identity).userInfo({}),
      api(authorization).readOwnRights({}),
    ])
    if (!output.isText) return output.show({ data: { url: bearer.url, ...who, permissions: rights.permissions } })
    await output.show({
      data: {
        platform: bearer.url,
        by: bearer.from,
        name: who.preferred_username,
        tenant: who.tenant_name,
        kind: who.kind,
        roles: who.roles,
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
        nothing: 'You may do nothing: an administrator gives you a role.',
      },
    )
  })
}
