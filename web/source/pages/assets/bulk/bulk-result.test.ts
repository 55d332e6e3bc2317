import assert from 'node:assert/strict'
import { test } from 'node:test'
import { writeInBulk } from './bulk-result.ts'

test('reports the assets that the server rejected in a bulk edit, and changes the others', async () => {
  const ids = Array.from({ length: 250 }, (_, at) => `asset-${at}`)
  const sizes: number[] = []
  const progress: number[] = []
  const refusals: Record<string, object> = {
    'asset-7': { code: 'asset_not_found', detail: 'gone' },
    'asset-120': { code: 'invalid_asset', detail: 'no' },
  }
  const write = async (some: string[]) => {
    sizes.push(some.length)
    return { data: { detail: { result: some.map((id) => refusals[id] ?? { outcome: 'updated' }) } } }
  }
  const outcome = await writeInBulk({ ids, write, onProgress: (done) => progress.push(done) })
  assert.deepEqual(outcome, {
    done: 248,
    failures: [
      { id: 'asset-7', detail: 'gone' },
      { id: 'asset-120', detail: 'no' },
    ],
  })
  assert.deepEqual(sizes, [100, 100, 50])
  assert.deepEqual(progress, [100, 200, 250])
})
