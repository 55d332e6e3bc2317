import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RemoteSession } from '@millwright/api/remote-access.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { timeEndOf } from './session-task.ts'
import {
  type ConnectedGateway,
  connectGateway,
  createPlant,
  createSession,
  openStream,
  type Plant,
  readSession,
  type StreamClient,
  terminalWith,
  until,
} from './testing.ts'

/**
 * The time in which every process must have ended the streams of an ended session. The platform needs five seconds at
 * most. A busy machine needs more time, but without the end the streams would stay open.
 */
const limitMs = 60_000

type Running = { session: RemoteSession; user: TestCaller; client: StreamClient }

describe('the end of sessions', () => {
  let hub: TestHub
  let plant: Plant
  let admin: TestCaller
  let connected: ConnectedGateway
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

  /** Opens a session with a stream that has carried bytes in both directions. */
  async function run({ assetId, groupId }: Pick<Plant, 'assetId' | 'groupId'> = plant): Promise<Running> {
    const user = await hub.as('supervisor', { accessGroupId: groupId })
    const session = await createSession(user, { assetId, reason: 'inspection' })
    const client = await openStream(session.id, { url, token: user.token })
    client.send('ping')
    await until(() => client.bytes.toString() === 'ping')
    return { session, user, client }
  }

  /** Returns the audit entry with the result of a session. */
  async function resultOf(id: string): Promise<Record<string, unknown>> {
    const query = { target: `remote-session/${id}`, action: 'remote-access.closeSession', limit: 10 }
    await until(async () => (await admin.audit.listEntries({ query })).data.length > 0)
    const { data } = await admin.audit.listEntries({ query })
    assert.equal(data.length, 1)
    return data[0]?.detail as Record<string, unknown>
  }

  /** Requires that the stream and the session ended with this reason, and that the audit trail has the result. */
  async function requireEnd({ session, client }: Running, ending: string, from = performance.now()): Promise<void> {
    assert.equal((await client.end()).code, 4001)
    assert.ok(performance.now() - from < limitMs, `The stream ended after ${performance.now() - from} ms`)
    assert.deepEqual(client.messages.at(-1)?.code, 'session_ended')
    const ended = await readSession(admin, session.id)
    assert.deepEqual([ended.state, ended.ending, ended.tunnelUrl], ['ended', ending, undefined])
    const { sentBytes, receivedBytes, durationSeconds, ending: recorded, assetId } = await resultOf(session.id)
    assert.deepEqual([sentBytes, receivedBytes, recorded, assetId], [4, 4, ending, session.assetId])
    assert.equal(typeof durationSeconds, 'number')
    const { sentBytes: sent, receivedBytes: received, streams } = await readSession(admin, session.id)
    assert.deepEqual([sent, received, streams], [4, 4, 0])
    await assert.rejects(openStream(session.id, { url, token: admin.token }), { code: 'not_found' })
    await until(async () => (await admin.jobs.getJob({ params: { id: session.jobId } })).data.state === 'CLOSED')
  }

  const change = (text: string, id: string) =>
    hub.asOwner((owner) => owner.query(`update remote_sessions set ${text} where id = $1`, [id]))

  test('ends a session at the request of its user or of a supervisor, and repeats the request without effect', async () => {
    const own = await run()
    await own.user['remote-access'].endSession({ params: { id: own.session.id } })
    await own.user['remote-access'].endSession({ params: { id: own.session.id } })
    await requireEnd(own, 'ended-by-user')
    const other = await run()
    await admin['remote-access'].endSession({ params: { id: other.session.id } })
    await requireEnd(other, 'ended-by-reviewer')
  })

  test('ends a session when its time is over or when no byte was transferred', async () => {
    const expired = await run()
    await change(`expires_at = now() - interval '1 second'`, expired.session.id)
    await requireEnd(expired, 'expired')
    const idle = await run()
    // The platform stores the time of the last byte at an interval, which can be after the first change.
    await until(async () => {
      await change(`active_at = now() - interval '16 minutes'`, idle.session.id)
      return idle.client.closed !== undefined
    })
    await requireEnd(idle, 'idle')
  })

  test('counts the time without bytes only for open sessions, and adds the interval of the counters', () => {
    const row = { expiresAt: '2026-01-31T10:00:00.000Z', activeAt: '2026-01-31T08:00:00.000Z', idleMinutes: 15 }
    const endAt = (state: RemoteSession['state'], time: string) =>
      timeEndOf({ ...row, state }, Date.parse(`2026-01-31T${time}Z`))?.ending
    assert.equal(endAt('open', '08:15:05.000'), undefined)
    assert.equal(endAt('open', '08:15:10.000'), 'idle')
    assert.equal(endAt('open', '10:00:00.000'), 'expired')
    assert.equal(endAt('connecting', '09:00:00.000'), undefined)
    assert.equal(endAt('connecting', '10:00:00.000'), 'gateway-offline')
    assert.equal(endAt('pending-approval', '10:00:00.000'), 'approval-expired')
  })

  test('ends the sessions of a user who lost the permission or was disabled', async () => {
    const granted = await run()
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: granted.user.principalId } })
    await admin.authorization.deleteGrant({ params: { id: grants[0]?.id ?? '' } })
    await requireEnd(granted, 'permission-lost')
    const disabled = await run()
    await admin.identity.updateUser({ params: { id: disabled.user.principalId }, body: { data: { disabled: true } } })
    await requireEnd(disabled, 'permission-lost')
  })

  test(
    'ends a session when its asset moves to a group without the permission, or is deleted',
    onlyInLongRuns,
    async () => {
      const moved = await createPlant(hub, admin)
      await using _ = await connectGateway(hub, moved.gateway)
      const first = await run(moved)
      await admin.inventory.setAccessGroup({
        params: { id: moved.assetId },
        body: { data: { access_group: plant.groupId } },
      })
      await requireEnd(first, 'permission-lost')
      const second = await run({ ...moved, groupId: plant.groupId })
      await admin.inventory.deleteAssets({ body: { data: { ids: [moved.assetId] } } })
      await requireEnd(second, 'asset-deleted')
    },
  )

  test('ends the sessions of a revoked and of a deleted gateway, and closes its tunnel', async () => {
    for (const operation of ['revokeGateway', 'deleteGateway'] as const) {
      const revoked = await createPlant(hub, admin)
      const gateway = await connectGateway(hub, revoked.gateway)
      const running = await run(revoked)
      await admin.onboarding[operation]({ params: { id: revoked.gateway.id } })
      await requireEnd(running, 'gateway-offline')
      await until(() => gateway.tunnel.state === 'closed')
      await assert.rejects(createSession(admin, { assetId: revoked.assetId }), { code: 'gateway_offline' })
      await assert.rejects(gateway.resume(), /401|403/)
    }
  })

  test('the switch of a gateway ends its sessions only, and prevents new ones', async () => {
    const other = await createPlant(hub, admin)
    await using _ = await connectGateway(hub, other.gateway)
    const [running, kept] = [await run(other), await run()]
    const put = (isEnabled: boolean) =>
      admin['remote-access'].putGatewaySwitch({
        params: { gatewayId: other.gateway.id },
        body: { data: { isEnabled } },
      })
    assert.deepEqual((await put(false)).data, {
      gatewayId: other.gateway.id,
      isConnected: true,
      isEnabled: false,
      sessions: 0,
    })
    await requireEnd(running, 'switched-off')
    await assert.rejects(createSession(admin, { assetId: other.assetId }), { code: 'remote_access_off' })
    await put(true)
    assert.equal((await createSession(admin, { assetId: other.assetId })).state, 'open')
    assert.equal((await readSession(admin, kept.session.id)).state, 'open')
    kept.client[Symbol.dispose]()
  })

  test('the switch of the tenant ends all its sessions, and prevents new ones', async () => {
    await using own = await testHub()
    const { admin: manager, gateway, assetId } = await createPlant(own)
    await using _ = await connectGateway(own, gateway)
    const { id } = await createSession(manager, { assetId })
    using client = await openStream(id, { url: await own.listen(), token: manager.token })
    client.send('ping')
    await until(() => client.bytes.toString() === 'ping')
    const put = (isEnabled: boolean) => manager['remote-access'].putSwitch({ body: { data: { isEnabled } } })
    await put(false)
    assert.equal((await client.end()).code, 4001)
    assert.equal((await readSession(manager, id)).ending, 'switched-off')
    await assert.rejects(createSession(manager, { assetId }), { code: 'remote_access_off' })
    assert.deepEqual((await manager['remote-access'].readSwitch({})).data, { isEnabled: false })
    assert.equal((await manager['remote-access'].readTarget({ params: { id: assetId } })).data.isEnabled, false)
    // The switch of one tenant has no effect on another one.
    assert.equal((await createSession(admin, { assetId: plant.assetId })).state, 'open')
    await put(true)
    assert.equal((await createSession(manager, { assetId })).state, 'open')
  })

  test('stores the first host key, and ends the session when the device shows another one', async () => {
    const device = await createPlant(hub, admin)
    let fingerprint = `SHA256:${'a'.repeat(43)}`
    await using _ = await connectGateway(hub, device.gateway, {
      onOpen: (stream, header) => terminalWith('$ ', fingerprint)(stream, header),
    })
    const open = async () => {
      const { id } = await createSession(admin, { assetId: device.assetId })
      return { id, client: await openStream(id, { url, token: admin.token, query: { kind: 'terminal' } }) }
    }
    const first = await open()
    await until(() => first.client.bytes.length > 0)
    assert.deepEqual(first.client.messages.slice(0, 2), [
      { type: 'host-key', algorithm: 'ssh-ed25519', fingerprint, isNew: true },
      { type: 'signed-in', user: 'operator' },
    ])
    const second = await open()
    await until(() => second.client.bytes.length > 0)
    assert.equal(second.client.messages[0]?.isNew, false)
    const { data: keys } = await admin['remote-access'].listHostKeys({ query: { assetId: device.assetId } })
    assert.deepEqual(
      keys.map((key) => [key.port, key.algorithm, key.fingerprint]),
      [[22, 'ssh-ed25519', fingerprint]],
    )
    fingerprint = `SHA256:${'b'.repeat(43)}`
    const third = await open()
    assert.equal((await third.client.end()).code, 4000)
    assert.equal(third.client.bytes.length, 0)
    assert.equal(third.client.messages.at(-1)?.code, 'host_key_changed')
    assert.match(String(third.client.messages.at(-1)?.detail), /SHA256:bbb.*SHA256:aaa.*delete the stored key/)
    const ended = await readSession(admin, third.id)
    assert.equal(ended.ending, 'host-key-changed')
    assert.match(ended.endingDetail ?? '', /SHA256:bbb.*SHA256:aaa/)
    const reader = await hub.as('supervisor', { accessGroupId: plant.groupId })
    const remove = (caller: TestCaller) => caller['remote-access'].deleteHostKey({ params: { id: keys[0]?.id ?? '' } })
    await assert.rejects(remove(reader), { code: 'not_found' })
    await assert.rejects(reader['remote-access'].listHostKeys({ query: { assetId: device.assetId } }), {
      code: 'not_found',
    })
    await remove(admin)
    const fourth = await open()
    await until(() => fourth.client.bytes.length > 0)
    assert.equal(fourth.client.messages[0]?.isNew, true)
    for (const { client } of [first, second, fourth]) client[Symbol.dispose]()
  })

  test('writes an audit entry and an event for every change of a session', async () => {
    const running = await run()
    const { session, user } = running
    await user['remote-access'].endSession({ params: { id: session.id } })
    await requireEnd(running, 'ended-by-user')
    const { data: entries } = await admin.audit.listEntries({
      query: { target: `remote-session/${session.id}`, limit: 50 },
    })
    assert.deepEqual(entries.map(({ action, principalKind }) => [action, principalKind]).toReversed(), [
      ['remote-access.createSession', 'user'],
      ['remote-access.openSession', 'system'],
      ['remote-access.endSession', 'user'],
      ['remote-access.closeSession', 'system'],
    ])
    await hub.settle()
    const types: string[] = []
    for (let after = 0, isLast = false; !isLast; ) {
      const { data, meta } = await admin.events.listEvents({ query: { after, limit: 100 } })
      for (const { subject, type } of data) if (subject === `remote-session/${session.id}`) types.push(type)
      isLast = meta.lastPosition === after
      after = meta.lastPosition
    }
    assert.deepEqual(
      types.map((type) => type.split('.').at(-1)),
      ['requested', 'opened', 'ended', 'closed'],
    )
  })

  test('sessions whose time was over while no process ran end at the next start, with a complete audit entry', async () => {
    await using own = await testHub({ ownProcesses: true })
    const { admin: manager, gateway, assetId } = await createPlant(own)
    const connection = await connectGateway(own, gateway)
    const { id, jobId } = await createSession(manager, { assetId })
    const client = await openStream(id, { url: await own.listen(), token: manager.token })
    client.send('ping')
    await until(() => client.bytes.length === 4)
    for (const cloud of own.clouds) await cloud.close()
    assert.equal((await client.end()).code, 1012)
    connection.tunnel.close('The test has ended')
    await own.asOwner((owner) =>
      owner.query(`update remote_sessions set expires_at = now() - interval '1 hour' where id = $1`, [id]),
    )
    await using next = await own.sibling()
    const again = next.withToken(manager.token, manager.principalId)
    await until(async () => (await readSession(again, id)).ending === 'expired')
    const query = { target: `remote-session/${id}`, action: 'remote-access.closeSession' }
    await until(async () => (await again.audit.listEntries({ query })).data.length === 1)
    const { detail } = (await again.audit.listEntries({ query })).data[0] ?? {}
    assert.deepEqual([detail?.ending, detail?.sentBytes, detail?.receivedBytes], ['expired', 4, 4])
    await until(async () => (await again.jobs.getJob({ params: { id: jobId } })).data.state === 'CLOSED')
  })
})
