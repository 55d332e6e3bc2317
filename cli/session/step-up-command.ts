import { identity } from '@millwright/api/identity.ts'
import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from './platform-command.ts'

export function addCommands(stepUp: Command, terminal: Terminal): void {
  platformCommand(stepUp, terminal, async (session) => {
    await session.confirmIdentity()
    const { stepUpMinutes } = (await session.api(identity).readSignInPolicy({})).data
    await session.output.done(
      `Your identity is confirmed for ${stepUpMinutes} ${stepUpMinutes === 1 ? 'minute' : 'minutes'}.`,
      { data: { stepUpMinutes } },
    )
  }).addHelpText(
    'after',
    `
The sign-in policy can require that users confirm their identity for dangerous actions. Commands prompt for the confirmation
when it is needed. Use this command before a command that reads standard input, because such a command cannot prompt.

Example:
  millwright step-up`,
  )
}
