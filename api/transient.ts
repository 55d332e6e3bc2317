import type { ProblemCode } from './problem.ts'

/**
 * The problem codes of an outage or an overload. The request is not the cause, so the same request can succeed
 * later.
 */
const transientCodes: ReadonlySet<string> = new Set<ProblemCode>(['unavailable', 'overloaded'])

export function isTransientCode(code: string): boolean {
  return transientCodes.has(code)
}
