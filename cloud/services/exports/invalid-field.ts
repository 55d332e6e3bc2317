import { Problem } from '@millwright/api/problem.ts'

/** Returns the problem of one field of a request body. */
export function invalidField(pointer: string, detail: string): Problem {
  return new Problem('invalid_body', detail, { errors: [{ pointer, code: 'invalid_body', detail }] })
}
