import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followersOf } from './followers.ts'

const row = (name: string, ...places: string[][]) => ({
  name,
  places: places.map((after) => ({ ipRanges: ['10.0.0.0/8'], after: after.map((id) => ({ id, name: id })) })),
})

test('names the credentials that a scan tries after others, each once', () => {
  const rows = [row('old', [], ['new']), row('read only', ['new', 'old'], ['old'])]
  const { byId, isComplete } = followersOf(rows, { total: 2, isSearch: false })
  assert.deepEqual(
    [byId.get('new'), byId.get('old'), byId.get('read only')],
    [['old', 'read only'], ['read only'], undefined],
  )
  assert.equal(isComplete, true)
})

test('is incomplete in a search, and before all credentials are loaded', () => {
  const isComplete = (options: Parameters<typeof followersOf>[1]) => followersOf([row('one', [])], options).isComplete
  assert.deepEqual(
    [isComplete({ total: 1, isSearch: true }), isComplete({ total: 2, isSearch: false })],
    [false, false],
  )
})
