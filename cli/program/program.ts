import { productVersion } from '@millwright/cloud/version.ts'
import { Command, CommanderError } from 'commander'
import { asJson, exitCodeHelp, exitCodeOf, exitCodes, explained } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { parts, startGroup } from './commands.ts'
import { addExamples } from './examples.ts'

/** Runs one command line, and answers with its exit code. */
export async function run(given: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const program = await programFor(terminal, partsMeant(given))
    await program.parseAsync(given, { from: 'user' })
    return exitCodes.done
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
    const isForPrograms = given.includes('--json') || given.includes('--ndjson')
    terminal.tell(isForPrograms ? asJson(error) : explained(error))
    return exitCodeOf(error)
  }
}

/** The first word that is no option; `help` and `completion` are about the others. */
function partsMeant(given: readonly string[]): readonly string[] {
  const [first, second] = given.filter((word) => !word.startsWith('-'))
  if (first === 'help') return second === undefined ? [] : [second]
  if (first === 'completion') return Object.keys(parts)
  return first === undefined ? [] : [first]
}

/** The whole command line, of which some parts know their own commands already. */
export async function programFor(terminal: Terminal, wanted: readonly string[]): Promise<Command> {
  const program = new Command('millwright')
    .description('Open industrial asset management: discover, document and manage every device of a plant.')
    .version(productVersion)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError('(see --help)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void terminal.print(text.trimEnd()),
      writeErr: (text) => terminal.tell(text.trimEnd()),
      getOutHelpWidth: () => terminal.columns ?? 100,
      getErrHelpWidth: () => terminal.columns ?? 100,
      getOutHasColors: () => terminal.hasColour,
      getErrHasColors: () => terminal.hasColour,
    })
    .addHelpText('after', `\n${examples}\n\n${exitCodeHelp}`)
  addStarting(program, terminal)
  for (const [name, { description, group, load }] of Object.entries(parts)) {
    const command = program.command(name).description(description).helpGroup(group)
    if (!wanted.includes(name)) continue
    const part = await load()
    part.addCommands(command, terminal)
    addExamples(command)
  }
  return program
}

const examples = `Settings are environment variables; "millwright config" lists them with their values.

Examples:
  millwright up                                  everything on this machine, as npm start does
  millwright login https://plant.example         sign in, with your browser
  millwright discover                            find devices, and see them come
  millwright assets list --filter "name eq 'Drive 12'"
  millwright assets list --all --ndjson | jq -r .name
  millwright doctor                              what is wrong here?`

function addStarting(program: Command, { environment }: Terminal): void {
  program
    .command('up')
    .helpGroup(startGroup)
    .description('start everything on this machine')
    .addHelpText('after', upHelp)
    .action(() => runCloud({ ...environment }, { withGateway: true }))

  program
    .command('cloud')
    .helpGroup(startGroup)
    .description('start the platform without a gateway, or some of its services')
    .option(
      '--services <names>',
      'services to run here, separated by commas (default: all services that are not peers)',
    )
    .option('--peers <list>', 'addresses of other services: name=url, separated by commas')
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
The database, the cloud part, the console, a gateway and a link to a simulated plant, until Ctrl-C: the same as npm start.

Examples:
  millwright up
  MILLWRIGHT_HOME=/srv/millwright MILLWRIGHT_PORT=9000 millwright up`

const cloudExample = `
Example: two processes on one database, with the same key and the same address for clients
  export DATABASE_URL=postgres://… MILLWRIGHT_MASTER_KEY=… MILLWRIGHT_BASE_URL=http://127.0.0.1:9002
  MILLWRIGHT_HOME=/srv/a millwright cloud --services identity,authorization --port 9001
  MILLWRIGHT_HOME=/srv/b millwright cloud --peers identity=http://127.0.0.1:9001,authorization=http://127.0.0.1:9001 --port 9002

Clients use the second, which runs everything else and forwards the rest.`

async function runCloud(
  environment: Record<string, string | undefined>,
  options: { withGateway: boolean },
): Promise<void> {
  const { runCloud: start } = await import('../server/up.ts')
  await start(environment, options)
}
