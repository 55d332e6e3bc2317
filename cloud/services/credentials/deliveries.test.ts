import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { CredentialUse } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import { enrolledGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  actionsOn,
  createTestAsset,
  createTestInstance,
  eventsOf,
  password,
  platform,
  uploadTestSchema,
  uri,
} from './testing.ts'

describe('delivery of credentials to a gateway', () => {
  let hub: TestHub
  let admin: TestCaller
  let gatewayId: string
  const jobId = newId()
  /** The link of the test. Each test has its own link, so that instances of other tests do not apply. */
  let product: { identifier: string; version: string }
  let schemaId: string
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gatewayId = (await enrolledGateway(hub, admin)).id
  })
  after(() => hub[Symbol.asyncDispose]())
  beforeEach(async () => {
    product = { identifier: `link.${newId()}`, version: '1.0.0' }
    schemaId = await uploadTestSchema(admin, product)
  })

  type More = { gatewayId?: string; product?: { identifier: string; version: string }; assetIds?: string[] }
  const selectAll = async (addresses: string[], { assetIds = [], ...more }: More = {}) => {
    const devices = addresses.map((address) => ({ address, assetIds }))
    return (await platform(hub).selectCredentials({ body: { data: { jobId, gatewayId, product, devices, ...more } } }))
      .data
  }
  const select = async (address: string, more: More = {}) => (await selectAll([address], more))[0] ?? assert.fail()
  const names = async (address: string, more: More = {}) =>
    (await select(address, more)).credentials.map(({ name }) => name)
  const report = (...uses: CredentialUse[]) => platform(hub).recordUse({ body: { data: { gatewayId, jobId, uses } } })
  /** Creates instances in this order. Each instance applies to 10.0.0.0/24, unless the test gives another range. */
  const given = async (...wanted: (string | [string, object])[]) => {
    const made: Record<string, string> = {}
    for (const one of wanted) {
      const [name, metadata] = typeof one === 'string' ? [one, {}] : one
      made[name] = (await createTestInstance(admin, schemaId, { name, metadata })).id
    }
    return made as Record<string, string> & Record<'a' | 'b' | 'c' | 'd', string>
  }
  const deliveries = async () =>
    (await admin.audit.listEntries({ query: { action: 'credentials.deliver', limit: 100 } })).data

  test('delivers the three most recent credentials for the address of a new asset, in plain text', async () => {
    await given('oldest', 'older', 'old', ['elsewhere', { ipRanges: ['10.1.0.0/16'] }], 'new')
    const { known, credentials } = await select('10.0.0.7')
    assert.equal(known, false)
    assert.deepEqual(
      credentials.map(({ name }) => name),
      ['new', 'old', 'older'],
    )
    assert.deepEqual(JSON.parse(credentials[0]?.credentials ?? ''), { username: 'operator', password })
    assert.equal(credentials[0]?.schemaUri, uri)
  })

  test('delivers the most recently changed credential first', async () => {
    const made = await given('a', 'b', 'c', 'd')
    await admin.credentials.updateInstance({ params: { instanceId: made.a }, body: { data: { values: { password } } } })
    assert.deepEqual(await names('10.0.0.7'), ['a', 'd', 'c'])
  })

  test('does not deliver a credential for the addresses directly before and after its range', async () => {
    await given(['v4', { ipRanges: ['10.0.0.5-10.0.0.9'] }], ['v6', { ipRanges: ['2001:db8::/64'] }])
    assert.deepEqual(await names('10.0.0.4'), [])
    assert.deepEqual(await names('10.0.0.5'), ['v4'])
    assert.deepEqual(await names('10.0.0.9'), ['v4'])
    assert.deepEqual(await names('10.0.0.10'), [])
    assert.deepEqual(await names('::ffff:10.0.0.9'), ['v4'])
    assert.deepEqual(await names('2001:db8:0:0:ffff::'), ['v6'])
    assert.deepEqual(await names('2001:db8:0:1::'), [])
    assert.deepEqual(await names('plc.example'), [])
  })

  test('delivers only discovery credentials of the link, and none that are assigned to another asset', async () => {
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    const made = await given('a', ['watching', { purpose: 'monitoring' }])
    await admin.credentials.assignInstance({ params: { assetId, instanceId: made.a } })
    const other = await uploadTestSchema(admin, { identifier: `other.${newId()}`, version: '1.0.0' })
    await createTestInstance(admin, other, { name: 'of another link' })
    assert.deepEqual(await names('10.0.0.7'), ['a'])
  })

  test('delivers credentials of the same link version before those of other versions', async () => {
    const next = await uploadTestSchema(admin, { ...product, version: '2.0.0' })
    await given('a', 'b')
    await createTestInstance(admin, next, { name: 'next' })
    await createTestInstance(admin, next, { name: 'last' })
    assert.deepEqual(await names('10.0.0.7'), ['b', 'a', 'last'])
    assert.deepEqual(await names('10.0.0.7', { product: { ...product, version: '2.0.0' } }), ['last', 'next', 'b'])
    assert.deepEqual(await names('10.0.0.7', { product: { ...product, version: '3.0.0' } }), ['last', 'next', 'b'])
  })

  test('delivers only the credential that worked for a known device, even if newer ones exist', async () => {
    const made = await given('a', 'b')
    const address = '10.0.0.8'
    await select(address)
    await report({ address, instanceId: made.a, worked: true }, { address, instanceId: made.b, worked: false })
    await given('c', 'd')
    const { known, credentials } = await select(address)
    assert.deepEqual([known, credentials.map(({ name }) => name)], [true, ['a']])
    assert.deepEqual(await names('10.0.0.9'), ['d', 'c', 'b'])
  })

  test('delivers the credential that worked for an asset before, if its range contains the new address', async () => {
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    const made = await given('a', 'b', 'c', 'd')
    await select('10.0.0.8', {})
    await report({ address: '10.0.0.8', assetId, instanceId: made.b, worked: true })
    assert.deepEqual(await names('10.0.0.44', { assetIds: [assetId] }), ['b'])
    await admin.credentials.updateInstance({
      params: { instanceId: made.b },
      body: { data: { metadata: { ipRanges: ['10.0.0.8'] } } },
    })
    assert.deepEqual(await names('10.0.0.44', { assetIds: [assetId] }), ['d', 'c', 'a'])
    const [withheld] = await deliveries()
    assert.deepEqual(withheld?.detail.withheld, [made.b])
  })

  test('delivers the credential copy that is assigned to an asset', async () => {
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    const made = await given('a', 'b')
    const { data: copy } = await admin.credentials.assignInstance({ params: { assetId, instanceId: made.a } })
    const { known, credentials } = await select('10.0.0.9', { assetIds: [assetId] })
    assert.deepEqual([known, credentials.map(({ instanceId }) => instanceId)], [true, [copy.id]])
    assert.deepEqual(JSON.parse(credentials[0]?.credentials ?? ''), { username: 'operator', password })
  })

  test('delivers the most recent credentials in addition when a credential that worked before has failed', async () => {
    const made = await given('a', 'b')
    const address = '10.0.0.8'
    await select(address)
    await report({ address, instanceId: made.a, worked: true })
    await report({ address, instanceId: made.a, worked: false })
    await given('c', 'd')
    assert.deepEqual(await names(address), ['a', 'd', 'c'])
    await admin.credentials.updateInstance({ params: { instanceId: made.a }, body: { data: { values: { password } } } })
    assert.deepEqual(await names(address), ['a'])
  })

  test('lists at how many addresses a credential was accepted and refused by the latest login', async () => {
    const made = await given('a', 'b', 'c')
    const addresses = ['10.0.0.8', '10.0.0.9', '10.0.0.10']
    await selectAll(addresses)
    await report(...addresses.map((address) => ({ address, instanceId: made.a, worked: true })))
    await report({ address: '10.0.0.8', instanceId: made.b, worked: true })
    await report({ address: '10.0.0.8', instanceId: made.b, worked: false })
    const listed = async (caller: TestCaller) => {
      const { data } = await caller.credentials.listInstances({ query: { schemaId } })
      return data.map(({ name, schemaTitle, logins: { accepted, refused, refusedWithOther, ...times } }) => [
        ...[name, schemaTitle, accepted, refused, refusedWithOther],
        Object.keys(times),
      ])
    }
    assert.deepEqual(await listed(admin), [
      ['c', 'User of a device', 0, 0, 0, []],
      ['b', 'User of a device', 0, 1, 1, ['lastWorkedTimestamp', 'lastFailedTimestamp']],
      ['a', 'User of a device', 3, 0, 0, ['lastWorkedTimestamp']],
    ])
  })

  test('counts the refusing addresses that accept another credential of the same link', async () => {
    const made = await given('a', 'b')
    const other = { identifier: `link.${newId()}`, version: '1.0.0' }
    const otherSchema = await uploadTestSchema(admin, other)
    const { id: ofOtherLink } = await createTestInstance(admin, otherSchema, { name: 'other' })
    const hidden = await createTestAsset(admin, `a-${newId()}`)
    const [both, none, foreign] = ['10.0.0.8', '10.0.0.9', '10.0.0.10']
    await selectAll([both, none, foreign])
    await selectAll([foreign], { product: other })
    await report(
      ...[both, none, foreign].map((address) => ({ address, instanceId: made.a, worked: false })),
      { address: both, assetId: hidden, instanceId: made.b, worked: true },
      { address: none, instanceId: made.b, worked: true },
      { address: foreign, instanceId: ofOtherLink, worked: true },
    )
    await report({ address: none, instanceId: made.b, worked: false })
    const counts = async (caller: TestCaller) => {
      const { data } = await caller.credentials.listInstances({ query: { schemaId, q: 'a' } })
      return data.flatMap(({ name, logins }) => (name === 'a' ? [logins.refused, logins.refusedWithOther] : []))
    }
    assert.deepEqual(await counts(admin), [3, 1])
    const manager = await hub.as('credential_manager')
    assert.deepEqual(await counts(manager), [3, 0])
    const accepting = async (caller: TestCaller) => {
      const { data: usage } = await caller.credentials.readInstanceUsage({ params: { instanceId: made.a } })
      return usage.refusals.flatMap(({ address, acceptsOther }) => (acceptsOther ? [address] : []))
    }
    assert.deepEqual(await accepting(admin), [both])
    assert.deepEqual(await accepting(manager), [])
  })

  test('lists the devices that refused a credential, and the credentials that a device refused', async () => {
    const made = await given('a', 'b')
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    const [refusing, accepting] = ['10.0.0.8', '10.0.0.9']
    await selectAll([refusing, accepting])
    await report(
      { address: refusing, assetId, instanceId: made.a, worked: false },
      { address: refusing, instanceId: made.b, worked: false },
      { address: accepting, instanceId: made.a, worked: true },
    )
    const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId: made.a } })
    assert.deepEqual(
      [usage.refusals, usage.associations].map((uses) => uses.map(({ address }) => address)),
      [[refusing], [accepting]],
    )
    const refusals = async (caller: TestCaller, addresses: string) => {
      const query = { gatewayId, resourceIdentifier: product.identifier, addresses }
      return (await caller.credentials.listRefusals({ query })).data.map(({ name, address }) => [name, address])
    }
    assert.deepEqual((await refusals(admin, `${refusing},${accepting}`)).toSorted(), [
      ['a', refusing],
      ['b', refusing],
    ])
    assert.deepEqual(await refusals(await hub.as('credential_manager'), refusing), [['b', refusing]])
    await report({ address: refusing, instanceId: made.a, worked: true })
    assert.deepEqual(await refusals(admin, refusing), [['b', refusing]])
  })

  test('counts only the logins at assets that the caller can read', async () => {
    const made = await given('a')
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    await selectAll(['10.0.0.8', '10.0.0.9'])
    await report(
      { address: '10.0.0.8', assetId, instanceId: made.a, worked: true },
      { address: '10.0.0.9', instanceId: made.a, worked: true },
    )
    const manager = await hub.as('credential_manager')
    const accepted = async (caller: TestCaller) => {
      const { data } = await caller.credentials.listInstances({ query: { schemaId, address: '10.0.0.8' } })
      return data.map(({ logins, order }) => [logins.accepted, order])
    }
    assert.deepEqual(await accepted(admin), [[2, 1]])
    assert.deepEqual(await accepted(manager), [[1, undefined]])
  })

  test('lists the order in which a scan tries credentials at an address', async () => {
    const orderAt = async (address: string) => {
      const { data } = await admin.credentials.listInstances({ query: { schemaId, address } })
      const tried = data.filter(({ order }) => order !== undefined)
      return tried.toSorted((one, other) => Number(one.order) - Number(other.order)).map(({ name }) => name)
    }
    const made = await given('a', 'b', 'c', 'd', ['watching', { purpose: 'monitoring' }])
    const [address, other] = ['10.0.0.8', '10.0.0.9']
    assert.deepEqual(await orderAt(address), ['d', 'c', 'b'])
    await selectAll([address, other])
    await report({ address, instanceId: made.b, worked: true }, { address: other, instanceId: made.d, worked: false })
    assert.deepEqual(await orderAt(address), ['b'])
    for (const one of [address, other, '10.0.0.77']) assert.deepEqual(await orderAt(one), await names(one), one)
    await report({ address, instanceId: made.b, worked: false })
    assert.deepEqual(await orderAt(address), ['b', 'd', 'c'])
    assert.deepEqual(await orderAt(address), await names(address))
  })

  test('prefers a credential that worked and failed for the same address in one report', async () => {
    const made = await given('a', 'b')
    const address = '10.0.0.8'
    await select(address)
    await report({ address, instanceId: made.a, worked: false }, { address, instanceId: made.a, worked: true })
    assert.deepEqual(await names(address), ['a'])
  })

  test('selects credentials for many devices with the same number of statements as for one device', async () => {
    const made = await given('a', ['b', { ipRanges: ['10.0.0.0/25', '10.0.0.0/24'] }], 'c')
    await given(['d', { ipRanges: ['10.0.0.128/25', '2001:db8::/64'] }])
    await select('10.0.0.9')
    await report({ address: '10.0.0.9', instanceId: made.a, worked: true })
    const addresses = ['10.0.0.200', '10.0.0.7', 'plc.example', '10.0.0.9', '2001:DB8::1', 'fe80::1%eth0', '10.9.0.1']
    const all = await selectAll(addresses)
    assert.deepEqual(
      all.map(({ known, credentials }) => [known, ...credentials.map(({ name }) => name)]),
      [[false, 'd', 'c', 'b'], [false, 'c', 'b', 'a'], [false], [true, 'a'], [false, 'd'], [false], [false]],
    )
    const sent = async (addresses: string[]) =>
      (await hub.statements(() => selectAll(addresses))).filter(({ text }) => text.includes('credential_')).length
    const many = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`)
    assert.equal(await sent(many), await sent(['10.0.0.7']))
  })

  test('counts one delivery for an address that is requested in several notations', async () => {
    const made = await given('a')
    const all = await selectAll(['10.0.0.7', '::ffff:10.0.0.7', '10.0.0.7'])
    assert.deepEqual(
      all.map(({ credentials }) => credentials.length),
      [1, 1, 1],
    )
    const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId: made.a } })
    assert.deepEqual(
      usage.deliveries.map(({ address, count }) => [address, count]),
      [['10.0.0.7', 1]],
    )
  })

  test('delivers credentials when concurrent requests list the same addresses in different orders', async () => {
    await given('a', 'b', 'c')
    const addresses = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`)
    const selections = Array.from({ length: 6 }, (_, n) => selectAll(n % 2 === 0 ? addresses : addresses.toReversed()))
    for (const all of await Promise.all(selections)) assert.ok(all.every(({ credentials }) => credentials.length === 3))
  })

  test('does not prefer a credential that worked for the same address behind another gateway', async () => {
    const made = await given('a', 'b')
    const other = await enrolledGateway(hub, admin, { name: 'line 3' })
    await select('10.0.0.8')
    await report({ address: '10.0.0.8', instanceId: made.a, worked: true })
    assert.deepEqual(await names('10.0.0.8'), ['a'])
    const { known, credentials } = await select('10.0.0.8', { gatewayId: other.id })
    assert.deepEqual([known, credentials.map(({ name }) => name)], [false, ['b', 'a']])
  })

  test('records each delivery of a credential in the audit trail, as an event and as a use, without secrets', async () => {
    const made = await given('a')
    await select('10.0.0.7')
    const hourAgo = `update credential_uses set delivered_at = now() - interval '1 hour' where tenant_id = $1`
    await hub.asOwner((owner) => owner.query(`${hourAgo} and instance_id = $2`, [hub.tenant.tenantId, made.a]))
    await select('10.0.0.7')
    const [entry] = await deliveries()
    assert.deepEqual([entry?.outcome, entry?.target], ['done', `gateway/${gatewayId}`])
    assert.deepEqual(entry?.detail, {
      gatewayId,
      jobId,
      address: '10.0.0.7',
      product,
      instanceIds: [made.a],
      withheld: [],
    })
    assert.deepEqual(await eventsOf(hub, admin, `credential-instance/${made.a}`), [
      'credentials.instance.created',
      'credentials.instance.delivered',
      'credentials.instance.delivered',
    ])
    const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId: made.a } })
    assert.deepEqual(
      usage.deliveries.map(({ lastTimestamp: _, ...delivery }) => delivery),
      [{ gatewayId, jobId, address: '10.0.0.7', count: 2 }],
    )
    assert.ok(Date.now() - Date.parse(usage.deliveries[0]?.lastTimestamp ?? '') < 1_800_000)
    assert.deepEqual(usage.associations, [])
  })

  test('refuses to deliver credentials to a missing or revoked gateway, and records the request', async () => {
    await given('a')
    const away = await enrolledGateway(hub, admin, { name: 'line 2' })
    await admin.onboarding.revokeGateway({ params: { id: away.id } })
    for (const [gateway, code] of [
      [newId(), 'not_found'],
      [away.id, 'gateway_not_ready'],
    ] as const) {
      await assert.rejects(
        select('10.0.0.7', { gatewayId: gateway }),
        (error) => error instanceof Problem && error.code === code,
      )
      const [entry] = await deliveries()
      assert.deepEqual([entry?.outcome, entry?.target], ['denied', `gateway/${gateway}`])
    }
  })

  test('ignores reported uses of credentials that were not delivered', async () => {
    const made = await given('a', ['b', { ipRanges: ['10.7.0.0/16'] }])
    await select('10.0.0.7')
    await report(
      { address: '10.0.0.8', instanceId: made.a, worked: true },
      { address: '10.0.0.7', instanceId: made.b, worked: true },
      { address: 'nowhere', instanceId: made.a, worked: true },
      { address: '10.0.0.7', instanceId: newId(), worked: true },
    )
    for (const instanceId of [made.a, made.b]) {
      const { data } = await admin.credentials.readInstanceUsage({ params: { instanceId } })
      assert.deepEqual(data.associations, [])
    }
  })

  test('lists the credentials that worked for an asset together with its assigned copies, for all links', async () => {
    const assetId = await createTestAsset(admin, `a-${newId()}`)
    const made = await given('a', 'b')
    await select('10.0.0.7')
    await report({ address: '10.0.0.7', assetId, instanceId: made.a, worked: true })
    const other = await uploadTestSchema(admin, { identifier: `other.${newId()}`, version: '1.0.0' })
    const watching = await createTestInstance(admin, other, { name: 'watching', metadata: { purpose: 'monitoring' } })
    await admin.credentials.assignInstance({ params: { assetId, instanceId: watching.id } })
    const list = async (query = {}) => (await admin.credentials.listAssetInstances({ params: { assetId }, query })).data
    const all = await list()
    assert.deepEqual(
      all.map(({ name, assigned, associations }) => [name, assigned, associations.map(({ address }) => address)]),
      [
        ['watching', true, []],
        ['a', false, ['10.0.0.7']],
      ],
    )
    assert.equal(all[1]?.associations[0]?.gatewayId, gatewayId)
    // A caller without the permission to read the asset gets its instances without addresses.
    const manager = await hub.as('credential_manager')
    const { data: listed } = await manager.credentials.listAssetInstances({ params: { assetId } })
    assert.deepEqual(
      listed.map(({ name, associations }) => [name, associations]),
      [
        ['watching', []],
        ['a', []],
      ],
    )
    assert.deepEqual(
      (await list({ purpose: 'discovery' })).map(({ name }) => name),
      ['a'],
    )
    assert.deepEqual(
      (await list({ limit: 1, offset: 1 })).map(({ name }) => name),
      ['a'],
    )
    assert.deepEqual(await actionsOn(admin, `gateway/${gatewayId}`).then(([last]) => last), 'credentials.recordUse')
  })

  test('deletes the delivery records of a deleted credential', async () => {
    const made = await given('a')
    await select('10.0.0.7')
    await report({ address: '10.0.0.7', instanceId: made.a, worked: true })
    await admin.credentials.deleteInstance({ params: { instanceId: made.a } })
    assert.deepEqual(await select('10.0.0.7'), { known: false, credentials: [] })
  })

  test('finds the accepted credential of each listed refusal if one report has more refusals than the list', async () => {
    const made = await given('a', 'b')
    const addresses = Array.from({ length: 150 }, (_, index) => `10.0.0.${(index * 37) % 150}`)
    for (const from of [0, 50, 100]) await selectAll(addresses.slice(from, from + 50))
    await report(...addresses.map((address) => ({ address, instanceId: made.a, worked: false })))
    await report(...addresses.toReversed().map((address) => ({ address, instanceId: made.b, worked: true })))
    const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId: made.a } })
    assert.deepEqual(
      usage.refusals.map(({ address, acceptsOther }) => [address, acceptsOther]),
      addresses
        .toSorted()
        .map((address) => [address, true])
        .slice(0, 100),
    )
  })
})
