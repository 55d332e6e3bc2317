import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, readSession, until } from './testing.ts'

describe('sessions', () => {
  test('opens a session through the gateway, and carries bytes in both directions', async () => {
    await using hub = await testHub()
    const { admin, gateway, assetId, address } = await createPlant(hub)
    await using connected = await connectGateway(hub, gateway)
    const session = await createSession(admin, { assetId, reason: 'a new filter' })
    assert.deepEqual(
      [session.state, session.address, session.port, session.gatewayId, session.reason],
      ['open', address, 22, gateway.id, 'a new filter'],
    )
    assert.deepEqual(connected.headers, [{ kind: 'check', sessionId: session.id, assetId, address, port: 22 }])
    using client = await openStream(session.id, { url: await hub.listen(), token: admin.token })
    client.send('hello')
    await until(() => client.bytes.toString() === 'hello')
    client.send({ type: 'end' })
    assert.equal((await client.end()).code, 1000)
    await until(async () => (await readSession(admin, session.id)).streams === 0)
    const { sentBytes, receivedBytes } = await readSession(admin, session.id)
    assert.deepEqual([sentBytes, receivedBytes], [5, 5])
    await admin['remote-access'].endSession({ params: { id: session.id } })
    const ended = await readSession(admin, session.id)
    assert.deepEqual([ended.state, ended.ending, ended.endedBy?.id], ['ended', 'ended-by-user', admin.principalId])
  })
})
