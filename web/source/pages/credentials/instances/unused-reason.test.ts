import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { unusedReason } from './unused-reason.ts'

const credentials = {
  resourceIdentifier: 'snmp',
  createdTimestamp: '2026-01-02T00:00:00.000Z',
  metadata: { ipRanges: ['10.0.0.0/16'] },
} as ListedCredentialInstance

test('returns that no scan with the asset link has run, or none since the credentials were added', () => {
  const scan = (deviceClass: string, startedTimestamp?: string) => ({
    deviceClass,
    ...(startedTimestamp !== undefined && { startedTimestamp }),
  })
  assert.equal(unusedReason(credentials, []), 'noScan')
  assert.equal(unusedReason(credentials, [scan('snmp'), scan('opcua', '2026-01-03T00:00:00.000Z')]), 'noScan')
  assert.equal(unusedReason(credentials, [scan('snmp', '2026-01-01T00:00:00.000Z')]), 'noScanSince')
  assert.equal(unusedReason(credentials, [scan('snmp', '2026-01-03T00:00:00.000Z')]), undefined)
})

test('returns that credentials are only for monitoring', () => {
  const monitoring = { ...credentials, metadata: { ipRanges: [], purpose: 'monitoring' as const } }
  assert.equal(unusedReason(monitoring, undefined), 'onlyMonitoring')
})

test('returns no reason for copies of assets, and while the scans are unknown', () => {
  assert.equal(unusedReason({ ...credentials, assetId: 'asset' }, []), undefined)
  assert.equal(unusedReason(credentials, undefined), undefined)
})
