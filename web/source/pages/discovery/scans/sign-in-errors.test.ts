import assert from 'node:assert/strict'
import { test } from 'node:test'
import { credentialStartOf, mostRejected, rejectedInRun } from './sign-in-errors.ts'

const run = { startedTimestamp: '2026-01-31T08:00:00Z', endedTimestamp: '2026-01-31T08:01:00Z' } as never
const rejection = (instanceId: string, lastFailedTimestamp = '2026-01-31T08:00:30Z') =>
  ({ instanceId, name: instanceId, lastFailedTimestamp }) as never
const errors = ['10.0.0.1', '10.0.0.2'].map((ip) => ({ code: 16, description: '', device: { ip } }))
const [first = { code: 16, description: '' }] = errors

test('names the credentials that most of the devices rejected in the run', () => {
  const rejected = new Map([
    ['10.0.0.1', [rejection('earlier', '2026-01-30T08:00:00Z'), rejection('one'), rejection('common')]],
    ['10.0.0.2', [rejection('earlier', '2026-01-30T08:00:00Z'), rejection('common')]],
  ])
  assert.deepEqual(
    rejectedInRun(first, { rejected, run }).map(({ name }) => name),
    ['one', 'common'],
  )
  assert.equal(mostRejected(errors, { rejected, run })?.instanceId, 'common')
  assert.equal(mostRejected(errors, { rejected: new Map(), run }), undefined)
})

test('starts the flow for new credentials with the addresses of all devices', () => {
  const scan = { gatewayId: 'g-1', assetLinkId: 'plant', jobId: 's-1' } as never
  const { address, addresses, scanId } = credentialStartOf(scan, [...errors, first])
  assert.deepEqual([address, addresses, scanId], ['10.0.0.1', ['10.0.0.1', '10.0.0.2'], 's-1'])
})
