import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Api } from '../../../app/api/client.ts'
import { changeGroups, readValues, restoreValues, writeValues } from './bulk-values.ts'

type Item = { asset_id: string; key: string; value?: string }

/** A store of one custom property, with the operations that bulk changes use. */
function propertyStore(values: Map<string, string>) {
  const sizes: number[] = []
  const accepted = { data: { detail: { result: [] } } }
  const inventory = {
    async listAssets({ query }: { query: { filter: string } }) {
      const ids = [...query.filter.matchAll(/'([^']+)'/g)].map(([, id]) => id ?? '')
      sizes.push(ids.length)
      const data = ids.map((id) => ({
        id,
        name: id,
        custom_properties: values.has(id) ? [{ key: 'k', value: values.get(id) }] : [],
      }))
      return { data }
    },
    async setPropertyValues({ body }: { body: { data: Item[] } }) {
      for (const { asset_id, value } of body.data) values.set(asset_id, value ?? '')
      return accepted
    },
    async deletePropertyValues({ body }: { body: { data: Item[] } }) {
      for (const { asset_id } of body.data) values.delete(asset_id)
      return accepted
    },
  }
  return { api: { inventory } as unknown as Api, sizes }
}

const field = 'property:k' as const

test('groups the assets that a change affects by their current value, the largest group first', () => {
  const values = ['a', 'b', 'b', undefined, 'c'].map((value, index) => ({ id: String(index), name: '', value }))
  assert.deepEqual(
    changeGroups(values, 'c').map(({ before, assets }) => [before, assets.length]),
    [
      ['b', 2],
      ['a', 1],
      [undefined, 1],
    ],
  )
})

test('reads many values in several requests', async () => {
  const ids = Array.from({ length: 120 }, (_, index) => `id-${index}`)
  const { api, sizes } = propertyStore(new Map([['id-7', 'x']]))
  const values = await readValues(api, { field, ids })
  assert.deepEqual(sizes, [50, 50, 20])
  assert.deepEqual(values[7], { id: 'id-7', name: 'id-7', value: 'x' })
  assert.equal(values[8]?.value, undefined)
})

test('an undo restores the values before the change, and keeps values that were changed again', async () => {
  const stored = new Map([['one', 'old']])
  const { api } = propertyStore(stored)
  const before = await readValues(api, { field, ids: ['one', 'two', 'three'] })
  await writeValues(api, { field, values: before.map(({ id }) => ({ id, value: 'new' })) })
  assert.deepEqual([...stored.values()], ['new', 'new', 'new'])
  stored.set('three', 'newer')
  assert.deepEqual(await restoreValues(api, { field, before, target: 'new' }), { restored: 2, kept: 1 })
  assert.deepEqual(Object.fromEntries(stored), { one: 'old', three: 'newer' })
})

test('removes the values of a custom property, and restores them', async () => {
  const stored = new Map([['one', 'old']])
  const { api } = propertyStore(stored)
  const before = await readValues(api, { field, ids: ['one'] })
  await writeValues(api, { field, values: [{ id: 'one', value: undefined }] })
  assert.equal(stored.size, 0)
  assert.deepEqual(await restoreValues(api, { field, before, target: undefined }), { restored: 1, kept: 0 })
  assert.equal(stored.get('one'), 'old')
})
