import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf } from './subject-location.ts'

test('what an event or an audit entry speaks of leads to its page, if it has one', () => {
  assert.deepEqual(placeOf('asset/1'), { to: '/assets/1' })
  assert.deepEqual(placeOf('workflow/my.own'), { to: '/workflows', search: { name: 'my.own' } })
  assert.equal(placeOf('relation/1'), undefined)
  assert.equal(placeOf('constructor/1'), undefined)
})
