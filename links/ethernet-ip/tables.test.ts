import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { plannedFunctions } from '@millwright/api/sent-function.ts'
import { manufacturerName } from '../manufacturer-name.ts'
import { communicationsAdapter, controller, deviceTypeName, deviceTypes } from './device-types.ts'
import { manifest } from './manifest.ts'
import { manufacturerOf, manufacturers } from './vendors.ts'

describe('the table of vendor ids', () => {
  test('contains the names that all links use', () => {
    for (const [id, name] of manufacturers) assert.deepEqual([id, manufacturerName(name)], [id, name])
  })

  test('contains numbers of two bytes, in ascending order', () => {
    const ids = [...manufacturers.keys()]
    assert.deepEqual(
      ids,
      ids.toSorted((one, other) => one - other),
    )
    assert.ok(ids.every((id) => id > 0 && id <= 65_535))
  })

  test('names frequent manufacturers, and no manufacturer for other ids', () => {
    const names = [1, 47, 90, 243, 283, 808, 1251].map(manufacturerOf)
    const expected = [
      'Rockwell Automation',
      'Omron',
      'HMS Networks',
      'Schneider Electric',
      'Hilscher',
      'SICK',
      'Siemens',
    ]
    assert.deepEqual(names, expected)
    assert.deepEqual([0, 24, 65_535].map(manufacturerOf), [undefined, undefined, undefined])
  })
})

test('the table of device types names types in words', () => {
  assert.equal(deviceTypeName(communicationsAdapter), 'Communications adapter')
  assert.equal(deviceTypeName(controller), 'Programmable logic controller')
  assert.equal(deviceTypeName(999), undefined)
  assert.ok([...deviceTypes.values()].every((name) => /^[A-Z]/.test(name)))
})

test('the plan of a scan contains only the functions that its options select', () => {
  const options = (manifest.options ?? []).map(({ key, default: defaultValue }) => ({ key, defaultValue }))
  const planned = (values: Record<string, unknown>) =>
    plannedFunctions(manifest.sends ?? [], options, values).map(
      ({ transport, operation }) => `${transport} ${operation}`,
    )
  assert.deepEqual(planned({ tcp: false }), ['udp ListIdentity'])
  assert.ok(!planned({ udp: false }).includes('udp ListIdentity'))
  assert.ok(!planned({}).some((one) => one.endsWith('OfModule')))
  assert.equal(planned({ slots: '0-16' }).filter((one) => one.endsWith('OfModule')).length, 2)
})
