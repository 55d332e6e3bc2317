import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as sendHttp } from 'node:http'
import { connect } from 'node:net'
import { pipeline } from 'node:stream'
import { describe, test } from 'node:test'
import { defaultRemotePolicy } from '@millwright/api/remote-access.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { WebSocket, WebSocketServer } from 'ws'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  connectGateway,
  createPlant,
  createSession,
  enterWebSession,
  type OnOpen,
  readSession,
  until,
} from '../testing.ts'
import { selfSignedCertificate, startDevice } from './testing.ts'

/** Connects all streams of a gateway to a device on this machine. The address in their headers has no effect. */
function connectedTo(device: { port: number }): OnOpen {
  return (stream, { kind }) => {
    if (kind === 'check') {
      stream.accept()
      stream.end()
      return
    }
    const socket = connect(device.port, '127.0.0.1', () => {
      stream.accept()
      pipeline(stream, socket, () => {})
      pipeline(socket, stream, () => {})
    })
    socket.on('error', ({ message }) => stream.reset({ code: 'device_unreachable', detail: message }))
    stream.on('close', () => socket.destroy())
  }
}

type Sent = { host: string; path?: string; method?: string; headers?: Record<string, string> }

async function send(hub: TestHub, { host, path = '/', method = 'GET', headers = {} }: Sent) {
  const { port } = new URL(await hub.listen())
  const request = sendHttp({ host: '127.0.0.1', port, path, method, headers: { host, ...headers }, agent: false }).end()
  const [response] = await once(request, 'response')
  const text = Buffer.concat(await response.toArray()).toString()
  return { status: response.statusCode as number, headers: response.headers, text }
}

describe('web sessions through the platform', () => {
  test('a user opens the web page of a device, and the bytes are counted', async () => {
    await using device = await startDevice((request, response) => response.end(`${request.headers.host}${request.url}`))
    await using hub = await testHub()
    const { admin, gateway, assetId, address } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
    const session = await createSession(admin, { assetId, service: 'http' })
    assert.equal(session.url, `http://${session.id}.localhost/`)
    const { host } = new URL(session.url ?? '')
    assert.equal((await send(hub, { host })).status, 401)
    const cookie = await enterWebSession(hub, admin, session.id)
    const page = await send(hub, { host, path: '/status?x=1', headers: { cookie } })
    assert.equal(page.text, `${address}/status?x=1`)
    await admin['remote-access'].endSession({ params: { id: session.id } })
    const ended = await send(hub, { host, headers: { cookie } })
    assert.equal(ended.status, 410)
    assert.match(ended.text, /The user of the session ended it/)
    await until(async () => (await readSession(admin, session.id)).receivedBytes > 0)
    assert.ok((await readSession(admin, session.id)).sentBytes > 0)
  })

  test('websockets of the device work, and end with the session', async () => {
    await using device = await startDevice((_request, response) => response.end())
    const sockets = new WebSocketServer({ server: device.server })
    sockets.on('connection', (socket) => socket.send('hello'))
    await using hub = await testHub()
    const { admin, gateway, assetId } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
    const { id, url = '' } = await createSession(admin, { assetId, service: 'http' })
    const cookie = await enterWebSession(hub, admin, id)
    const { host, origin } = new URL(url)
    const socket = new WebSocket((await hub.listen()).replace('http', 'ws'), { headers: { host, cookie, origin } })
    const [message] = await once(socket, 'message')
    assert.equal(String(message), 'hello')
    const closed = once(socket, 'close')
    await admin['remote-access'].endSession({ params: { id } })
    await closed
  })

  test(
    'another process than the one with the tunnel serves the page, and notices the end of the session',
    onlyInLongRuns,
    async () => {
      await using device = await startDevice((_request, response) => response.end('page'))
      await using hub = await testHub({ ownProcesses: true })
      await using other = await hub.sibling()
      const { admin, gateway, assetId, groupId } = await createPlant(hub)
      await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
      await admin['remote-access'].putPolicy({
        params: { accessGroup: groupId },
        body: { data: { ...defaultRemotePolicy, recording: 'all' } },
      })
      const { id, url = '' } = await createSession(admin, { assetId, service: 'http' })
      const { host } = new URL(url)
      const headers = { cookie: await enterWebSession(hub, admin, id) }
      for (const process of [other, hub, other]) assert.equal((await send(process, { host, headers })).text, 'page')
      await admin['remote-access'].endSession({ params: { id } })
      await until(async () => (await send(other, { host, headers })).status === 410)
      assert.equal((await send(hub, { host, headers })).status, 410)
    },
  )

  test('a certificate is stored at the first use, and a changed one ends the session', async () => {
    let page = 'first'
    const first = await startDevice((_request, response) => response.end(page), {
      certificate: selfSignedCertificate(),
    })
    await using hub = await testHub()
    const { admin, gateway, assetId } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(first) })
    const open = async () => {
      const { id, url = '' } = await createSession(admin, { assetId, service: 'https' })
      const cookie = await enterWebSession(hub, admin, id)
      const { host } = new URL(url)
      return { id, get: () => send(hub, { host, headers: { cookie } }) }
    }
    assert.equal((await (await open()).get()).text, 'first')
    const { data: keys } = await admin['remote-access'].listHostKeys({ query: { assetId } })
    assert.deepEqual(
      keys.map(({ algorithm, port }) => [algorithm, port]),
      [['x509', 443]],
    )
    const second = await open()
    assert.equal((await second.get()).text, 'first')
    await first[Symbol.asyncDispose]()
    await using _replaced = await startDevice((_request, response) => response.end(page), {
      certificate: selfSignedCertificate(),
      port: first.port,
    })
    page = 'replaced'
    const refused = await second.get()
    assert.equal(refused.status, 410)
    assert.match(refused.text, /certificate of the device differs/)
    assert.equal((await readSession(admin, second.id)).ending, 'host-key-changed')
    await admin['remote-access'].deleteHostKey({ params: { id: keys[0]?.id ?? '' } })
    assert.equal((await (await open()).get()).text, 'replaced')
  })

  test('the policy decides whether requests are logged', async () => {
    await using device = await startDevice((_request, response) => response.end('page'))
    await using hub = await testHub()
    const { admin, gateway, assetId, groupId } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
    await admin['remote-access'].putPolicy({
      params: { accessGroup: groupId },
      body: { data: { ...defaultRemotePolicy, recording: 'all' } },
    })
    const { id, url = '' } = await createSession(admin, { assetId, service: 'http' })
    const headers = { cookie: await enterWebSession(hub, admin, id) }
    const { host } = new URL(url)
    for (const path of ['/one?password=secret', '/two']) await send(hub, { host, path, headers })
    await admin['remote-access'].endSession({ params: { id } })
    await until(async () => {
      await hub.settle()
      return (await readSession(admin, id)).recordingDigest !== undefined
    })
    const recording = await hub.request({
      method: 'GET',
      path: `/remote-access/v1/sessions/${id}/recording`,
      headers: { authorization: `Bearer ${admin.token}` },
    })
    const lines = recording.text.trim().split('\n')
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).path),
      ['/one?password=', '/two'],
    )
    assert.ok(!recording.text.includes('secret'))
  })

  for (const arrangement of ['one process', 'split'] as const) {
    test(`the API and the console are never served on the host of a session (${arrangement})`, async () => {
      await using hub = await testHub({ arrangement })
      const admin = await hub.as('administrator')
      const id = '0198c0de-0000-7000-8000-000000000001'
      const hosts = [
        `${id}.localhost`,
        `${id}.localhost:8080`,
        `${id.toUpperCase()}.LOCALHOST`,
        `${id}.localhost.`,
        `${id}.localhost.:80`,
        `user@${id}.localhost`,
        'other.localhost',
      ]
      const paths = ['/', '/console/', '/readyz', '/metrics', '/oauth/token', '/remote-access/v1/sessions', '/docs']
      for (const host of hosts) {
        for (const path of paths) {
          const { status, headers, text } = await send(hub, {
            host,
            path,
            headers: { authorization: `Bearer ${admin.token}` },
          })
          assert.ok(status === 401 || status === 404, `${host}${path}: ${status}`)
          assert.match(String(headers['content-type']), /^text\/html/)
          assert.match(text, /Open this session in the console|No session at this address/)
        }
      }
      const platform = await send(hub, {
        host: 'localhost',
        path: '/remote-access/v1/sessions',
        headers: { authorization: `Bearer ${admin.token}` },
      })
      assert.equal(platform.status, 200)
    })
  }

  test('a session of another tenant cannot be entered', async () => {
    await using device = await startDevice((_request, response) => response.end('page'))
    await using hub = await testHub()
    const [one, other] = [await createPlant(hub), await hub.as('administrator', { tenant: await hub.anotherTenant() })]
    await using _connected = await connectGateway(hub, one.gateway, { onOpen: connectedTo(device) })
    const { id } = await createSession(one.admin, { assetId: one.assetId, service: 'http' })
    await assert.rejects(enterWebSession(hub, other, id), { code: 'not_found' })
  })

  test('another user cannot enter the session', async () => {
    await using device = await startDevice((_request, response) => response.end('page'))
    await using hub = await testHub()
    const { admin, gateway, assetId } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
    const { id } = await createSession(admin, { assetId, service: 'http' })
    await assert.rejects(enterWebSession(hub, await hub.as('administrator'), id), { code: 'forbidden' })
  })

  test('without a wildcard host, web sessions are refused with instructions', async () => {
    await using hub = await testHub({ remoteAccessHost: undefined, ownProcesses: true })
    const { admin, gateway, assetId } = await createPlant(hub)
    await using _connected = await connectGateway(hub, gateway)
    await assert.rejects(createSession(admin, { assetId, service: 'http' }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'web_access_off')
      assert.match(error.message, /MILLWRIGHT_REMOTE_ACCESS_HOST/)
      return true
    })
  })
})
