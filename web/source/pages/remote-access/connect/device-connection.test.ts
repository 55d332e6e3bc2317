import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy, type RemoteTarget } from '@millwright/api/remote-access.ts'
import { allowedServices, connectionState, groupsWithApproval } from './device-connection.ts'

const target: RemoteTarget = {
  isEnabled: true,
  isGatewayConnected: true,
  addresses: ['10.0.0.5'],
  policy: defaultRemotePolicy,
  credentials: [],
  isWebAvailable: true,
}

test('returns the state of the connection from the problem of the target and the tunnel of its gateway', () => {
  const withProblem = (code: string) => connectionState({ ...target, problem: { code, detail: '' } })
  assert.equal(connectionState(target), 'ready')
  assert.equal(connectionState({ ...target, isGatewayConnected: false }), 'offline')
  assert.equal(withProblem('gateway_offline'), 'offline')
  assert.equal(withProblem('remote_access_off'), 'switchedOff')
  assert.equal(withProblem('no_address'), 'noAddress')
  assert.equal(withProblem('forbidden'), 'noPermission')
  assert.equal(withProblem('target_not_allowed'), 'notPossible')
  assert.equal(withProblem('constructor'), 'notPossible')
})

test('names the services that the policy allows, and other ports as TCP ports', () => {
  const withPorts = (...ports: number[]) => ({ ...target, policy: { ...defaultRemotePolicy, ports } })
  assert.deepEqual(allowedServices(target), ['SSH', 'HTTP', 'HTTPS'])
  assert.deepEqual(allowedServices(withPorts(4840, 443, 102)), ['HTTPS', 'TCP 102, 4840'])
  assert.deepEqual(allowedServices(withPorts()), [])
})

test('names the ports of web pages as TCP ports if the platform has no wildcard host', () => {
  assert.deepEqual(allowedServices({ ...target, isWebAvailable: false }), ['SSH', 'TCP 80, 443'])
})

test('names the access groups that need an approval, and nothing while an incomplete list has none', () => {
  const group = (accessGroupName: string, approval: 'none' | 'required') => ({ accessGroupName, policy: { approval } })
  assert.deepEqual(groupsWithApproval([], { total: 0 }), [])
  assert.deepEqual(groupsWithApproval([group('Hall 3', 'required'), group('Hall 4', 'none')], { total: 2 }), ['Hall 3'])
  assert.equal(groupsWithApproval([group('Hall 4', 'none')], { total: 2 }), undefined)
  assert.deepEqual(groupsWithApproval([group('Hall 3', 'required')], { total: 2 }), ['Hall 3'])
})
