import type { SlowStatement } from './database/database.ts'
import type { CompletedRequest } from './http/completed-request.ts'
import type { Log } from './log.ts'

/** The thresholds in milliseconds. With 0, the log is off. */
export type SlowLogSettings = { slowRequestMs: number; slowStatementMs: number }

type SlowLogOptions = SlowLogSettings & {
  log: Log
  /** Replaces the clock in tests. */
  now?: () => number
}

/** The maximum number of lines per minute and kind. An outage makes all requests slow, and must not fill the disk. */
export const linesPerMinute = 20
const minuteMs = 60_000
const statementCharacters = 2_000

/** `SlowLog` writes one line for each slow request and each slow statement, up to a limit per minute. */
export class SlowLog {
  readonly #options: SlowLogOptions
  readonly #requests: LineLimit
  readonly #statements: LineLimit
  /** The number of slow requests and statements, with those whose lines were suppressed. */
  readonly counts = { requests: 0, statements: 0 }

  constructor(options: SlowLogOptions) {
    this.#options = options
    const { log, now = Date.now } = options
    const limit = (what: string) =>
      new LineLimit({
        now,
        onSuppressed: (suppressed) => log.warn({ suppressed }, `Lines about slow ${what} were suppressed`),
      })
    this.#requests = limit('requests')
    this.#statements = limit('statements')
  }

  /** Logs a request if it was slow. Requests that wait for an event or for the client are never slow. */
  request({ requestId, method, route, status, ms, caller, waits, work }: CompletedRequest): void {
    const { slowRequestMs, log } = this.#options
    if (slowRequestMs === 0 || ms < slowRequestMs || waits) return
    this.counts.requests += 1
    if (!this.#requests.take()) return
    const tenant = caller !== undefined && 'tenantName' in caller ? { tenant: caller.tenantName } : {}
    log.warn(
      {
        requestId,
        method,
        route,
        status,
        ms: rounded(ms),
        databaseMs: rounded(work.databaseMs),
        connectionWaitMs: rounded(work.connectionWaitMs),
        statements: work.statements,
        ...tenant,
        ...(work.span === undefined ? {} : { traceId: work.span.traceId }),
      },
      'slow request',
    )
  }

  statement({ name, text, ms, rows, tenantId, span }: SlowStatement): void {
    this.counts.statements += 1
    if (!this.#statements.take()) return
    this.#options.log.warn(
      { statement: name, text: withoutLiterals(text), ms: rounded(ms), rows, tenantId, traceId: span?.traceId },
      'slow statement',
    )
  }

  /** Writes how many lines were suppressed, and stops the timers. */
  stop(): void {
    this.#requests.stop()
    this.#statements.stop()
  }
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** Returns the text of a statement on one line, without text literals. Values are parameters, and never in the text. */
export function withoutLiterals(text: string): string {
  return text
    .replace(/\$(\w*)\$.*?\$\1\$/gs, "'?'")
    .replace(/'(?:[^']|'')*'/g, "'?'")
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, statementCharacters)
}

type LineLimitOptions = { now: () => number; onSuppressed: (count: number) => void }

/** `LineLimit` limits the lines per minute, and reports at the end of the minute how many were suppressed. */
class LineLimit {
  readonly #options: LineLimitOptions
  #startedAt = Number.NEGATIVE_INFINITY
  #lines = 0
  #suppressed = 0
  #timer: NodeJS.Timeout | undefined

  constructor(options: LineLimitOptions) {
    this.#options = options
  }

  take(): boolean {
    const now = this.#options.now()
    if (now - this.#startedAt >= minuteMs) {
      this.#report()
      this.#startedAt = now
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines <= linesPerMinute) return true
    this.#suppressed += 1
    this.#timer ??= setTimeout(() => this.#report(), minuteMs - (now - this.#startedAt)).unref()
    return false
  }

  stop(): void {
    this.#report()
  }

  #report(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#suppressed === 0) return
    this.#options.onSuppressed(this.#suppressed)
    this.#suppressed = 0
  }
}
