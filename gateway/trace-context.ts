import { AsyncLocalStorage } from 'node:async_hooks'

/** The `traceparent` of the work in progress. Requests to the platform and to links contain it. */
const current = new AsyncLocalStorage<string>()

/** Runs work that continues a trace. Without a trace, the work continues none. */
export function continueTrace<Result>(traceparent: string | undefined, work: () => Result): Result {
  return traceparent === undefined ? current.exit(work) : current.run(traceparent, work)
}

/** Returns the header that continues the trace of the current work in another process. */
export function traceHeaders(): { traceparent?: string } {
  const traceparent = current.getStore()
  return traceparent === undefined ? {} : { traceparent }
}
