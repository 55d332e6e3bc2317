import assert from 'node:assert/strict'
import { test } from 'node:test'
import { impactMessages } from './messages.ts'

test('the heading states the number of assets, with the common place', () => {
  const { headlineDepends, headlineFails, allIn } = impactMessages.en
  assert.equal(headlineDepends('PLC01', 1, '1'), '1 asset depends on PLC01')
  assert.equal(allIn(headlineDepends('PLC01', 1100, '1,100'), 'Line 1'), '1,100 assets depend on PLC01, all in Line 1')
  assert.equal(headlineFails('SW01', 4, '4'), '4 assets are affected if SW01 fails')
  assert.equal(headlineFails('SW01', 1, '1'), '1 asset is affected if SW01 fails')
})
