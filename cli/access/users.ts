import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { userId } from '../input/lookup.ts'
import { usageError } from '../output/error-report.ts'
import { type Paging, paged, pagesOf } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import { addPrincipalCommands } from './principal.ts'

export function addUsers(users: Command, terminal: Terminal): void {
  online(
    paged(users.command('list').description('list users by name')),
    terminal,
    async ({ api, output }, options: Paging) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(identity).listUsers({ query: { limit, offset } }))
      await output.list(await pages, {
        columns: {
          id: 'id',
          name: 'name',
          'display name': 'displayName',
          disabled: 'disabled',
          'last sign-in': 'lastSignInTimestamp',
        },
        nothing: 'No entries.',
      })
    },
  )

  online(
    users.command('show').description('show a user').argument('<user>', 'id or name'),
    terminal,
    async (session, given: string) => {
      const id = await userId(session, given)
      await session.output.show(await session.api(identity).readUser({ params: { id } }))
    },
  )

  online(
    users
      .command('create')
      .description('create a user; prompts for the password, or reads it from standard input')
      .argument('<name>', 'small letters, digits, . - _')
      .option('--display-name <name>', 'display text'),
    terminal,
    async ({ api, output }, name: string, { displayName }: { displayName?: string }) => {
      const password = await passwordFrom(terminal)
      const data = { name, password, ...(displayName === undefined ? {} : { displayName }) }
      const answer = await api(identity).createUser({ body: { data } })
      await output.done(
        `${name} created (${answer.data.id}); give them a role: millwright access grant ${name} viewer`,
        answer,
      )
    },
  )

  online(
    users.command('set-password').description('set the password of a user').argument('<user>'),
    terminal,
    async (session, given: string) => {
      const id = await userId(session, given)
      const body = { data: { password: await passwordFrom(terminal) } }
      await session.output.done(
        `${given} has another password`,
        await session.api(identity).updateUser({ params: { id }, body }),
      )
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

/** Typed twice where it is not seen, or read from a pipe. */
async function passwordFrom(terminal: Terminal): Promise<string> {
  if (!terminal.canAsk) {
    const given = (await terminal.input()).replace(/\r?\n$/, '')
    if (given === '') throw usageError('The password is empty.', 'give it on standard input')
    return given
  }
  const password = await terminal.askSecret('Password: ')
  if ((await terminal.askSecret('Once more: ')) !== password) throw usageError('They are not the same.')
  return password
}
