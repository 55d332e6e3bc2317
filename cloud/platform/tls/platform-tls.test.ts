import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import { authorization } from '@millwright/api/authorization.ts'
import { createLog } from '../log.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { CertificateFiles } from './certificate-files.ts'
import { startHttpRedirect } from './http-redirect.ts'
import { PairFolder, serverCertificate, testAuthority } from './testing.ts'

const authority = testAuthority()
const ca = authority.certificate
const log = createLog({ level: 'fatal' })

async function openFiles(folder: PairFolder): Promise<CertificateFiles> {
  return CertificateFiles.open({ certFile: folder.certFile, keyFile: folder.keyFile, log, pollMs: 50 })
}

type ReceivedResponse = IncomingMessage & { body: string; localPort: number | undefined }
type GetOptions = { port: number; path: string; headers?: Record<string, string>; agent?: Agent }

/** Sends a request. Returns the response with its body and the port of its connection. */
async function get({ port, path, ...options }: GetOptions): Promise<ReceivedResponse> {
  const sent = request({ host: '127.0.0.1', port, path, ca, servername: 'localhost', agent: false, ...options }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const { localPort } = response.socket
  return Object.assign(response, { localPort, body: await text(response) })
}

async function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost', ...options })
  await once(socket, 'secureConnect')
  return socket
}

describe('a platform with TLS', () => {
  const folder = new PairFolder(serverCertificate(authority))
  let hub: TestHub
  let port: number
  let files: CertificateFiles

  before(async () => {
    files = await openFiles(folder)
    hub = await testHub({ tls: files, arrangement: 'one process' })
    port = (await hub.clouds[0]?.listen({ host: '127.0.0.1', port: 0 })) ?? assert.fail()
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  test('serves pages and the API, and reaches itself by the name in its certificate', async () => {
    assert.equal((await get({ port, path: '/healthz' })).statusCode, 200)
    const { token } = await hub.as('administrator')
    const headers = { authorization: `Bearer ${token}` }
    const response = await get({ port, path: '/authorization/v1/roles', headers })
    assert.equal(response.statusCode, 200, response.body)
    assert.equal(hub.context.settings.internalUrl, `https://localhost:${port}`)
  })

  test('streams events over TLS', async () => {
    const { token } = await hub.as('administrator')
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
    const path = '/events/v1/stream'
    const sent = request({ host: '127.0.0.1', port, path, headers, ca, servername: 'localhost', agent: false }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    assert.match(String(response.headers['content-type']), /^text\/event-stream/)
    const [chunk] = await once(response, 'data')
    assert.ok(String(chunk).length > 0)
    sent.destroy()
  })

  test('accepts TLS 1.2 and 1.3, and refuses older versions', async () => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await handshake(port, { minVersion: version, maxVersion: version })
      assert.equal(socket.getProtocol(), version)
      socket.destroy()
    }
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }
    await assert.rejects(handshake(port, old), { code: /ALERT_PROTOCOL_VERSION|ECONNRESET/ })
  })

  test('closes a connection that sends a request without TLS', async () => {
    const socket = connectTcp(port, '127.0.0.1')
    socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n')
    socket.on('error', () => {})
    let received = ''
    socket.on('data', (chunk) => {
      received += chunk
    })
    await once(socket, 'close')
    assert.ok(!received.includes('200'))
  })

  test('uses a new certificate for new connections, while open connections and requests continue', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const { localPort } = await get({ port, path: '/healthz', agent })
    const former = files.pair.certificate.fingerprint256
    const { token } = await hub.as('administrator')
    const stream = request({
      host: '127.0.0.1',
      port,
      path: '/events/v1/stream',
      headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream' },
      ca,
      servername: 'localhost',
      agent: false,
    }).end()
    const [events] = (await once(stream, 'response')) as [IncomingMessage]

    folder.write(serverCertificate(authority))
    let current: string | undefined = former
    for (const deadline = performance.now() + 120_000; current === former; await sleep(20)) {
      assert.ok(performance.now() < deadline, 'the certificate did not change')
      const socket = await handshake(port)
      current = socket.getPeerX509Certificate()?.fingerprint256
      socket.destroy()
    }

    assert.equal((await get({ port, path: '/healthz', agent })).localPort, localPort)
    const received = once(events, 'data')
    const admin = await hub.as('administrator')
    await admin.authorization.createAccessGroup({ body: { data: { name: 'after the change' } } })
    await received
    stream.destroy()
    agent.destroy()
  })

  test('reports a rejected certificate in /readyz and in the metrics', async () => {
    const usable = { certificate: files.pair.cert, key: files.pair.key }
    folder.write(serverCertificate(authority, { days: -1 }))
    let ready = ''
    for (const deadline = performance.now() + 120_000; !ready.includes('expired on'); await sleep(20)) {
      assert.ok(performance.now() < deadline, ready)
      const { body, statusCode } = await get({ port, path: '/readyz' })
      assert.equal(statusCode, 200)
      ready = body
    }
    assert.match(ready, /"warnings":\["The new TLS certificate is not used\. The certificate expired on/)
    assert.ok(!ready.includes(folder.path))
    const { body: metrics } = await get({ port, path: '/metrics' })
    assert.match(metrics, /^millwright_tls_certificate_rejected 1$/m)
    const [, seconds] = /^millwright_tls_certificate_expires_seconds (\d+)$/m.exec(metrics) ?? []
    assert.ok(Number(seconds) > 80 * 86_400)
    folder.write(usable)
  })
})

test('processes of the platform call each other over TLS, and accept only their authority', async () => {
  using folder = new PairFolder(serverCertificate(authority))
  {
    await using hub = await testHub({ tls: await openFiles(folder), peerAuthority: ca, arrangement: 'split' })
    const admin = await hub.as('administrator')
    const { data } = await admin.authorization.createAccessGroup({ body: { data: { name: 'over TLS' } } })
    assert.equal(data.name, 'over TLS')
    const { data: entries } = await admin.audit.listEntries({ query: { target: `access-group/${data.id}` } })
    assert.equal(entries.length, 1)
  }
  const other = testAuthority('Another authority').certificate
  await using hub = await testHub({ tls: await openFiles(folder), peerAuthority: other, arrangement: 'split' })
  const roles = await hub.request({ method: 'GET', path: `${authorization.prefix}/roles` })
  assert.ok(roles.status === 401 || roles.status === 503, roles.text)
  const ready = await hub.request({ method: 'GET', path: '/readyz' })
  assert.equal(ready.status, 503)
  assert.match(ready.text, /Services not reachable/)
})

test('browsers use only https for the host of a base URL with https, except localhost', async () => {
  const headerWith = async (baseUrl: string) => {
    await using hub = await testHub({ baseUrl, arrangement: 'one process' })
    const { headers } = await hub.request({ method: 'GET', path: '/healthz' })
    return headers.get('strict-transport-security')
  }
  assert.equal(await headerWith('https://plant.example'), 'max-age=31536000')
  assert.equal(await headerWith('http://plant.example'), null)
  assert.equal(await headerWith('https://localhost:8443'), null)
})

describe('the redirect from http to https', () => {
  const baseUrl = 'https://plant.example:8443'

  async function send(port: number, options: object): Promise<IncomingMessage & { body: string }> {
    const sent = httpRequest({ host: '127.0.0.1', port, agent: false, ...options }).end()
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    return Object.assign(response, { body: await text(response) })
  }

  test('redirects pages from http to the base URL, independent of the host in the request', async () => {
    const redirect = await startHttpRedirect({ host: '127.0.0.1', port: 0, baseUrl })
    try {
      const targets = [
        ['/console/assets?page=2', `${baseUrl}/console/assets?page=2`],
        ['//attacker.example/', `${baseUrl}//attacker.example/`],
        ['http://attacker.example/path', `${baseUrl}/`],
      ]
      for (const [path, location] of targets) {
        const response = await send(redirect.port, { path, headers: { host: 'attacker.example' } })
        assert.deepEqual([response.statusCode, response.headers.location], [308, location], path)
        assert.equal(response.headers['strict-transport-security'], undefined)
      }
    } finally {
      await redirect.close()
    }
  })

  test('returns 426 for requests with data without TLS', async () => {
    const redirect = await startHttpRedirect({ host: '127.0.0.1', port: 0, baseUrl })
    try {
      const response = await send(redirect.port, { path: '/oauth/token', method: 'POST' })
      assert.deepEqual([response.statusCode, response.headers.location], [426, undefined])
      assert.match(response.body, /not encrypted\. Send the request to https:\/\/plant\.example:8443/)
      const isTaken = startHttpRedirect({ host: '127.0.0.1', port: redirect.port, baseUrl })
      await assert.rejects(isTaken, { message: /EADDRINUSE.*MILLWRIGHT_HTTP_REDIRECT_PORT/ })
    } finally {
      await redirect.close()
    }
  })
})
