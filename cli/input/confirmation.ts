import { usageError } from '../output/error-report.ts'
import type { Session } from '../session/session.ts'

/** Asks the user to confirm a change. Without a terminal, the command needs `--yes`. */
export async function confirm({ terminal }: Session, question: string, { yes }: { yes?: boolean }): Promise<void> {
  if (yes === true) return
  if (!terminal.isInteractive)
    throw usageError(
      `${question} The command cannot ask, because standard input is not a terminal.`,
      'pass --yes to confirm',
    )
  const answer = await terminal.prompt(`${question} [y/N] `)
  if (!/^y(es)?$/i.test(answer.trim())) throw usageError('Nothing was changed.')
}
