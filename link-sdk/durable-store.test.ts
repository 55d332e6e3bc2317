import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { DurableStore } from './durable-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'durable-store-'))
after(() => rmSync(folder, { recursive: true }))

test('DurableStore returns stored values after it is opened again', async () => {
  const path = join(folder, 'again')
  const store = new DurableStore<{ job: string }>(path)
  await store.set('device-1', { job: 'a' })
  await store.set('device-2', { job: 'b' })
  await store.set('device-1', { job: 'c' })
  await store.delete('device-2')
  const again = new DurableStore<{ job: string }>(path)
  assert.deepEqual([again.size, again.get('device-1'), again.get('device-2')], [1, { job: 'c' }, undefined])
})

test('DurableStore applies concurrent changes of one key one after the other', async () => {
  const path = join(folder, 'concurrent')
  const store = new DurableStore<number>(path)
  await Promise.all(Array.from({ length: 50 }, () => store.change('count', (count = 0) => count + 1)))
  assert.equal(new DurableStore<number>(path).get('count'), 50)
})

test('DurableStore keeps the old value when a change throws, and continues with the next change', async () => {
  const store = new DurableStore<number>(join(folder, 'throws'))
  await store.set('count', 1)
  const failing = store.change('count', () => {
    throw new Error('refused')
  })
  const next = store.change('count', (count = 0) => count + 1)
  await assert.rejects(failing, /refused/)
  await next
  assert.equal(store.get('count'), 2)
})

test('DurableStore ignores and removes the file of a write that was killed', async () => {
  const path = join(folder, 'killed')
  await new DurableStore<number>(path).set('count', 1)
  writeFileSync(join(path, 'count.json.new'), '{"cou')
  assert.equal(new DurableStore<number>(path).get('count'), 1)
  assert.deepEqual(readdirSync(path), ['count.json'])
})

test('DurableStore rejects keys that are not file names', async () => {
  const store = new DurableStore<number>(join(folder, 'keys'))
  for (const key of ['', '../outside', '.hidden', 'a/b', 'x'.repeat(201)]) {
    await assert.rejects(store.set(key, 1), /may contain only/)
  }
})

test('DurableStore without a folder stores values in memory', async () => {
  const store = new DurableStore<number>()
  await store.set('count', 1)
  assert.equal(store.get('count'), 1)
})
