import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
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
  product,
  uploadTestSchema,
} from './testing.ts'

describe('credentials of deleted and merged assets', () => {
  let hub: TestHub
  let admin: TestCaller
  let gatewayId: string
  let schemaId: string
  const jobId = newId()
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    gatewayId = (await enrolledGateway(hub, admin)).id
    schemaId = await uploadTestSchema(admin)
  })
  after(() => hub[Symbol.asyncDispose]())

  const asset = () => createTestAsset(admin, `device ${newId()}`)
  const assign = async (assetId: string, instanceId: string) =>
    (await admin.credentials.assignInstance({ params: { assetId, instanceId } })).data.id
  const select = async (address: string, assetIds: string[] = []) => {
    const devices = [{ address, assetIds }]
    const { data } = await platform(hub).selectCredentials({ body: { data: { jobId, gatewayId, product, devices } } })
    return data[0] ?? assert.fail()
  }
  /** Creates an instance that has given access to an asset at an address. */
  const opening = async (assetId: string, address: string) => {
    const { id: instanceId } = await createTestInstance(admin, schemaId, { metadata: { ipRanges: [address] } })
    await select(address)
    const uses = [{ address, assetId, instanceId, worked: true }]
    await platform(hub).recordUse({ body: { data: { gatewayId, jobId, uses } } })
    return instanceId
  }
  const kept = async (assetId: string) =>
    (await admin.credentials.listAssetInstances({ params: { assetId } })).data.map(({ id }) => id).toSorted()
  const associated = async (instanceId: string) =>
    (await admin.credentials.readInstanceUsage({ params: { instanceId } })).data.associations.map(
      ({ assetId }) => assetId,
    )
  const inAWhile = async () => {
    await hub.settle()
    const at = new Date(Date.now() + 600_000)
    await hub.contextOf('credentials').tasks.runDue(hub.tenant.tenantId, { at })
  }
  /** Counts the rows of a table that refer to an instance. */
  const rowsOf = (table: string, column: string, id: string) =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query(`select 1 from ${table} where tenant_id = $1 and ${column} = $2`, [
        hub.tenant.tenantId,
        id,
      ])
      return rows.length
    })

  test('deletes the credential copies and associations of a deleted asset, and keeps those of other assets', async () => {
    const [gone, there] = [await asset(), await asset()]
    const { id: original } = await createTestInstance(admin, schemaId)
    const [copy, other] = [await assign(gone, original), await assign(there, original)]
    const opener = await opening(gone, '10.9.0.1')
    await admin.inventory.deleteAssets({ body: { data: { ids: [gone] } } })
    await inAWhile()

    assert.deepEqual(
      [await rowsOf('credential_instances', 'id', copy), await rowsOf('credential_history', 'instance_id', copy)],
      [0, 0],
    )
    assert.deepEqual(await kept(there), [other])
    assert.deepEqual(await associated(opener), [])
    assert.equal((await select('10.9.0.1')).known, false)
    const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId: opener } })
    assert.deepEqual(
      usage.deliveries.map(({ address }) => address),
      ['10.9.0.1'],
    )
    assert.equal((await actionsOn(admin, `credential-instance/${copy}`))[0], 'credentials.unassignInstance')
    assert.deepEqual(await actionsOn(admin, `asset/${gone}`).then((actions) => actions.slice(0, 1)), [
      'credentials.endAssociations',
    ])
    assert.equal((await eventsOf(hub, admin, `credential-instance/${copy}`)).at(-1), 'credentials.instance.unassigned')
    assert.ok(
      (await eventsOf(hub, admin, `credential-instance/${opener}`)).includes('credentials.instance.dissociated'),
    )
  })

  test('moves the credential associations of a merged asset to the remaining asset, if they still apply', async () => {
    const [merged, into] = [await asset(), await asset()]
    const { id: original } = await createTestInstance(admin, schemaId)
    const copy = await assign(merged, original)
    const opener = await opening(merged, '10.9.0.2')
    await admin.inventory.mergeAsset({ params: { id: into }, body: { data: { other: merged, prefer: 'this' } } })
    await inAWhile()

    assert.deepEqual(await kept(into), [copy, opener].toSorted())
    assert.deepEqual(await associated(opener), [into])
    const { credentials } = await select('10.0.0.7', [into])
    const opened = credentials.find(({ instanceId }) => instanceId === copy)
    assert.equal(JSON.parse(opened?.credentials ?? '{}').password, password)
    const { data: past } = await admin.credentials.listInstanceVersions({ params: { instanceId: copy } })
    assert.deepEqual(
      past.map(({ change, fields }) => [change, fields]),
      [
        ['updated', ['assetId']],
        ['copied', []],
      ],
    )
    assert.deepEqual(await eventsOf(hub, admin, `credential-instance/${copy}`), [
      'credentials.instance.assigned',
      'credentials.instance.assigned',
      'credentials.instance.delivered',
    ])
    assert.equal((await actionsOn(admin, `credential-instance/${copy}`))[0], 'credentials.assignInstance')
  })

  test('keeps one copy of a credential when both merged assets had a copy', async () => {
    const [merged, into] = [await asset(), await asset()]
    const { id: original } = await createTestInstance(admin, schemaId)
    const [copy, own] = [await assign(merged, original), await assign(into, original)]
    await admin.inventory.mergeAsset({ params: { id: into }, body: { data: { other: merged, prefer: 'this' } } })
    await inAWhile()
    assert.deepEqual(await kept(into), [own])
    assert.equal(await rowsOf('credential_instances', 'id', copy), 0)
  })
})
