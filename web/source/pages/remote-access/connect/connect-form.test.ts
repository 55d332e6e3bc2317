import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy, type RemoteTarget } from '@millwright/api/remote-access.ts'
import { durationsOf, firstDuration, firstPort, obstacleOf } from './connect-form.ts'

const target: RemoteTarget = {
  isEnabled: true,
  gatewayId: '0197f9ae-8a5b-7c57-8a52-0d4f0f0f0f0f',
  isGatewayConnected: true,
  addresses: ['10.0.0.7'],
  policy: defaultRemotePolicy,
  isWebAvailable: true,
}

test('names the first reason why no session can be opened', () => {
  const { gatewayId: _, ...withoutGateway } = target
  assert.equal(obstacleOf(target), undefined)
  assert.equal(obstacleOf({ ...target, isEnabled: false, isGatewayConnected: false }), 'switchedOff')
  assert.equal(obstacleOf({ ...withoutGateway, isGatewayConnected: false }), 'noGateway')
  assert.equal(obstacleOf({ ...target, isGatewayConnected: false }), 'gatewayOffline')
  assert.equal(obstacleOf({ ...target, addresses: [] }), 'noAddress')
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
