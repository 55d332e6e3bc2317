import assert from 'node:assert/strict'
import { test } from 'node:test'
import { discoveryMessages } from '../messages.ts'
import { notComparedOf } from './not-compared.ts'

test('names why a run does not know which devices are missing', () => {
  const nameOf = (state: 'running' | 'finished' | 'failed', comparedRun?: number) =>
    notComparedOf({ state, ...(comparedRun !== undefined && { comparedRun }) }, discoveryMessages.en)?.name
  assert.equal(nameOf('finished', 2), undefined)
  assert.equal(nameOf('finished'), 'First run')
  assert.deepEqual([nameOf('running'), nameOf('failed')], ['Not finished', 'Not finished'])
})
