import { AsyncLocalStorage } from 'node:async_hooks'
import type { Span } from '@millwright/api/tracing.ts'

/**
 * `Work` is a request or a background task in progress, with what it used of the database. Statements that it sends in
 * parallel are counted with their full durations, so the sum can exceed the duration of the work.
 */
export type Work = {
  /** Undefined if no traces are exported. */
  span: Span | undefined
  statements: number
  databaseMs: number
  /** How long the work waited for free database connections. */
  connectionWaitMs: number
}

const current = new AsyncLocalStorage<Work>()

export function createWork(span: Span | undefined): Work {
  return { span, statements: 0, databaseMs: 0, connectionWaitMs: 0 }
}

/** Runs a function as a part of the work. */
export function runAs<Result>(work: Work, run: () => Result): Result {
  return current.run(work, run)
}

/** Returns the work that the current code belongs to. */
export function currentWork(): Work | undefined {
  return current.getStore()
}

/** Returns the header that continues the trace of the current work in another process. */
export function traceHeaders(): { traceparent?: string } {
  const span = current.getStore()?.span
  return span === undefined ? {} : { traceparent: span.traceparent }
}
