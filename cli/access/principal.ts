import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from '../session/platform-command.ts'
import type { Session } from '../session/session.ts'

type Principals = {
  /** For the help: the argument that names a principal, and the kind of principal. */
  argument: string
  kind: string
  idOf(session: Session, nameOrId: string): Promise<string>
  update(session: Session, id: string, data: { disabled: boolean }): Promise<object>
  remove(session: Session, id: string): Promise<unknown>
}

/** Adds the commands that users and service accounts have in common: disable, enable and delete. */
export function addPrincipalCommands(command: Command, terminal: Terminal, principals: Principals): void {
  const { argument, kind, idOf, update, remove } = principals
  for (const [name, disabled] of [
    ['disable', true],
    ['enable', false],
  ] as const) {
    platformCommand(
      command.command(name).description(`${name} ${kind}`).argument(argument),
      terminal,
      async (session, nameOrId: string) => {
        const answer = await update(session, await idOf(session, nameOrId), { disabled })
        await session.output.done(`${nameOrId} is ${name}d`, answer)
      },
    )
  }

  platformCommand(
    command.command('delete').description(`delete ${kind} and its grants`).argument(argument),
    terminal,
    async (session, nameOrId: string) => {
      const id = await idOf(session, nameOrId)
      await remove(session, id)
      await session.output.done(`${nameOrId} deleted`, { data: { id } })
    },
  )
}
