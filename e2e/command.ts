import { run } from '@millwright/cli/program/program.ts'
import { testTerminal } from '@millwright/cli/testing.ts'
import { type Ended, environmentOf, type ProgramOptions } from './program.ts'

type CommandOptions = Pick<ProgramOptions, 'home' | 'environment' | 'input'>

/**
 * Runs a command in this process, with the function that the program calls. A process needs much more processor time, so
 * tests start one only for what a process shows: signals, a terminal, standard streams and one exit code of each kind.
 */
export async function runCommand(
  args: readonly string[],
  { home, environment = {}, input = '' }: CommandOptions,
): Promise<Pick<Ended, 'code' | 'stdout' | 'stderr'>> {
  const { terminal, printed } = testTerminal({ environment: { ...environmentOf(home), ...environment }, input })
  const code = await run(args, terminal)
  return { code, stdout: printed.out, stderr: printed.err }
}
