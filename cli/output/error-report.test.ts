import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem, type ProblemCode, problemCodes } from '@millwright/api/problem.ts'
import { asJson, CommandError, exitCodeOf, explained } from './error-report.ts'

test('every problem has an exit code that says what kind of failure it is', () => {
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

test('a problem is told with its places, its code and what to do next', () => {
  const errors = [{ pointer: '/data/name', code: 'missing', detail: 'is missing' }]
  assert.equal(
    explained(new Problem('invalid_body', 'Two things are wrong', { errors })),
    'Invalid request body: Two things are wrong (invalid_body)\n  /data/name is missing',
  )
  const fault = new Problem('internal', '', { headers: { 'x-request-id': 'r-1' } })
  assert.equal(explained(fault), 'Internal error (internal)\n  It was logged as request r-1.')
  assert.equal(explained(new CommandError('No.', { next: 'say yes' })), 'No.\nNext: say yes')
  assert.deepEqual(JSON.parse(asJson(new CommandError('No.', { next: 'say yes' }))), {
    title: 'No.',
    code: 'command_line',
    next: 'say yes',
  })
})

test('reports an unreachable database as a problem with a next step, not as a fault of the program', () => {
  const error = new Error('timeout expired')
  assert.match(explained(error), /The database is not reachable.*\(unavailable\)\nNext: millwright doctor/s)
  assert.deepEqual([exitCodeOf(error), JSON.parse(asJson(error)).code], [6, 'unavailable'])
  assert.match(explained(new Error('a fault')), /failed in a way it should not/)
})
