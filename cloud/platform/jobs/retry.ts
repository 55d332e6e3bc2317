const firstMs = 1_000
const longestMs = 5 * 60_000
const longestError = 500
/** How often work is tried again while the database does not work: soon after it is back, everything continues. */
const transientMs = 2_000

/** Doubles from a second to five minutes; jitter keeps what failed together from coming back together. */
export function retryDelayMs(attempt: number, random = Math.random): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  return Math.round(ceiling / 2 + (ceiling / 2) * random())
}

/** After a transient error, which says nothing about the job: the pause does not grow with the attempts. */
export function transientDelayMs(random = Math.random): number {
  return Math.round(transientMs / 2 + (transientMs / 2) * random())
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
