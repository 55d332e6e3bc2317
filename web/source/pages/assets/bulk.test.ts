import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Failure } from '../../app/failure.ts'
import { inBulk } from './bulk.ts'

test('what is gone meanwhile is named, and the rest is changed', async () => {
  const ids = Array.from({ length: 250 }, (_, at) => `asset-${at}`)
  const sizes: number[] = []
  const progress: number[] = []
  const write = async (some: string[]) => {
    sizes.push(some.length)
    const errors = some.flatMap((id, at) =>
      id === 'asset-7' ? [{ pointer: `/data/${at}`, code: 'asset_not_found', detail: 'gone' }] : [],
    )
    if (errors.length > 0) throw new Failure({ title: 'gone', code: 'asset_not_found', status: 422, errors } as never)
    const result = some.map((id) =>
      id === 'asset-120' ? { code: 'invalid_asset', detail: 'no' } : { outcome: 'updated' },
    )
    return { data: { detail: { result } } }
  }
  const outcome = await inBulk({ ids, write, onProgress: (done) => progress.push(done) })
  assert.deepEqual(outcome, {
    done: 248,
    failures: [
      { id: 'asset-7', detail: 'gone' },
      { id: 'asset-120', detail: 'no' },
    ],
  })
  assert.deepEqual(sizes, [100, 99, 100, 50])
  assert.deepEqual(progress, [100, 200, 250])
})
