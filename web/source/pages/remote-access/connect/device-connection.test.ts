import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy, type RemoteTarget } from '@millwright/api/remote-access.ts'
import {
  allowedServices,
  connectionState,
  latestTargets,
  rowIntervalMs,
  sharedConnection,
} from './device-connection.ts'

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

test('returns the connection that all devices share, and nothing if one of them differs', () => {
  const ready = { ...target, gatewayId: 'hall' }
  const shared = { gatewayId: 'hall', services: ['SSH', 'HTTP', 'HTTPS'], needsApproval: false }
  assert.deepEqual(sharedConnection([ready, ready]), shared)
  assert.equal(sharedConnection([]), undefined)
  const withPolicy = (policy: Partial<RemoteTarget['policy']>) => ({
    ...ready,
    policy: { ...defaultRemotePolicy, ...policy },
  })
  const others: RemoteTarget[] = [
    { ...ready, gatewayId: 'yard' },
    { ...ready, isGatewayConnected: false },
    { ...ready, problem: { code: 'remote_access_off', detail: '' } },
    withPolicy({ approval: 'required' }),
    withPolicy({ ports: [22] }),
  ]
  for (const other of others) assert.equal(sharedConnection([ready, other]), undefined)
  assert.equal(sharedConnection([withPolicy({ approval: 'required' })])?.needsApproval, true)
  assert.equal(sharedConnection([{ ...ready, isGatewayConnected: false }]), undefined)
})

test('polls the target of each row only if the devices do not share a connection', () => {
  const shared = sharedConnection([{ ...target, gatewayId: 'hall' }])
  assert.equal(rowIntervalMs(shared, 30_000), false)
  assert.equal(rowIntervalMs(undefined, 30_000), 30_000)
})

test('leaves out targets that are much older than the newest one, and rows without a target', () => {
  const result = (id: string, dataUpdatedAt: number) => ({
    data: { data: { ...target, gatewayId: id } },
    dataUpdatedAt,
  })
  const targets = latestTargets([result('old', 100), result('new', 1_000), { dataUpdatedAt: 0 }], 500)
  assert.deepEqual(
    targets.map(({ gatewayId }) => gatewayId),
    ['new'],
  )
  assert.deepEqual(latestTargets([], 500), [])
})
