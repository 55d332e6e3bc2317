import { Problem, type ProblemCode } from '@millwright/api/problem.ts'

/** Returns the problem of one field of a request. `pointer` is the place of the field in the body. */
export function fieldProblem(code: ProblemCode, pointer: string, detail: string): Problem {
  return new Problem(code, detail, { errors: [{ pointer, code, detail }] })
}
