import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { CredentialUse } from '@millwright/api/credentials-shapes.ts'
import { Problem } from '@millwright/api/problem.ts'
import { newId } from '../../platform/database/id.ts'
import { enrolledGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { actionsOn, eventsOf, givenAsset, givenInstance, givenSchema, password, platform, uri } from './testing.ts'

describe('what a gateway is given', () => {
  let hub: TestHub
  let admin: TestCaller
  let gatewayId: string
  const jobId = newId()
  /** Each test has a link of its own, so that no instance of another is in its way. */
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
    schemaId = await givenSchema(admin, product)
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
  /** Instances in the order of their making, each for the whole of 10.0.0.0/24 unless said otherwise. */
  const given = async (...wanted: (string | [string, object])[]) => {
    const made: Record<string, string> = {}
    for (const one of wanted) {
      const [name, metadata] = typeof one === 'string' ? [one, {}] : one
      made[name] = (await givenInstance(admin, schemaId, { name, metadata })).id
    }
    return made as Record<string, string> & Record<'a' | 'b' | 'c' | 'd', string>
  }
  const deliveries = async () =>
    (await admin.audit.listEntries({ query: { action: 'credentials.deliver', limit: 100 } })).data

  test('for a new asset are the three most recent that apply to its address, in clear, for the link', async () => {
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

  test('is the most recently changed first: a corrected one goes before newer ones', async () => {
    const made = await given('a', 'b', 'c', 'd')
    await admin.credentials.updateInstance({ params: { instanceId: made.a }, body: { data: { values: { password } } } })
    assert.deepEqual(await names('10.0.0.7'), ['a', 'd', 'c'])
  })

  test('is never outside its range, not by one address', async () => {
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

  test('is for discovery, of that link, and not what is assigned to somebody else', async () => {
    const assetId = await givenAsset(admin, `a-${newId()}`)
    const made = await given('a', ['watching', { purpose: 'monitoring' }])
    await admin.credentials.assignInstance({ params: { assetId, instanceId: made.a } })
    const other = await givenSchema(admin, { identifier: `other.${newId()}`, version: '1.0.0' })
    await givenInstance(admin, other, { name: 'of another link' })
    assert.deepEqual(await names('10.0.0.7'), ['a'])
  })

  test('is of the same version of the link before those of others', async () => {
    const next = await givenSchema(admin, { ...product, version: '2.0.0' })
    await given('a', 'b')
    await givenInstance(admin, next, { name: 'next' })
    await givenInstance(admin, next, { name: 'last' })
    assert.deepEqual(await names('10.0.0.7'), ['b', 'a', 'last'])
    assert.deepEqual(await names('10.0.0.7', { product: { ...product, version: '2.0.0' } }), ['last', 'next', 'b'])
    assert.deepEqual(await names('10.0.0.7', { product: { ...product, version: '3.0.0' } }), ['last', 'next', 'b'])
  })

  test('for a known device is what opened it, whatever came later', async () => {
    const made = await given('a', 'b')
    const address = '10.0.0.8'
    await select(address)
    await report({ address, instanceId: made.a, worked: true }, { address, instanceId: made.b, worked: false })
    await given('c', 'd')
    const { known, credentials } = await select(address)
    assert.deepEqual([known, credentials.map(({ name }) => name)], [true, ['a']])
    assert.deepEqual(await names('10.0.0.9'), ['d', 'c', 'b'])
  })

  test('for a known asset is what opened it at another address, where that applies', async () => {
    const assetId = await givenAsset(admin, `a-${newId()}`)
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

  test('of an asset with a copy for discovery is that copy', async () => {
    const assetId = await givenAsset(admin, `a-${newId()}`)
    const made = await given('a', 'b')
    const { data: copy } = await admin.credentials.assignInstance({ params: { assetId, instanceId: made.a } })
    const { known, credentials } = await select('10.0.0.9', { assetIds: [assetId] })
    assert.deepEqual([known, credentials.map(({ instanceId }) => instanceId)], [true, [copy.id]])
    assert.deepEqual(JSON.parse(credentials[0]?.credentials ?? ''), { username: 'operator', password })
  })

  test('heals: when what opened a device fails, it is tried once more beside the most recent', async () => {
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

  test('is chosen for each of many devices, in as many statements as for one', async () => {
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
    const sent = async (asked: string[]) =>
      (await hub.statements(() => selectAll(asked))).filter(({ text }) => text.includes('credential_')).length
    const many = Array.from({ length: 100 }, (_, index) => `10.0.0.${index}`)
    assert.equal(await sent(many), await sent(['10.0.0.7']))
  })

  test('is given once for an address that is asked for twice, however it is written', async () => {
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

  test('is given to many who ask for the same addresses at once, in whatever order', async () => {
    await given('a', 'b', 'c')
    const addresses = Array.from({ length: 20 }, (_, index) => `10.0.0.${index}`)
    const asked = Array.from({ length: 6 }, (_, n) => selectAll(n % 2 === 0 ? addresses : addresses.toReversed()))
    for (const all of await Promise.all(asked)) assert.ok(all.every(({ credentials }) => credentials.length === 3))
  })

  test('for a device of one gateway is not what opened another at the same address of another gateway', async () => {
    const made = await given('a', 'b')
    const other = await enrolledGateway(hub, admin, { name: 'line 3' })
    await select('10.0.0.8')
    await report({ address: '10.0.0.8', instanceId: made.a, worked: true })
    assert.deepEqual(await names('10.0.0.8'), ['a'])
    const { known, credentials } = await select('10.0.0.8', { gatewayId: other.id })
    assert.deepEqual([known, credentials.map(({ name }) => name)], [false, ['b', 'a']])
  })

  test('is on the audit trail, told as an event, and remembered, without any value', async () => {
    const made = await given('a')
    await select('10.0.0.7')
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
    assert.deepEqual(usage.associations, [])
  })

  test('is nothing when the gateway is not there or was sent away, and that it asked is on the trail', async () => {
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

  test('is all that it can tell of: a report about anything else is not remembered', async () => {
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

  test('and opened an asset is listed with it, beside its copies, across links', async () => {
    const assetId = await givenAsset(admin, `a-${newId()}`)
    const made = await given('a', 'b')
    await select('10.0.0.7')
    await report({ address: '10.0.0.7', assetId, instanceId: made.a, worked: true })
    const other = await givenSchema(admin, { identifier: `other.${newId()}`, version: '1.0.0' })
    const watching = await givenInstance(admin, other, { name: 'watching', metadata: { purpose: 'monitoring' } })
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
    // Without asset read the instances are listed, but not the addresses of the asset.
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

  test('goes away with the instance', async () => {
    const made = await given('a')
    await select('10.0.0.7')
    await report({ address: '10.0.0.7', instanceId: made.a, worked: true })
    await admin.credentials.deleteInstance({ params: { instanceId: made.a } })
    assert.deepEqual(await select('10.0.0.7'), { known: false, credentials: [] })
  })
})
