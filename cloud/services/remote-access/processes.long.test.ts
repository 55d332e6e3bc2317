import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { connectGateway, createPlant, createSession, openStream, readSession, terminalWith, until } from './testing.ts'

/** Two processes of one installation. The gateway is connected to the first one. */
describe('several processes', () => {
  let first: TestHub
  let second: TestHub
  let admin: TestCaller
  let adminAtSecond: TestCaller
  let urls: { first: string; second: string }

  before(async () => {
    first = await testHub({ ownProcesses: true })
    second = await first.sibling()
    admin = await first.as('administrator')
    adminAtSecond = second.withToken(admin.token, admin.principalId)
    urls = { first: await first.listen(), second: await second.listen() }
  })
  after(async () => {
    await second[Symbol.asyncDispose]()
    await first[Symbol.asyncDispose]()
  })

  test('a process opens sessions and streams through the tunnel of another process', async () => {
    const { gateway, assetId } = await createPlant(first, admin)
    await using connected = await connectGateway(first, gateway, { url: urls.first })
    const session = await createSession(adminAtSecond, { assetId })
    assert.equal(session.state, 'open')
    using client = await openStream(session.id, { url: urls.second, token: admin.token })
    const block = Buffer.alloc(256 * 1024, 'z')
    for (let index = 0; index < 20; index++) client.send(block)
    await until(() => client.bytes.length === 20 * block.length)
    assert.equal((await readSession(admin, session.id)).streams, 1)
    client.send({ type: 'end' })
    assert.equal((await client.end()).code, 1000)
    await until(async () => (await readSession(admin, session.id)).receivedBytes === 20 * block.length)
    assert.equal(connected.headers.filter(({ kind }) => kind === 'tcp').length, 1)
  })

  test('passes messages, refusals and the recording through the other process', async () => {
    const { gateway, assetId, groupId } = await createPlant(first, admin)
    const data = { ...defaultRemotePolicy, recording: 'terminal' } as const
    await admin['remote-access'].putPolicy({ params: { accessGroup: groupId }, body: { data } })
    await using _ = await connectGateway(first, gateway, { url: urls.first, onOpen: terminalWith('$ ') })
    const { id } = await createSession(adminAtSecond, { assetId })
    const query = { kind: 'terminal' }
    using client = await openStream(id, { url: urls.second, token: admin.token, query })
    await until(() => client.bytes.toString() === '$ ')
    assert.deepEqual(
      client.messages.map(({ type }) => type),
      ['host-key', 'signed-in'],
    )
    using other = await openStream(id, { url: urls.second, token: admin.token, query })
    assert.equal((await other.end()).code, 4000)
    assert.equal(other.messages[0]?.code, 'busy')
    await assert.rejects(openStream(id, { url: urls.second, token: admin.token, query: { kind: 'tcp' } }), {
      code: 'forbidden',
    })
    await adminAtSecond['remote-access'].endSession({ params: { id } })
    assert.equal((await client.end()).code, 4001)
    await until(async () => (await readSession(admin, id)).recordingDigest !== undefined)
  })

  test('ends the streams at once when another process ends the session', async () => {
    const { gateway, assetId } = await createPlant(first, admin)
    await using _ = await connectGateway(first, gateway, { url: urls.first })
    const { id } = await createSession(admin, { assetId })
    using client = await openStream(id, { url: urls.first, token: admin.token })
    client.send('x')
    await until(() => client.bytes.length === 1)
    const from = performance.now()
    await adminAtSecond['remote-access'].endSession({ params: { id } })
    assert.equal((await client.end()).code, 4001)
    assert.ok(performance.now() - from < 15_000)
  })

  test('returns 409 for a session when the process of the tunnel is not reachable', async () => {
    const { gateway, assetId } = await createPlant(first, admin)
    await using _ = await connectGateway(first, gateway, { url: urls.first })
    const url = `http://127.0.0.1:${await freePort()}`
    await first.asOwner((owner) =>
      owner.query('update remote_tunnels set process_url = $2 where gateway_id = $1', [gateway.id, url]),
    )
    await assert.rejects(createSession(adminAtSecond, { assetId }), { status: 409, code: 'gateway_offline' })
    const { data } = await admin['remote-access'].listSessions({ query: { assetId } })
    assert.deepEqual(
      data.map(({ state, ending }) => [state, ending]),
      [['ended', 'gateway-offline']],
    )
  })

  test('a gateway resumes its tunnel through another process, without loss', async () => {
    const { gateway, assetId } = await createPlant(first, admin)
    const connected = await connectGateway(first, gateway, { url: urls.first })
    await using _ = connected
    const { id } = await createSession(admin, { assetId })
    using client = await openStream(id, { url: urls.first, token: admin.token })
    const expected: Buffer[] = []
    const send = (text: string) => {
      const bytes = Buffer.from(text.padEnd(50_000, '.'))
      expected.push(bytes)
      client.send(bytes)
    }
    for (let index = 0; index < 20; index++) send(`before ${index}`)
    const resumed = new Promise((resolve) => connected.tunnel.once('resumed', () => resolve(undefined)))
    connected.socket.terminate()
    for (let index = 0; index < 20; index++) send(`during ${index}`)
    await connected.resume(urls.second)
    await resumed
    for (let index = 0; index < 20; index++) send(`after ${index}`)
    await until(() => client.bytes.length === Buffer.concat(expected).length)
    assert.ok(client.bytes.equals(Buffer.concat(expected)))
  })

  test('a gateway that connects to another process moves its tunnel there', async () => {
    const { gateway, assetId } = await createPlant(first, admin)
    const former = await connectGateway(first, gateway, { url: urls.first })
    // The platform must not show the former tunnel when the new one connects.
    await former[Symbol.asyncDispose]()
    await using _ = await connectGateway(first, gateway, { url: urls.second })
    const { id } = await createSession(admin, { assetId })
    for (const url of [urls.first, urls.second]) {
      using client = await openStream(id, { url, token: admin.token })
      client.send('x')
      await until(() => client.bytes.length === 1)
    }
  })

  test('after the restart of a process, the gateway connects to another one and clients open new streams', async () => {
    const third = await first.sibling()
    const url = await third.listen()
    const { gateway, assetId } = await createPlant(first, admin)
    const former = await connectGateway(first, gateway, { url })
    const { id } = await createSession(admin, { assetId })
    using client = await openStream(id, { url, token: admin.token })
    client.send('x')
    await until(() => client.bytes.length === 1)
    const from = performance.now()
    await Promise.all([third[Symbol.asyncDispose](), client.end()])
    assert.equal(client.closed?.code, 1012)
    await until(() => former.tunnel.state === 'closed')
    assert.ok(performance.now() - from < 15_000)
    await using _ = await connectGateway(first, gateway, { url: urls.second })
    assert.deepEqual([(await readSession(admin, id)).state, (await readSession(admin, id)).streams], ['open', 0])
    using again = await openStream(id, { url: urls.first, token: admin.token })
    again.send('y')
    await until(() => again.bytes.toString() === 'y')
    assert.equal((await readSession(admin, id)).sentBytes >= 1, true)
  })
})
