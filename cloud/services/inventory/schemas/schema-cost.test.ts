import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { testHub } from '../../../platform/testing/hub.ts'
import { insertSchema } from './schema-store.ts'

/** Returns a schema in which each level applies the next level twice. The expanded size doubles with every level. */
function doublingSchema(levels: number) {
  const definitions = Array.from({ length: levels }, (_, level) => {
    const next = { $ref: `#/$defs/level${level + 1}` }
    return [`level${level}`, { allOf: [next, next] }]
  })
  return {
    $ref: '#/$defs/level0',
    $defs: { ...Object.fromEntries(definitions), [`level${levels}`]: { type: 'object' } },
  }
}

function deviceWith(url: string) {
  return {
    functional_object_type: 'Device',
    functional_object_schema_url: url,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: v7() }],
  }
}

test('refuses an uploaded schema whose expanded size exceeds the limit', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const upload = (schema: object) =>
    admin.exchange(inventory, 'createSchema', { body: { data: { url: `https://plant.example/${v7()}`, schema } } })
  const recursive = { properties: { child: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }
  const dynamic = { $dynamicAnchor: 'node', items: { oneOf: [{ $dynamicRef: '#node' }, { $dynamicRef: '#node' }] } }
  const products = { items: { anyOf: Array(30).fill({ items: { anyOf: Array(30).fill({ $ref: '#' }) } }) } }
  for (const schema of [doublingSchema(22), recursive, dynamic, products]) {
    const { status, body } = await upload(schema)
    const { code, detail = '' } = body as ProblemDocument
    assert.deepEqual([status, code], [400, 'invalid_schema'], detail)
    assert.match(detail, /has more than 250000 subschemas after its references are expanded/)
  }
  const tree = { properties: { left: { $ref: '#' }, right: { $ref: '#' }, children: { items: { $ref: '#' } } } }
  for (const schema of [doublingSchema(10), tree]) assert.equal((await upload(schema)).status, 201)
})

test('responds to other requests while a batch is validated with an expensive, previously accepted schema', async () => {
  await using hub = await testHub()
  const operator = await hub.as('operator')
  const other = await hub.as('operator', { tenant: await hub.anotherTenant() })
  const url = 'https://plant.example/expensive'
  await hub.context.database.transaction(hub.tenant, (tx) =>
    insertSchema(tx, { url, title: 'expensive', schema: doublingSchema(20) }),
  )
  const assets = Array.from({ length: 10 }, () => deviceWith(url))
  let isValidating = true
  const batch = operator.exchange(inventory, 'createAssets', { body: { data: { assets } } }).finally(() => {
    isValidating = false
  })
  let answered = 0
  while (isValidating) {
    const { status } = await other.exchange(inventory, 'listAssets', { query: { limit: 1 } })
    assert.equal(status, 200)
    if (isValidating) answered += 1
  }
  assert.equal((await batch).status, 202)
  assert.ok(answered >= 3, `${answered} other requests were answered during the validation`)
})
