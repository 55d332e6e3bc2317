import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Handover } from './handover.ts'

test('what an accepted write says is handed over once', () => {
  const handover = new Handover()
  handover.keep('a', { payload: { name: 'pump' }, characters: 15 })
  assert.deepEqual(handover.take('a'), { name: 'pump' })
  assert.equal(handover.take('a'), undefined)
})

test('the oldest writes are forgotten when there is too much to remember, however few they are', () => {
  const handover = new Handover()
  const ids = Array.from({ length: 40 }, (_, index) => `write ${index}`)
  for (const id of ids) handover.keep(id, { payload: id, characters: 1024 * 1024 })
  const kept = ids.filter((id) => handover.take(id) !== undefined)
  assert.ok(kept.length > 1 && kept.length < 20, `${kept.length} are remembered`)
  assert.deepEqual(kept, ids.slice(-kept.length))
})
