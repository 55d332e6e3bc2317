import { backOffMs } from '@millwright/api/back-off.ts'

const longestError = 500
/** The pause after a transient error: short, so that work continues soon after the database is back. */
const transientMs = 2_000

/** The pause after a failed attempt: exponential, from one second to five minutes. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(attempt, { firstMs: 1_000, longestMs: 5 * 60_000 })
}

/** The pause after a transient error, which the task did not cause: it does not grow with the attempts. */
export function transientDelayMs(): number {
  return backOffMs(1, { firstMs: transientMs, longestMs: transientMs })
}

/** The stored text of a failure: its message, truncated, without credentials in URLs. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  return message
    .replace(/\/\/[^/\s@]*@/g, '//***@')
    .replaceAll('\0', '\ufffd')
    .toWellFormed()
    .slice(0, longestError)
}
