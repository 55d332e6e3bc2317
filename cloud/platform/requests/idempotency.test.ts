import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import type { Contract } from '@millwright/api/contract.ts'
import { credentials } from '@millwright/api/credentials.ts'
import { identity } from '@millwright/api/identity.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { type TestCaller, type TestHub, testHub } from '../testing/hub.ts'

describe('POST with an Idempotency-Key', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  const create = (name: string, key: string, caller = admin) =>
    caller.exchange(authorization, 'createAccessGroup', {
      body: { data: { name } },
      headers: { 'idempotency-key': key },
    })

  test('runs a request with an Idempotency-Key once and returns the same response again', async () => {
    const first = await create('once', 'a')
    const second = await create('once', 'a')
    assert.equal(first.status, 201)
    assert.deepEqual([second.status, second.body], [first.status, first.body])
  })

  test('refuses another body with the same Idempotency-Key', async () => {
    await create('one thing', 'b')
    const other = await create('another thing', 'b')
    assert.equal(other.status, 409)
    assert.equal((other.body as ProblemDocument).code, 'idempotency_key_reused')
  })

  test('does not share an Idempotency-Key between callers', async () => {
    const colleague = await hub.as('administrator')
    await create('of one', 'c')
    assert.equal((await create('of another', 'c', colleague)).status, 201)
  })

  test('refuses a deeply nested body in a request with an Idempotency-Key', async () => {
    const depth = 50_000
    const answer = await hub.request({
      method: 'POST',
      path: '/authorization/v1/access-groups',
      headers: {
        authorization: `Bearer ${admin.token}`,
        'content-type': 'application/json',
        'idempotency-key': 'deep',
      },
      body: `${'{"data":'.repeat(depth)}1${'}'.repeat(depth)}`,
    })
    assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [400, 'invalid_body'])
  })

  test('does not return a secret again when a request is repeated with its Idempotency-Key', async () => {
    const send = () =>
      admin.exchange(identity, 'createServerUser', {
        body: { data: { name: 'robot' } },
        headers: { 'idempotency-key': 'd' },
      })
    assert.equal((await send()).status, 201)
    const again = await send()
    assert.equal(again.status, 409)
    assert.equal((again.body as ProblemDocument).code, 'already_answered')
    const kept = await hub.asOwner((owner) =>
      owner.query(`select body from idempotent_requests where key = 'd' and tenant_id = $1`, [hub.tenant.tenantId]),
    )
    assert.deepEqual(kept.rows, [{ body: null }])
  })

  test('runs a request with the same Idempotency-Key again after a failure', async () => {
    await create('taken', 'e')
    assert.equal((await create('taken', 'f')).status, 409)
    const { data } = await admin.authorization.listAccessGroups({ query: { name: 'taken' } })
    await admin.authorization.deleteAccessGroup({ params: { id: data[0]?.id ?? '' } })
    assert.equal((await create('taken', 'f')).status, 201)
  })

  test('runs concurrent requests with the same Idempotency-Key once', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => create('race', 'g')))
    for (const { status, body } of answers) {
      assert.ok(status === 201 || (body as ProblemDocument).code === 'request_in_progress', JSON.stringify(body))
    }
    assert.equal((await admin.authorization.listAccessGroups({ query: { name: 'race' } })).data.length, 1)
    const after = await create('race', 'g')
    assert.equal(after.status, 201)
  })

  test('holds no transaction while a request with an Idempotency-Key waits for the validation worker', async () => {
    const manager = await hub.as('credential_manager')
    const schema = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } }
    const url = 'https://example.com/schemas/keyed'
    const asset = { functional_object_type: 'Device', functional_object_schema_url: url, name: 'keyed' }
    const identified = {
      ...asset,
      asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'n', value: 'keyed' }],
    }
    const product = { resourceIdentifier: 'keyed', resourceVersion: '1' }
    const leases = async (caller: TestCaller, contract: Contract, operation: string, input: object) => {
      const seen: { connection: object; lease: number }[] = []
      const stop = hub.contextOf(contract.name as 'inventory').database.observe(({ text, by }) => {
        const isKnown = seen.some(({ connection, lease }) => connection === by.connection && lease === by.lease)
        if (!isKnown && /^(insert into|update) idempotent_requests(?! set claimed_until)/.test(text)) seen.push(by)
      })
      const headers = { 'idempotency-key': `${contract.name} ${operation}` }
      const answer = await caller.exchange(contract, operation, { ...input, headers })
      stop()
      assert.ok(answer.status < 300, JSON.stringify(answer.body))
      assert.equal(seen.length, 2, `${operation} claims its key and stores its answer in two transactions`)
      return answer.body
    }
    await leases(admin, inventory, 'createSchema', { body: { data: { url, schema } } })
    await leases(admin, inventory, 'createAsset', { body: { data: { asset: identified } } })
    await leases(admin, inventory, 'createAssets', { body: { data: { assets: [identified] } } })
    const uploaded = await leases(manager, credentials, 'createSchema', {
      query: product,
      body: { data: { uri: 'urn:keyed', schema } },
    })
    const schemaId = (uploaded as { data: { id: string } }).data.id
    const instance = { schemaId, name: 'keyed', values: {}, metadata: { ipRanges: ['10.0.0.0/24'] } }
    await leases(manager, credentials, 'createInstance', { body: { data: instance } })
  })

  test('forgets an Idempotency-Key after a day', async () => {
    await create('yesterday', 'h')
    await hub.asOwner((owner) =>
      owner.query(
        `update idempotent_requests set created_at = now() - interval '25 hours' where key = 'h' and tenant_id = $1`,
        [hub.tenant.tenantId],
      ),
    )
    assert.equal((await create('today', 'h')).status, 201)
  })

  test('refuses an invalid Idempotency-Key', async () => {
    assert.equal(((await create('x', 'k'.repeat(256))).body as ProblemDocument).code, 'invalid_header')
  })
})
