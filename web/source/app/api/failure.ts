import type { FieldError, ProblemDocument } from '@millwright/api/problem.ts'

type ProblemFields = Partial<Omit<ProblemDocument, 'code' | 'title'>> & { title: string; code: string }

/** Something was refused or did not work: what the platform answered, or that it did not. */
export class Failure extends Error {
  readonly title: string
  readonly code: string
  /** 0 when there was no answer. */
  readonly status: number
  readonly errors: readonly FieldError[]
  /** For whoever looks into the log: faults of the platform only. */
  readonly traceId: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor({ title, detail, code, status, errors, traceId }: ProblemFields, retryAfterSeconds?: number) {
    super(detail ?? title)
    this.title = title
    this.code = code
    this.status = status ?? 0
    this.errors = errors ?? []
    this.traceId = this.status >= 500 ? traceId : undefined
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Codes of the console itself: the platform was not reached, or the console has a fault. */
export const consoleCodes = { noAnswer: 'no_answer', fault: 'console_fault' } as const

export function failureOf(error: unknown): Failure {
  if (error instanceof Failure) return error
  const detail = error instanceof Error ? error.message : String(error)
  return new Failure({ title: 'Something went wrong', detail, code: consoleCodes.fault })
}

export function isFailure(error: unknown, code: string): error is Failure {
  return error instanceof Failure && error.code === code
}
