import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remoteAccessLimits } from '@millwright/api/remote-access.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestHub, testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, readSession, until } from './testing.ts'

/** Copies a session, so that the tenant has many sessions that have not ended. */
async function copySession(hub: TestHub, id: string, { count, gatewayId }: { count: number; gatewayId?: string }) {
  await hub.asOwner(async (owner) => {
    const { rows } = await owner.query('select to_jsonb(s) as row from remote_sessions s where id = $1', [id])
    for (let index = 0; index < count; index++) {
      const row = {
        ...rows[0].row,
        id: newId(),
        job_id: newId(),
        ...(gatewayId === undefined ? {} : { gateway_id: gatewayId }),
      }
      await owner.query(
        `insert into remote_sessions select * from jsonb_populate_record(null::remote_sessions, $1::jsonb)`,
        [JSON.stringify({ ...row, is_reported: true })],
      )
    }
  })
}

test('concurrent requests do not exceed the limit of sessions of a gateway', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway)
  const { id } = await createSession(admin, { assetId })
  const { sessionsPerGateway } = remoteAccessLimits
  await copySession(hub, id, { count: sessionsPerGateway - 5 })
  const results = await Promise.allSettled(Array.from({ length: 12 }, () => createSession(admin, { assetId })))
  const codes = results.map((result) => (result.status === 'rejected' ? result.reason.code : 'open')).toSorted()
  assert.deepEqual(codes, [...Array(4).fill('open'), ...Array(8).fill('too_many_sessions')])
  const { data } = await admin['remote-access'].listGateways({ query: { limit: 100 } })
  assert.equal(data.find(({ gatewayId }) => gatewayId === gateway.id)?.sessions, sessionsPerGateway)
  await admin['remote-access'].endSession({ params: { id } })
  assert.equal((await createSession(admin, { assetId })).state, 'open')
})

test('limits the sessions of a tenant over all its gateways', onlyInLongRuns, async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  const other = await createPlant(hub, admin)
  await using _ = await connectGateway(hub, gateway)
  const { id } = await createSession(admin, { assetId })
  await copySession(hub, id, { count: remoteAccessLimits.sessionsPerTenant - 1, gatewayId: other.gateway.id })
  await assert.rejects(createSession(admin, { assetId }), { code: 'too_many_sessions', status: 429, message: /tenant/ })
  await hub.asOwner((owner) => owner.query('delete from remote_sessions where tenant_id = $1', [hub.tenant.tenantId]))
})

test('concurrent requests do not exceed the limit of streams of a session', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway)
  const { id } = await createSession(admin, { assetId })
  const url = await hub.listen()
  const { streamsPerSession } = remoteAccessLimits
  const clients = await Promise.all(
    Array.from({ length: streamsPerSession + 6 }, () => openStream(id, { url, token: admin.token })),
  )
  for (const client of clients) client.send('x')
  await until(() => clients.every((client) => client.bytes.length === 1 || client.closed !== undefined))
  const refused = clients.filter((client) => client.closed !== undefined)
  assert.equal(refused.length, 6)
  assert.ok(refused.every(({ messages }) => messages[0]?.code === 'too_many_requests'))
  assert.equal((await readSession(admin, id)).streams, streamsPerSession)
  for (const client of clients) client[Symbol.dispose]()
  await until(async () => (await readSession(admin, id)).streams === 0)
  using again = await openStream(id, { url, token: admin.token })
  again.send('y')
  await until(() => again.bytes.length === 1)
})

test('refuses recorded sessions while the stored recordings of the tenant have their maximum size', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId, groupId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway)
  const { data: policy } = await admin['remote-access'].readPolicy({ params: { accessGroup: groupId } })
  const put = (recording: 'none' | 'terminal') =>
    admin['remote-access'].putPolicy({ params: { accessGroup: groupId }, body: { data: { ...policy, recording } } })
  await put('terminal')
  const { id } = await createSession(admin, { assetId })
  await hub.asOwner((owner) =>
    owner.query('update remote_sessions set recording_bytes = $2, recording_parts = 1 where id = $1', [
      id,
      remoteAccessLimits.storedRecordingBytes,
    ]),
  )
  await assert.rejects(createSession(admin, { assetId }), { code: 'conflict', message: /10 GiB/ })
  await put('none')
  assert.equal((await createSession(admin, { assetId })).state, 'open')
  await hub.asOwner((owner) => owner.query('delete from remote_sessions where id = $1', [id]))
})
