import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { Tracer } from '@millwright/api/tracing.ts'
import { Outbound } from '../../../platform/outbound.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { serverCertificate, testAuthority } from '../../../platform/tls/testing.ts'
import type { Message } from '../delivery/channel.ts'
import { findSubscription } from '../subscription-store.ts'
import { openWebhookChannel } from './channel.ts'
import { createWebhook, HttpReceiver, isSigned, sendTest } from './testing.ts'

const megabyte = 1_000_000

describe('requests of webhooks', () => {
  let hub: TestHub
  let admin: TestCaller
  let receiver: HttpReceiver

  before(async () => {
    hub = await testHub({ outboundAllow: ['127.0.0.1', 'localhost'] })
    admin = await hub.as('administrator')
    receiver = await HttpReceiver.open()
  })

  after(async () => {
    await receiver[Symbol.asyncDispose]()
    await hub[Symbol.asyncDispose]()
  })

  /** Sends a test event to the receiver, and returns the attempt. */
  const attemptWith = async (answer: HttpReceiver['answer'], fields: { url?: string } = {}) => {
    receiver.answer = answer
    const { id } = await createWebhook(admin, { url: receiver.url, ...fields })
    const { state, attempts, isDeadLetter, nextAttemptTimestamp } = await sendTest(admin, id)
    await admin.events.deleteWebhook({ params: { id } })
    assert.deepEqual([isDeadLetter, nextAttemptTimestamp, attempts.length], [false, null, 1])
    const [attempt] = attempts
    assert.ok(attempt !== undefined)
    return { state, ...attempt }
  }

  test('sends a CloudEvent as JSON with the headers of Standard Webhooks', async () => {
    receiver.answer = (_, response) => response.writeHead(204).end()
    const { id, secret, name } = await createWebhook(admin, { url: `${receiver.url}?source=plant` })
    const delivery = await sendTest(admin, id)
    const { method, path, headers, body } = receiver.last
    assert.deepEqual([method, path], ['POST', '/events?source=plant'])
    assert.equal(headers['content-type'], 'application/cloudevents+json; charset=utf-8')
    assert.match(headers['user-agent'] ?? '', /^Millwright\/\d/)
    assert.ok(isSigned(receiver.last, secret))
    assert.ok(!isSigned({ ...receiver.last, body: `${body} ` }, secret))
    const event = JSON.parse(body)
    assert.deepEqual(event.data, { webhookId: id, name })
    assert.deepEqual([event.id, event.sequence], [delivery.messageId, '0000000000000000'])
    assert.deepEqual([event.type, event.subject], ['io.millwright.events.webhook.tested', `webhook/${id}`])
    assert.equal(headers['webhook-id'], event.id)
    assert.deepEqual([delivery.state, delivery.position, delivery.attempts[0]?.status], ['succeeded', null, 204])
  })

  test('sends an array of events to a webhook with batches', async () => {
    receiver.answer = (_, response) => response.end()
    const { id, secret } = await createWebhook(admin, { url: receiver.url, batchSize: 10 })
    const { messageId } = await sendTest(admin, id)
    assert.equal(receiver.last.headers['content-type'], 'application/cloudevents-batch+json; charset=utf-8')
    assert.equal(receiver.last.headers['webhook-id'], messageId)
    assert.equal(JSON.parse(receiver.last.body).length, 1)
    assert.ok(isSigned(receiver.last, secret))
  })

  test('reuses connections for the messages of a channel', async () => {
    await using own = await HttpReceiver.open()
    const { id } = await createWebhook(admin, { url: own.url })
    const context = hub.contextOf('events')
    const row = await context.database.read(hub.tenant, (handle) => findSubscription(handle, { id, kind: 'webhook' }))
    assert.ok(row !== undefined)
    const channel = await openWebhookChannel(context, hub.tenant, row)
    for (let count = 0; count < 20; count++) {
      const outcome = await channel.send(messageFor(String(count)), context.stopping)
      assert.equal(outcome.isDelivered, true)
    }
    await channel.close()
    assert.equal(own.requests.length, 20)
    assert.ok(own.connections <= 2, `${own.connections} connections`)
  })

  test('continues a trace at the receiver only if traces are exported', async () => {
    await using own = await HttpReceiver.open()
    const { id } = await createWebhook(admin, { url: own.url })
    const context = hub.contextOf('events')
    const row = await context.database.read(hub.tenant, (handle) => findSubscription(handle, { id, kind: 'webhook' }))
    assert.ok(row !== undefined)
    const exported: string[] = []
    const send = async (body: string) => void exported.push(body)
    const tracer = new Tracer({ service: 'test', version: '1', send })
    for (const traced of [{ ...context, tracer }, context]) {
      const channel = await openWebhookChannel(traced, hub.tenant, row)
      await channel.send(messageFor('1'), context.stopping)
      await channel.close()
    }
    await tracer.stop()
    const [first, second] = own.requests.map(({ headers }) => headers.traceparent)
    assert.match(String(first), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    assert.equal(second, undefined)
    const [body = ''] = exported
    assert.ok(body.includes(String(first).slice(3, 35)) && !body.includes(own.url))
  })

  test('reports a status that is not 2xx with the start of the response, and 410 like the others', async () => {
    const failed = await attemptWith((_, response) =>
      response
        .writeHead(503, { 'content-type': 'text/plain', 'retry-after': '120', 'set-cookie': 'session=private' })
        .end('maintenance\0 until noon'),
    )
    assert.deepEqual([failed.state, failed.status], ['failed', 503])
    assert.equal(failed.error, 'The receiver answered 503 Service Unavailable')
    assert.deepEqual(failed.responseHeaders, { 'content-type': 'text/plain', 'retry-after': '120' })
    assert.equal(failed.responseBody, 'maintenance\ufffd until noon')
    assert.equal((await attemptWith((_, response) => response.writeHead(410).end())).status, 410)
  })

  test('does not follow redirects', async () => {
    const before = receiver.requests.length
    const { state, error } = await attemptWith((_, response) =>
      response.writeHead(302, { location: `${receiver.url}/elsewhere` }).end(),
    )
    assert.equal(state, 'failed')
    assert.match(error ?? '', /302 Found\. Redirects are not followed/)
    assert.equal(receiver.requests.length, before + 1)
    const notModified = await attemptWith((_, response) => response.writeHead(304).end())
    assert.equal(notModified.error, 'The receiver answered 304 Not Modified')
  })

  test('reads only the start of a response of 10 MB, and closes the connection', async () => {
    let sent = 0
    const closed = Promise.withResolvers<void>()
    const attempt = await attemptWith((_, response) => {
      response.on('close', closed.resolve)
      const write = () => {
        while (sent < 10 * megabyte) {
          sent += 50_000
          if (!response.write('x'.repeat(50_000))) return
        }
        response.end()
      }
      response.on('drain', write)
      write()
    })
    assert.deepEqual([attempt.state, attempt.status], ['succeeded', 200])
    assert.equal(attempt.responseBody?.length, subscriptionLimits.responseCharacters)
    await closed.promise
    assert.ok(sent < 10 * megabyte, `The receiver sent ${sent} bytes`)
  })

  test('accepts the status of a response that never ends', async () => {
    const closed = Promise.withResolvers<void>()
    const attempt = await attemptWith((_, response) => {
      response.on('close', closed.resolve)
      response.write('first part')
    })
    assert.deepEqual([attempt.state, attempt.status, attempt.responseBody], ['succeeded', 200, 'first part'])
    assert.ok(attempt.durationMs < subscriptionLimits.responseMs)
    await closed.promise
  })

  test('fails when the receiver resets or closes the connection, refuses it, or does not speak HTTP', async () => {
    const reset = await attemptWith((request) => request.socket.resetAndDestroy())
    assert.equal(reset.error, 'The receiver closed the connection without a response')
    const closed = await attemptWith((request) => request.socket.end())
    assert.equal(closed.error, 'The receiver closed the connection without a response')
    const garbled = await attemptWith((request) => request.socket.end('SSH-2.0-OpenSSH\r\n\r\n'))
    assert.match(garbled.error ?? '', /not valid HTTP/)
    await using gone = await HttpReceiver.open()
    const { url } = gone
    await gone[Symbol.asyncDispose]()
    const refused = await attemptWith(() => {}, { url })
    assert.match(refused.error ?? '', /refused the connection/)
    for (const { status, state } of [reset, closed, garbled, refused])
      assert.deepEqual([status, state], [null, 'failed'])
    const large = await attemptWith((_, response) => response.setHeader('x-large', 'x'.repeat(20_000)).end())
    assert.match(large.error ?? '', /headers that are larger than the limit/)
  })

  test(
    'fails after 15 s when the receiver does not accept, does not respond or sends headers slowly',
    onlyInLongRuns,
    async () => {
      const timers: NodeJS.Timeout[] = []
      const silent = await tcpServer(() => {})
      const slow = await tcpServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\n')
        timers.push(setInterval(() => socket.write('x-more: y\r\n'), 500))
      })
      const waiting = await tcpServer((socket) => {
        timers.push(setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 500))
      })
      const urls = [silent, slow, waiting].map((server) => `http://127.0.0.1:${portOf(server)}/`)
      const [handshake = ''] = urls.map((url) => url.replace('http:', 'https:'))
      try {
        const attempts = await Promise.all(
          [...urls, handshake].map(async (url) => {
            const { id } = await createWebhook(admin, { url })
            return (await sendTest(admin, id)).attempts[0]
          }),
        )
        for (const [index, attempt] of attempts.entries()) {
          assert.match(attempt?.error ?? '', index === 3 ? /in time|15 s/ : /did not respond within 15 s/)
          assert.ok((attempt?.durationMs ?? 0) < subscriptionLimits.responseMs + 2_000)
        }
      } finally {
        for (const timer of timers) clearInterval(timer)
        for (const server of [silent, slow, waiting]) server.close()
      }
    },
  )

  test('trusts only the private authority of the webhook, and notices a changed certificate', async () => {
    const authority = testAuthority()
    await using secure = await HttpReceiver.open(serverCertificate(authority))
    const { id: untrusting } = await createWebhook(admin, { url: secure.url })
    const refused = await sendTest(admin, untrusting)
    assert.match(refused.attempts[0]?.error ?? '', /certificate that is not trusted: .*Set certificateAuthority/)
    assert.doesNotMatch(refused.attempts[0]?.error ?? '', /Node\.js|--use/)
    const { id, secret } = await createWebhook(admin, {
      url: secure.url,
      certificateAuthority: authority.certificate,
    })
    assert.equal((await sendTest(admin, id)).state, 'succeeded')
    assert.equal(secure.requests.length, 1)
    assert.ok(isSigned(secure.last, secret))

    const others = {
      'not trusted': serverCertificate(testAuthority('Other authority')),
      'altnames|not trusted': serverCertificate(authority, { hosts: ['other.example'] }),
      expired: serverCertificate(authority, { days: -1 }),
    }
    for (const [text, pair] of Object.entries(others)) {
      secure.replaceCertificate(pair)
      const { state, attempts } = await sendTest(admin, id)
      assert.equal(state, 'failed')
      assert.match(attempts[0]?.error ?? '', new RegExp(text))
    }
    assert.equal(secure.requests.length, 1)
    secure.replaceCertificate(serverCertificate(authority))
    assert.equal((await sendTest(admin, id)).state, 'succeeded')
  })

  test('ends a request whose receiver sends informational responses without end', async () => {
    const hint = 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'
    const flood = async (count: number, rest: string) => {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on('error', () => {})
        socket.once('data', () => socket.write(hint.repeat(count) + rest))
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      try {
        const { port } = server.address() as { port: number }
        return await attemptWith(() => {}, { url: `http://127.0.0.1:${port}` })
      } finally {
        for (const socket of sockets) socket.destroy()
        server.close()
      }
    }
    assert.equal((await flood(1_000, 'HTTP/1.1 204 No Content\r\n\r\n')).state, 'succeeded')
    const { state, error, durationMs } = await flood(1_001, '')
    assert.deepEqual([state, error], ['failed', 'The receiver sent too many informational responses (1xx)'])
    assert.ok(durationMs < subscriptionLimits.responseMs)
  })

  test('limits the text of an error that the receiver makes long', async () => {
    const authority = testAuthority()
    const hosts = Array.from({ length: 500 }, (_, index) => `name-${index}.example.com`)
    await using secure = await HttpReceiver.open(serverCertificate(authority, { hosts }))
    const url = `https://localhost:${secure.port}`
    const { id } = await createWebhook(admin, { url, certificateAuthority: authority.certificate })
    const { attempts } = await sendTest(admin, id)
    assert.match(attempts[0]?.error ?? '', /altnames: DNS:name-0\.example\.com, /)
    assert.equal(attempts[0]?.error?.length, 500)
    await admin.events.deleteWebhook({ params: { id } })
  })

  test('reports a receiver without TLS at a port with https, and the other way round', async () => {
    const plain = await attemptWith(() => {}, { url: receiver.url.replace('http:', 'https:') })
    assert.match(plain.error ?? '', /does not accept TLS on this port/)
    await using secure = await HttpReceiver.open(serverCertificate(testAuthority()))
    const encrypted = await attemptWith(() => {}, { url: secure.url.replace('https:', 'http:') })
    assert.equal(encrypted.state, 'failed')
    assert.equal(secure.requests.length, 0)
  })

  test('does not connect to a name that resolves to an address of this machine or changes its address', async () => {
    const url = `http://cmms.example:${receiver.port}/events`
    const { id } = await createWebhook(admin, { url: receiver.url })
    const context = hub.contextOf('events')
    const stored = await context.database.read(hub.tenant, (handle) =>
      findSubscription(handle, { id, kind: 'webhook' }),
    )
    assert.ok(stored !== undefined)
    const before = receiver.requests.length
    const errorFor = async (allow: string[], answers: string[]) => {
      const lookup = async () => [{ address: answers.shift() ?? '', family: 4 }]
      const outbound = new Outbound({ allow, lookup })
      const channel = await openWebhookChannel({ ...context, outbound }, hub.tenant, { ...stored, url })
      receiver.answer = (_, response) => response.setHeader('connection', 'close').end()
      const first = await channel.send(messageFor('1'), context.stopping)
      const second = await channel.send(messageFor('2'), context.stopping)
      await channel.close()
      await outbound.close()
      return [first.attempt.error, second.attempt.error]
    }
    const [loopback] = await errorFor(['cmms.example'], ['127.0.0.1', '127.0.0.1'])
    assert.match(loopback ?? '', /cmms\.example:\d+ has a loopback, link-local/)
    const [metadata] = await errorFor(['cmms.example'], ['169.254.169.254', '169.254.169.254'])
    assert.match(metadata ?? '', /MILLWRIGHT_OUTBOUND_ALLOW/)
    assert.equal(receiver.requests.length, before)
    const [first, second] = await errorFor(['127.0.0.1'], ['127.0.0.1', '127.0.0.2'])
    assert.equal(first, null)
    assert.match(second ?? '', /does not allow connections to cmms\.example/)
    assert.equal(receiver.requests.length, before + 1)
  })

  test('does not connect to a target that was removed from the list after the creation', async () => {
    const { id } = await createWebhook(admin, { url: receiver.url })
    receiver.answer = (_, response) => response.end()
    assert.equal((await sendTest(admin, id)).state, 'succeeded')
    const before = receiver.requests.length
    await using restricted = await hub.sibling({ outboundAllow: ['10.0.0.0/8'] })
    const { state, attempts } = await sendTest(restricted.withToken(admin.token), id)
    assert.equal(state, 'failed')
    assert.match(attempts[0]?.error ?? '', /does not allow connections to 127\.0\.0\.1/)
    assert.equal(receiver.requests.length, before)
  })
})

function messageFor(id: string): Message {
  const event = {
    specversion: '1.0' as const,
    id,
    source: '/tenants/test',
    type: 'io.millwright.test.thing.changed',
    subject: `thing/${id}`,
    time: new Date().toISOString(),
    datacontenttype: 'application/json' as const,
    sequence: '0000000000000001',
    data: {},
  }
  return { id, events: [event], body: JSON.stringify(event) }
}

async function tcpServer(onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  return (server.address() as { port: number }).port
}
