import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { serverUserId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addPrincipalCommands } from './principal.ts'

export function addServerUsers(serverUsers: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(serverUsers.command('list').description('list service accounts, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(identity).listServerUsers({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          'client id': 'clientId',
          disabled: 'disabled',
          'secret since': 'secretCreatedTimestamp',
        },
        nothing: 'No service accounts.',
      })
    },
  )

  platformCommand(
    serverUsers
      .command('create')
      .description('create a service account; its secret is printed once and stored nowhere')
      .argument('<name>'),
    terminal,
    async (session, name: string) =>
      showSecret(session, await session.api(identity).createServerUser({ body: { data: { name } } })),
  )

  platformCommand(
    serverUsers
      .command('rotate')
      .description('create a new secret; the old secret is invalid immediately')
      .argument('<server-user>')
      .option('--revoke-tokens', 'also revoke the access tokens of the old secret'),
    terminal,
    async (session, nameOrId: string, { revokeTokens = false }: { revokeTokens?: boolean }) => {
      const id = await serverUserId(session, nameOrId)
      const body = { data: { revokeTokens } }
      await showSecret(session, await session.api(identity).rotateServerUserSecret({ params: { id }, body }))
    },
  )

  addPrincipalCommands(serverUsers, terminal, {
    argument: '<server-user>',
    kind: 'a service account',
    idOf: serverUserId,
    update: ({ api }, id, data) => api(identity).updateServerUser({ params: { id }, body: { data } }),
    remove: ({ api }, id) => api(identity).deleteServerUser({ params: { id } }),
  })
}

type WithSecret = { data: { id: string; name: string; clientId: string; clientSecret: string } }

async function showSecret({ output, terminal }: Session, answer: WithSecret): Promise<void> {
  if (!output.isText) return output.show(answer)
  const { id, name, clientId, clientSecret } = answer.data
  await output.show({ data: { id, name, clientId, clientSecret } })
  terminal.note(
    `Copy the secret now: it is not shown again. Assign a role: millwright access grant ${JSON.stringify(name)} viewer`,
  )
}
