import { productVersion } from '@millwright/cloud/platform/version.ts'
import { Command } from 'commander'
import { exitCodes, reportAndExit } from '../output/error-report.ts'
import { processTerminal, type Terminal } from '../output/terminal.ts'

/**
 * Entry point of `millwright gateway`, and of `millwright` in the gateway package. It does not load the cloud part, so that a
 * gateway also runs on small machines. The gateway package contains only the files that these commands need.
 */

type CommandModule = {
  description: string
  load(): Promise<{ addCommands(command: Command, terminal: Terminal): void }>
}

const modules: Readonly<Record<string, CommandModule>> = {
  gateway: { description: 'run a gateway, and manage gateways', load: () => import('./gateway.ts') },
  link: { description: 'create, test and run links', load: () => import('./link.ts') },
  login: { description: 'sign in to a platform', load: () => import('../session/login.ts') },
  logout: { description: 'sign out', load: () => import('../session/logout.ts') },
}

const [chosen = ''] = process.argv.slice(2)
const terminal = processTerminal()
const program = new Command('millwright')
  .description('The gateway of Millwright. The command line of the platform has all other commands.')
  .version(productVersion)
  .enablePositionalOptions()
  .showSuggestionAfterError()
  .showHelpAfterError('See --help')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : exitCodes.usage))

for (const [name, { description, load }] of Object.entries(modules)) {
  const command = program.command(name).description(description)
  if (name === chosen) (await load()).addCommands(command, terminal)
}

await program.parseAsync().catch(reportAndExit)
