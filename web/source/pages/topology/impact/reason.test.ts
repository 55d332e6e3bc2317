import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonText } from './reason.ts'

const dependent = { effect: 'affected', reason: 'dependency' } as const
const options = { assetId: 'plc', predicate: undefined, nameOf: (id: string) => `Asset ${id}`, language: 'en' } as const

test('the reason of a direct relation does not repeat the name of the asset of the analysis', () => {
  const directly = (predicate: string | undefined) =>
    reasonText({ ...dependent, via: 'plc' }, { ...options, predicate })
  assert.deepEqual(['is_controlled_by', 'is_module_of', 'is_powered_by', undefined].map(directly), [
    'Controlled by this asset',
    'Module of this asset',
    'Powered by this asset',
    'Depends on this asset',
  ])
  assert.equal(reasonText({ effect: 'affected', reason: 'network' }, options), 'Has no other network path')
})

test('the reason of an indirect relation names the asset between', () => {
  assert.equal(reasonText({ ...dependent, via: 'hmi' }, options), 'Depends on Asset hmi')
})
