import { CommandError } from '../../output/error-report.ts'

export type Outcome = 'ok' | 'warn' | 'fail' | 'skip'

/** One thing that was looked at, and what to do about it. */
export type Check = { name: string; outcome: Outcome; detail: string; next?: string }

/** A check that itself fails is a finding, not the end of the examination. */
export async function examined(name: string, look: () => Promise<Check | Check[]>): Promise<Check[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    const next = error instanceof CommandError && error.next !== undefined ? { next: error.next } : {}
    return [{ name, outcome: 'fail', detail: (error as Error).message, ...next }]
  }
}
