import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { userId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { addPrincipalCommands } from './principal.ts'

export function addUsers(users: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(users.command('list').description('list users, by name')),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(identity).listUsers({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          'display name': 'displayName',
          provider: 'provider',
          'second factor': 'hasSecondFactor',
          disabled: 'disabled',
          'last sign-in': 'lastSignInTimestamp',
        },
        nothing: 'No users.',
      })
    },
  )

  platformCommand(
    users.command('show').description('show a user').argument('<user>', 'id or name'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await userId(session, nameOrId)
      await session.output.show(await session.api(identity).readUser({ params: { id } }))
    },
  )

  platformCommand(
    users
      .command('create')
      .description('create a user; the command prompts for the password, or reads it from standard input')
      .argument('<name>', 'lower-case letters, digits, . - _')
      .option('--display-name <name>', 'display name'),
    terminal,
    async ({ api, output }, name: string, { displayName }: { displayName?: string }) => {
      const password = await passwordFrom(terminal)
      const data = { name, password, ...(displayName === undefined ? {} : { displayName }) }
      const answer = await api(identity).createUser({ body: { data } })
      await output.done(
        `${name} created (${answer.data.id}). Assign a role: millwright access grant ${name} viewer`,
        answer,
      )
    },
  )

  platformCommand(
    users.command('set-password').description('set a new password for a user').argument('<user>'),
    terminal,
    async (session, nameOrId: string) => {
      const id = await userId(session, nameOrId)
      const body = { data: { password: await passwordFrom(terminal) } }
      await session.output.done(
        `Password of ${nameOrId} changed`,
        await session.api(identity).updateUser({ params: { id }, body }),
      )
    },
  )

  platformCommand(
    users
      .command('reset-second-factor')
      .description('remove all second factors of a user who lost them, and end the sessions of the user')
      .argument('<user>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await userId(session, nameOrId)
      await confirm(
        session,
        `${nameOrId} can sign in with only a password, until a second factor is added. Continue?`,
        options,
      )
      await session.api(identity).resetSecondFactor({ params: { id } })
      await session.output.done(`All second factors of ${nameOrId} are removed.`, { data: { id } })
    },
  )

  addPrincipalCommands(users, terminal, {
    argument: '<user>',
    kind: 'a user',
    idOf: userId,
    update: ({ api }, id, data) => api(identity).updateUser({ params: { id }, body: { data } }),
    remove: ({ api }, id) => api(identity).deleteUser({ params: { id } }),
  })
}

/** Prompts for the password twice. Without a terminal, the password is read from standard input. */
async function passwordFrom(terminal: Terminal): Promise<string> {
  if (!terminal.isInteractive) {
    const input = (await terminal.input()).replace(/\r?\n$/, '')
    if (input === '') throw usageError('The password is empty.', 'pass it on standard input')
    return input
  }
  const password = await terminal.promptSecret('Password: ')
  if ((await terminal.promptSecret('Repeat password: ')) !== password) throw usageError('The passwords differ.')
  return password
}
