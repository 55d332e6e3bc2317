import { type Command, Option } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import type { Session } from './session.ts'

export type Connection = { url?: string; profile?: string; json?: boolean; ndjson?: boolean }

type Work<Given extends unknown[]> = (session: Session, ...given: Given) => Promise<void>

/**
 * Makes a command speak to a platform: it gets the options that all of them have, and a session. What that stands on
 * is loaded when the command runs.
 */
export function online<Given extends unknown[]>(command: Command, terminal: Terminal, work: Work<Given>): Command {
  return connecting(command)
    .addOption(new Option('--json', 'one JSON document, as the API answered it').conflicts('ndjson').helpGroup(general))
    .addOption(new Option('--ndjson', 'a line of JSON for each thing, as it comes').helpGroup(general))
    .action(async (...all: unknown[]) => {
      all.pop()
      const options = all.at(-1) as Connection
      await work(await connect(terminal, options), ...(all as Given))
    })
}

const general = 'Platform and output:'

export function connecting(command: Command): Command {
  return command
    .addOption(new Option('--profile <name>', 'who you are (default: the profile in use)').helpGroup(general))
    .addOption(new Option('--url <url>', 'which platform').helpGroup(general))
}

export async function connect(terminal: Terminal, options: Connection): Promise<Session> {
  const [{ readClientConfiguration }, { bearerFor }, { openSession }, { Output }] = await Promise.all([
    import('./settings.ts'),
    import('./bearer.ts'),
    import('./session.ts'),
    import('../output/output.ts'),
  ])
  const bearer = await bearerFor(options, await readClientConfiguration(terminal.environment))
  const output = new Output(terminal, options.json ? 'json' : options.ndjson ? 'ndjson' : 'text')
  return openSession({ terminal, output, bearer })
}

/** Collects an option that may be given several times. */
export function repeated(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
