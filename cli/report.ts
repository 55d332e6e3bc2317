import { Problem } from '@millwright/api/problem.ts'
import { StartError } from '@millwright/cloud/platform/start-error.ts'

/** Exit codes, as `millwright --help` documents them. */
export const exitCodes = { failed: 1, usage: 2 } as const

/** One clear sentence and an exit code. A stack trace is for faults of ours only. */
export function reportAndExit(error: unknown): never {
  if (typeof error === 'string') {
    process.stderr.write(`${error}\n`)
    process.exit(exitCodes.usage)
  }
  if (error instanceof StartError || error instanceof Problem) {
    process.stderr.write(`\n${error.message}\n`)
    process.exit(error instanceof StartError ? error.exitCode : exitCodes.failed)
  }
  process.stderr.write(
    `\nMillwright failed in a way it should not: ${error instanceof Error ? error.stack : String(error)}\n`,
  )
  process.exit(exitCodes.failed)
}
