import type { FieldError, ProblemDocument } from '@millwright/api/problem.ts'

type ProblemFields = Partial<Omit<ProblemDocument, 'code' | 'title'>> & { title: string; code: string }

/**
 * `Failure` is a request that was rejected or failed. It contains the problem that the API returned, or the information
 * that the server did not respond.
 */
export class Failure extends Error {
  readonly title: string
  readonly code: string
  /** The HTTP status, or 0 if there was no response. */
  readonly status: number
  readonly errors: readonly FieldError[]
  /**
   * The trace id, with which an administrator finds the request in the server log. It is set only for server errors.
   */
  readonly traceId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(problem: ProblemFields, retryAfterSeconds?: number) {
    const { title, detail, code, status, errors, traceId } = problem
    super(detail ?? title)
    this.title = title
    this.code = code
    this.status = status ?? 0
    this.errors = errors ?? []
    this.traceId = this.status >= 500 ? traceId : undefined
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/**
 * The codes that the console adds to the codes of the API: the server was not reached, or the console itself failed.
 */
export const consoleCodes = { noAnswer: 'no_answer', fault: 'console_fault' } as const

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new Failure({ title: 'Something went wrong', detail, code: consoleCodes.fault })
}

export function isFailure(error: unknown, code: string): error is Failure {
  return error instanceof Failure && error.code === code
}
