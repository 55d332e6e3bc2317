import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, readSession, until } from './testing.ts'

const nul = '\u0000'

test('a session ends with the reason of the gateway, also if the reason has characters that cannot be stored', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway, {
    onOpen: (stream) => stream.refuse({ code: 'target_not_allowed', detail: `not${nul}\ud800here` }),
  })
  await assert.rejects(createSession(admin, { assetId }), { code: 'target_not_allowed' })
  const { data } = await admin['remote-access'].listSessions({ query: { assetId } })
  assert.deepEqual(
    data.map(({ state, ending }) => [state, ending]),
    [['ended', 'target-not-allowed']],
  )
})

test('an approved session ends if the gateway refuses it with such a reason', async () => {
  await using hub = await testHub()
  const refused = await createPlant(hub)
  const { admin } = refused
  const data = { ...defaultRemotePolicy, approval: 'required' } as const
  await admin['remote-access'].putPolicy({ params: { accessGroup: refused.groupId }, body: { data } })
  await using _ = await connectGateway(hub, refused.gateway, {
    onOpen: (stream) => stream.refuse({ code: 'target_not_allowed', detail: `not${nul}here` }),
  })
  const user = await hub.as('supervisor', { accessGroupId: refused.groupId })
  const { id } = await createSession(user, { assetId: refused.assetId })
  await admin['remote-access'].approveSession({ params: { id } })
  await until(async () => (await readSession(admin, id)).state === 'ended')
})

test('a session that cannot be closed does not stop the supervision of other sessions', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway)
  const damaged = await createSession(admin, { assetId })
  const later = await createSession(admin, { assetId })
  // A part of the recording is missing.
  await hub.asOwner((owner) =>
    owner.query('update remote_sessions set recording_parts = 1 where id = $1', [damaged.id]),
  )
  await admin['remote-access'].endSession({ params: { id: damaged.id } })
  await hub.asOwner((owner) =>
    owner.query(`update remote_sessions set expires_at = now() - interval '1 second' where id = $1`, [later.id]),
  )
  await until(async () => (await readSession(admin, later.id)).state === 'ended')
  await hub.asOwner((owner) => owner.query('delete from remote_sessions where id = $1', [damaged.id]))
})

test('a host key with characters that cannot be stored ends only its stream', async () => {
  await using hub = await testHub()
  const { admin, gateway, assetId } = await createPlant(hub)
  await using _ = await connectGateway(hub, gateway, {
    onOpen(stream, header) {
      stream.accept()
      if (header.kind === 'check') stream.end()
      else stream.sendMessage({ type: 'host-key', algorithm: `ssh${nul}`, fingerprint: nul })
    },
  })
  const { id } = await createSession(admin, { assetId })
  using client = await openStream(id, { url: await hub.listen(), token: admin.token, query: { kind: 'terminal' } })
  assert.equal((await client.end()).code, 4000)
  assert.equal(client.messages.at(-1)?.code, 'device_unreachable')
})
