import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyJob } from '@millwright/api/jobs.ts'
import { causesText, faultyRuns } from './scan-errors.ts'

const time = '2026-11-19T12:00:00.000Z'
const since = '2026-11-18T13:00:00.000Z'

function run(id: string, scanId: string, errors: number, endedTimestamp = time): AnyJob {
  return {
    id,
    type: 'discovery',
    gatewayId: 'g',
    phase: 'finished',
    state: 'finished',
    subject: { reference: `discovery/${scanId}`, name: 'Simulated plant' },
    runId: `run-${id}`,
    scan: { scope: ['10.0.0.0/25'], found: 0, created: 0, errors, endedTimestamp },
    tags: [],
    createdTimestamp: endedTimestamp,
    lastModifiedTimestamp: endedTimestamp,
  }
}

const shapeOf = (jobs: AnyJob[]) => faultyRuns(jobs, since).map(({ runId, errors }) => [runId, errors])

test('returns the latest finished run of each scan with errors, the run with the most errors first', () => {
  assert.deepEqual(shapeOf([run('4', 'a', 1), run('3', 'b', 10), run('2', 'a', 7), run('1', 'c', 0)]), [
    ['run-3', 10],
    ['run-4', 1],
  ])
  assert.deepEqual(shapeOf([run('2', 'a', 0), run('1', 'a', 7)]), [], 'a later run had no errors')
})

test('leaves out earlier runs and runs that the user cannot read', () => {
  const { scan: _scan, ...hidden } = run('2', 'b', 3)
  assert.deepEqual(shapeOf([run('1', 'a', 7, '2026-11-18T12:59:00.000Z'), hidden]), [])
})

test('names the two most frequent causes, and their numbers if all errors are loaded', () => {
  const error = { code: 14, description: '', place: 0 }
  const groups = [
    { name: 'No answer', errors: [error, error] },
    { name: 'Sign-in failed', errors: [error] },
    { name: 'Not found', errors: [error] },
  ]
  const textOf = (name: string, count: number) => `${name}: ${count}`
  assert.deepEqual(causesText(groups, { isComplete: true, textOf }), ['No answer: 2', 'Sign-in failed: 1'])
  assert.deepEqual(causesText(groups, { isComplete: false, textOf }), ['No answer', 'Sign-in failed'])
})
