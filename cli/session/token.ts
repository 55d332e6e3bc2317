import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import { online } from './platform-command.ts'

export function addCommands(token: Command, terminal: Terminal): void {
  online(token, terminal, async ({ bearer, output }) => {
    const value = await bearer.token()
    await output.done(value, { url: bearer.url, token: value })
  }).addHelpText(
    'after',
    `
Whoever has it can use it until it ends, an hour by default.

Examples:
  millwright token --profile plant-7
  curl -s https://plant.example/inventory/v2/assets -H "authorization: Bearer $(millwright token)"`,
  )
}
