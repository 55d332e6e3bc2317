import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createCaller } from '../../platform/testing/caller.ts'
import { addAddress } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { plantedWord } from '../../platform/testing/secrets-shown.ts'
import {
  type ConnectedGateway,
  connectGateway,
  createAsset,
  createPlant,
  createSession,
  openStream,
  type Plant,
  terminalWith,
  until,
} from './testing.ts'

const values = { username: 'operator', password: `${plantedWord} of a session` }

describe('credentials of sessions', () => {
  let hub: TestHub
  let plant: Plant
  let admin: TestCaller
  let user: TestCaller
  let connected: ConnectedGateway
  let schemaId: string

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    admin = plant.admin
    user = await hub.as('supervisor', { accessGroupId: plant.groupId })
    connected = await connectGateway(hub, plant.gateway, { onOpen: terminalWith('$ ') })
    const { data } = await admin.credentials.createSchema({
      query: { resourceIdentifier: 'millwright.ssh', resourceVersion: '1.0.0' },
      body: {
        data: {
          uri: 'https://plant.example/credentials/ssh',
          schema: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            properties: { username: { type: 'string' }, password: { type: 'string', writeOnly: true } },
          },
        },
      },
    })
    schemaId = data.id
  })
  after(async () => {
    await connected[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const instance = async (ipRanges: string[], purpose?: 'monitoring') => {
    const metadata = { ipRanges, ...(purpose === undefined ? {} : { purpose }) }
    const { data } = await admin.credentials.createInstance({
      body: { data: { schemaId, name: 'ssh', values, metadata } },
    })
    return data.id
  }
  const open = (credentialInstanceId: string, assetId = plant.assetId) =>
    createSession(user, { assetId, credentialInstanceId })
  const request = (id: string, gateway = plant.gateway) =>
    gateway.gatekeeper.requestSessionCredentials({ params: { id } })

  const offeredTo = async (caller: TestCaller, id = plant.assetId) =>
    (await caller['remote-access'].readTarget({ params: { id } })).data.credentials

  test('offers a supervisor the credentials that can be delivered for the device, without their values', async () => {
    const fitting = await instance([`${plant.address}/32`])
    const others = [await instance(['192.0.2.0/24']), await instance(['10.20.0.0/16'], 'monitoring')]
    const offered = await offeredTo(user)
    assert.deepEqual(offered, [{ id: fitting, name: 'ssh' }])
    assert.equal((await open(fitting)).credentialInstanceId, fitting)
    for (const id of others) await assert.rejects(open(id), { code: 'invalid_reference' })
    const { data: copy } = await admin.credentials.assignInstance({
      params: { assetId: plant.assetId, instanceId: fitting },
    })
    assert.deepEqual(await offeredTo(user), [{ id: copy.id, name: 'ssh' }], 'the copy replaces its original')
    const other = await createPlant(hub, admin)
    assert.deepEqual(await offeredTo(admin, other.assetId), [], 'the copy is for its asset only')
    await admin.credentials.deleteInstance({ params: { instanceId: copy.id } })
    await admin.credentials.deleteInstance({ params: { instanceId: fitting } })
    assert.deepEqual(await offeredTo(user), [])
  })

  test('offers no credentials to a user who cannot connect to the asset', async () => {
    const instanceId = await instance(['10.20.0.0/16'])
    await assert.rejects(offeredTo(await hub.as('viewer')), { code: 'forbidden' })
    const other = await createPlant(hub, admin)
    const elsewhere = await createCaller(hub, [
      { permissions: ['inventory_read_asset_data'], accessGroupId: plant.groupId },
      { permissions: ['inventory_read_asset_data', 'remote_access_connect'], accessGroupId: other.groupId },
    ])
    assert.deepEqual(await offeredTo(elsewhere), [])
    assert.deepEqual(await offeredTo(elsewhere, other.assetId), [{ id: instanceId, name: 'ssh' }])
    await admin.credentials.deleteInstance({ params: { instanceId } })
  })

  test('delivers the chosen credential to the gateway of the open session, and records the delivery and the use', async () => {
    const instanceId = await instance(['10.20.0.0/16'])
    const session = await open(instanceId)
    assert.equal(session.credentialInstanceId, instanceId)
    const { data } = await request(session.id)
    assert.deepEqual(
      [data?.instanceId, data?.schemaUri, JSON.parse(data?.credentials ?? '')],
      [instanceId, 'https://plant.example/credentials/ssh', values],
    )
    const { data: entries } = await admin.audit.listEntries({ query: { action: 'credentials.deliver', limit: 10 } })
    assert.deepEqual(
      [entries[0]?.outcome, entries[0]?.detail.instanceIds, entries[0]?.detail.jobId, entries[0]?.detail.address],
      ['done', [instanceId], session.jobId, plant.address],
    )
    const url = await hub.listen()
    using client = await openStream(session.id, { url, token: user.token, query: { kind: 'terminal' } })
    await until(() => client.bytes.length > 0)
    assert.equal(connected.headers.at(-1)?.kind, 'terminal')
    assert.equal((connected.headers.at(-1) as { hasCredential?: boolean }).hasCredential, true)
    await until(async () => {
      const { data: usage } = await admin.credentials.readInstanceUsage({ params: { instanceId } })
      return usage.associations.some(({ assetId, address }) => assetId === plant.assetId && address === plant.address)
    })
    await user['remote-access'].endSession({ params: { id: session.id } })
    await assert.rejects(request(session.id), { code: 'conflict' })
  })

  test('accepts a credential that is assigned to the asset, or whose range contains the address', async () => {
    const original = await instance(['192.0.2.0/24'])
    await assert.rejects(open(original), { code: 'invalid_reference' })
    const { data: copy } = await admin.credentials.assignInstance({
      params: { assetId: plant.assetId, instanceId: original },
    })
    const { id } = await open(copy.id)
    assert.equal((await request(id)).data?.instanceId, copy.id)
    const monitoring = await instance(['10.20.0.0/16'], 'monitoring')
    await assert.rejects(open(monitoring), { code: 'invalid_reference' })
    const other = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, other.gateway)
    const operator = await hub.as('supervisor', { accessGroupId: other.groupId })
    const elsewhere = createSession(operator, { assetId: other.assetId, credentialInstanceId: copy.id })
    await assert.rejects(elsewhere, { code: 'invalid_reference' })
  })

  test('withholds an assigned credential at an address where the asset was not found first', async () => {
    const address = '10.30.0.2'
    const assetId = await createAsset(admin, { name: 'Moved drive', group: plant.groupId, address })
    await addAddress(hub, { assetId, gatewayId: plant.gateway.id, address: '10.30.0.1' })
    await addAddress(hub, { assetId, gatewayId: plant.gateway.id, address })
    const original = await instance(['192.0.2.0/24'])
    const { data: copy } = await admin.credentials.assignInstance({ params: { assetId, instanceId: original } })
    await assert.rejects(open(copy.id, assetId), { code: 'invalid_reference' })
  })

  test('delivers nothing to another gateway, to a user, or for a session without a credential', async () => {
    const { id } = await open(await instance(['10.20.0.0/16']))
    const other = await createPlant(hub, admin)
    await assert.rejects(request(id, other.gateway), { code: 'not_found' })
    await assert.rejects(admin.gatekeeper.requestSessionCredentials({ params: { id } }), { code: 'not_found' })
    const plain = await createSession(user, { assetId: plant.assetId })
    assert.deepEqual(await request(plain.id), { data: null })
    const web = await createSession(user, { assetId: plant.assetId, service: 'http' })
    await assert.rejects(request(web.id), { code: 'not_found' })
    const { data: denied } = await admin.audit.listEntries({
      query: { action: 'gatekeeper.requestSessionCredentials', limit: 10 },
    })
    assert.ok(denied.length >= 3 && denied.every(({ outcome }) => outcome === 'denied'))
  })

  test('delivers nothing after the credential was changed to another range', async () => {
    const instanceId = await instance(['10.20.0.0/16'])
    const { id } = await open(instanceId)
    await admin.credentials.updateInstance({
      params: { instanceId },
      body: { data: { metadata: { ipRanges: ['192.0.2.0/24'] } } },
    })
    assert.deepEqual(await request(id), { data: null })
  })

  test('accepts a credential only for ssh', async () => {
    const credentialInstanceId = await instance(['10.20.0.0/16'])
    const session = createSession(user, { assetId: plant.assetId, service: 'http', credentialInstanceId })
    await assert.rejects(session, { code: 'invalid_body' })
  })
})
