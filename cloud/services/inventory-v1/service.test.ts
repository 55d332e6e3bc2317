import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { inventoryV1 } from '@millwright/api/inventory-v1.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

type Asset = Record<string, unknown> & { id: string }

describe('inventory API version 1', () => {
  let hub: TestHub
  let admin: TestCaller
  let serial = 0

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  const device = (more: object = {}) => {
    serial += 1
    const mac = `00:1b:1b:00:00:${serial.toString(16).padStart(2, '0')}`
    return {
      '@type': 'Device',
      asset_identifiers: [{ asset_identifier_type: 'MacIdentifier', mac_address: mac }],
      ...more,
    }
  }
  const call = async (name: string, input: object, caller = admin) => {
    const { status, headers, body } = await caller.exchange(inventoryV1, name, input)
    return { status, headers, body: body as Asset, problem: body as unknown as ProblemDocument }
  }
  const create = async (more: object = {}) => (await call('createAsset', { body: device(more) })).body
  const patch = (id: string, body: object) => call('updateAsset', { params: { id }, body })

  test('creates an asset synchronously, and updates the asset with the same identifiers', async () => {
    const sent = device({
      name: 'press',
      zone: 'default',
      management_state: { state_value: 'regarded' },
      product_instance_identifier: { serial_number: 'S1', manufacturer_product: { name: 'P', product_id: 'A1' } },
      mounting_location: { slot_number: 3 },
    })
    const created = await call('createAsset', { body: sent })
    assert.equal(created.status, 201)
    assert.equal(created.headers.get('location'), `/inventory/v1-earlyaccess/assets/${created.body.id}`)
    assert.equal((created.body.management_state as { state_value: string }).state_value, 'regarded')
    assert.deepEqual([created.body['@type'], created.body.zone], ['Device', 'default'])
    assert.deepEqual(created.body.asset_identifiers, sent.asset_identifiers)
    assert.deepEqual(created.body.mounting_location, { slot_number: 3 })
    const current = await admin.inventory.readAsset({ params: { id: created.body.id } })
    assert.equal((current.data.product_instance_information as { serial_number: string }).serial_number, 'S1')
    const again = await call('createAsset', { body: { ...sent, name: 'press 2' } })
    assert.deepEqual([again.status, again.body.id, again.body.name], [200, created.body.id, 'press 2'])
    assert.deepEqual((await call('readAsset', { params: { id: created.body.id } })).body, again.body)
  })

  test('repeats the response of a request with the same Idempotency-Key', async () => {
    const input = { body: device({ name: 'once' }), headers: { 'idempotency-key': 'v1-once' } }
    const first = await call('createAsset', input)
    const second = await call('createAsset', input)
    assert.deepEqual([first.status, second.status, second.body], [201, 201, first.body])
  })

  test('completes more concurrent writes than there are database connections', async () => {
    const round = async (number: number) => {
      const sent = Array.from({ length: 24 }, (_, index) => {
        const headers = { 'idempotency-key': `v1-many-${number}-${index}` }
        return call('createAsset', { body: device({ name: `${index}` }), headers })
      })
      return new Set((await Promise.all(sent)).map(({ status }) => status))
    }
    // A busy machine may respond with 503 in some rounds, but writes that block each other fail in every round.
    let statuses = new Set<number>()
    for (let number = 0; number < 5 && !isDeepStrictEqual([...statuses], [201]); number += 1) {
      statuses = await round(number)
    }
    assert.deepEqual([...statuses], [201])
  })

  test('leaves the asset unchanged when a client sends the returned document back', async () => {
    const created = await create({ name: 'same', description: 'as it is' })
    assert.deepEqual((await call('createAsset', { body: created })).body, created)
    assert.deepEqual((await patch(created.id, created)).body, created)
  })

  test('changes the fields of a merge patch and clears fields that are null', async () => {
    const created = await create({ name: 'pump', description: 'old', mounting_location: { slot_number: 1 } })
    const { status, body } = await patch(created.id, {
      description: null,
      mounting_location: { slot_number: 2 },
      trust_established_state: { state_value: 'trusted' },
      responsible: 'jane',
    })
    assert.equal(status, 200)
    assert.deepEqual([body.name, body.description, body.responsible], ['pump', undefined, 'jane'])
    assert.deepEqual(body.mounting_location, { slot_number: 2 })
    assert.equal((body.trust_established_state as { state_value: string }).state_value, 'trusted')
  })

  test('moves an asset to the access group that its field `zone` names', async () => {
    await admin.authorization.createAccessGroup({ body: { data: { name: 'line-v1' } } })
    const created = await create()
    assert.equal((await patch(created.id, { zone: 'line-v1' })).body.zone, 'line-v1')
    assert.equal((await patch(created.id, { zone: 'nowhere' })).problem.code, 'access_group_not_found')
  })

  test('sets and removes custom properties and returns their names', async () => {
    const { data } = await admin.inventory.createCustomProperty({ body: { data: { name: 'cost centre' } } })
    const created = await create({ custom_ui_properties: [{ key: data.key, value: '4711' }] })
    assert.deepEqual(created.custom_ui_properties, [{ key: data.key, label: 'cost centre', value: '4711' }])
    assert.deepEqual((await patch(created.id, { custom_ui_properties: null })).body.custom_ui_properties, [])
  })

  test('changes and removes the parent of an asset, but not its gateway', async () => {
    const [first, second] = [await create(), await create()]
    const created = await create({ parent: { id: first.id } })
    assert.deepEqual(created.parent, { id: first.id })
    assert.deepEqual((await patch(created.id, { parent: { id: second.id } })).body.parent, { id: second.id })
    const { data } = await admin.inventory.listAssetRelations({ params: { id: created.id } })
    assert.equal(data.length, 1)
    assert.equal((await patch(created.id, { parent: null })).body.parent, undefined)
    const refused = await patch(created.id, { gateway: { id: first.id } })
    assert.equal(refused.problem.code, 'system_managed_predicate')
  })

  test('returns JSON pointers into an invalid document and writes nothing', async () => {
    const wrong = await call('createAsset', { body: device({ no_such_field: 1 }) })
    assert.equal(wrong.problem.code, 'invalid_asset')
    assert.deepEqual(
      wrong.problem.errors?.map(({ pointer }) => pointer),
      ['/no_such_field'],
    )
    const state = await call('createAsset', {
      body: device({ name: 'never', trust_established_state: { state_value: 'x' } }),
    })
    assert.deepEqual(
      state.problem.errors?.map(({ pointer }) => pointer),
      ['/trust_established_state/state_value'],
    )
    const { data } = await admin.inventory.listAssets({ query: { filter: "name eq 'never'" } })
    assert.deepEqual(data, [])
    assert.equal((await call('createAsset', { body: { data: device() } })).problem.code, 'invalid_body')
  })

  test('uses the field names of version 1 in the pointers of an error', async () => {
    const pointersOf = async (more: object) => {
      const { problem } = await call('createAsset', { body: device(more) })
      return problem.errors?.map(({ pointer }) => pointer)
    }
    const [wrong, address] = [{ no_such_field: 1 }, { location_type: 'PostalAddress', street: 1 }]
    assert.deepEqual(await pointersOf({ zone: 'nowhere' }), ['/zone'])
    assert.deepEqual(await pointersOf({ '@context': { '@vocab': 'https://example.com/x' } }), ['/@context/@vocab'])
    assert.deepEqual(await pointersOf({ mounting_location: wrong }), ['/mounting_location/no_such_field'])
    const places = await pointersOf({ mounting_location: { slot_number: 3 }, location: [address] })
    assert.ok(
      places?.every((pointer) => pointer.startsWith('/location/0/')),
      `${places}`,
    )
    const product = { serial_number: 5, manufacturer_product: { name: 5 } }
    assert.deepEqual(await pointersOf({ product_instance_identifier: product }), [
      '/product_instance_identifier/serial_number',
      '/product_instance_identifier/manufacturer_product/name',
    ])
  })

  test('refuses a value of the wrong type instead of clearing the field', async () => {
    const { data: property } = await admin.inventory.createCustomProperty({ body: { data: { name: 'kept' } } })
    const rack = await create()
    const created = await create({
      parent: { id: rack.id },
      responsible: 'jane',
      mounting_location: { slot_number: 3 },
      product_instance_identifier: { serial_number: 'S1' },
      custom_ui_properties: [{ key: property.key, value: '1' }],
    })
    const wrong: [object, string][] = [
      [{ custom_ui_properties: { [property.key]: '2' } }, '/custom_ui_properties'],
      [{ custom_ui_properties: [{ key: property.key, value: null }] }, '/custom_ui_properties/0/value'],
      [{ mounting_location: 'rack 3' }, '/mounting_location'],
      [{ product_instance_identifier: 'S1' }, '/product_instance_identifier'],
      [{ parent: rack.id }, '/parent'],
      [{ location: 'hall 2' }, '/location'],
      [{ asset_identifiers: 'S1' }, '/asset_identifiers'],
      [{ responsible: 5 }, '/responsible'],
      [{ trust_established_state: 'trusted' }, '/trust_established_state'],
      [{ responsible: null }, '/responsible'],
      [{ zone: null }, '/zone'],
      [{ management_state: null }, '/management_state'],
    ]
    for (const [body, pointer] of wrong) {
      const { status, problem } = await patch(created.id, body)
      assert.deepEqual([status, problem.errors?.[0]?.pointer], [400, pointer])
    }
    assert.deepEqual((await call('readAsset', { params: { id: created.id } })).body, created)
  })

  test('returns an ETag and checks If-Match on writes', async () => {
    const created = await create({ name: 'seen' })
    const params = { id: created.id }
    const read = await call('readAsset', { params })
    const etag = read.headers.get('etag') ?? ''
    const again = () => call('readAsset', { params, headers: { 'if-none-match': etag } })
    assert.equal((await again()).status, 304)
    const headers = { 'if-match': etag }
    const change = (name: string) => call('updateAsset', { params, headers, body: { name } })
    assert.deepEqual([(await change('first')).body.name, (await again()).status], ['first', 200])
    const late = [await change('second'), await call('deleteAsset', { params, headers })]
    for (const { status, problem } of late) assert.deepEqual([status, problem.code], [412, 'precondition_failed'])
    const current = { 'if-match': (await again()).headers.get('etag') ?? '' }
    assert.equal((await call('deleteAsset', { params, headers: current })).status, 204)
  })

  test('accepts a merge patch as JSON and as application/merge-patch+json, which version 2 refuses', async () => {
    const created = await create()
    const send = (path: string, type: string, body: object) =>
      hub.request({
        method: 'PATCH',
        path,
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': type },
        body: JSON.stringify(body),
      })
    const path = `/inventory/v1-earlyaccess/assets/${created.id}`
    for (const type of ['application/merge-patch+json', 'application/json', 'application/json; charset="UTF-8"'])
      assert.equal((await send(path, type, { name: type })).status, 200)
    assert.equal((await send(path, 'application/json; charset=iso-8859-1', { name: 'x' })).status, 415)
    const current = `/inventory/v2/assets/${created.id}/name`
    assert.equal((await send(current, 'application/merge-patch+json', { data: { name: 'x' } })).status, 415)
  })

  test('writes either all fields of a document or none', async () => {
    const { data } = await admin.inventory.createCustomProperty({ body: { data: { name: 'cost unit' } } })
    const rack = await create()
    const created = await create({ name: 'module', parent: { id: rack.id }, responsible: 'jane' })
    const versions = async () => (await admin.inventory.readHistory({ params: { id: created.id } })).data.length
    assert.equal(await versions(), 1)
    const document = {
      name: 'module 2',
      parent: null,
      responsible: 'joe',
      management_state: { state_value: 'regarded' },
      custom_ui_properties: [{ key: data.key, value: '1' }],
    }
    const nowhere = '01980000-0000-7000-8000-00000000ffff'
    for (const [wrong, code, pointer] of [
      [{ parent: { id: nowhere } }, 'asset_not_found', '/parent/id'],
      [{ custom_ui_properties: [{ key: nowhere, value: '1' }] }, 'property_not_found', '/custom_ui_properties/0/key'],
    ] as const) {
      const refused = await patch(created.id, { ...document, ...wrong })
      assert.deepEqual([refused.problem.code, refused.problem.errors?.[0]?.pointer], [code, pointer])
      assert.deepEqual((await call('readAsset', { params: { id: created.id } })).body, created)
      const creation = await call('createAsset', { body: device({ name: 'never there', ...wrong }) })
      assert.equal(creation.problem.code, code)
    }
    const { meta } = await admin.inventory.listAssets({ query: { filter: "name eq 'never there'" } })
    assert.equal(meta.totalElements, 0)

    const { body } = await patch(created.id, document)
    assert.deepEqual([body.name, body.parent, body.responsible], ['module 2', undefined, 'joe'])
    assert.equal(await versions(), 2)
    await patch(created.id, document)
    assert.equal(await versions(), 2)
  })

  test('requires the permission to write relations when the parent of an asset changes', async () => {
    const role = { name: 'without-relations', permissions: ['inventory_write_asset_data', 'inventory_read_asset_data'] }
    await admin.authorization.createRole({ body: { data: role as never } })
    const writer = await hub.as(role.name)
    const rack = await create()
    const created = await create({ parent: { id: rack.id } })
    const renamed = await call('updateAsset', { params: { id: created.id }, body: { name: 'mine' } }, writer)
    assert.deepEqual([renamed.status, renamed.body.parent], [200, { id: rack.id }])
    const refused = await call(
      'updateAsset',
      { params: { id: created.id }, body: { name: 'no', parent: null } },
      writer,
    )
    assert.equal(refused.problem.code, 'forbidden')
    assert.equal((await call('readAsset', { params: { id: created.id } })).body.name, 'mine')
  })

  test('keeps a parent that the caller cannot read', async () => {
    const { data } = await admin.authorization.createAccessGroup({ body: { data: { name: 'own-line' } } })
    const rack = await create()
    const created = await create({ zone: 'own-line', parent: { id: rack.id } })
    const ofLine = await hub.as('operator', { accessGroupId: data.id })
    const { status, body } = await call('updateAsset', { params: { id: created.id }, body: { name: 'mine' } }, ofLine)
    assert.deepEqual([status, body.name, body.parent], [200, 'mine', undefined])
    assert.deepEqual((await call('readAsset', { params: { id: created.id } })).body.parent, { id: rack.id })
  })

  test('reports a hidden parent as missing, even if it is the current parent', async () => {
    const { data } = await admin.authorization.createAccessGroup({ body: { data: { name: 'blind-line' } } })
    const [rack, other] = [await create(), await create()]
    const created = await create({ zone: 'blind-line', parent: { id: rack.id } })
    const ofLine = await hub.as('operator', { accessGroupId: data.id })
    for (const id of [rack.id, other.id, '01980000-0000-7000-8000-00000000ffff']) {
      const guess = { params: { id: created.id }, body: { parent: { id } } }
      const { status, problem } = await call('updateAsset', guess, ofLine)
      assert.deepEqual([status, problem.code], [422, 'asset_not_found'])
    }
  })

  test('refuses a document that is nested too deeply', async () => {
    const created = await create()
    const headers = { authorization: `Bearer ${admin.token}`, 'content-type': 'application/json' }
    for (const [method, path] of [
      ['POST', '/assets'],
      ['PATCH', `/assets/${created.id}`],
    ] as const) {
      for (const [depth, code] of [
        [100, 'invalid_asset'],
        [100_000, 'invalid_body'],
      ] as const) {
        const body = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
        const answer = await hub.request({ method, path: `/inventory/v1-earlyaccess${path}`, headers, body })
        assert.equal((answer.body as ProblemDocument).code, code, method)
      }
    }
  })

  test('refuses a patch with identifiers of another asset', async () => {
    const [one, two] = [await create({ name: 'one' }), await create({ name: 'two' })]
    const refused = await patch(one.id, { name: 'stolen', asset_identifiers: two.asset_identifiers })
    assert.equal(refused.problem.code, 'ambiguous_identity')
    assert.equal((await call('readAsset', { params: { id: two.id } })).body.name, 'two')
  })

  test('deletes an asset and returns 404 afterwards', async () => {
    const created = await create()
    assert.equal((await call('deleteAsset', { params: { id: created.id } })).status, 204)
    for (const [name, input] of [
      ['readAsset', {}],
      ['deleteAsset', {}],
      ['updateAsset', { body: { name: 'x' } }],
    ] as const) {
      assert.equal((await call(name, { params: { id: created.id }, ...input })).status, 404, name)
    }
  })

  test('returns only the id to a caller that may write but not read', async () => {
    const role = { name: 'writer-only', permissions: ['inventory_write_asset_data' as const] }
    await admin.authorization.createRole({ body: { data: role } })
    const created = await call('createAsset', { body: device({ responsible: 'joe' }) }, await hub.as('writer-only'))
    assert.deepEqual([created.status, Object.keys(created.body)], [201, ['id']])
    assert.equal((await call('readAsset', { params: { id: created.body.id } })).body.responsible, 'joe')
  })

  test('returns the path of the version 2 operation in a Link header', async () => {
    const headers = { authorization: `Bearer ${admin.token}` }
    const answer = await hub.request({ method: 'GET', path: '/v1/inventory/v1-earlyaccess/assets', headers })
    assert.equal(answer.status, 200)
    assert.match(answer.headers.get('deprecation') ?? '', /^@\d{10}$/)
    assert.ok(Date.parse(answer.headers.get('sunset') ?? '') > 0)
    assert.equal(answer.headers.get('link'), '</inventory/v2/assets>; rel="successor-version"')
  })
})

test('lists all readable assets as one JSON array across several pages', async () => {
  await using hub = await testHub()
  const admin = await hub.as('administrator')
  const list = async (caller: TestCaller) => {
    const headers = { authorization: `Bearer ${caller.token}` }
    const answer = await hub.request({ method: 'GET', path: '/inventory/v1-earlyaccess/assets', headers })
    assert.match(answer.headers.get('content-type') ?? '', /^application\/json/)
    return JSON.parse(answer.text) as Asset[]
  }
  assert.deepEqual(await list(admin), [])
  const assets = Array.from({ length: 230 }, (_, index) => ({
    functional_object_type: 'Device',
    name: `device ${index}`,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'number', value: String(index) }],
  }))
  await admin.inventory.createAssets({ body: { data: { assets } }, headers: { prefer: 'wait=30' } })
  const found = (await list(admin)) as (Asset & { asset_identifiers: unknown[] })[]
  assert.deepEqual(
    new Set(found.map(({ asset_identifiers: [own] }) => (own as { value: string }).value)),
    new Set(assets.map((_, index) => String(index))),
  )
  assert.equal(found.length, assets.length)
})
