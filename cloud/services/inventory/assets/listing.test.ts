import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { v7 } from 'uuid'
import { testHub } from '../../../platform/testing/hub.ts'

type Query = { sort?: string; cursor?: string }

const asset = (tag: number, fields: object) => ({
  functional_object_type: 'Device',
  asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: `t${tag}` }],
  ...fields,
})

test('refuses any cursor that the server did not create', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  await admin.inventory.createAssets({
    body: { data: { assets: [asset(1, { name: 'a' }), asset(2, {})] } },
    headers: { prefer: 'wait=30' },
  })
  const answer = async (query: Query) => {
    const { status, body } = await admin.exchange(inventory, 'listAssets', { query: { ...query, limit: 1 } })
    return { status, ...(body as { code?: string; meta?: { nextCursor?: string } }) }
  }
  for (const sort of ['id', 'name', '-name', 'created_timestamp', 'is_firmware']) {
    const { meta } = await answer({ sort })
    const valid = JSON.parse(Buffer.from(meta?.nextCursor ?? '', 'base64url').toString()) as unknown[]
    for (const forged of [
      valid.with(-1, 'no id'),
      valid.with(-1, null),
      valid.with(1, { a: 1 }),
      valid.with(1, sort.endsWith('name') ? '\0' : 'none'),
      [...valid, 'more'],
      valid.slice(0, -1),
      'nothing',
    ]) {
      const { status, code } = await answer({ sort, cursor: Buffer.from(JSON.stringify(forged)).toString('base64url') })
      assert.deepEqual([status, code], [400, 'invalid_cursor'], JSON.stringify(forged))
    }
  }
})

test('returns the complete asset list by cursor for every sort order, even with missing values', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const names = ['b', 'a', undefined, 'b', 'c', undefined, 'a', 'b']
  const descriptions = ['x', undefined, 'y', 'x', undefined, undefined, 'y', 'z']
  const assets = names.map((name, tag) => {
    const description = descriptions[tag]
    return asset(tag, { ...(name && { name }), ...(description && { description }) })
  })
  await admin.inventory.createAssets({ body: { data: { assets } }, query: {}, headers: { prefer: 'wait=30' } })
  for (const sort of [undefined, 'name', '-name', 'name,-description', '-name,description', '-created_timestamp']) {
    const sorted = sort === undefined ? {} : { sort }
    const complete = await admin.inventory.listAssets({ query: { ...sorted, limit: 100 } })
    const paged: unknown[] = []
    for (let cursor: string | undefined, more = true; more; ) {
      const query = { ...sorted, limit: 3, ...(cursor === undefined ? {} : { cursor }) }
      const { data, meta } = await admin.inventory.listAssets({ query })
      paged.push(...data.map(({ id }) => id))
      cursor = (meta as { nextCursor?: string }).nextCursor
      more = cursor !== undefined
    }
    assert.equal(complete.data.length, names.length)
    assert.deepEqual(
      paged,
      complete.data.map(({ id }) => id),
      sort,
    )
  }
})

test('returns the complete list of relations by cursor, and refuses the cursor of another list', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const node = () => ({ type: 'node' as const, id: v7() })
  const states = ['feeds', 'is_part_of', 'feeds', 'powers', 'is_part_of', 'feeds', 'powers']
  for (const predicate of states)
    await admin.inventory.createRelation({ body: { data: { subject: node(), predicate, object: node() } } })
  const list = admin.inventory.listRelations
  for (const sort of [
    undefined,
    'predicate',
    '-predicate',
    '-predicate,createdTimestamp',
    '-createdTimestamp,predicate',
    'lastModifiedTimestamp,-predicate',
  ]) {
    const listQuery = { ...(sort === undefined ? {} : { sort }), filter: "predicate ne 'powers'" }
    const complete = await list({ query: { ...listQuery, limit: 100 } })
    assert.deepEqual([complete.data.length, complete.meta.nextCursor], [5, undefined])
    let page = await list({ query: { ...listQuery, limit: 2 } })
    const collected = [...page.data]
    while (page.meta.nextCursor !== undefined) {
      page = await list({ query: { ...listQuery, limit: 2, cursor: page.meta.nextCursor } })
      assert.equal(page.meta.totalElements, 5)
      collected.push(...page.data)
    }
    assert.deepEqual(collected, complete.data, sort)
  }

  const { meta } = await list({ query: { limit: 2, count: false } })
  assert.deepEqual(Object.keys(meta).toSorted(), ['elements', 'nextCursor', 'offset'])
  const cursor = meta.nextCursor ?? ''
  const skipped = await list({ query: { limit: 2, offset: 1, cursor } })
  assert.deepEqual(skipped.data, (await list({ query: { limit: 2, offset: 3 } })).data)
  for (const another of [{ sort: 'predicate' }, { filter: "predicate eq 'feeds'" }, { caseInsensitive: true }])
    await assert.rejects(list({ query: { ...another, cursor } }), { code: 'invalid_cursor' })
})
