import { CommandError } from '../../output/error-report.ts'

export type Outcome = 'ok' | 'warn' | 'fail' | 'skip'

/** `Check` is the result of one check. It contains the next step for the user if the result is not ok. */
export type Check = { name: string; outcome: Outcome; detail: string; next?: string }

/** Runs a check. A check that throws is a failed check, so that the other checks still run. */
export async function runCheck(name: string, check: () => Promise<Check | Check[]>): Promise<Check[]> {
  try {
    return [await check()].flat()
  } catch (error) {
    const next = error instanceof CommandError && error.next !== undefined ? { next: error.next } : {}
    return [{ name, outcome: 'fail', detail: (error as Error).message, ...next }]
  }
}
