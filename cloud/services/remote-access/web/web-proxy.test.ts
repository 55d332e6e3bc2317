import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, request as sendHttp } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { WebSocket, WebSocketServer } from 'ws'
import { selfSignedCertificate, startDevice, startProxy, type TestProxy } from './testing.ts'

async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 120_000
  while (!condition()) {
    if (performance.now() > deadline) assert.fail(`Not reached in time: ${what}`)
    await delay(5)
  }
}

describe('entry', () => {
  test('a ticket gives the browser a cookie that only the host of the session gets', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const { entered, get } = await proxy.enter(device)
    assert.equal(entered.status, 303)
    assert.equal(entered.headers.location, '/')
    const [cookie = ''] = entered.headers['set-cookie'] ?? []
    assert.match(cookie, /^millwright-remote=[0-9a-f-]{36}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
    assert.equal((await get('/')).text, 'device')
  })

  test('the cookie is secure and has the host prefix when the platform uses https', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy({ scheme: 'https' })
    const { entered, get } = await proxy.enter(device)
    assert.match(entered.headers['set-cookie']?.[0] ?? '', /^__Host-millwright-remote=.*; Path=\/; .*; Secure$/)
    assert.equal((await get('/')).text, 'device')
  })

  test('a ticket works once', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const session = proxy.open(device)
    const path = `/.millwright/enter?ticket=${session.ticket()}`
    assert.equal((await proxy.send(session.host, path)).status, 303)
    const second = await proxy.send(session.host, path)
    assert.equal(second.status, 401)
    assert.equal(second.headers['set-cookie'], undefined)
    assert.match(second.text, /Open the session from the console/)
  })

  test('the database stores only a digest of the cookie', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const { cookie } = await proxy.enter(device)
    const secret = cookie.split('.').at(-1) ?? ''
    assert.ok(secret.length === 43)
    assert.ok([...proxy.sessions.entries].every((stored) => !stored.includes(secret)))
  })

  test('a ticket of another session is refused', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const [one, other] = [proxy.open(device), proxy.open(device)]
    assert.equal((await proxy.send(one.host, `/.millwright/enter?ticket=${other.ticket()}`)).status, 401)
  })

  test('a ticket with line breaks sets no header', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const { host } = proxy.open(device)
    const received = await proxy.send(
      host,
      '/.millwright/enter?ticket=a%0d%0aset-cookie:%20x=1%0d%0a%0d%0aaaaaaaaaaaaa',
    )
    assert.equal(received.status, 401)
    assert.equal(received.headers['set-cookie'], undefined)
  })

  test('a page cannot enter a session in a frame or as an image', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const session = proxy.open(device)
    for (const dest of ['iframe', 'image', 'empty']) {
      const headers = { 'sec-fetch-dest': dest }
      const path = `/.millwright/enter?ticket=${session.ticket()}`
      assert.equal((await proxy.send(session.host, path, { headers })).status, 403)
    }
  })

  test('a session that is not open cannot be entered', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const session = proxy.open(device)
    proxy.sessions.endSilently(session.id)
    const received = await proxy.send(session.host, `/.millwright/enter?ticket=${session.ticket()}`)
    assert.equal(received.status, 410)
    assert.equal(received.headers['set-cookie'], undefined)
  })
})

describe('requests', () => {
  test('method, path, query, headers and body reach the device', async () => {
    await using device = await startDevice((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () =>
        response.end(
          JSON.stringify({
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        ),
      )
    })
    await using proxy = await startProxy()
    const { get, origin } = await proxy.enter(device)
    const { text } = await get('/a%20b/../c?x=1&x=2', {
      method: 'POST',
      headers: {
        origin,
        referer: `${origin}/page?y=1`,
        'content-type': 'text/plain',
        'x-own': '\xe4',
        'x-forwarded-for': '1.2.3.4',
        'x-millwright-client': '1.2.3.4',
        'x-hop': 'x',
        connection: 'close, x-hop',
      },
      body: Buffer.from('content'),
    })
    const seen = JSON.parse(text)
    assert.equal(seen.method, 'POST')
    assert.equal(seen.url, '/a%20b/../c?x=1&x=2')
    assert.equal(seen.body, 'content')
    const deviceHost = `127.0.0.1:${device.port}`
    assert.equal(seen.headers.host, deviceHost)
    assert.equal(seen.headers.origin, `http://${deviceHost}`)
    assert.equal(seen.headers.referer, `http://${deviceHost}/page?y=1`)
    assert.equal(seen.headers['x-own'], '\xe4')
    assert.equal(seen.headers['content-length'], '7')
    for (const name of ['x-forwarded-for', 'x-millwright-client', 'x-hop', 'cookie'])
      assert.equal(seen.headers[name], undefined, name)
  })

  test('chunked requests and chunked responses are passed', async () => {
    await using device = await startDevice((request, response) => request.pipe(response))
    await using proxy = await startProxy()
    const { get, origin } = await proxy.enter(device)
    const received = await get('/', {
      method: 'PUT',
      headers: { origin, 'transfer-encoding': 'chunked' },
      body: 'x'.repeat(100_000),
    })
    assert.equal(received.text.length, 100_000)
  })

  test('a request with "Expect: 100-continue" gets its response', async () => {
    await using device = await startDevice((request, response) => request.pipe(response))
    await using proxy = await startProxy()
    const { host, cookie, origin } = await proxy.enter(device)
    const text = await new Promise<string>((resolve, reject) => {
      const headers = { host, cookie, origin, expect: '100-continue', 'content-length': '4' }
      const request = sendHttp({ port: proxy.port, method: 'POST', path: '/', headers, agent: false })
      request.on('continue', () => request.end('body'))
      request.on('response', async (response) => resolve(Buffer.concat(await response.toArray()).toString()))
      request.on('error', reject)
      request.flushHeaders()
    })
    assert.equal(text, 'body')
  })

  test('early hints and trailers of the device are dropped', async () => {
    await using device = await startDevice((_request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(200, { trailer: 'x-trailer' })
      response.write('body')
      response.addTrailers({ 'x-trailer': 'value' })
      response.end()
    })
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const received = await get('/')
    assert.equal(received.status, 200)
    assert.equal(received.text, 'body')
    assert.equal(received.headers.trailer, undefined)
  })

  test('HEAD, 204 and 304 have no body and keep their headers', async () => {
    await using device = await startDevice((request, response) => {
      if (request.url === '/head') response.writeHead(200, { 'content-length': '1234' }).end()
      else response.writeHead(Number(request.url?.slice(1)), { etag: '"x"' }).end()
    })
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const head = await get('/head', { method: 'HEAD' })
    assert.equal(head.headers['content-length'], '1234')
    for (const status of [204, 304]) {
      const received = await get(`/${status}`)
      assert.equal(received.status, status)
      assert.equal(received.headers.etag, '"x"')
      assert.equal(received.text, '')
    }
  })

  test('an endless response arrives while it is sent, and the device notices when the browser leaves', async () => {
    let isClosed = false
    await using device = await startDevice((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write('data: x\n\n'), 5)
      response.on('close', () => {
        clearInterval(timer)
        isClosed = true
      })
    })
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const request = sendHttp({ port: proxy.port, path: '/', headers: { host, cookie }, agent: false }).end()
    const [response] = await once(request, 'response')
    const [first] = await once(response, 'data')
    assert.match(String(first), /data: x/)
    request.destroy()
    await until(() => isClosed, 'the device notices the end')
  })

  test('the headers of a response arrive before its first byte', async () => {
    await using device = await startDevice((_request, response) => response.writeHead(200).flushHeaders())
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const request = sendHttp({ port: proxy.port, path: '/', headers: { host, cookie }, agent: false }).end()
    const [response] = await once(request, 'response')
    assert.equal(response.statusCode, 200)
    request.destroy()
  })

  test('a download of 200 MB needs little memory, also with a slow reader', {
    timeout: 300_000,
    ...onlyInLongRuns,
  }, async () => {
    const block = Buffer.alloc(1024 * 1024, 'x')
    let sent = 0
    await using device = await startDevice((_request, response) => {
      response.writeHead(200, { 'content-length': String(200 * block.length) })
      const write = () => {
        while (sent < 200) {
          sent += 1
          if (!response.write(block)) return response.once('drain', write)
        }
        return response.end()
      }
      write()
    })
    await using proxy = await startProxy()
    const { host, cookie } = await proxy.enter(device)
    const request = sendHttp({ port: proxy.port, path: '/', headers: { host, cookie }, agent: false }).end()
    const [response] = await once(request, 'response')
    // The reader does not read. The device must stop after the buffers are full.
    let before = -1
    while (before !== sent) {
      before = sent
      await delay(200)
    }
    assert.ok(sent < 60, `the device sent ${sent} MiB to a reader that does not read`)
    const start = process.memoryUsage.rss()
    let highest = 0
    let bytes = 0
    for await (const chunk of response) {
      bytes += chunk.length
      highest = Math.max(highest, process.memoryUsage.rss() - start)
    }
    assert.equal(bytes, 200 * block.length)
    assert.ok(highest < 150 * 1024 * 1024, `memory grew by ${highest} bytes`)
  })

  test('an upload waits for a device that reads slowly', { timeout: 300_000, ...onlyInLongRuns }, async () => {
    const { promise: mayRead, resolve: startReading } = Promise.withResolvers<void>()
    let received = 0
    await using device = await startDevice(async (request, response) => {
      await mayRead
      for await (const chunk of request) received += chunk.length
      response.end(String(received))
    })
    await using proxy = await startProxy()
    const { host, cookie, origin } = await proxy.enter(device)
    const total = 100 * 1024 * 1024
    const headers = { host, cookie, origin, 'content-length': String(total) }
    const request = sendHttp({ port: proxy.port, path: '/', method: 'POST', headers, agent: false })
    const block = Buffer.alloc(1024 * 1024, 'x')
    let sent = 0
    const write = () => {
      while (sent < total) {
        sent += block.length
        if (!request.write(block)) return request.once('drain', write)
      }
      return request.end()
    }
    write()
    let before = -1
    while (before !== sent) {
      before = sent
      await delay(200)
    }
    assert.ok(sent < total / 2, `the proxy took ${sent} bytes for a device that does not read`)
    startReading()
    const [response] = await once(request, 'response')
    assert.equal(String(Buffer.concat(await response.toArray())), String(total))
  })

  test('a device that closes in the middle of a body cuts the response off', async () => {
    await using device = await startDevice((_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('half')
      setImmediate(() => response.destroy())
    })
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    await assert.rejects(get('/'))
  })

  test('a device that is not reachable gives a page with the reason', async () => {
    const device = await startDevice(() => {})
    await device[Symbol.asyncDispose]()
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const received = await get('/')
    assert.equal(received.status, 502)
    assert.match(received.text, /cannot connect to the device/)
  })

  test('a device that closes unused connections gets a repeated request', async () => {
    let connections = 0
    await using device = await startDevice((request, response) => {
      if (request.url === '/second' && connections === 1) request.socket.destroy()
      else response.end(request.url)
    })
    device.server.on('connection', () => {
      connections += 1
    })
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.equal((await get('/first')).text, '/first')
    assert.equal((await get('/second')).text, '/second')
  })

  test('a session has a maximum number of concurrent requests', { timeout: 300_000 }, async () => {
    await using device = await startDevice(() => {})
    await using proxy = await startProxy()
    const { get, id } = await proxy.enter(device)
    const waiting = Array.from({ length: 128 }, () => get('/').catch(() => undefined))
    await until(() => proxy.sessions.opened >= 24, 'connections')
    const deadline = performance.now() + 120_000
    let status = 0
    while (status !== 503 && performance.now() < deadline)
      status = await Promise.race([get('/').then((received) => received.status), delay(200, 0)])
    assert.equal(status, 503)
    assert.ok(proxy.sessions.opened <= 24)
    proxy.sessions.end(id)
    await Promise.all(waiting)
  })
})

describe('https devices', () => {
  test('a self-signed certificate is accepted and stored at the first use', async () => {
    await using device = await startDevice((_request, response) => response.end('secure'), {
      certificate: selfSignedCertificate(),
    })
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device, 'https')
    assert.equal((await get('/')).text, 'secure')
    assert.match(proxy.sessions.certificates.get(device.port) ?? '', /^SHA256:[A-Za-z0-9+/]{43}$/)
  })

  test('a changed certificate ends the session with an explanation, before a request is sent', async () => {
    let requests = 0
    const device = await startDevice((_request, response) => response.end('first'), {
      certificate: selfSignedCertificate(),
    })
    await using proxy = await startProxy()
    const first = await proxy.enter(device, 'https')
    assert.equal((await first.get('/')).text, 'first')
    await device[Symbol.asyncDispose]()
    await using _other = await startDevice(
      (_request, response) => {
        requests += 1
        response.end('other')
      },
      { certificate: selfSignedCertificate(), port: device.port },
    )
    const received = await first.get('/')
    assert.equal(received.status, 410)
    assert.match(received.text, /certificate of the device differs/)
    assert.equal(requests, 0)
  })

  test('secure cookies of the device work on a session without https', async () => {
    await using device = await startDevice(
      (_request, response) => response.writeHead(200, { 'set-cookie': 'a=1; Secure; SameSite=None; HttpOnly' }).end(),
      { certificate: selfSignedCertificate() },
    )
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device, 'https')
    assert.deepEqual((await get('/')).headers['set-cookie'], ['a=1; SameSite=Lax; HttpOnly'])
  })
})

describe('cookies and tokens', () => {
  test('the device gets its own cookies and never the cookie of the platform', async () => {
    await using device = await startDevice((request, response) => response.end(request.headers.cookie ?? 'none'))
    await using proxy = await startProxy()
    const { get, cookie } = await proxy.enter(device)
    assert.equal((await get('/')).text, 'none')
    assert.equal((await get('/', { headers: { cookie: `a=1; ${cookie}; b=2` } })).text, 'a=1; b=2')
    assert.equal((await get('/', { headers: { cookie: `${cookie}; __Host-millwright-remote=x; a=1` } })).text, 'a=1')
    assert.equal((await get('/', { headers: { cookie: `${cookie};Millwright-Remote=x` } })).text, 'none')
  })

  test('cookies of the device lose their domain, and a device cannot set the cookie of the platform', async () => {
    await using device = await startDevice((_request, response) =>
      response
        .writeHead(200, {
          'set-cookie': [
            'sid=1; Domain=remote.test; Path=/a; HttpOnly',
            'millwright-remote=evil; Path=/',
            '__Host-Millwright-Remote=evil; Secure; Path=/',
            '=millwright-remote=evil',
            'other=2; domain = .test; Max-Age=5',
          ],
        })
        .end(),
    )
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.deepEqual((await get('/')).headers['set-cookie'], ['sid=1; Path=/a; HttpOnly', 'other=2; Max-Age=5'])
  })

  test('an access token of the platform does not reach the device, but its own logins do', async () => {
    await using device = await startDevice((request, response) => response.end(request.headers.authorization ?? 'none'))
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const tokenOf = (iss: string) => `x.${Buffer.from(JSON.stringify({ iss })).toString('base64url')}.y`
    const send = async (authorization: string) => (await get('/', { headers: { authorization } })).text
    assert.equal(await send(`Bearer ${tokenOf('http://millwright.test')}`), 'none')
    assert.equal(await send(`DPoP ${tokenOf('http://millwright.test')}`), 'none')
    assert.equal(await send('Basic YTpi'), 'Basic YTpi')
    assert.equal(await send(`Bearer ${tokenOf('http://device')}`), `Bearer ${tokenOf('http://device')}`)
  })
})

describe('redirects and links', () => {
  const redirectTo = (location: string, status = 302) =>
    startDevice((_request, response) => response.writeHead(status, { location }).end())

  test('redirects of the device to itself stay in the session', async () => {
    await using proxy = await startProxy()
    await using device = await startDevice((request, response) => {
      const port = device.port
      const targets: Record<string, string> = {
        '/absolute': `http://127.0.0.1:${port}/login?x=1#top`,
        '/relative': 'next',
        '/path': '/login',
        '/same-scheme': `//127.0.0.1:${port}/login`,
        '/double-slash': `http://127.0.0.1:${port}//evil.test/`,
      }
      response.writeHead(302, { location: targets[request.url ?? ''] ?? '/' }).end()
    })
    const { get, origin } = await proxy.enter(device)
    const location = async (path: string) => (await get(path)).headers.location
    assert.equal(await location('/absolute'), `${origin}/login?x=1#top`)
    assert.equal(await location('/relative'), `${origin}/next`)
    assert.equal(await location('/path'), `${origin}/login`)
    assert.equal(await location('/same-scheme'), `${origin}/login`)
    assert.equal(await location('/double-slash'), `${origin}//evil.test/`)
  })

  test('redirects to another host or port are explained and not followed', async () => {
    let hits = 0
    await using other = await startDevice((_request, response) => {
      hits += 1
      response.end('secret')
    })
    await using proxy = await startProxy()
    const targets = [
      `http://127.0.0.1:${other.port}/`,
      'http://169.254.169.254/latest/meta-data/',
      'https://127.0.0.1/',
      '//evil.test/',
      '/\\evil.test/',
      'http://2130706433/',
      'http://[::ffff:127.0.0.1]/',
      'javascript:alert(1)',
      'http://user@127.0.0.1/',
    ]
    for (const status of [301, 302, 303, 307, 308]) {
      for (const target of targets) {
        await using device = await redirectTo(target, status)
        const { get } = await proxy.enter(device)
        const received = await get('/')
        assert.equal(received.status, 502, target)
        assert.equal(received.headers.location, undefined)
        assert.match(received.text, /redirects to another address/)
      }
    }
    assert.equal(hits, 0)
    assert.equal(proxy.sessions.opened, targets.length * 5)
  })

  test('the page for a redirect from http to https names the session to request', async () => {
    await using device = await redirectTo('https://127.0.0.1/')
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.match((await get('/')).text, /request a session for https with port 443 of the same asset/)
  })

  test('the page for a redirect shows markup of the target as text', async () => {
    await using device = await redirectTo('http://evil.test/<script>alert(1)</script>')
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const received = await get('/')
    assert.ok(!received.text.includes('<script>'))
    assert.match(String(received.headers['content-security-policy']), /^default-src 'none'/)
  })

  test('Content-Location and Refresh to the device are rewritten, and to other hosts removed', async () => {
    await using proxy = await startProxy()
    await using device = await startDevice((request, response) => {
      const target = request.url === '/own' ? `http://127.0.0.1:${device.port}/x` : 'http://evil.test/x'
      response.writeHead(200, { 'content-location': target, refresh: `5; url=${target}` }).end()
    })
    const { get, origin } = await proxy.enter(device)
    const own = await get('/own')
    assert.equal(own.headers['content-location'], `${origin}/x`)
    assert.equal(own.headers.refresh, `5; url=${origin}/x`)
    const other = await get('/other')
    assert.equal(other.headers['content-location'], undefined)
    assert.equal(other.headers.refresh, undefined)
  })

  test('all forms of Refresh are read in a short time', async () => {
    await using proxy = await startProxy()
    const values = ['5', '0.5;', '5 url=/x', "5;URL = '/x' ", '5,"/x"', '5;/x', 'x', '5x', '']
    await using device = await startDevice((request, response) => {
      const index = Number(request.url?.slice(1))
      const refresh = values[index] ?? `1${' '.repeat(index)}"x"y"`
      response.writeHead(200, { refresh }).end()
    })
    const { get, origin } = await proxy.enter(device)
    const received: unknown[] = []
    for (const index of values.keys()) received.push((await get(`/${index}`)).headers.refresh)
    const page = `5; url=${origin}/x`
    assert.deepEqual(received, ['5', '0', page, page, page, page, undefined, undefined, undefined])
    const before = process.cpuUsage()
    assert.equal((await get('/400')).headers.refresh, `1; url=${origin}/x`)
    assert.ok(process.cpuUsage(before).user < 2_000_000)
  })

  test('absolute links in HTML stay in the session, also in compressed pages', async () => {
    await using proxy = await startProxy()
    await using device = await startDevice((request, response) => {
      const html = `<a href="http://127.0.0.1:${device.port}/a">http://127.0.0.1:${device.port}/a</a>`
      const encode = { '/gzip': gzipSync, '/br': brotliCompressSync }[request.url ?? '']
      const body = encode === undefined ? Buffer.from(html) : encode(html)
      response.writeHead(200, {
        'content-type': request.url === '/text' ? 'text/plain' : 'text/html; charset=utf-8',
        'content-length': String(body.length),
        ...(encode === undefined ? {} : { 'content-encoding': request.url?.slice(1) ?? '' }),
      })
      response.end(body)
    })
    const { get, origin } = await proxy.enter(device)
    const rewritten = `<a href="${origin}/a">http://127.0.0.1:${device.port}/a</a>`
    for (const path of ['/', '/gzip', '/br']) {
      const received = await get(path)
      assert.equal(received.text, rewritten)
      assert.equal(received.headers['content-encoding'], undefined)
    }
    assert.match((await get('/text')).text, /^<a href="http:\/\/127/)
  })
})

describe('headers of the response', () => {
  test('headers that change the browser beyond the session are removed', async () => {
    const removed = {
      'strict-transport-security': 'max-age=1; includeSubDomains',
      'clear-site-data': '"*"',
      'alt-svc': 'h3=":443"',
      'service-worker-allowed': '/',
      'access-control-allow-origin': '*',
      'access-control-allow-credentials': 'true',
      'x-accel-redirect': '/internal',
      'keep-alive': 'timeout=5',
    }
    await using device = await startDevice((_request, response) =>
      response.writeHead(200, { ...removed, 'x-own': 'kept', 'content-type': 'text/html' }).end(),
    )
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    const { headers } = await get('/')
    assert.equal(headers['x-own'], 'kept')
    for (const name of Object.keys(removed)) assert.notEqual(headers[name], removed[name as keyof typeof removed], name)
    assert.equal(headers['x-frame-options'], 'SAMEORIGIN')
    assert.equal(headers['referrer-policy'], 'same-origin')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['content-security-policy'], "frame-ancestors 'self'")
  })

  test('a device can forbid frames, and cannot allow frames of other origins', async () => {
    await using device = await startDevice((request, response) =>
      response
        .writeHead(200, {
          'x-frame-options': request.url === '/deny' ? 'DENY' : 'ALLOWALL',
          'content-security-policy': 'frame-ancestors *; upgrade-insecure-requests',
        })
        .end(),
    )
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.equal((await get('/deny')).headers['x-frame-options'], 'DENY')
    const { headers } = await get('/')
    assert.equal(headers['x-frame-options'], 'SAMEORIGIN')
    assert.equal(headers['content-security-policy'], "frame-ancestors *, frame-ancestors 'self'")
  })

  test('scripts with a wrong type still work, because nosniff is not added to them', async () => {
    await using device = await startDevice((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('script'),
    )
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    assert.equal((await get('/x.js')).headers['x-content-type-options'], undefined)
  })
})

describe('websockets', () => {
  async function startEcho() {
    const device = await startDevice((_request, response) => response.end('page'))
    const requests: IncomingHttpHeaders[] = []
    const server = new WebSocketServer({ noServer: true, handleProtocols: (protocols) => [...protocols][0] ?? false })
    device.server.on('upgrade', (request, socket, head) => {
      if (request.url === '/refused') return socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n')
      requests.push(request.headers)
      return server.handleUpgrade(request, socket, head, (webSocket) => {
        webSocket.on('message', (data, binary) => webSocket.send(data, { binary }))
      })
    })
    return { ...device, requests }
  }

  const connectTo = (
    proxy: TestProxy,
    { host, cookie, origin }: { host: string; cookie: string; origin: string },
    path = '/socket',
  ) => new WebSocket(`ws://127.0.0.1:${proxy.port}${path}`, ['chat'], { headers: { host, cookie, origin } })

  test('messages pass in both directions, with subprotocol and close code', async () => {
    await using device = await startEcho()
    await using proxy = await startProxy()
    const session = await proxy.enter(device)
    const socket = connectTo(proxy, session)
    await once(socket, 'open')
    assert.equal(socket.protocol, 'chat')
    const large = 'x'.repeat(500_000)
    socket.send(large)
    const [echo] = await once(socket, 'message')
    assert.equal(String(echo), large)
    const [seen] = device.requests
    assert.equal(seen?.origin, `http://127.0.0.1:${device.port}`)
    assert.equal(seen?.cookie, undefined)
    socket.close(4001, 'done')
    const [code] = await once(socket, 'close')
    assert.equal(code, 4001)
  })

  test('a refusal of the device is passed', async () => {
    await using device = await startEcho()
    await using proxy = await startProxy()
    const socket = connectTo(proxy, await proxy.enter(device), '/refused')
    const [error] = await once(socket, 'error')
    assert.match(String(error), /401/)
  })

  test('a page of another site cannot open a websocket', async () => {
    await using device = await startEcho()
    await using proxy = await startProxy()
    const session = await proxy.enter(device)
    const other = proxy.open(device)
    for (const origin of ['http://evil.test', 'http://millwright.test', other.origin, 'null', `${session.origin}:1`]) {
      const [error] = await once(connectTo(proxy, { ...session, origin }), 'error')
      assert.match(String(error), /403/, origin)
    }
    const { host, cookie } = session
    const socket = new WebSocket(`ws://127.0.0.1:${proxy.port}/`, { headers: { host, cookie } })
    const [error] = await once(socket, 'error')
    assert.match(String(error), /403/)
    assert.equal(proxy.sessions.opened, 0)
  })

  test('a websocket without the cookie is refused', async () => {
    await using device = await startEcho()
    await using proxy = await startProxy()
    const session = await proxy.enter(device)
    const [error] = await once(connectTo(proxy, { ...session, cookie: '' }), 'error')
    assert.match(String(error), /401/)
  })

  test('the end of the session closes websockets at once', async () => {
    await using device = await startEcho()
    await using proxy = await startProxy()
    const session = await proxy.enter(device)
    const socket = connectTo(proxy, session)
    await once(socket, 'open')
    proxy.sessions.end(session.id)
    const [code] = await once(socket, 'close')
    assert.equal(code, 1006)
    await until(() => proxy.sessions.streams.size === 0, 'the streams are closed')
  })
})

describe('end of the session', () => {
  test('an ended session shows why it ended, and links to the console', async () => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const { get, id } = await proxy.enter(device)
    assert.equal((await get('/')).status, 200)
    proxy.sessions.end(id, { ending: 'idle', endingDetail: 'Not used for 15 minutes.' })
    const received = await get('/')
    assert.equal(received.status, 410)
    assert.match(received.text, /no traffic for the maximum idle time/)
    assert.match(received.text, /Not used for 15 minutes/)
    assert.match(received.text, /href="http:\/\/millwright\.test\/console\//)
    assert.equal(received.headers['clear-site-data'], '"cache", "storage"')
  })

  test('an end in another process is noticed within five seconds', async (t) => {
    await using device = await startDevice((_request, response) => response.end('device'))
    await using proxy = await startProxy()
    const { get, id } = await proxy.enter(device)
    assert.equal((await get('/')).status, 200)
    proxy.sessions.endSilently(id)
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + 5_000)
    assert.equal((await get('/')).status, 410)
  })

  test('the end of the session cuts off running downloads', async () => {
    await using device = await startDevice((_request, response) => {
      response.writeHead(200)
      response.write('start')
    })
    await using proxy = await startProxy()
    const { host, cookie, id } = await proxy.enter(device)
    const request = sendHttp({ port: proxy.port, path: '/', headers: { host, cookie }, agent: false }).end()
    const [response] = await once(request, 'response')
    response.on('error', () => {})
    response.resume()
    const closed = new Promise((resolve) => response.on('close', resolve))
    proxy.sessions.end(id)
    await closed
    assert.equal(response.complete, false)
    await until(() => proxy.sessions.streams.size === 0, 'the streams are closed')
  })
})

describe('request log', () => {
  test('each request has a line without values of the query', async () => {
    await using device = await startDevice((_request, response) => response.writeHead(201).end('four'))
    await using proxy = await startProxy()
    const { get } = await proxy.enter(device)
    await get('/login?user=ann&password=secret&secret')
    await until(() => proxy.sessions.lines.length === 1, 'the line')
    const line = JSON.parse(proxy.sessions.lines[0] ?? '')
    assert.deepEqual(Object.keys(line), ['time', 'method', 'path', 'status', 'bytes', 'ms'])
    assert.equal(line.path, '/login?user=&password=')
    assert.equal(line.status, 201)
    assert.equal(line.bytes, 4)
  })
})
