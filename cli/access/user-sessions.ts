import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { userId } from '../input/lookup.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import { sessionColumns } from '../session/session-table.ts'

/** Adds the commands for the sign-in sessions of other users. */
export function addUserSessions(sessions: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      sessions.command('list').description('list the sessions of a user, the last used first'),
    ).argument('<user>', 'id or name'),
    terminal,
    async (session, nameOrId: string, options: PagingOptions) => {
      const id = await userId(session, nameOrId)
      const pages = pagesOf(options, ({ limit, offset }) =>
        session.api(identity).listUserSessions({ params: { id }, query: { limit, offset } }),
      )
      await session.output.list(await pages, { columns: sessionColumns, nothing: `${nameOrId} has no sessions.` })
    },
  )

  platformCommand(
    sessions
      .command('end')
      .description('end all sessions of a user')
      .argument('<user>', 'id or name')
      .option('--yes', 'do not ask'),
    terminal,
    async (session, nameOrId: string, options: { yes?: boolean }) => {
      const id = await userId(session, nameOrId)
      await confirm(session, `All sessions of ${nameOrId} end. Continue?`, options)
      await session.api(identity).deleteUserSessions({ params: { id } })
      await session.output.done(`All sessions of ${nameOrId} ended.`, { data: { id } })
    },
  )
}
