import { backOffMs } from '@millwright/api/back-off.ts'

const longestError = 500
/** The pause after a transient error. It is short, so that work continues soon after the database works again. */
const transientMs = 2_000

/** Returns the pause after a failed attempt. It grows exponentially, from one second to five minutes. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(attempt, { firstMs: 1_000, longestMs: 5 * 60_000 })
}

/**
 * Returns the pause after a transient error. It does not grow with the attempts, because the task did not cause the
 * error.
 */
export function transientDelayMs(): number {
  return backOffMs(1, { firstMs: transientMs, longestMs: transientMs })
}

/** Returns the text that is stored for a failure: the truncated message, without credentials in URLs. */
export function describeFailure(error: unknown): string {
  const message = error instanceof Error ? error.message || error.name : String(error)
  return message
    .replace(/\/\/[^/\s@]*@/g, '//***@')
    .replaceAll('\0', '\ufffd')
    .toWellFormed()
    .slice(0, longestError)
}
