import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { serverUserId } from '../input/lookup.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'
import { addPrincipalCommands } from './principal.ts'

export function addServerUsers(serverUsers: Command, terminal: Terminal): void {
  online(
    paged(serverUsers.command('list').description('list service accounts by name')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(identity).listServerUsers({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          'client id': 'clientId',
          disabled: 'disabled',
          'secret since': 'secretCreatedTimestamp',
        },
        nothing: 'No entries.',
      })
    },
  )

  online(
    serverUsers
      .command('create')
      .description('create a service account; its secret is printed only once')
      .argument('<name>'),
    terminal,
    async (session, name: string) =>
      showSecret(session, await session.api(identity).createServerUser({ body: { data: { name } } })),
  )

  online(
    serverUsers
      .command('rotate')
      .description('create a new secret; the old secret becomes invalid immediately')
      .argument('<server-user>')
      .option('--revoke-tokens', 'also revoke the access tokens of the old secret, within one second'),
    terminal,
    async (session, given: string, { revokeTokens = false }: { revokeTokens?: boolean }) => {
      const id = await serverUserId(session, given)
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
  terminal.tell(`The secret is shown this once. Give it rights: millwright access grant ${JSON.stringify(name)} viewer`)
}
