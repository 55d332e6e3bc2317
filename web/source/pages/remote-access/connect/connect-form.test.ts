import assert from 'node:assert/strict'
import { test } from 'node:test'
import { durationsOf, firstDuration, firstPort, obstacleOf } from './connect-form.ts'

test('returns the reason why no session can be opened, if the console has a text for it', () => {
  const withProblem = (code: string) => obstacleOf({ problem: { code, detail: '' } })
  assert.equal(obstacleOf({}), undefined)
  assert.equal(withProblem('remote_access_off'), 'switchedOff')
  assert.equal(withProblem('gateway_offline'), 'gatewayOffline')
  assert.equal(withProblem('no_address'), 'noAddress')
  assert.equal(withProblem('forbidden'), undefined)
  assert.equal(withProblem('constructor'), undefined)
})

test('offers durations up to the maximum of the policy', () => {
  assert.deepEqual(durationsOf(120), [15, 30, 60, 120])
  assert.deepEqual(durationsOf(45), [15, 30, 45])
  assert.deepEqual(durationsOf(5), [5])
  assert.equal(firstDuration(120), 60)
  assert.equal(firstDuration(45), 45)
})

test('offers the usual port of a service, and another allowed port for TCP', () => {
  assert.equal(firstPort('https', []), 443)
  assert.equal(firstPort('tcp', [22, 102]), 102)
  assert.equal(firstPort('tcp', [22]), 22)
  assert.equal(firstPort('tcp', []), undefined)
})
