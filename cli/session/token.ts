import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { platformCommand } from './platform-command.ts'

export function addCommands(token: Command, terminal: Terminal): void {
  platformCommand(token, terminal, async ({ bearer, output }) => {
    const value = await bearer.token()
    await output.done(value, { url: bearer.url, token: value })
  }).addHelpText(
    'after',
    `
Keep the token secret: any program can use it until it expires, after one hour by default.

Examples:
  millwright token --profile plant-7
  curl -s https://plant.example/inventory/v2/assets -H "authorization: Bearer $(millwright token)"`,
  )
}
