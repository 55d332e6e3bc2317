import assert from 'node:assert/strict'
import { test } from 'node:test'
import { contentOf } from './import-file.ts'

test('sends the content of a CSV file unchanged', () => {
  assert.deepEqual(contentOf('plant.csv', 'Path,Type\nA,site\n'), { csv: 'Path,Type\nA,site\n' })
})

test('reads the nodes of a JSON export', () => {
  for (const content of ['{ "data": { "nodes": [{ "path": ["A"] }] } }', '{ "nodes": [{ "path": ["A"] }] }'])
    assert.deepEqual(contentOf('Plant.JSON', content), { nodes: [{ path: ['A'] }] })
})

test('rejects a JSON file without a list of nodes', () => {
  assert.equal(contentOf('plant.json', '[1]'), undefined)
  assert.equal(contentOf('plant.json', '{ "data": null }'), undefined)
  assert.equal(contentOf('plant.json', '{ "nodes": '), undefined)
})
