import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem, type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import { CommandError, errorJson, errorText, exitCodeOf } from './error-report.ts'

test('exitCodeOf maps every problem code to an exit code', () => {
  const codeOf = (code: ProblemCode) => exitCodeOf(new Problem(code, ''))
  const codes = Object.keys(problemCodes) as ProblemCode[]
  assert.ok(codes.every((code) => codeOf(code) >= 1 && codeOf(code) <= 6))
  const expected: Partial<Record<ProblemCode, number>> = {
    internal: 1,
    invalid_filter: 2,
    unauthenticated: 3,
    forbidden: 3,
    not_found: 4,
    asset_not_found: 4,
    history_gone: 4,
    already_exists: 5,
    precondition_failed: 5,
    too_many_requests: 6,
    unavailable: 6,
  }
  for (const [code, exit] of Object.entries(expected)) assert.equal(codeOf(code as ProblemCode), exit, code)
})

test('errorText prints fields, code, request id and next step', () => {
  const errors = [{ pointer: '/data/name', code: 'missing', detail: 'is missing' }]
  assert.equal(
    errorText(new Problem('invalid_body', 'Two fields are wrong', { errors })),
    'Invalid request body: Two fields are wrong (invalid_body)\n  /data/name is missing',
  )
  const fault = new Problem('internal', '', { headers: { 'x-request-id': 'r-1' } })
  assert.equal(errorText(fault), 'Internal error (internal)\n  Request ID in the log: r-1')
  assert.equal(errorText(new CommandError('No.', { next: 'say yes' })), 'No.\nNext: say yes')
  assert.deepEqual(JSON.parse(errorJson(new CommandError('No.', { next: 'say yes' }))), {
    title: 'No.',
    code: 'command_line',
    next: 'say yes',
  })
})

test('errorText reports an unreachable database as a problem with a next step, not as an internal error', () => {
  const error = new Error('timeout expired')
  assert.match(errorText(error), /The database is not reachable.*\(unavailable\)\nNext: millwright doctor/s)
  assert.deepEqual([exitCodeOf(error), JSON.parse(errorJson(error)).code], [6, 'unavailable'])
  assert.match(errorText(new Error('a fault')), /^Internal error of the command line: /)
})
