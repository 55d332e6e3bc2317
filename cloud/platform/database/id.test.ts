import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validate, version } from 'uuid'
import { bytesOfId, idBytes, idOfBytes, isId, newId, timeOfId } from './id.ts'

test('creates unique ids that contain the time and increase', () => {
  // Other tests in this process may have set the clock forward.
  const before = Math.max(Date.now(), timeOfId(newId()))
  const ids = Array.from({ length: 20_000 }, newId)
  assert.deepEqual(ids.toSorted(), ids)
  assert.equal(new Set(ids).size, ids.length)
  assert.ok(ids.every((id) => validate(id) && version(id) === 7))
  assert.ok(timeOfId(ids[0] ?? '') >= before && timeOfId(ids.at(-1) ?? '') <= Math.max(before, Date.now()))
})

test('converts an id to 16 bytes and back', () => {
  const id = newId()
  const bytes = bytesOfId(id)
  assert.equal(bytes.length, idBytes)
  assert.equal(idOfBytes(bytes), id)
  assert.equal(idOfBytes(bytesOfId(id.toUpperCase())), id)
  assert.ok(isId(idOfBytes(Buffer.alloc(idBytes))))
})
