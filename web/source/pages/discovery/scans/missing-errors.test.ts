import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Asset } from '../../assets/model/asset.ts'
import { errorOfAsset, missingWithError } from './missing-errors.ts'

const device = { ip: '10.0.1.43' }
const asset = (name: string, address?: string) =>
  ({
    id: name,
    name,
    connection_points: address === undefined ? [] : [{ ipv4_address: address }],
  }) as unknown as Asset
const silent = { code: 14, device, description: 'PLC-012-1 does not respond.' }
const locked = {
  code: 16,
  device: { ip: '10.0.1.10' },
  description: 'The device is protected: 2 credentials were rejected',
}

test('finds the error of a missing asset by its name, or by its address', () => {
  const errors = [silent, locked]
  assert.equal(errorOfAsset(asset('PLC-012-1', '10.0.1.43'), errors), silent)
  assert.equal(errorOfAsset(asset('HMI-1', '10.0.1.10'), errors), locked)
  assert.equal(errorOfAsset(asset('SW-1', '10.0.1.43'), errors), undefined, 'the error names another device')
  assert.equal(errorOfAsset(asset('IO-1'), errors), undefined)
  const byAddress = { code: 14, device, description: '10.0.1.43 does not respond.' }
  assert.equal(errorOfAsset(asset('SW-1', '10.0.1.43'), [byAddress]), byAddress)
})

test('counts the missing devices with an error, if all missing devices and errors are loaded', () => {
  const assets = new Map([asset('HMI-1', '10.0.1.10'), asset('SW-1', '10.0.1.50')].map((each) => [each.id, each]))
  const report = {
    missing: [{ assetId: 'HMI-1' }, { assetId: 'SW-1' }],
    gone: 2,
    errors: [silent, locked],
    totalErrors: 2,
    assets,
  }
  assert.equal(missingWithError(report), 1)
  assert.equal(missingWithError({ ...report, errors: [silent], totalErrors: 1 }), 0)
  assert.equal(missingWithError({ ...report, gone: 3 }), undefined)
  assert.equal(missingWithError({ ...report, totalErrors: 3 }), undefined)
  assert.equal(missingWithError({ ...report, assets: new Map() }), undefined)
})
