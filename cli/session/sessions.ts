import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import { confirm } from '../input/confirmation.ts'
import { usageError } from '../output/error-report.ts'
import { type PagingOptions, pagesOf, withPagingOptions } from '../output/paging.ts'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from './platform-command.ts'
import type { Session } from './session.ts'
import { sessionColumns } from './session-table.ts'

type EndOptions = { others?: boolean; all?: boolean; yes?: boolean }

/** Adds the commands for the sign-in sessions of the user. */
export function addCommands(sessions: Command, terminal: Terminal): void {
  platformCommand(
    withPagingOptions(
      sessions.command('list', { isDefault: true }).description('list your sessions, the last used first'),
    ),
    terminal,
    async ({ api, output }, options: PagingOptions) => {
      const pages = pagesOf(options, ({ limit, offset }) => api(identity).listSessions({ query: { limit, offset } }))
      await output.list(await pages, { columns: sessionColumns, nothing: 'No sessions.' })
    },
  )

  platformCommand(
    sessions
      .command('confirm')
      .description('confirm that a sign-in with a new device was yours')
      .argument('<session>', 'id of the session'),
    terminal,
    async ({ api, output }, id: string) => {
      await api(identity).confirmSession({ params: { id } })
      await output.done(`${id} confirmed`, { data: { id } })
    },
  )

  platformCommand(
    sessions
      .command('end')
      .description('end one session, all other sessions, or all sessions')
      .argument('[session]', 'id of the session')
      .option('--others', 'end all sessions except this session')
      .option('--all', 'sign out everywhere, also here')
      .option('--yes', 'do not ask'),
    terminal,
    endSessions,
  )
}

async function endSessions(session: Session, id: string | undefined, options: EndOptions): Promise<void> {
  const { others = false, all = false } = options
  if ([id !== undefined, others, all].filter(Boolean).length !== 1)
    throw usageError('Pass the id of one session, --others or --all.', 'list your sessions: millwright sessions')
  const client = session.api(identity)
  if (id !== undefined) {
    await client.deleteSession({ params: { id } })
    return session.output.done(`${id} ended`, { data: { id } })
  }
  const which = others ? 'All other sessions' : 'All sessions, also this session,'
  await confirm(session, `${which} of your account end. Continue?`, options)
  await client.deleteSessions({ query: others ? { keepCurrent: true } : {} })
  await session.output.done(others ? 'All other sessions ended.' : 'You are signed out everywhere.', {
    data: { keepCurrent: others },
  })
}
