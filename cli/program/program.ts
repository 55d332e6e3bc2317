import { productVersion } from '@millwright/cloud/platform/version.ts'
import { Command, CommanderError } from 'commander'
import { ExitStatus, errorJson, errorText, exitCodeHelp, exitCodeOf, exitCodes } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { commandModules, startGroup } from './commands.ts'
import { addExamples } from './examples.ts'

/** Runs one command line and returns its exit code. */
export async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const program = await programFor(terminal, modulesFor(args))
    await program.parseAsync(args, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    if (error instanceof ExitStatus) return error.code
    const isForPrograms = args.includes('--json') || args.includes('--ndjson')
    terminal.note(isForPrograms ? errorJson(error) : errorText(error))
    return exitCodeOf(error)
  }
}

/** Returns the modules that a command line needs. The command is the first argument that is not an option. */
function modulesFor(args: readonly string[]): readonly string[] {
  const [first, second] = args.filter((word) => !word.startsWith('-'))
  if (first === 'help') return second === undefined ? [] : [second]
  if (first === 'completion') return Object.keys(commandModules)
  return first === undefined ? [] : [first]
}

/**
 * Builds the command tree. A command has its subcommands only if its module is in `loaded`. All other commands have
 * only a name and a description.
 */
export async function programFor(terminal: Terminal, loaded: readonly string[]): Promise<Command> {
  const program = new Command('millwright')
    .description('Open industrial asset management: discover, document and manage every device of a plant.')
    .version(productVersion)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError('See --help')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.note(text.trimEnd()),
      getOutHelpWidth: () => terminal.columns ?? 100,
      getErrHelpWidth: () => terminal.columns ?? 100,
      getOutHasColors: () => terminal.hasColour,
      getErrHasColors: () => terminal.hasColour,
    })
    .addHelpText('after', `\n${examples}\n\n${exitCodeHelp}`)
  addStarting(program, terminal)
  for (const [name, { description, group, load }] of Object.entries(commandModules)) {
    const command = program.command(name).description(description).helpGroup(group)
    if (!loaded.includes(name)) continue
    const module = await load()
    module.addCommands(command, terminal)
    addExamples(command)
  }
  return program
}

const examples = `Settings are environment variables; "millwright config" lists them with their values.

Examples:
  millwright up                                  start everything on this machine, like npm start
  millwright login https://plant.example         sign in with your browser
  millwright discover                            scan for devices and show the results
  millwright assets list --filter "name eq 'Drive 12'"
  millwright assets list --all --ndjson | jq -r .name
  millwright doctor                              diagnose problems`

function addStarting(program: Command, { environment }: Terminal): void {
  program
    .command('up')
    .helpGroup(startGroup)
    .description('start the platform, a gateway and a simulated plant on this machine')
    .addHelpText('after', upHelp)
    .action(() => runCloud({ ...environment }, { withGateway: true }))

  program
    .command('cloud')
    .helpGroup(startGroup)
    .description('start the platform without a gateway, or some of its services')
    .option('--services <names>', 'services of this process, separated by commas (default: all that are not peers)')
    .option('--peers <list>', 'addresses of the other services: name=url, separated by commas')
    .option('--port <port>', 'port to listen on; 0 selects a free port')
    .addHelpText('after', cloudExample)
    .action((options: { services?: string; peers?: string; port?: string }) =>
      runCloud(
        {
          ...environment,
          ...(options.services === undefined ? {} : { MILLWRIGHT_SERVICES: options.services }),
          ...(options.peers === undefined ? {} : { MILLWRIGHT_PEERS: options.peers }),
          ...(options.port === undefined ? {} : { MILLWRIGHT_PORT: options.port }),
        },
        { withGateway: false },
      ),
    )
}

const upHelp = `
Starts the database, the platform, the console, a gateway and a link to a simulated plant, until Ctrl-C. npm start does the
same.

Examples:
  millwright up
  MILLWRIGHT_HOME=/srv/millwright MILLWRIGHT_PORT=9000 millwright up`

const cloudExample = `
Example: two processes with one database, the same master key and the same address for clients
  export DATABASE_URL=postgres://… MILLWRIGHT_MASTER_KEY=… MILLWRIGHT_BASE_URL=http://127.0.0.1:9002
  MILLWRIGHT_HOME=/srv/a millwright cloud --services identity,authorization --port 9001
  MILLWRIGHT_HOME=/srv/b millwright cloud --peers identity=http://127.0.0.1:9001,authorization=http://127.0.0.1:9001 --port 9002

Clients use the second process. It runs the other services and forwards requests for the first.`

async function runCloud(
  environment: Record<string, string | undefined>,
  options: { withGateway: boolean },
): Promise<void> {
  const { runCloud: start } = await import('../server/up.ts')
  await start(environment, options)
}
