import assert from 'node:assert/strict'
import { Agent, request as httpRequest, METHODS } from 'node:http'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import {
  bodyTypesOf,
  type Contract,
  isEventStream,
  isInternal,
  type Operation,
  pathsOf,
} from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { limits } from '../limits.ts'
import { type Arrangement, type TestHub, testHub } from '../testing/hub.ts'

/**
 * Sends methods, headers and content types over real sockets that no contract describes. The platform must never return
 * a 5xx.
 */

const anyId = '01980000-0000-7000-8000-000000000000'

const publicOperations = Object.values(contracts as unknown as Record<string, Contract>)
  .flatMap((contract) => Object.values(contract.operations).map((operation) => ({ contract, operation })))
  .filter(({ operation }) => !isInternal(operation))

type Place = { path: string; url: string; methods: string[]; staysOpen: boolean }

/** Every public path of every contract, with its methods. */
const places: Place[] = [
  ...publicOperations
    .flatMap(({ contract, operation }) => pathsOf(contract, operation).map((path) => ({ path, operation })))
    .reduce((known, { path, operation }) => {
      const place = known.get(path) ?? { path, url: path.replace(/\{\w+\}/g, anyId), methods: [], staysOpen: false }
      place.methods.push(operation.method)
      place.staysOpen ||= mayStayOpen(operation)
      return known.set(path, place)
    }, new Map<string, Place>())
    .values(),
]

function mayStayOpen({ answers, waits }: Operation): boolean {
  return waits === true || Object.values(answers).some(isEventStream)
}

/** Every public operation with a JSON body. */
const jsonOperations = publicOperations.flatMap(({ contract, operation }) => {
  const [type] = bodyTypesOf(operation)
  const [path] = pathsOf(contract, operation)
  if (operation.body === undefined || path === undefined || type === undefined || !type.endsWith('json')) return []
  return [{ method: operation.method, url: path.replace(/\{\w+\}/g, anyId), type }]
})

type Sent = { method: string; url: string; headers?: Record<string, string | string[]>; body?: string }
type Received = { status: number; allow: string | undefined; text: string }

const contentTypes = [
  '',
  ' ',
  ';',
  'json',
  'application/',
  'application/json;charset=utf-16',
  'application/json; charset="utf-8',
  'application/json, text/plain',
  'application/JSON;;;=',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'text/plain',
  'application/x-www-form-urlencoded; charset=latin1',
  'application/merge-patch+json',
  '*/*',
  '\xe4\xf6\xfc/\xdf',
]

const bodies = ['', '{', '{}', '[]', 'null', '"x"', 'a=b&a=c', '\u0000', '--x\r\n\r\n--x--', '\ud800'.repeat(3)]

const oddHeaders: Record<string, string | string[]>[] = [
  {},
  { accept: 'nothing/at-all;q=x' },
  { 'accept-language': '\xff\xfe', cookie: '=;=;;a' },
  { authorization: 'Basic %%%' },
  { authorization: 'Bearer' },
  { authorization: 'Peer x' },
  { 'content-encoding': 'gzip' },
  { 'idempotency-key': '\xe4' },
  { 'if-match': '"', 'if-none-match': 'W/' },
  { 'last-event-id': '-1' },
  { prefer: 'wait=-1', range: 'bytes=9-1' },
  { 'x-forwarded-for': 'not an address', forwarded: 'for=' },
  { 'x-request-id': '\xe4'.repeat(20), traceparent: '00-0-0-0' },
  { dpop: ['a', 'b'], 'x-millwright-client': '10.0.0.1', 'x-millwright-client-proof': '=' },
  { upgrade: 'websocket', connection: 'upgrade' },
  { 'proxy-authorization': 'x', te: 'trailers', via: '1.1 x' },
]

for (const arrangement of ['one process', 'split'] as const satisfies Arrangement[]) {
  describe(`malformed and unexpected requests (${arrangement})`, () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 8 })
    let hub: TestHub
    let port: number
    let tokens: (string | undefined)[]

    before(async () => {
      hub = await testHub({ arrangement })
      port = Number(new URL(await hub.listen()).port)
      const [admin, viewer] = [await hub.as('administrator'), await hub.as(undefined)]
      tokens = [undefined, admin.token, viewer.token]
    })

    after(async () => {
      agent.destroy()
      await hub[Symbol.asyncDispose]()
    })

    const send = ({ method, url, headers = {}, body }: Sent) =>
      new Promise<Received>((resolve, reject) => {
        const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
        const sent = { port, host: '127.0.0.1', agent, method, path: url, headers: { ...headers, ...length } }
        const request = httpRequest(sent, (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, allow: response.headers.allow, text }))
        })
        request.on('error', reject)
        request.end(body)
      })

    /** Sends all requests, eight at a time. */
    const sendAll = async (requests: Sent[], check: (received: Received, sent: Sent) => void) => {
      const left = requests.values()
      const work = async () => {
        for (const sent of left) check(await send(sent), sent)
      }
      await Promise.all(Array.from({ length: 8 }, work))
    }

    const bearer = (index: number): Record<string, string> => {
      const token = tokens[index % tokens.length]
      return token === undefined ? {} : { authorization: `Bearer ${token}` }
    }

    test('returns 405 for an unsupported method, with exactly the supported methods of the path in Allow', async () => {
      // CONNECT requests a tunnel, so Node closes the connection. HEAD is answered on every path with GET.
      const unrouted = METHODS.filter((method) => !['CONNECT', 'HEAD'].includes(method))
      const tested = places.filter((_, index) => arrangement === 'one process' || index % 8 === 0)
      const requests = tested.flatMap((place, index) => {
        const others = unrouted.filter((method) => !place.methods.includes(method))
        const ordinary = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((method) => !place.methods.includes(method))
        const methods = new Set([
          others[index % others.length] ?? 'QUERY',
          ordinary[index % ordinary.length] ?? 'QUERY',
          // These paths get all ordinary methods, because the router could choose a path with a parameter instead.
          ...(/\/(batch|facets|from-link|events)$/.test(place.path) ? ordinary : []),
        ])
        return [...methods].map((method, turn) => ({
          place,
          method,
          url: place.url,
          headers: bearer(index + turn),
          ...(turn % 2 === 0 ? {} : { body: bodies[index % bodies.length] ?? '' }),
        }))
      })
      await sendAll(requests, ({ status, allow, text }, sent) => {
        const { place, method } = sent as (typeof requests)[number]
        assert.equal(status, 405, `${method} ${place.path}: ${text}`)
        assert.deepEqual(allow?.split(', ').toSorted(), [...place.methods].toSorted(), `${method} ${place.path}`)
        assert.equal((JSON.parse(text) as ProblemDocument).code, 'method_not_allowed')
      })
    })

    test('returns no 5xx for any HTTP method at operations, pages and unknown paths', async () => {
      const urls = ['/inventory/v2/assets', '/oauth/token', '/healthz', '/metrics', '/docs', '/nowhere', '/%zz']
      const requests = METHODS.filter((method) => method !== 'CONNECT').flatMap((method, index) =>
        urls.map((url, turn) =>
          (index + turn) % 2 === 0
            ? { method, url }
            : { method, url, body: 'x', headers: { 'content-type': contentTypes[index % contentTypes.length] ?? '' } },
        ),
      )
      await sendAll(requests, ({ status, text }, { method, url }) =>
        assert.ok(status < 500, `${method} ${url} answered ${status}: ${text}`),
      )
    })

    test('returns no 5xx for unusual headers, content types and bodies at every operation', async () => {
      const quick = places.filter(({ staysOpen }) => !staysOpen)
      const runs = Number(process.env.MILLWRIGHT_FUZZ ?? (arrangement === 'split' ? 40 : 80))
      const request = fc.record({
        place: fc.constantFrom(...quick),
        turn: fc.nat(1_000),
        type: fc.option(fc.oneof(fc.constantFrom(...contentTypes), fc.constant('application/json')), {
          nil: undefined,
        }),
        body: fc.option(fc.oneof(fc.constantFrom(...bodies), fc.json({ maxDepth: 2 })), { nil: undefined }),
        odd: fc.constantFrom(...oddHeaders),
        method: fc.oneof(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE'), fc.constant(undefined)),
      })
      await fc.assert(
        fc.asyncProperty(request, async ({ place, turn, type, body, odd, method }) => {
          const sent = {
            method: method ?? place.methods[turn % place.methods.length] ?? 'GET',
            url: place.url,
            headers: { ...bearer(turn), ...odd, ...(type === undefined ? {} : { 'content-type': type }) },
            ...(body === undefined ? {} : { body }),
          }
          const { status, text } = await send(sent)
          assert.ok(status < 500, `answered ${status}: ${text}`)
        }),
        { numRuns: runs },
      )
    })

    test('refuses a body that is nested too deeply at every operation, and returns no 5xx for a body at the limit', async () => {
      const tested = jsonOperations.filter((_, index) => arrangement === 'one process' || index % 8 === 0)
      const requests = tested.flatMap(({ method, url, type }, index) =>
        [limits.bodyLevels, 2_000].map((levels) => {
          const [open, close] = index % 2 === 0 ? (['[', ']'] as const) : (['{"data":', '}'] as const)
          const body = `{"data":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
          return { method, url, levels, body, headers: { ...bearer(1), 'content-type': type } }
        }),
      )
      await sendAll(requests, ({ status, text }, sent) => {
        const { method, url, levels } = sent as (typeof requests)[number]
        const message = `${method} ${url} answered ${status}: ${text}`
        assert.ok(status < 500, message)
        if (levels > limits.bodyLevels && ![401, 403, 404, 429].includes(status))
          assert.match(text, /nested deeper than 128 levels/, message)
      })
    })

    test('returns no 5xx for malformed requests that are sent as raw bytes', async () => {
      const raw = [
        'GET http://other.example/healthz HTTP/1.1\r\nhost: x',
        'OPTIONS * HTTP/1.1\r\nhost: x',
        'FROBNICATE / HTTP/1.1\r\nhost: x',
        'get /healthz HTTP/1.1\r\nhost: x',
        'GET /healthz HTTP/9.9\r\nhost: x',
        'GET /healthz HTTP/1.1',
        'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2',
        'POST /oauth/token HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked',
        'POST /oauth/token HTTP/1.1\r\nhost: x\r\nexpect: the-unexpected',
        'GET /healthz HTTP/1.1\r\nhost: x\r\nexpect: 100-continue',
        'QUERY /inventory/v2/assets HTTP/1.1\r\nhost: x\r\ncontent-length: 0',
      ]
      for (const head of raw) {
        const answer = await overSocket(port, head)
        assert.match(answer, /^HTTP\/1\.1 [1-4]\d\d /, `${head}: ${answer}`)
        assert.doesNotMatch(answer, /HTTP\/1\.1 5\d\d /, head)
      }
    })

    test('refuses a single-value header that is sent twice', async () => {
      const twice = [
        'host: x\r\nHost: y',
        'host: x\r\nhost: x',
        'host: x\r\nauthorization: Bearer a\r\nAuthorization: Bearer b',
        'host: x\r\ncontent-type: application/json\r\ncontent-type: text/plain',
      ]
      for (const headers of twice) {
        for (const path of ['/healthz', '/inventory/v2/assets', '/nowhere']) {
          const answer = await overSocket(port, `GET ${path} HTTP/1.1\r\n${headers}`)
          assert.match(answer, /^HTTP\/1\.1 400 [\s\S]*"invalid_header"/, headers)
        }
      }
    })
  })
}

test('applies the rate limit per address to unknown paths, unknown methods and unauthenticated requests', async () => {
  await using hub = await testHub({ rateLimit: 3 })
  const requests = [
    { method: 'QUERY', path: '/inventory/v2/assets' },
    { method: 'GET', path: '/nowhere' },
    { method: 'DELETE', path: '/inventory/v2/assets/batch' },
    { method: 'GET', path: '/inventory/v2/assets' },
    { method: 'GET', path: '/inventory/v2/assets', headers: { authorization: 'Bearer x.y.z' } },
  ]
  for (const [index, request] of requests.entries()) {
    // The bucket cannot refill this many requests while they are sent, even on a slow machine.
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => hub.request({ ...request, from: `10.0.0.${index}` })),
    )
    assert.ok(
      answers.some(({ status }) => status === 429),
      `${request.method} ${request.path}`,
    )
  }
})

/** Sends these bytes as a request without a body and returns all bytes of the response. */
function overSocket(port: number, head: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () => socket.write(`${head}\r\nconnection: close\r\n\r\n`))
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
      // The body of the request is never sent, so a response with status 4xx is the only response.
      if (/^HTTP\/1\.1 4/.test(received) && received.includes('\r\n\r\n')) socket.end()
    })
    socket.on('close', () => resolve(received))
    socket.on('error', (error: NodeJS.ErrnoException) => (received === '' ? reject(error) : resolve(received)))
  })
}
