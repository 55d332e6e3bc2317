import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { online } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type Principals = {
  /** As it stands in the help, and what it is called there. */
  argument: string
  kind: string
  idOf(session: Session, given: string): Promise<string>
  update(session: Session, id: string, data: { disabled: boolean }): Promise<object>
  remove(session: Session, id: string): Promise<unknown>
}

/** What people and programs have in common: they are kept out, let in again, and deleted. */
export function addPrincipalCommands(command: Command, terminal: Terminal, principals: Principals): void {
  const { argument, kind, idOf, update, remove } = principals
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    online(
      command.command(name).description(`${name} ${kind}`).argument(argument),
      terminal,
      async (session, given: string) => {
        const answer = await update(session, await idOf(session, given), { disabled })
        await session.output.done(`${given} is ${name}d`, answer)
      },
    )
  }

  online(
    command.command('delete').description(`delete ${kind} and its grants`).argument(argument),
    terminal,
    async (session, given: string) => {
      const id = await idOf(session, given)
      await remove(session, id)
      await session.output.done(`${given} deleted`, { data: { id } })
    },
  )
}
