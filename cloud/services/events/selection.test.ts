import assert from 'node:assert/strict'
import { test } from 'node:test'
import { selectionOf } from './selection.ts'

const event = { type: 'inventory.asset.created', subject: 'asset/1' }

test('selects event types by a prefix of complete words', () => {
  const chosen = ['inventory', 'inventory.', 'inventory.asset', 'io.millwright.inventory.asset.created', 'x,inventory']
  for (const types of chosen) assert.equal(selectionOf({ types })(event), true, types)
  for (const types of ['invent', 'inventory.asset.creat', 'inventory.relation', 'asset', 'x,y'])
    assert.equal(selectionOf({ types })(event), false, types)
  for (const types of ['io.millwright', 'io.millwright.']) assert.equal(selectionOf({ types })(event), true, types)
})

test('selects event subjects by their full text or by a prefix', () => {
  for (const subject of ['asset/1', 'asset/*', 'as*']) assert.equal(selectionOf({ subject })(event), true, subject)
  for (const subject of ['asset/', 'asset/11', 'node/*', 'asset/1/*'])
    assert.equal(selectionOf({ subject })(event), false, subject)
  assert.equal(selectionOf({})(event), true)
})
