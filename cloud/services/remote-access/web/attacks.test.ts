import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { type AddressInfo, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { startDevice, startProxy } from './testing.ts'

/** Starts a device that counts its requests and answers with their URL. */
async function countingDevice() {
  const requests: string[] = []
  const device = await startDevice((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    response.end('device')
  })
  return { ...device, requests }
}

/** Starts a device that sends these bytes as the response to every connection. */
async function rawDevice(bytes: string) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes, 'latin1'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('a stolen session id', () => {
  test('is not enough: a request without the cookie gets 401 and does not reach the device', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host } = await proxy.enter(device)
    for (const path of ['/', '/.millwright/', '/.millwright/enter', '/.millwright/enter?ticket=', '/console/']) {
      const received = await proxy.send(host, path)
      assert.equal(received.status, 401, path)
      assert.match(String(received.headers['content-security-policy']), /^default-src 'none'/)
      assert.ok(!received.text.includes('Pump 7'))
    }
    assert.deepEqual(device.requests, [])
  })

  test('a session that does not exist and a session of another user get the same response', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host } = await proxy.enter(device)
    const existing = await proxy.send(host, '/')
    const missing = await proxy.send(`${randomUUID()}.remote.test`, '/')
    assert.equal(existing.status, missing.status)
    assert.equal(existing.text, missing.text)
  })

  test('the cookie of another session is refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const one = await proxy.enter(device)
    const other = await proxy.enter(device)
    assert.equal((await one.get('/')).status, 200)
    assert.equal((await proxy.send(one.host, '/', { headers: { cookie: other.cookie } })).status, 401)
    assert.equal((await proxy.send(other.host, '/', { headers: { cookie: one.cookie } })).status, 401)
    assert.equal(device.requests.length, 1)
  })

  test('a changed cookie is refused, also with another tenant', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const [name = '', value = ''] = cookie.split('=')
    const secret = value.slice(37)
    const values = [
      `${value.slice(0, -1)}${value.endsWith('A') ? 'B' : 'A'}`,
      `${randomUUID()}.${secret}`,
      secret,
      '',
      `${value}x`,
      `"${value}"`,
      value.toUpperCase(),
    ]
    for (const changed of values)
      assert.equal((await proxy.send(host, '/', { headers: { cookie: `${name}=${changed}` } })).status, 401, changed)
    assert.deepEqual(device.requests, [])
  })

  test('an invalid cookie of another host in addition to the valid one does not lock the user out', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { cookie, get } = await proxy.enter(device)
    assert.equal((await get('/', { headers: { cookie: `millwright-remote=x; ${cookie}` } })).status, 200)
  })

  test('the cookie without the host prefix is refused when the platform uses https', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy({ scheme: 'https' })
    const { host, cookie } = await proxy.enter(device)
    const plain = cookie.replace('__Host-', '')
    assert.notEqual(plain, cookie)
    assert.equal((await proxy.send(host, '/', { headers: { cookie: plain } })).status, 401)
  })
})

describe('an expired or terminated session', () => {
  test('the cookie of an ended session does not reach the device', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get, id } = await proxy.enter(device)
    proxy.sessions.end(id)
    for (const method of ['GET', 'POST', 'PUT', 'OPTIONS']) assert.equal((await get('/', { method })).status, 410)
    assert.deepEqual(device.requests, [])
    assert.equal(proxy.sessions.opened, 0)
  })

  test('a request that waits for the device gets the page of the ended session', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>()
    await using device = await startDevice(() => resolve())
    await using proxy = await startProxy()
    const { get, id } = await proxy.enter(device)
    const waiting = get('/')
    await arrived
    proxy.sessions.end(id)
    assert.equal((await waiting).status, 410)
  })
})

describe('host names (DNS rebinding)', () => {
  test('only the exact host name of the session is served', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { id, get } = await proxy.enter(device)
    const refused = [
      `${id}.remote.test.`,
      `${id}.remote.test.:80`,
      `user@${id}.remote.test`,
      `user:password@${id}.remote.test`,
      `x.${id}.remote.test`,
      `${id}x.remote.test`,
      `${id.replaceAll('-', '')}.remote.test`,
      `{${id}}.remote.test`,
      'console.remote.test',
      '..remote.test',
      '%00.remote.test',
    ]
    for (const host of refused) {
      const received = await get('/', { host })
      assert.equal(received.status, 404, host)
      assert.notEqual(received.text, 'platform')
    }
    assert.deepEqual(device.requests, [])
  })

  test('other host names never reach the device, also with the cookie', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { id, get } = await proxy.enter(device)
    const others = [
      '127.0.0.1',
      '[::1]',
      'localhost',
      'remote.test',
      'millwright.test',
      `${id}.remote.test.evil.test`,
      `${id}.evil.test`,
      `${id}.remotestest`,
      `${id}remote.test`,
      `${id}.xremote.test`,
      id,
    ]
    for (const host of others) assert.equal((await get('/', { host })).text, 'platform', host)
    assert.deepEqual(device.requests, [])
  })

  test('upper case and any port name the same session', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get, host } = await proxy.enter(device)
    for (const form of [host.toUpperCase(), `${host}:80`, `${host}:8080`])
      assert.equal((await get('/', { host: form })).text, 'device')
  })

  test('a header with another host name has no effect', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const session = await proxy.enter(device)
    for (const name of ['x-forwarded-host', 'x-host', 'x-original-host', 'forwarded']) {
      const headers = { [name]: name === 'forwarded' ? `host=${session.host}` : session.host }
      assert.equal((await session.get('/', { host: 'millwright.test', headers })).text, 'platform')
    }
    assert.deepEqual(device.requests, [])
  })

  test('a request with a complete address or with two hosts is refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const lines = `cookie: ${cookie}\r\nconnection: close\r\n\r\n`
    const complete = await proxy.raw(`GET http://169.254.169.254/ HTTP/1.1\r\nhost: ${host}\r\n${lines}`)
    assert.match(complete, /^HTTP\/1.1 400 /)
    const twice = await proxy.raw(`GET / HTTP/1.1\r\nhost: ${host}\r\nhost: evil.test\r\n${lines}`)
    assert.match(twice, /^HTTP\/1.1 400 /)
    const asterisk = await proxy.raw(`OPTIONS * HTTP/1.1\r\nhost: ${host}\r\n${lines}`)
    assert.match(asterisk, /^HTTP\/1.1 400 /)
    assert.deepEqual(device.requests, [])
  })
})

describe('requests of other sites', () => {
  test('a page of another site cannot change data on the device', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const other = proxy.open(device)
    const attempts: Record<string, string>[] = [
      {},
      { origin: 'http://evil.test' },
      { origin: 'http://millwright.test' },
      { origin: other.origin },
      { origin: 'null' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'other' },
    ]
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      for (const headers of attempts)
        assert.equal((await get('/', { method, headers })).status, 403, `${method} ${JSON.stringify(headers)}`)
    assert.deepEqual(device.requests, [])
  })

  test('a page of another site cannot load images, scripts, frames or data of the device', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    for (const site of ['cross-site', 'same-site']) {
      for (const dest of ['image', 'script', 'iframe', 'frame', 'object', 'embed', 'empty', 'style']) {
        const mode = /frame|object|embed/.test(dest) ? 'navigate' : 'no-cors'
        const headers = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }
        assert.equal((await get('/', { headers })).status, 403, `${site} ${dest}`)
      }
    }
    assert.equal((await get('/', { headers: { origin: 'http://evil.test' } })).status, 403)
    assert.deepEqual(device.requests, [])
  })

  test('a link of another site opens the session, and its own pages can do everything', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get, origin } = await proxy.enter(device)
    const navigation = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    assert.equal((await get('/', { headers: navigation })).status, 200)
    const own: Record<string, string>[] = [
      { origin },
      { origin, 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'same-origin' },
      { 'sec-fetch-site': 'none' },
      { origin: 'null', 'sec-fetch-site': 'same-origin' },
    ]
    for (const headers of own) assert.equal((await get('/', { method: 'POST', headers })).status, 200)
  })

  test('a device cannot install a service worker', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.equal((await get('/worker.js', { headers: { 'service-worker': 'script' } })).status, 403)
    assert.deepEqual(device.requests, [])
  })

  test('each session has its own host, which is not the host of the console', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const [one, other] = [await proxy.enter(device), await proxy.enter(device)]
    const hosts = [one, other].map(({ origin }) => new URL(origin).hostname)
    assert.equal(new Set([...hosts, 'millwright.test']).size, 3)
    for (const { entered } of [one, other]) assert.ok(!/domain/i.test(String(entered.headers['set-cookie'])))
  })

  test('paths of the platform on the host of a session never reach the device', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    for (const path of ['/.millwright/', '/.millwright/other', '/.millwright/enter/x'])
      assert.equal((await get(path)).status, 404)
    assert.equal((await get('/.millwright/enter')).status, 401)
    assert.deepEqual(device.requests, [])
  })
})

describe('request smuggling', () => {
  test('requests whose length is not clear are refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host, cookie, origin } = await proxy.enter(device)
    const start = `POST / HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\norigin: ${origin}\r\nconnection: close\r\n`
    const smuggled = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n'
    const attempts = [
      `content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `content-length: 4\r\ncontent-length: 5\r\n\r\nabcd${smuggled}`,
      `content-length: 4, 4\r\n\r\nabcd${smuggled}`,
      `content-length: +4\r\n\r\nabcd${smuggled}`,
      `content-length: 0x4\r\n\r\nabcd${smuggled}`,
      `transfer-encoding: xchunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n${smuggled}`,
      `transfer-encoding: identity\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `transfer-encoding : chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `transfer-encoding:\x0bchunked\r\n\r\n0\r\n\r\n${smuggled}`,
      `transfer-encoding: chunked\r\n\r\n0\n\n${smuggled}`,
      `content-length: 4\r\nx: y\n content-length: 40\r\n\r\nabcd${smuggled}`,
    ]
    for (const attempt of attempts) {
      const received = await proxy.raw(start + attempt)
      assert.match(received, /^(?:HTTP\/1.1 400 |$)/, JSON.stringify(attempt))
    }
    assert.deepEqual(
      device.requests.filter((request) => request.includes('smuggled')),
      [],
    )
  })

  test('a GET request with a body is refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.equal((await get('/', { headers: { 'content-length': '4' }, body: 'body' })).status, 400)
    assert.deepEqual(device.requests, [])
  })

  test('the header Connection cannot remove the host, the cookie check or the length', async () => {
    await using device = await startDevice((request, response) => {
      request.resume()
      request.on('end', () => response.end(JSON.stringify(request.headers)))
    })
    await using proxy = await startProxy()
    const { get, origin } = await proxy.enter(device)
    const headers = { origin, connection: 'close, host, content-length, cookie', 'content-length': '4' }
    const seen = JSON.parse((await get('/', { method: 'POST', headers, body: 'body' })).text)
    assert.equal(seen.host, `127.0.0.1:${device.port}`)
    assert.equal(seen['content-length'], '4')
    assert.equal(seen.cookie, undefined)
  })

  test('TRACE does not return the headers of a request', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { get, origin } = await proxy.enter(device)
    assert.equal((await get('/', { method: 'TRACE', headers: { origin } })).status, 405)
    assert.deepEqual(device.requests, [])
  })

  test('headers and addresses above the limits are refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const end = `host: ${host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`
    assert.match(await proxy.raw(`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${end}`), /^HTTP\/1.1 431 /)
    assert.match(await proxy.raw(`GET / HTTP/1.1\r\nx: ${'x'.repeat(70_000)}\r\n${end}`), /^HTTP\/1.1 431 /)
    assert.deepEqual(device.requests, [])
  })
})

describe('header injection', () => {
  test('line breaks in the path or in a header of a request are refused', async () => {
    await using device = await countingDevice()
    await using proxy = await startProxy()
    const { host, cookie, get } = await proxy.enter(device)
    const end = `host: ${host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`
    for (const start of [
      'GET /\rx: y HTTP/1.1\r\n',
      'GET / HTTP/1.1\r\nx: a\rb: c\r\n',
      'GET / HTTP/1.1\r\nx: a\0b\r\n',
    ])
      assert.match(await proxy.raw(start + end), /^HTTP\/1.1 400 /, JSON.stringify(start))
    assert.deepEqual(device.requests, [])
    assert.equal((await get('/%0d%0aset-cookie:%20x=1')).headers['set-cookie'], undefined)
    assert.deepEqual(device.requests, ['GET /%0d%0aset-cookie:%20x=1'])
  })

  test('control characters in a header of the device do not reach the browser', async () => {
    const attempts = [
      'x-own: a\rset-cookie: millwright-remote=evil',
      'x-own: a\x01b',
      'x-own: a\0b',
      'location: /x\rset-cookie: a=1',
      'set-cookie: a=1\rset-cookie: millwright-remote=evil',
    ]
    await using proxy = await startProxy()
    for (const attempt of attempts) {
      await using device = await rawDevice(`HTTP/1.1 200 OK\r\n${attempt}\r\ncontent-length: 2\r\n\r\nok`)
      const { host, cookie } = await proxy.enter(device)
      const received = await proxy.raw(
        `GET / HTTP/1.1\r\nhost: ${host}\r\ncookie: ${cookie}\r\nconnection: close\r\n\r\n`,
      )
      const head = received.split('\r\n\r\n')[0] ?? ''
      assert.doesNotMatch(head, /evil/, JSON.stringify(attempt))
      assert.ok([...head.replaceAll('\r\n', '')].every((character) => character >= ' '))
    }
  })

  test('a device cannot answer with two responses or with a response for the next request', async () => {
    await using proxy = await startProxy()
    const attempts = [
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 4\r\n\r\nokevil',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\nevil',
      'HTTP/1.1 204 No Content\r\ncontent-length: 4\r\n\r\nevil',
      'HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n',
      'HTTP/0.9 evil',
    ]
    for (const attempt of attempts) {
      await using device = await rawDevice(attempt)
      const session = await proxy.enter(device)
      const lines = `host: ${session.host}\r\ncookie: ${session.cookie}\r\n`
      const received = await proxy.raw(
        `GET /1 HTTP/1.1\r\n${lines}\r\nGET /2 HTTP/1.1\r\n${lines}connection: close\r\n\r\n`,
      )
      const responses = received.split(/HTTP\/1\.1 \d{3} /).length - 1
      assert.equal(responses, 2, JSON.stringify(attempt))
      // Each response is complete: the second one starts where the first one ends.
      assert.doesNotMatch(received, /evilHTTP\/1\.1 200 OK\r\ncontent-length: 4/)
    }
  })

  test('a response with headers above the limit gives a page', async () => {
    await using device = await rawDevice(`HTTP/1.1 200 OK\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`)
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const received = await get('/')
    assert.equal(received.status, 502)
    assert.match(received.text, /No response from the device/)
  })
})
