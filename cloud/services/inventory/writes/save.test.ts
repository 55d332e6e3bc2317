import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { Batch } from './batch.ts'
import type { Cause, WorkingAsset } from './change-set.ts'
import { assetRows } from './save.ts'

test('a change of an asset writes the reports of links only if they changed', async () => {
  const assets = [1, 2].map(
    (number): WorkingAsset => ({
      id: v7(),
      accessGroupId: v7(),
      version: 1,
      createdAt: '2026-01-31T00:00:00.000Z',
      document: { functional_object_type: 'Device', name: `Device ${number}` },
      sources: JSON.stringify({ large: 'x'.repeat(100_000) }),
    }),
  )
  const batch = new Batch({
    assets,
    keys: [],
    accessGroups: new Set(),
    gatewayScope: { gatewayIds: new Set() } as never,
    pendingRelations: [],
  })
  const time = '2026-01-31T01:00:00.000Z'
  const cause: Cause = { actor: { principalId: v7(), principalName: 'jane' }, source: { type: 'manual' }, time }
  const [first, second] = assets as [WorkingAsset, WorkingAsset]
  batch.add([
    { type: 'put asset', asset: { ...first, version: 2 }, cause },
    { type: 'put asset', asset: { ...second, version: 2, sources: '{}' }, cause },
  ])
  const created: WorkingAsset = { ...first, id: v7(), sources: null }
  batch.add([{ type: 'put asset', asset: created, cause }])
  const rows = await assetRows({ tenantId: v7() }, batch)
  assert.deepEqual(
    rows.map(({ field_sources }) => field_sources),
    [undefined, '{}', null],
  )
})
