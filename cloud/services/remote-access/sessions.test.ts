import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { defaultRemotePolicy, extensionMinutes } from '@millwright/api/remote-access.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { newId } from '../../platform/database/id.ts'
import { sessionsBlockedBy } from '../../platform/testing/blocked-sessions.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { addAddress, enrolledGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { canonicalAddress } from './target-address.ts'
import {
  type ConnectedGateway,
  connectGateway,
  createAsset,
  createPlant,
  createSession,
  openStream,
  type Plant,
  readSession,
  until,
} from './testing.ts'

const connecting = ['inventory_read_asset_data', 'remote_access_connect'] as const

describe('sessions', () => {
  let hub: TestHub
  let plant: Plant
  let connected: ConnectedGateway
  let admin: TestCaller
  let url: string

  before(async () => {
    hub = await testHub()
    plant = await createPlant(hub)
    admin = plant.admin
    connected = await connectGateway(hub, plant.gateway)
    url = await hub.listen()
  })
  after(async () => {
    await connected[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  const inGroup = (accessGroupId = plant.groupId) => createCaller(hub, [{ permissions: connecting, accessGroupId }])

  test('opens a session through the gateway, and carries bytes in both directions', async () => {
    const { gateway, assetId, address } = plant
    const session = await createSession(admin, { assetId, reason: 'a new filter' })
    assert.deepEqual(
      [session.state, session.address, session.port, session.gatewayId, session.reason, session.accessGroup],
      ['open', address, 22, gateway.id, 'a new filter', plant.groupId],
    )
    assert.deepEqual(connected.headers.at(-1), { kind: 'check', sessionId: session.id, assetId, address, port: 22 })
    using client = await openStream(session.id, { url, token: admin.token })
    client.send('hello')
    await until(() => client.bytes.toString() === 'hello')
    assert.equal((await readSession(admin, session.id)).streams, 1)
    client.send({ type: 'end' })
    assert.equal((await client.end()).code, 1000)
    await until(async () => (await readSession(admin, session.id)).streams === 0)
    const { sentBytes, receivedBytes } = await readSession(admin, session.id)
    assert.deepEqual([sentBytes, receivedBytes], [5, 5])
    await admin['remote-access'].endSession({ params: { id: session.id } })
    const ended = await readSession(admin, session.id)
    assert.deepEqual([ended.state, ended.ending, ended.endedBy?.id], ['ended', 'ended-by-user', admin.principalId])
    assert.equal(ended.tunnelUrl, undefined)
  })

  test('carries large data without loss, in both directions and with slow readers', async () => {
    const { id } = await createSession(admin, { assetId: plant.assetId })
    using client = await openStream(id, { url, token: admin.token })
    const block = Buffer.alloc(64 * 1024, 'x')
    for (let index = 0; index < 160; index++) client.send(block)
    client.socket.pause()
    client.socket.resume()
    await until(() => client.bytes.length === 160 * block.length)
    client.send({ type: 'end' })
    await client.end()
    await until(async () => (await readSession(admin, id)).receivedBytes === 160 * block.length)
    await admin['remote-access'].endSession({ params: { id } })
  })

  test('shows the session as a job of the workflow remote-access', async () => {
    const { id, jobId } = await createSession(admin, { assetId: plant.assetId })
    const stateOf = async () => (await admin.jobs.getJob({ params: { id: jobId } })).data
    assert.deepEqual([(await stateOf()).type, (await stateOf()).state], ['remote-access', 'OPENED'])
    await admin['remote-access'].endSession({ params: { id } })
    const job = await stateOf()
    assert.deepEqual(
      job.history.map(({ state }) => state),
      ['OPEN', 'OPENING', 'OPENED', 'CLOSED'],
    )
    assert.equal(job.definition.sessionId, id)
  })

  test('refuses a port that the policy does not allow, and a tcp session without a port', async () => {
    const { assetId } = plant
    const other = createSession(admin, { assetId, service: 'tcp', port: 102 })
    await assert.rejects(other, { code: 'target_not_allowed' })
    await assert.rejects(createSession(admin, { assetId, service: 'tcp' }), { code: 'invalid_body' })
    const ports = [...defaultRemotePolicy.ports, 102]
    const put = (data: typeof defaultRemotePolicy) =>
      admin['remote-access'].putPolicy({ params: { accessGroup: plant.groupId }, body: { data } })
    await put({ ...defaultRemotePolicy, ports })
    assert.equal((await createSession(admin, { assetId, service: 'tcp', port: 102 })).state, 'open')
    await put(defaultRemotePolicy)
  })

  test('returns the same error for hidden and missing assets, and 403 without the permission in the group', async () => {
    const other = await createPlant(hub, admin)
    const stranger = await inGroup(other.groupId)
    for (const assetId of [plant.assetId, newId()])
      await assert.rejects(createSession(stranger, { assetId }), {
        code: 'asset_not_found',
        message: `Asset ${assetId} does not exist`,
      })
    const reader = await createCaller(hub, [
      { permissions: ['inventory_read_asset_data'] },
      { permissions: ['remote_access_connect'], accessGroupId: other.groupId },
    ])
    await assert.rejects(createSession(reader, { assetId: plant.assetId }), { code: 'forbidden' })
    const target = await reader['remote-access'].readTarget({ params: { id: plant.assetId } })
    assert.deepEqual([target.data.problem?.code, target.data.addresses], ['forbidden', []])
    await assert.rejects(stranger['remote-access'].readTarget({ params: { id: plant.assetId } }), { code: 'not_found' })
  })

  test('reaches only addresses that a gateway found and that are in the connection points', async () => {
    const group = plant.groupId
    const asset = (address: string) => createAsset(admin, { name: `Pump ${newId()}`, group, address })
    const gatewayId = plant.gateway.id
    const unfound = await asset('10.9.0.1')
    await assert.rejects(createSession(admin, { assetId: unfound }), { code: 'no_address', message: /Run a scan/ })
    const elsewhere = await asset('10.9.0.2')
    await addAddress(hub, { assetId: elsewhere, gatewayId, address: '10.9.0.3' })
    await assert.rejects(createSession(admin, { assetId: elsewhere }), {
      code: 'no_address',
      message: /connection points/,
    })
    for (const address of [
      '169.254.169.254',
      '0.0.0.0',
      '224.0.0.1',
      'fe80:0:0:0:0:0:0:1',
      'fd00:ec2:0:0:0:0:0:254',
      '0:0:0:0:0:ffff:a14:1',
      '0:0:0:0:0:0:a14:1',
      '64:ff9b:0:0:0:0:a14:1',
    ]) {
      const assetId = await asset(address)
      await addAddress(hub, { assetId, gatewayId, address: canonicalAddress(address) ?? '' })
      await assert.rejects(createSession(admin, { assetId }), { code: 'no_address' }, address)
    }
    const ipv6 = await asset('2001:DB8:0:0:0:0:0:7')
    await addAddress(hub, { assetId: ipv6, gatewayId, address: '2001:db8::7' })
    assert.equal((await createSession(admin, { assetId: ipv6 })).address, '2001:db8::7')
  })

  test('refuses gateways and asset links of the platform as targets', async () => {
    await assert.rejects(createSession(admin, { assetId: plant.gateway.id }), { code: 'target_not_allowed' })
    const { data } = await admin['remote-access'].readTarget({ params: { id: plant.gateway.id } })
    assert.equal(data.problem?.code, 'target_not_allowed')
  })

  test('never uses another gateway than one that found the asset', async () => {
    const group = plant.groupId
    const other = await enrolledGateway(hub, admin, { name: 'line 2', access_group: group })
    const assetId = await createAsset(admin, { name: 'Valve', group, address: '10.9.1.1' })
    await addAddress(hub, { assetId, gatewayId: other.id, address: '10.9.1.1' })
    await assert.rejects(createSession(admin, { assetId }), { code: 'gateway_offline' })
    assert.ok(!connected.headers.some((header) => header.assetId === assetId))
    await using second = await connectGateway(hub, other)
    assert.equal((await createSession(admin, { assetId })).gatewayId, other.id)
    assert.equal(second.headers.length, 1)
  })

  test('ends the session and returns the reason if the gateway refuses the target', async () => {
    const { gateway, assetId } = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, gateway, {
      onOpen: (stream) => stream.refuse({ code: 'target_not_allowed', detail: 'Not in the list of this gateway' }),
    })
    await assert.rejects(createSession(admin, { assetId }), {
      code: 'target_not_allowed',
      message: 'Not in the list of this gateway',
    })
    const { data } = await admin['remote-access'].listSessions({ query: { assetId } })
    assert.deepEqual(
      data.map(({ state, ending, endingDetail }) => [state, ending, endingDetail]),
      [['ended', 'target-not-allowed', 'Not in the list of this gateway']],
    )
    const [session] = data
    const job = await admin.jobs.getJob({ params: { id: session?.jobId ?? '' } })
    assert.equal(job.data.state, 'FAILED')
    assert.equal(job.data.startedBy, undefined, 'only those who may approve sessions see who opened one')
  })

  test('shows how an asset can be reached', async () => {
    const { data } = await admin['remote-access'].readTarget({ params: { id: plant.assetId } })
    assert.deepEqual(data, {
      isEnabled: true,
      gatewayId: plant.gateway.id,
      isGatewayConnected: true,
      addresses: [plant.address],
      policy: defaultRemotePolicy,
      credentials: [],
      isWebAvailable: true,
    })
    const offline = await createPlant(hub, admin)
    const target = await admin['remote-access'].readTarget({ params: { id: offline.assetId } })
    assert.deepEqual([target.data.isGatewayConnected, target.data.problem?.code], [false, 'gateway_offline'])
  })

  test('shows sessions of other users only to supervisors of the access group who can read the asset', async () => {
    const user = await inGroup()
    const other = await inGroup()
    const supervise = ['inventory_read_asset_data', 'remote_access_approve'] as const
    const supervisor = await createCaller(hub, [{ permissions: supervise, accessGroupId: plant.groupId }])
    const blind = await createCaller(hub, [{ permissions: ['remote_access_approve'], accessGroupId: plant.groupId }])
    const second = await createPlant(hub, admin)
    const elsewhere = await createCaller(hub, [{ permissions: supervise, accessGroupId: second.groupId }])
    const { id, assetId } = await createSession(user, { assetId: plant.assetId })
    const isShown = async (caller: TestCaller) => {
      const { data, meta } = await caller['remote-access'].listSessions({
        query: { assetId, state: 'open', limit: 100 },
      })
      const read = await readSession(caller, id).catch((error: unknown) => (error as { code: string }).code)
      const isListed = data.some((session) => session.id === id)
      assert.equal(meta.elements, data.length)
      assert.equal(typeof read === 'object', isListed)
      if (typeof read === 'string') assert.equal(read, 'not_found')
      return isListed
    }
    assert.deepEqual([await isShown(user), await isShown(supervisor), await isShown(admin)], [true, true, true])
    assert.deepEqual([await isShown(other), await isShown(blind), await isShown(elsewhere)], [false, false, false])
    for (const caller of [other, blind, elsewhere])
      await assert.rejects(caller['remote-access'].endSession({ params: { id } }), { code: 'not_found' })
    assert.equal((await readSession(supervisor, id)).tunnelUrl, undefined)
    await assert.rejects(openStream(id, { url, token: admin.token }), { code: 'not_found' })
    await assert.rejects(admin['remote-access'].createTicket({ params: { id } }), { code: 'forbidden' })
    const tenant = await hub.anotherTenant()
    const foreigner = await hub.as('administrator', { tenant })
    assert.equal(await isShown(foreigner), false)
    await assert.rejects(openStream(id, { url, token: foreigner.token }), { code: 'not_found' })
    await supervisor['remote-access'].endSession({ params: { id } })
    const ended = await readSession(user, id)
    assert.deepEqual([ended.ending, ended.endedBy?.id], ['ended-by-reviewer', supervisor.principalId])
  })

  test('shows a session by the current access group of its asset', async () => {
    const moved = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, moved.gateway)
    const user = await inGroup(moved.groupId)
    const { id } = await createSession(user, { assetId: moved.assetId })
    await user['remote-access'].endSession({ params: { id } })
    const { data } = await admin.inventory.setAccessGroup({
      params: { id: moved.assetId },
      body: { data: { access_group: plant.groupId } },
    })
    await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    await assert.rejects(readSession(user, id), { code: 'not_found' })
    const { data: listed } = await user['remote-access'].listSessions({ query: {} })
    assert.deepEqual(listed, [])
  })

  test('extends a session up to the duration of the policy', async () => {
    const { id, createdTimestamp, expiresTimestamp } = await createSession(admin, {
      assetId: plant.assetId,
      durationMinutes: 30,
    })
    const minutesOf = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / 60_000)
    assert.equal(minutesOf(createdTimestamp, expiresTimestamp), 30)
    const extend = (minutes: number) =>
      admin['remote-access'].extendSession({ params: { id }, body: { data: { minutes } } })
    const { data: extended } = await extend(60)
    assert.equal(minutesOf(createdTimestamp, extended.expiresTimestamp), 90)
    assert.equal(extensionMinutes(extended, defaultRemotePolicy), 30)
    await assert.rejects(extend(31), { code: 'conflict', message: /120 minutes/ })
    assert.equal(extensionMinutes((await extend(30)).data, defaultRemotePolicy), 0)
    await admin['remote-access'].endSession({ params: { id } })
    await assert.rejects(extend(1), { code: 'conflict' })
  })

  test('refuses a longer duration than the policy allows, and uses its maximum without a duration', async () => {
    const request = (durationMinutes: number) => createSession(admin, { assetId: plant.assetId, durationMinutes })
    await assert.rejects(request(121), { code: 'conflict', message: /121 minutes.*allows 120 minutes/ })
    for (const session of [await request(120), await createSession(admin, { assetId: plant.assetId })]) {
      const ms = Date.parse(session.expiresTimestamp) - Date.parse(session.createdTimestamp)
      assert.equal(Math.round(ms / 60_000), 120)
      await admin['remote-access'].endSession({ params: { id: session.id } })
    }
  })

  test('a new policy shortens running sessions, and keeps their recording and approval', async () => {
    const short = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, short.gateway)
    const { id, createdTimestamp } = await createSession(admin, { assetId: short.assetId })
    const data = { ...defaultRemotePolicy, maxMinutes: 10, recording: 'all', approval: 'required' } as const
    await admin['remote-access'].putPolicy({ params: { accessGroup: short.groupId }, body: { data: { ...data } } })
    const session = await readSession(admin, id)
    assert.equal(Math.round((Date.parse(session.expiresTimestamp) - Date.parse(createdTimestamp)) / 60_000), 10)
    assert.deepEqual([session.state, session.recording], ['open', 'none'])
    const { data: stored } = await admin['remote-access'].readPolicy({ params: { accessGroup: short.groupId } })
    assert.deepEqual(stored, data)
    const user = await inGroup()
    const { data: visible } = await user['remote-access'].listPolicies({ query: {} })
    assert.ok(!visible.some(({ accessGroup }) => accessGroup === short.groupId))
    await assert.rejects(user['remote-access'].readPolicy({ params: { accessGroup: short.groupId } }), {
      code: 'not_found',
    })
  })

  test('refuses connections that would bypass the recording', async () => {
    const recorded = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, recorded.gateway)
    const { assetId, groupId } = recorded
    const put = (recording: 'terminal' | 'all') =>
      admin['remote-access'].putPolicy({
        params: { accessGroup: groupId },
        body: { data: { ...defaultRemotePolicy, recording, ports: [22, 80, 102] } },
      })
    await put('terminal')
    const terminal = await createSession(admin, { assetId })
    await assert.rejects(openStream(terminal.id, { url, token: admin.token, query: { kind: 'tcp' } }), {
      code: 'forbidden',
    })
    for (const service of ['tcp', 'http', 'https'] as const)
      await assert.rejects(createSession(admin, { assetId, service, port: 22 }), { code: 'forbidden' })
    assert.equal((await createSession(admin, { assetId, service: 'tcp', port: 102 })).state, 'open')
    await put('all')
    await assert.rejects(createSession(admin, { assetId, service: 'tcp', port: 102 }), { code: 'forbidden' })
    const web = await createSession(admin, { assetId, service: 'http' })
    await assert.rejects(openStream(web.id, { url, token: admin.token }), { code: 'forbidden' })
    await assert.rejects(openStream(web.id, { url, token: admin.token, query: { kind: 'terminal' } }), {
      code: 'conflict',
    })
  })

  test('sends the client the reason of a refused stream, and closes the WebSocket', async () => {
    const refused = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, refused.gateway, {
      onOpen(stream, { kind }) {
        if (kind === 'check') stream.accept()
        else stream.refuse({ code: 'device_unreachable', detail: 'The device refused the connection' })
      },
    })
    const { id } = await createSession(admin, { assetId: refused.assetId })
    using client = await openStream(id, { url, token: admin.token })
    assert.equal((await client.end()).code, 4000)
    assert.deepEqual(client.messages, [
      { type: 'error', code: 'device_unreachable', detail: 'The device refused the connection' },
    ])
    await until(async () => (await readSession(admin, id)).streams === 0)
  })

  test('records transfers of files in the audit trail', async () => {
    const { id } = await createSession(admin, { assetId: plant.assetId })
    const path = '/etc/motd'
    using client = await openStream(id, { url, token: admin.token, query: { kind: 'file-download', path } })
    const query = { target: `remote-session/${id}`, action: 'remote-access.openStream' }
    await until(async () => (await admin.audit.listEntries({ query })).data.length === 1)
    const { detail } = (await admin.audit.listEntries({ query })).data[0] ?? {}
    assert.deepEqual([detail?.kind, detail?.path], ['file-download', path])
    assert.equal(client.closed, undefined)
    await assert.rejects(openStream(id, { url, token: admin.token, query: { kind: 'file-upload' } }), {
      code: 'invalid_query',
    })
  })

  test('refuses text messages that are not messages of a stream', async () => {
    const { id } = await createSession(admin, { assetId: plant.assetId })
    for (const text of [
      'no JSON',
      '{"type":"host-key-decision","isAccepted":true}',
      '{"type":"size","columns":0}',
      '[]',
      JSON.stringify({ type: 'answers', answers: ['x'.repeat(100_000)] }),
      JSON.stringify({ type: 'answers', answers: [1] }),
    ]) {
      using client = await openStream(id, { url, token: admin.token })
      client.socket.send(text)
      assert.equal((await client.end()).code, 4000, text)
    }
  })

  test('stores the row of a new tunnel after the row of the former one is deleted', async () => {
    const restarted = await createPlant(hub, admin)
    const former = await connectGateway(hub, restarted.gateway)
    const isConnected = async () => {
      const { data } = await admin['remote-access'].listGateways({ query: { limit: 100 } })
      return data.find(({ gatewayId }) => gatewayId === restarted.gateway.id)?.isConnected === true
    }
    await until(isConnected)
    await hub.asOwner(async (owner) => {
      await owner.query('begin')
      // The deletion of the row waits for this lock. A change of the row does not.
      await owner.query('select from remote_tunnels where tenant_id = $1 and gateway_id = $2 for key share', [
        hub.tenant.tenantId,
        restarted.gateway.id,
      ])
      former.tunnel.close('The gateway restarts')
      await until(async () => (await sessionsBlockedBy(owner, hub.database)).length > 0)
      const connecting = connectGateway(hub, restarted.gateway)
      await until(() =>
        createSession(admin, { assetId: restarted.assetId }).then(
          ({ state }) => state === 'open',
          () => false,
        ),
      )
      await owner.query('commit')
      await until(isConnected)
      await (await connecting)[Symbol.asyncDispose]()
    })
  })

  test('ends the streams of a lost gateway, and keeps the session open for new streams', onlyInLongRuns, async () => {
    const lost = await createPlant(hub, admin)
    const first = await connectGateway(hub, lost.gateway)
    const { id } = await createSession(admin, { assetId: lost.assetId })
    using client = await openStream(id, { url, token: admin.token })
    client.send('x')
    await until(() => client.bytes.length === 1)
    const startedAt = performance.now()
    first.socket.terminate()
    assert.equal((await client.end()).code, 4000)
    assert.ok(performance.now() - startedAt < 15_000)
    await until(async () => (await readSession(admin, id)).streams === 0)
    await assert.rejects(openStream(id, { url, token: admin.token }), { code: 'gateway_offline' })
    await using _ = await connectGateway(hub, lost.gateway)
    using again = await openStream(id, { url, token: admin.token })
    again.send('y')
    await until(() => again.bytes.toString() === 'y')
  })
})
