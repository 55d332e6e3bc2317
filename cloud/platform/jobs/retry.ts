import { backOffMs } from '@millwright/api/back-off.ts'

const longestError = 500
/** How often work is tried again while the database does not work: soon after it is back, everything continues. */
const transientMs = 2_000

/** The pause after a job failed: from a second to five minutes. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(attempt, { firstMs: 1_000, longestMs: 5 * 60_000 })
}

/** After a transient error, which says nothing about the job: the pause does not grow with the attempts. */
export function transientDelayMs(): number {
  return backOffMs(1, { firstMs: transientMs, longestMs: transientMs })
}

/** What is kept of a failure: the message, cut short, without credentials of URLs. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  return message
    .replace(/\/\/[^/\s@]*@/g, '//***@')
    .replaceAll('\0', '\ufffd')
    .toWellFormed()
    .slice(0, longestError)
}
