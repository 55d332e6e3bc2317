import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as sendHttps } from 'node:https'
import { connect } from 'node:net'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { createLog } from '../../platform/log.ts'
import { type TestHub, testHub } from '../../platform/testing/hub.ts'
import { CertificateFiles } from '../../platform/tls/certificate-files.ts'
import { PairFolder, serverCertificate, testAuthority, trustInProcess } from '../../platform/tls/testing.ts'
import { connectGateway, createPlant, createSession, type OnOpen, openStream, readSession, until } from './testing.ts'
import { startDevice } from './web/testing.ts'

const authority = testAuthority()

/** Connects all streams of a gateway to a device on this machine. */
function connectedTo({ port }: { port: number }): OnOpen {
  return (stream, { kind }) => {
    stream.accept()
    if (kind === 'check') return void stream.end()
    const socket = connect(port, '127.0.0.1')
    pipeline(stream, socket, () => {})
    pipeline(socket, stream, () => {})
  }
}

type Sent = { host: string; path?: string; headers?: Record<string, string> }

async function send(hub: TestHub, { host, path = '/', headers = {} }: Sent) {
  const { port } = new URL(await hub.listen())
  const options = { host: '127.0.0.1', port, path, headers: { host, ...headers }, servername: 'localhost' }
  const request = sendHttps({ ...options, agent: false }).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

describe('remote access over TLS', () => {
  const folder = new PairFolder(serverCertificate(authority))
  let trust: Disposable

  before(() => {
    trust = trustInProcess(authority.certificate)
  })

  after(() => {
    trust[Symbol.dispose]()
    folder[Symbol.dispose]()
  })

  const openFiles = () =>
    CertificateFiles.open({
      certFile: folder.certFile,
      keyFile: folder.keyFile,
      log: createLog({ level: 'fatal' }),
    })

  test('streams pass the tunnel of a gateway, also through another process', async () => {
    const options = { peerAuthority: authority.certificate, arrangement: 'one process' } as const
    await using first = await testHub({ ...options, tls: await openFiles() })
    await using second = await first.sibling({ ...options, tls: await openFiles() })
    const urls = { first: await first.listen(), second: await second.listen() }
    assert.match(urls.first, /^https:/)
    const { admin, gateway, assetId } = await createPlant(first)
    await using _connected = await connectGateway(first, gateway, { url: urls.first })
    const { id } = await createSession(second.withToken(admin.token, admin.principalId), { assetId })
    for (const url of [urls.first, urls.second]) {
      using client = await openStream(id, { url, token: admin.token })
      const block = Buffer.alloc(256 * 1024, 'z')
      for (let index = 0; index < 8; index++) client.send(block)
      await until(() => client.bytes.length === 8 * block.length)
      client.send({ type: 'end' })
      assert.equal((await client.end()).code, 1000)
    }
    await until(async () => (await readSession(admin, id)).receivedBytes >= 16 * 256 * 1024)
  })

  test('a process whose authority is unknown does not pass streams', async () => {
    const other = testAuthority('Another authority').certificate
    await using first = await testHub({ tls: await openFiles(), arrangement: 'one process' })
    await using second = await first.sibling({
      tls: await openFiles(),
      peerAuthority: other,
      arrangement: 'one process',
    })
    const { admin, gateway, assetId } = await createPlant(first)
    await using _connected = await connectGateway(first, gateway, { url: await first.listen() })
    const { id } = await createSession(admin, { assetId })
    const refused = openStream(id, { url: await second.listen(), token: admin.token }).then((client) => client.end())
    const outcome = await refused.then(
      ({ code }) => String(code),
      (error: { code: string }) => error.code,
    )
    assert.ok(['4000', 'gateway_offline'].includes(outcome), outcome)
  })

  for (const arrangement of ['one process', 'split'] as const) {
    test(`web pages and WebSockets of devices have their own host names (${arrangement})`, async () => {
      await using device = await startDevice((request, response) => response.end(`page ${request.url}`))
      const sockets = new WebSocketServer({ server: device.server })
      sockets.on('connection', (socket) => socket.send('hello'))
      await using hub = await testHub({
        tls: await openFiles(),
        peerAuthority: authority.certificate,
        remoteAccessHost: '*.remote.localhost',
        arrangement,
      })
      const { admin, gateway, assetId } = await createPlant(hub)
      await using _connected = await connectGateway(hub, gateway, { onOpen: connectedTo(device) })
      const { id, url = '' } = await createSession(admin, { assetId, service: 'http' })
      const { host, origin } = new URL(url)
      assert.equal((await send(hub, { host })).status, 401)
      const { data } = await admin['remote-access'].createTicket({ params: { id } })
      const entered = await send(hub, { host, path: `/.millwright/enter?ticket=${data.ticket}` })
      const cookie = entered.headers['set-cookie']?.[0]?.split(';', 1)[0] ?? assert.fail('no cookie')
      assert.equal((await send(hub, { host, path: '/status', headers: { cookie } })).body, 'page /status')
      const socket = new WebSocket((await hub.listen()).replace('http', 'ws'), { headers: { host, cookie, origin } })
      const [message] = await once(socket, 'message')
      assert.equal(String(message), 'hello')
      socket.terminate()
    })
  }
})
