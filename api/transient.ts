import type { ProblemCode } from './problem.ts'

/** Codes of an outage or an overload. They do not depend on the request: the same request can succeed later. */
const transientCodes: ReadonlySet<string> = new Set<ProblemCode>(['unavailable', 'overloaded'])

export function isTransientCode(code: string): boolean {
  return transientCodes.has(code)
}
