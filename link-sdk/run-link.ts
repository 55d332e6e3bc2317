import type { LinkDefinition } from './define-link.ts'
import { helpFor, readSettings, UsageError } from './settings.ts'
import { startLink } from './start-link.ts'

const exitCodes = { failed: 1, usage: 2 } as const

/** Runs a link as a process until SIGINT or SIGTERM. The settings come from the arguments and the environment. */
export async function runLink(link: LinkDefinition, args: readonly string[] = process.argv.slice(2)): Promise<void> {
  try {
    const settings = readSettings(args, process.env)
    if (settings === 'help') return void process.stdout.write(helpFor(link.manifest.name))
    const running = await startLink(link, settings)
    const stop = () => void running.stop().then(() => process.exit(0))
    process.once('SIGINT', stop)
    process.once('SIGTERM', stop)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = error instanceof UsageError ? exitCodes.usage : exitCodes.failed
  }
}
