import { type Command, Option } from 'commander'
import type { Terminal } from '../output/terminal.ts'
import type { Session } from './session.ts'

export type ConnectionOptions = { url?: string; profile?: string; json?: boolean; ndjson?: boolean }

type SessionAction<Args extends unknown[]> = (session: Session, ...args: Args) => Promise<void>

/**
 * Adds the options for connection and output to a command, and runs its action with a session. The modules of the session
 * are loaded when the command runs, so that help and completion stay fast.
 */
export function platformCommand<Args extends unknown[]>(
  command: Command,
  terminal: Terminal,
  work: SessionAction<Args>,
): Command {
  return withConnectionOptions(command)
    .addOption(
      new Option('--json', 'print the response of the API as one JSON document').conflicts('ndjson').helpGroup(general),
    )
    .addOption(new Option('--ndjson', 'print one line of JSON for each item, as it arrives').helpGroup(general))
    .action(async (...all: unknown[]) => {
      all.pop()
      const options = all.at(-1) as ConnectionOptions
      await work(await connect(terminal, options), ...(all as Args))
    })
}

const general = 'Platform and output:'

export function withConnectionOptions(command: Command): Command {
  return command
    .addOption(new Option('--profile <name>', 'profile to use (default: the current profile)').helpGroup(general))
    .addOption(new Option('--url <url>', 'address of the platform').helpGroup(general))
}

export async function connect(terminal: Terminal, options: ConnectionOptions): Promise<Session> {
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

/** Collects the values of a repeatable option. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value]
}
