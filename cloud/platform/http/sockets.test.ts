import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket as TcpSocket } from 'node:net'
import { describe, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { contract, empty } from '@millwright/api/contract.ts'
import { closed, Uuid } from '@millwright/api/envelope.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import { Type } from 'typebox'
import { WebSocket } from 'ws'
import type { Caller } from '../access/caller.ts'
import { rightsOf } from '../access/rights.ts'
import { systemCaller } from '../access/system.ts'
import { limits } from '../limits.ts'
import { createLog } from '../log.ts'
import { authorize, socketOperation } from '../operation.ts'
import type { HostHandler, SocketHandler } from '../service.ts'
import { PeerConnections } from '../tls/peer-connections.ts'
import type { CompletedRequest } from './completed-request.ts'
import type { Forward } from './forward.ts'
import { createServer } from './server.ts'
import type { Socket } from './socket.ts'

const id = '01980000-0000-7000-8000-000000000001'
const protocol = 'millwright.test.v1'
const origin = 'https://plant.example'

const talks = contract({
  name: 'talks',
  title: 'Talks',
  description: 'A contract with a WebSocket.',
  version: '1.0.0',
  prefix: '/talks/v1',
  operations: {
    openTalk: {
      method: 'GET',
      path: '/talks/{id}/socket',
      summary: 'Open a talk',
      access: 'remote_access_connect',
      socket: { protocol, acceptsTicket: true },
      params: closed({ id: Uuid }),
      query: closed({
        rows: Type.Optional(Type.Integer({ minimum: 1 })),
        ticket: Type.Optional(Type.String({ maxLength: 20 })),
      }),
      answers: { 101: empty },
    },
  },
})

type Request = { params: { id: string }; query: { rows?: number; ticket?: string } }
type Talk = (socket: Socket) => void

function callerOf(name: string): Caller {
  const permissions = name === 'nobody' ? [] : (['remote_access_connect'] as const)
  return {
    ...systemCaller(),
    principal: { id: name, kind: 'user', name },
    rights: rightsOf([{ accessGroupId: null, permissions: [...permissions] }]),
  }
}

type TestServerOptions = {
  handler?: (request: Request, caller: Caller, signal: AbortSignal) => Promise<Talk>
  forwards?: Forward[]
  hosts?: HostHandler[]
}

/** Starts a server with the WebSocket of the contract. The tokens are names of users. */
async function listen({ handler, forwards = [], hosts = [] }: TestServerOptions) {
  const answered: CompletedRequest[] = []
  const app = await createServer({
    operations:
      handler === undefined
        ? []
        : [
            socketOperation(talks, 'openTalk', {
              handler: handler as unknown as SocketHandler<never>,
              ticketCaller: async ({ ticket, params }) => {
                if (ticket === `of-${params.id}`.slice(0, 11)) return callerOf('ticket-holder')
                throw new Problem('unauthenticated', 'The ticket is not valid')
              },
            }),
          ],
    forwards,
    tls: undefined,
    peerConnections: new PeerConnections({ authority: undefined }),
    hosts,
    pages: [],
    origins: () => [origin],
    limitUnrouted: () => ({}),
    onAnswered: (one) => answered.push(one),
    tracing: undefined,
    log: createLog({ level: 'silent' }),
    trustedProxies: [],
    corsOrigins: [],
    headers: {},
    authorize: async ({ id: requestId, address, headers }, operation) => {
      const request = { id: requestId, address: String(headers['x-vouched'] ?? address) }
      if (operation.access === 'public') return { caller: { request } }
      const [, name] = /^Bearer (.+)$/.exec(String(headers.authorization)) ?? []
      if (name === undefined) throw new Problem('unauthenticated', 'Send a token')
      const caller = { ...callerOf(name), request }
      authorize(operation, caller)
      return { caller, headers: { ratelimit: 'x' } }
    },
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as { port: number }
  return { app, port, answered, [Symbol.asyncDispose]: () => app.close() }
}

type Options = {
  path?: string
  token?: string | undefined
  headers?: Record<string, string>
  protocols?: string[]
  protocolVersion?: number
}

function dial(
  port: number,
  { path, token = 'jane', headers = {}, protocols = [protocol], protocolVersion = 13 }: Options = {},
) {
  return new WebSocket(`ws://127.0.0.1:${port}${path ?? `/talks/v1/talks/${id}/socket`}`, protocols, {
    protocolVersion,
    headers: { ...(token === '' ? {} : { authorization: `Bearer ${token}` }), ...headers },
  })
}

/** Opens a WebSocket that must be refused, and returns the problem. */
async function refusal(port: number, options: Options = {}): Promise<ProblemDocument> {
  const socket = dial(port, options)
  socket.on('error', () => {})
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage]
  const document = JSON.parse(await textOf(response)) as ProblemDocument
  assert.equal(response.headers['content-type'], 'application/problem+json')
  assert.equal(response.statusCode, document.status)
  socket.terminate()
  return document
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const echo: NonNullable<TestServerOptions['handler']> = async ({ params, query }, caller) => {
  if (params.id !== id) throw new Problem('not_found', 'The talk does not exist')
  return (socket) => {
    socket.send(JSON.stringify({ params, query, name: caller.principal.name, address: caller.request.address }))
    socket.on('message', (message) => socket.send(message))
  }
}

/** Starts the service in one process, or behind a front in another process. */
async function start(arrangement: 'one process' | 'split', handler = echo) {
  const service = await listen({ handler })
  if (arrangement === 'one process') return { ...service, service }
  const operations = [{ contract: talks, name: 'openTalk', operation: talks.operations.openTalk }]
  const vouch = ({ address }: { address: string }) => ({ 'x-vouched': `vouched ${address}` })
  const front = await listen({ forwards: [{ url: `http://127.0.0.1:${service.port}`, operations, vouch }] })
  return {
    ...front,
    service,
    async [Symbol.asyncDispose]() {
      await front.app.close()
      await service.app.close()
    },
  }
}

for (const arrangement of ['one process', 'split'] as const) {
  describe(`WebSocket operations (${arrangement})`, () => {
    test('passes the validated request, the caller and the messages to the handler', async () => {
      await using server = await start(arrangement)
      const socket = dial(server.port, { path: `/talks/v1/talks/${id}/socket?rows=24` })
      const [hello] = await once(socket, 'message')
      const address = arrangement === 'split' ? 'vouched 127.0.0.1' : '127.0.0.1'
      assert.deepEqual(JSON.parse(String(hello)), { params: { id }, query: { rows: 24 }, name: 'jane', address })
      assert.equal(socket.protocol, protocol)
      socket.send('text')
      assert.deepEqual(await once(socket, 'message'), [Buffer.from('text'), false])
      const bytes = Buffer.alloc(700_000, 7)
      socket.send(bytes)
      assert.deepEqual(await once(socket, 'message'), [bytes, true])
      socket.close(1000)
      assert.equal((await once(socket, 'close'))[0], 1000)
      assert.deepEqual(
        server.answered.map(({ status, route }) => [status, route]),
        [[101, '/talks/v1/talks/:id/socket']],
      )
    })

    const refusals: [string, Options, number, string][] = [
      ['without a token', { token: '' }, 401, 'unauthenticated'],
      ['without the permission', { token: 'nobody' }, 403, 'forbidden'],
      ['with an invalid path', { path: '/talks/v1/talks/x/socket' }, 400, 'invalid_path'],
      ['with an invalid query', { path: `/talks/v1/talks/${id}/socket?rows=0` }, 400, 'invalid_query'],
      ['with an unknown parameter', { path: `/talks/v1/talks/${id}/socket?a=0` }, 400, 'unknown_parameter'],
      ['that the handler refuses', { path: `/talks/v1/talks/${id.replace('1', '2')}/socket` }, 404, 'not_found'],
      ['with another subprotocol', { protocols: ['other'] }, 400, 'invalid_header'],
      ['with another version', { protocolVersion: 8 }, 400, 'invalid_header'],
      ['of a page of another origin', { headers: { origin: 'https://evil.example' } }, 403, 'forbidden'],
      ['of a page without an origin', { headers: { origin: 'null' } }, 403, 'forbidden'],
      ['with an invalid ticket', { path: `/talks/v1/talks/${id}/socket?ticket=x`, token: '' }, 401, 'unauthenticated'],
      [
        'with a ticket that is too long',
        { path: `/talks/v1/talks/${id}/socket?ticket=${'x'.repeat(21)}`, token: '' },
        400,
        'invalid_query',
      ],
    ]
    for (const [what, options, status, code] of refusals) {
      test(`refuses a WebSocket ${what} with a problem`, async () => {
        await using server = await start(arrangement)
        const problem = await refusal(server.port, options)
        assert.deepEqual([problem.status, problem.code], [status, code], problem.detail)
      })
    }

    test('accepts a ticket in the query, and pages of the origin of the platform', async () => {
      await using server = await start(arrangement)
      const path = `/talks/v1/talks/${id}/socket?ticket=of-01980000`
      for (const own of [origin, `http://127.0.0.1:${server.port}`]) {
        const socket = dial(server.port, { path, token: '', headers: { origin: own }, protocols: ['other', protocol] })
        const [hello] = await once(socket, 'message')
        assert.equal(JSON.parse(String(hello)).name, 'ticket-holder')
        assert.equal(socket.protocol, protocol)
        socket.terminate()
      }
    })

    test('responds with 426 to a request without an upgrade, after its checks', async () => {
      await using server = await start(arrangement)
      const url = `http://127.0.0.1:${server.port}/talks/v1/talks/${id}/socket`
      const headers = { authorization: 'Bearer jane' }
      const plain = await fetch(url, { headers })
      assert.deepEqual([plain.status, ((await plain.json()) as ProblemDocument).code], [426, 'upgrade_required'])
      assert.equal((await fetch(url)).status, 401)
      assert.equal((await fetch(`${url}?rows=0`, { headers })).status, 400)
    })

    test('ignores the header Upgrade at other paths', async () => {
      await using server = await start(arrangement)
      for (const method of ['GET', 'POST']) {
        const sent = httpRequest({
          port: server.port,
          path: '/elsewhere',
          method,
          headers: { connection: 'upgrade', upgrade: 'websocket' },
        })
        sent.end(method === 'POST' ? '{}' : undefined)
        const [response] = (await once(sent, 'response')) as [IncomingMessage]
        assert.equal(response.statusCode, 404)
        response.resume()
      }
    })

    test('closes the WebSockets when the server stops, and stops without delay', async () => {
      const server = await start(arrangement)
      const sockets = [dial(server.port), dial(server.port)]
      await Promise.all(sockets.map((socket) => once(socket, 'open')))
      // The second client does not read, so it does not answer the close.
      sockets[1]?.pause()
      const closing = once(sockets[0] as WebSocket, 'close')
      const startedAt = performance.now()
      await server.service.app.close()
      assert.equal((await closing)[0], 1012)
      if (arrangement === 'split') await server.app.close()
      // Without a limit for the answer, the server would wait for the checks of the WebSocket.
      assert.ok(performance.now() - startedAt < limits.socketPingMs)
      for (const socket of sockets) socket.terminate()
    })
  })
}

describe('a WebSocket', () => {
  test('stops the sender when the client does not read, and continues after it reads', async () => {
    const sent = Promise.withResolvers<number>()
    await using server = await start('one process', async () => (socket) => {
      let bytes = 0
      while (socket.send(Buffer.alloc(100_000)) && bytes < 100e6) bytes += 100_000
      sent.resolve(bytes)
      socket.once('drain', () => socket.send('drained'))
    })
    const socket = dial(server.port)
    await once(socket, 'open')
    socket.pause()
    assert.ok((await sent.promise) < 50e6)
    const drained = new Promise((resolve) => {
      socket.on('message', (message, isBinary) => {
        if (!isBinary) resolve(String(message))
      })
    })
    socket.resume()
    assert.equal(await drained, 'drained')
    socket.terminate()
  })

  test('loses a client whose waiting messages exceed the limit', async () => {
    const code = Promise.withResolvers<number>()
    await using server = await start('one process', async () => (socket) => {
      socket.on('close', code.resolve)
      for (let index = 0; index < 400 && socket.isOpen; index++) socket.send(Buffer.alloc(100_000))
    })
    const socket = dial(server.port)
    socket.on('error', () => {})
    await once(socket, 'open')
    socket.pause()
    assert.equal(await code.promise, 1006)
    socket.terminate()
  })

  test('stops reading while it is paused', async () => {
    const opened = Promise.withResolvers<Socket>()
    await using server = await start('one process', async () => opened.resolve)
    const client = dial(server.port)
    await once(client, 'open')
    const socket = await opened.promise
    const received: unknown[] = []
    socket.on('message', (message) => received.push(message))
    socket.pause()
    client.send('one')
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    assert.deepEqual(received, [])
    socket.resume()
    await once(socket, 'message')
    assert.deepEqual(received, ['one'])
    client.terminate()
  })

  test('keeps the first messages for a handler that pauses the socket at once', async () => {
    const opened = Promise.withResolvers<Socket>()
    await using server = await start('one process', async () => (socket) => {
      socket.pause()
      opened.resolve(socket)
    })
    const client = dial(server.port)
    await once(client, 'open')
    client.send('first')
    const socket = await opened.promise
    for (let turn = 0; turn < 20; turn++) await nextTurn()
    socket.resume()
    assert.deepEqual(await once(socket, 'message'), ['first'])
    client.terminate()
  })

  test('closes a connection with a message above the limit with 1009', async () => {
    await using server = await start('one process')
    const client = dial(server.port)
    await once(client, 'open')
    client.send(Buffer.alloc(limits.socketMessageBytes + 1))
    assert.equal((await once(client, 'close'))[0], 1009)
  })

  test('sends its close code and a reason of any length', async () => {
    await using server = await start('one process', async () => (socket) => socket.close(4001, 'ü'.repeat(200)))
    const client = dial(server.port)
    const [code, reason] = await once(client, 'close')
    assert.deepEqual([code, String(reason)], [4001, 'ü'.repeat(61)])
  })

  test('keeps a client that sent nothing before the first check', async () => {
    const opened = Promise.withResolvers<Socket>()
    await using server = await start('one process', async () => opened.resolve)
    const client = dial(server.port)
    await once(client, 'open')
    const socket = await opened.promise
    const pinged = once(client, 'ping')
    socket.checkAlive()
    await pinged
    assert.ok(socket.isOpen)
    client.terminate()
  })

  test('terminates a client that does not answer two checks', async () => {
    const opened = Promise.withResolvers<Socket>()
    await using server = await start('one process', async () => opened.resolve)
    const client = dial(server.port)
    await once(client, 'open')
    const socket = await opened.promise
    const pinged = once(client, 'ping')
    client.send('alive')
    await once(socket, 'message')
    socket.checkAlive()
    await pinged
    client.pause()
    const lost = once(socket, 'close')
    while (socket.isOpen) {
      socket.checkAlive()
      await nextTurn()
    }
    assert.equal((await lost)[0], 1006)
    client.terminate()
  })

  test('notices the lost connection of a client while it is paused', async () => {
    const opened = Promise.withResolvers<Socket>()
    await using server = await start('one process', async () => opened.resolve)
    const client = dial(server.port)
    await once(client, 'open')
    const socket = await opened.promise
    socket.pause()
    const pinged = once(client, 'ping')
    socket.checkPaused()
    await pinged
    const lost = once(socket, 'close')
    client.terminate()
    while (socket.isOpen) {
      socket.checkPaused()
      await nextTurn()
    }
    assert.equal((await lost)[0], 1006)
  })

  test('limits the WebSockets of one principal', async () => {
    let waiting: (() => void)[] = []
    await using server = await start('one process', async () => {
      await new Promise<void>((resolve) => waiting.push(resolve))
      return () => {}
    })
    // The requests wait in the handler and count already.
    const connections: TcpSocket[] = []
    const request =
      `GET /talks/v1/talks/${id}/socket HTTP/1.1\r\nhost: x\r\nauthorization: Bearer jane\r\nconnection: upgrade\r\n` +
      'upgrade: websocket\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-version: 13\r\n' +
      `sec-websocket-protocol: ${protocol}\r\n\r\n`
    for (let index = 0; index < limits.socketsPerPrincipal; index++) {
      const connection = connect(server.port, '127.0.0.1')
      connection.on('error', () => {})
      connection.write(request)
      connections.push(connection)
    }
    while (waiting.length < limits.socketsPerPrincipal) await nextTurn()
    assert.equal((await refusal(server.port)).code, 'too_many_requests')
    for (const connection of connections) connection.destroy()
    for (const resolve of waiting) resolve()
    waiting = []
    // The places of the disconnected clients are free again, when the server has noticed their ends.
    let isRefused = false
    const dialAgain = () => {
      isRefused = false
      return dial(server.port).on('error', () => {
        isRefused = true
      })
    }
    let another = dialAgain()
    while (waiting.length === 0) {
      await nextTurn()
      if (isRefused) another = dialAgain()
    }
    waiting[0]?.()
    await once(another, 'open')
    another.terminate()
  })

  test('aborts the signal of the handler when the client disconnects', async () => {
    const started = Promise.withResolvers<AbortSignal>()
    await using server = await start('one process', (_request, _caller, signal) => {
      started.resolve(signal)
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Problem('unavailable', 'The client disconnected')))
      })
    })
    const client = dial(server.port)
    client.on('error', () => {})
    const signal = await started.promise
    client.terminate()
    if (!signal.aborted) await once(signal, 'abort')
  })
})

for (const arrangement of ['one process', 'split'] as const) {
  describe(`host names of a service (${arrangement})`, () => {
    /** A handler for all host names below `pages.example`. */
    const pages: HostHandler = {
      owns: (hostname) => hostname.endsWith('.pages.example'),
      request: (request, response) => {
        request.pipe(response.writeHead(200, { 'x-host': request.headers.host ?? '', connection: 'keep-alive' }))
      },
      upgrade: (request, connection, head) => {
        connection.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')
        connection.write(`${request.headers.host} `)
        connection.write(head)
        connection.on('error', () => {}).pipe(connection)
      },
    }

    async function startPages() {
      const service = await listen({ handler: echo, hosts: [pages] })
      if (arrangement === 'one process') return service
      const vouch = () => ({ 'x-vouched': 'yes' })
      const url = `http://127.0.0.1:${service.port}`
      const front = await listen({ forwards: [{ url, operations: [], vouch, ownsHost: pages.owns }] })
      return {
        ...front,
        async [Symbol.asyncDispose]() {
          await front.app.close()
          await service.app.close()
        },
      }
    }

    const ask = async (port: number, host: string, path: string) => {
      const sent = httpRequest({ port, path, method: 'POST', headers: { host }, agent: false })
      sent.end('body')
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: response.statusCode, host: response.headers['x-host'], text: await textOf(response) }
    }

    test('passes every request to the host names to the handler, and no other request', async () => {
      await using server = await startPages()
      for (const host of ['a.pages.example', 'A.Pages.Example:8080']) {
        const answer = await ask(server.port, host, `/talks/v1/talks/${id}/socket`)
        assert.deepEqual(answer, { status: 200, host, text: 'body' })
      }
      for (const host of ['pages.example', 'a.pages.example.evil', '127.0.0.1'])
        assert.equal((await ask(server.port, host, '/')).status, 404)
    })

    test('passes connections with an upgrade to the handler', async () => {
      await using server = await startPages()
      const headers = { host: 'a.pages.example', connection: 'upgrade', upgrade: 'websocket' }
      const sent = httpRequest({ port: server.port, path: '/', headers })
      sent.end()
      const [, connection, head] = (await once(sent, 'upgrade')) as [IncomingMessage, TcpSocket, Buffer]
      connection.write('hello')
      let text = String(head)
      while (!text.includes('hello')) text += String((await once(connection, 'data'))[0])
      assert.equal(text, 'a.pages.example hello')
      connection.destroy()
    })
  })
}

test('responds with 503 if the process of a host name or a WebSocket is not reachable', async () => {
  const gone = createHttpServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as { port: number }
  gone.close()
  await once(gone, 'close')
  const operations = [{ contract: talks, name: 'openTalk', operation: talks.operations.openTalk }]
  const ownsHost = (hostname: string) => hostname === 'a.pages.example'
  await using front = await listen({
    forwards: [{ url: `http://127.0.0.1:${port}`, operations, vouch: () => ({}), ownsHost }],
  })
  assert.equal((await refusal(front.port)).code, 'unavailable')
  const sent = httpRequest({ port: front.port, headers: { host: 'a.pages.example' } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 503)
  response.resume()
})
