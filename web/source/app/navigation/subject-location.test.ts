import assert from 'node:assert/strict'
import { test } from 'node:test'
import { locationOf } from './subject-location.ts'

test('entities of events and audit entries have a page', () => {
  assert.deepEqual(locationOf('impact-report/7'), { to: '/topology/impact/7' })
  assert.deepEqual(locationOf('update-campaign/7'), { to: '/updates/campaigns/7' })
  assert.equal(locationOf('session/7'), undefined)
})

test('returns the route for the subject of an event, and undefined for a subject without a page', () => {
  assert.deepEqual(locationOf('asset/1'), { to: '/assets/1' })
  assert.deepEqual(locationOf('workflow/my.own'), { to: '/workflows', search: { name: 'my.own' } })
  assert.equal(locationOf('relation/1'), undefined)
  assert.equal(locationOf('constructor/1'), undefined)
})
