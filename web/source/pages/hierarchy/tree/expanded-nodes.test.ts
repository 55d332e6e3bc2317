import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadExpanded, saveExpanded } from './expanded-nodes.ts'

function tabStorage() {
  const items = new Map<string, string>()
  return {
    getItem: (key: string) => items.get(key) ?? null,
    setItem: (key: string, value: string) => void items.set(key, value),
  }
}

test('loads the expanded nodes of one hierarchy', () => {
  const storage = tabStorage()
  saveExpanded(storage, 'plant', new Set(['a', 'b']))
  assert.deepEqual([...loadExpanded(storage, 'plant')], ['a', 'b'])
  assert.deepEqual([...loadExpanded(storage, 'other')], [])
  saveExpanded(storage, 'plant', new Set())
  assert.deepEqual([...loadExpanded(storage, 'plant')], [])
})

test('stores only the nodes that were expanded last', () => {
  const storage = tabStorage()
  saveExpanded(storage, 'plant', new Set(Array.from({ length: 300 }, (_, index) => `node-${index}`)))
  const loaded = [...loadExpanded(storage, 'plant')]
  assert.deepEqual([loaded.length, loaded[0], loaded.at(-1)], [200, 'node-100', 'node-299'])
})
