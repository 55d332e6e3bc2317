import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { Contract } from '@millwright/api/contract.ts'
import { isInternal } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { type ProblemDocument, problemCodes } from '@millwright/api/problem.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
import fc from 'fast-check'
import { limits } from '../limits.ts'
import { type TestCaller, type TestHub, testHub } from '../testing/hub.ts'
import { requireMatch } from './etag.ts'

describe('HTTP front', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub({ corsOrigins: ['https://console.example'], metricsToken: 'metrics-token' })
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  const signed = (headers: Record<string, string> = {}) => ({ authorization: `Bearer ${admin.token}`, ...headers })
  const json = (headers: Record<string, string> = {}) => signed({ 'content-type': 'application/json', ...headers })
  const problem = (body: unknown) => body as ProblemDocument

  test('returns errors as a problem document with instance and trace id', async () => {
    const answer = await hub.request({ method: 'GET', path: '/authorization/v1/roles/none?x=1', headers: signed() })
    const { type, title, status, detail, code, instance, traceId } = problem(answer.body)
    assert.deepEqual(
      { type, status, code, instance },
      {
        type: '/docs/problems#unknown_parameter',
        status: 400,
        code: 'unknown_parameter',
        instance: '/authorization/v1/roles/none',
      },
    )
    assert.ok(title.length > 0 && detail.length > 0)
    assert.equal(traceId, answer.headers.get('x-request-id'))
  })

  test('returns the request id of the client if it is valid', async () => {
    const kept = await hub.request({ method: 'GET', path: '/healthz', headers: { 'x-request-id': 'my-request-0001' } })
    assert.equal(kept.headers.get('x-request-id'), 'my-request-0001')
    const replaced = await hub.request({ method: 'GET', path: '/healthz', headers: { 'x-request-id': 'no\tgood' } })
    assert.notEqual(replaced.headers.get('x-request-id'), 'no\tgood')
  })

  test('returns 404 for unknown paths and 405 for known paths with another method', async () => {
    assert.equal(
      problem((await hub.request({ method: 'GET', path: '/nowhere', headers: signed() })).body).code,
      'not_found',
    )
    const answer = await hub.request({ method: 'PUT', path: '/authorization/v1/roles', headers: json(), body: '{}' })
    assert.equal(answer.status, 405)
    assert.deepEqual(answer.headers.get('allow')?.split(', ').toSorted(), ['GET', 'POST'])
  })

  test('serves all paths also with the prefix /v1', async () => {
    const answer = await hub.request({ method: 'GET', path: '/v1/authorization/v1/rights', headers: signed() })
    assert.equal(answer.status, 200)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const token = await hub.request({ method: 'POST', path: '/v1/oauth/token', headers: form, body: 'grant_type=none' })
    assert.deepEqual([token.status, (token.body as { error: string }).error], [400, 'unsupported_grant_type'])
  })

  test('serves a deprecated prefix like its successor, with Deprecation and Sunset headers', async () => {
    const ask = (path: string) => hub.request({ method: 'GET', path, headers: signed() })
    const { headers: now, body } = await ask('/inventory/v2/schemas?limit=1')
    assert.deepEqual([now.get('deprecation'), now.get('sunset'), now.get('link')], [null, null, null])
    for (const below of ['', '/v1']) {
      const answer = await ask(`${below}/inventory/v2-earlyaccess/schemas?limit=1`)
      assert.equal(answer.status, 200)
      assert.deepEqual(answer.body, body)
      assert.match(answer.headers.get('deprecation') ?? '', /^@\d{10}$/)
      assert.ok(Date.parse(answer.headers.get('sunset') ?? '') > Date.parse('2027-01-01'))
      assert.equal(answer.headers.get('link'), '</inventory/v2/schemas>; rel="successor-version"')
    }
    const refused = await hub.request({ method: 'GET', path: '/inventory/v2-earlyaccess/assets' })
    assert.equal(refused.status, 401)
    assert.equal(refused.headers.get('link'), '</inventory/v2/assets>; rel="successor-version"')
    assert.equal((await ask('/inventory/v2-earlyaccessible/assets')).status, 404)
  })

  test('refuses a list offset that exceeds the range of integers', async () => {
    for (const offset of ['99999999999999999999', '1e300']) {
      const path = `/authorization/v1/access-groups?offset=${offset}`
      const answer = await hub.request({ method: 'GET', path, headers: signed() })
      assert.equal(problem(answer.body).code, 'invalid_query', offset)
    }
  })

  test('parses + and %20 in a query as a space', async () => {
    await admin.authorization.createAccessGroup({ body: { data: { name: 'line one' } } })
    for (const query of ['name=line+one', 'name=line%20one']) {
      const answer = await hub.request({
        method: 'GET',
        path: `/authorization/v1/access-groups?${query}`,
        headers: signed(),
      })
      assert.equal((answer.body as { data: unknown[] }).data.length, 1, query)
    }
  })

  test('refuses a list limit of 101 instead of reducing it to 100', async () => {
    const answer = await hub.request({ method: 'GET', path: '/authorization/v1/roles?limit=101', headers: signed() })
    assert.equal(problem(answer.body).code, 'invalid_query')
    assert.deepEqual(
      problem(answer.body).errors?.map(({ pointer }) => pointer),
      ['/limit'],
    )
  })

  test('refuses a JSON body that is not valid UTF-8', async () => {
    const body = Buffer.from('{"data":{"name":"a\xff"}}', 'latin1')
    const answer = await hub.request({ method: 'POST', path: '/authorization/v1/access-groups', headers: json(), body })
    assert.deepEqual([answer.status, problem(answer.body).code], [400, 'invalid_json'])
  })

  test('names the reserved member names if a JSON body contains one', async () => {
    for (const member of ['"__proto__":1', '"constructor":{"prototype":1}']) {
      const path = '/authorization/v1/access-groups'
      const answer = await hub.request({ method: 'POST', path, headers: json(), body: `{"data":{${member}}}` })
      assert.deepEqual([answer.status, problem(answer.body).code], [400, 'invalid_json'])
      assert.match(problem(answer.body).detail, /reserved name: __proto__, or prototype in constructor/)
    }
  })

  test('reports every invalid field of a body with its JSON pointer', async () => {
    const body = JSON.stringify({ data: { name: 'x', permissions: ['no_such'], extra: 1 } })
    const answer = await hub.request({ method: 'POST', path: '/authorization/v1/roles', headers: json(), body })
    assert.deepEqual(
      problem(answer.body)
        .errors?.map(({ pointer, code }) => [pointer, code])
        .toSorted(),
      [
        ['/data/extra', 'unknown'],
        ['/data/permissions/0', 'enum'],
      ],
    )
  })

  test('returns 413 with the limit for a large body, and 415 for an unsupported media type', async () => {
    const body = JSON.stringify({ data: { name: 'x'.repeat(limits.bodyBytes) } })
    const large = await hub.request({ method: 'POST', path: '/authorization/v1/roles', headers: json(), body })
    assert.equal(large.status, 413)
    assert.match(problem(large.body).detail, new RegExp(String(limits.bodyBytes)))
    const form = signed({ 'content-type': 'application/x-www-form-urlencoded' })
    const other = await hub.request({ method: 'POST', path: '/authorization/v1/roles', headers: form, body: 'a=b' })
    assert.equal(other.status, 415)
    const xml = signed({ 'content-type': 'application/xml' })
    assert.equal(
      (await hub.request({ method: 'POST', path: '/authorization/v1/roles', headers: xml, body: '<a/>' })).status,
      415,
    )
  })

  test('returns 414 with the limit for a long URL', async () => {
    const path = `/authorization/v1/roles?x=${'a'.repeat(limits.urlBytes)}`
    const answer = await hub.request({ method: 'GET', path, headers: signed() })
    assert.equal(answer.status, 414)
    assert.equal(problem(answer.body).code, 'url_too_long')
    assert.match(problem(answer.body).detail, new RegExp(String(limits.urlBytes)))
  })

  test('returns problem documents for long headers, a 100 kB token, an invalid request line and invalid encoding', async () => {
    const port = Number(new URL(await hub.listen()).port)
    const ask = (lines: string[]) => overSocket(port, lines)
    const long = await ask(['GET /healthz HTTP/1.1', 'host: x', `x-long: ${'a'.repeat(limits.headerBytes)}`])
    assert.match(long, /^HTTP\/1\.1 431 /)
    assert.match(long, /headers_too_large/)
    const token = await ask([
      'GET /authorization/v1/rights HTTP/1.1',
      'host: x',
      `authorization: Bearer ${'a'.repeat(100_000)}`,
    ])
    assert.match(token, /^HTTP\/1\.1 401 /)
    assert.match(token, /it is longer than 8192 bytes/)
    const enormous = await ask([
      'GET /healthz HTTP/1.1',
      'host: x',
      `x-long: ${'a'.repeat(limits.parserHeaderBytes + 1000)}`,
    ])
    assert.match(enormous, /^HTTP\/1\.1 431 /)
    assert.match(enormous, /application\/problem\+json/)
    assert.match(await ask(['NONSENSE']), /^HTTP\/1\.1 400 [\s\S]*invalid_header/)
    assert.match(await ask(['GET /iam/v1/users/%ff%fe HTTP/1.1', 'host: x']), /^HTTP\/1\.1 40[01] [\s\S]*problem\+json/)
  })

  test('sets security headers on every response', async () => {
    for (const path of ['/healthz', '/openapi.json', '/nowhere', '/oauth/authorize']) {
      const { headers } = await hub.request({ method: 'GET', path })
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path)
      assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/, path)
      assert.match(headers.get('referrer-policy') ?? '', /^(no-referrer|same-origin)$/, path)
    }
  })

  test('allows cross-origin requests only from the configured origins', async () => {
    const preflight = (origin: string) =>
      hub.request({
        method: 'OPTIONS',
        path: '/authorization/v1/roles',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      })
    const allowed = await preflight('https://console.example')
    assert.equal(allowed.headers.get('access-control-allow-origin'), 'https://console.example')
    assert.equal(allowed.headers.get('access-control-allow-credentials'), null)
    assert.notEqual(
      (await preflight('https://evil.example')).headers.get('access-control-allow-origin'),
      'https://evil.example',
    )
  })

  test('returns 304 for If-None-Match and 412 for an outdated If-Match', async () => {
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'etag' } } })
    const path = `/authorization/v1/access-groups/${group.id}`
    const read = await hub.request({ method: 'GET', path, headers: signed() })
    const etag = read.headers.get('etag') ?? ''
    assert.match(etag, /^"/)
    const again = await hub.request({ method: 'GET', path, headers: signed({ 'if-none-match': etag }) })
    assert.deepEqual([again.status, again.text], [304, ''])
    const rename = (name: string) =>
      hub.request({
        method: 'PATCH',
        path,
        headers: json({ 'if-match': etag }),
        body: JSON.stringify({ data: { name } }),
      })
    assert.equal((await rename('first')).status, 200)
    const late = await rename('second')
    assert.equal(late.status, 412)
    assert.equal(problem(late.body).code, 'precondition_failed')
  })

  test('returns 304 only if the whole body is unchanged, and compares only the version for If-Match', async () => {
    const { data: program } = await admin.identity.createServerUser({ body: { data: { name: 'former' } } })
    const grant = { principal: program.id, role: 'viewer' }
    const { data: given } = await admin.authorization.createGrant({ body: { data: grant } })
    const path = `/authorization/v1/grants/${given.id}`
    const { headers } = await hub.request({ method: 'GET', path, headers: signed() })
    const again = () =>
      hub.request({ method: 'GET', path, headers: signed({ 'if-none-match': headers.get('etag') ?? '' }) })
    assert.equal((await again()).status, 304)
    await admin.identity.updateServerUser({ params: { id: program.id }, body: { data: { name: 'present' } } })
    const { status, body } = await again()
    assert.deepEqual([status, (body as { data: { principalName: string } }).data.principalName], [200, 'present'])
    assert.doesNotThrow(() => requireMatch(`"7", W/"3.aB-_9"`, 3))
    for (const other of ['"2.aB-_9"', '"33"', '3', '"3.a.b"'])
      assert.throws(() => requireMatch(other, 3), { code: 'precondition_failed' })
  })

  test('serves /metrics to loopback addresses, and to other addresses with the metrics token', async () => {
    const from = (address: string, headers = {}) =>
      hub.request({ method: 'GET', path: '/metrics', from: address, headers })
    assert.match((await from('127.0.0.1')).text, /millwright_http_request_duration_seconds/)
    assert.equal((await from('10.1.2.3')).status, 404)
    assert.equal((await from('127.0.0.1', { 'x-forwarded-for': '10.1.2.3' })).status, 404)
    // A web page can resolve its own name to this machine (DNS rebinding).
    for (const [host, status] of Object.entries({ 'attacker.example:8080': 404, 'localhost:8080': 200, '[::1]': 200 }))
      assert.equal((await from('127.0.0.1', { host })).status, status, host)
    assert.equal((await from('10.1.2.3', { authorization: 'Bearer metrics-token' })).status, 200)
    assert.equal((await from('10.1.2.3', { authorization: `Bearer ${admin.token}` })).status, 404)
  })

  test('applies limits to the address in X-Forwarded-For without the port of the client', async () => {
    await using behindProxy = await testHub({ trustedProxies: ['10.0.0.5'] })
    const statusFrom = async (client: string) => {
      const form = { grant_type: 'client_credentials', client_id: 'su_none', client_secret: 'wrong' }
      const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-forwarded-for': client }
      const body = new URLSearchParams(form).toString()
      return (await behindProxy.request({ method: 'POST', path: '/oauth/token', from: '10.0.0.5', headers, body }))
        .status
    }
    for (const clientAt of [(port: number) => `198.51.100.20:${port}`, (port: number) => `[2001:db8::1]:${port}`]) {
      for (let port = 40_000; port < 40_006; port++) assert.equal(await statusFrom(clientAt(port)), 401)
      assert.equal(await statusFrom(clientAt(40_006)), 429)
    }
    assert.equal(await statusFrom('198.51.100.21'), 401)
  })

  test('requires the metrics token from loopback addresses when a base URL or a trusted proxy is set', async () => {
    await using behindProxy = await hub.sibling({ metricsToken: 'metrics-token', metricsFromLoopback: false })
    const status = async (headers: Record<string, string> = {}) =>
      (await behindProxy.request({ method: 'GET', path: '/metrics', from: '127.0.0.1', headers })).status
    assert.deepEqual([await status(), await status({ authorization: 'Bearer metrics-token' })], [404, 200])
  })

  test('lists 414 and 431 for every operation in the OpenAPI document', async () => {
    const { body } = await hub.request({ method: 'GET', path: '/openapi.json' })
    const { paths } = body as { paths: Record<string, Record<string, { operationId: string; responses: object }>> }
    for (const { operationId, responses } of Object.values(paths).flatMap((methods) => Object.values(methods)))
      assert.ok('414' in responses && '431' in responses, operationId)
  })

  test('serves /healthz, /readyz and /version without a token', async () => {
    for (const path of ['/healthz', '/readyz', '/version'])
      assert.equal((await hub.request({ method: 'GET', path })).status, 200, path)
    const version = (await hub.request({ method: 'GET', path: '/version' })).body as {
      product: string
      services: object
    }
    assert.match(version.product, /^\d+\.\d+\.\d+/)
    assert.deepEqual(Object.keys(version.services).toSorted(), Object.keys(contracts).toSorted())
  })

  test('serves valid OpenAPI documents with every operation', async () => {
    const prefixes = Object.values(contracts).map(({ prefix }) => `${prefix}/openapi.json`)
    for (const path of ['/openapi.json', ...prefixes]) {
      const answer = await hub.request({ method: 'GET', path })
      const validation = await new Validator().validate(answer.body as Record<string, unknown>)
      assert.deepEqual(validation.errors ?? [], [], path)
    }
    const whole = (await hub.request({ method: 'GET', path: '/openapi.json' })).body as {
      paths: Record<string, object>
    }
    const documented = Object.values(whole.paths).flatMap((methods) =>
      Object.values(methods).map(({ operationId }) => operationId),
    )
    const operations = Object.values(contracts as unknown as Record<string, Contract>).flatMap(({ name, operations }) =>
      Object.entries(operations).flatMap(([key, operation]) => (isInternal(operation) ? [] : [`${name}.${key}`])),
    )
    assert.deepEqual(documented.toSorted(), operations.toSorted())
  })

  test('describes the ETag header of reads and the JSON list of API version 1 in the OpenAPI documents', async () => {
    const { body } = await hub.request({ method: 'GET', path: '/openapi.json' })
    const { paths } = body as { paths: Record<string, { get: { parameters: { name: string }[]; responses: object } }> }
    const asset = paths['/inventory/v2/assets/{id}']?.get
    assert.ok(asset?.parameters.some(({ name }) => name === 'If-None-Match'))
    assert.ok('304' in (asset?.responses ?? {}))
    assert.deepEqual(paths['/inventory/v1-earlyaccess/assets']?.get.responses['200' as never], {
      description: 'Done',
      content: { 'application/json': { schema: {} } },
    })
  })

  test('lists every problem code on the page of problem codes', async () => {
    const { text } = await hub.request({ method: 'GET', path: '/docs/problems' })
    for (const code of Object.keys(problemCodes)) assert.match(text, new RegExp(`id="${code}"`))
  })

  test('returns no 5xx for random paths, methods and queries', async () => {
    const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS')
    const segment = fc.oneof(
      fc.constantFrom('iam', 'v1', 'authorization', 'users', 'roles', 'oauth', 'token', 'audit', 'entries'),
      fc.string(),
    )
    const path = fc.array(segment, { maxLength: 5 }).map((parts) => `/${parts.map(encodeURIComponent).join('/')}`)
    const query = fc
      .dictionary(fc.string(), fc.string(), { maxKeys: 3 })
      .map((pairs) => new URLSearchParams(pairs).toString())
    const body = fc.oneof(fc.json(), fc.string())
    await fc.assert(
      fc.asyncProperty(method, path, query, body, async (verb, place, search, payload) => {
        const request = { method: verb, path: search === '' ? place : `${place}?${search}`, headers: json() }
        const answer = await hub.request(verb === 'GET' || verb === 'HEAD' ? request : { ...request, body: payload })
        assert.ok(answer.status < 500, `${verb} ${place} answered ${answer.status}: ${answer.text}`)
      }),
      { numRuns: 500 },
    )
  })
})

test('sends deprecation headers for a deprecated prefix of a service in another process', async () => {
  await using hub = await testHub({ arrangement: 'split' })
  const admin = await hub.as('administrator')
  const answer = await hub.request({
    method: 'GET',
    path: '/v1/inventory/v2-earlyaccess/assets?limit=1',
    headers: { authorization: `Bearer ${admin.token}` },
  })
  assert.equal(answer.status, 200)
  assert.match(answer.headers.get('deprecation') ?? '', /^@\d{10}$/)
  assert.equal(answer.headers.get('link'), '</inventory/v2/assets>; rel="successor-version"')
})

test('closes a connection on which no request has arrived when the platform stops', { timeout: 120_000 }, async () => {
  await using hub = await testHub({ ownProcesses: true })
  const base = await hub.listen()
  const unused = connect({ port: Number(new URL(base).port), host: '127.0.0.1' })
  await once(unused, 'connect')
  // The server accepts connections in order, so it has accepted the unused connection before this request.
  assert.equal((await fetch(`${base}/healthz`)).status, 200)
  const closed = once(unused.resume(), 'close')
  await hub.clouds.at(-1)?.close()
  await closed
})

/** Sends these lines as a request and returns all received bytes. */
function overSocket(port: number, lines: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' }, () =>
      socket.write([...lines, 'connection: close', '', ''].join('\r\n')),
    )
    let received = ''
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text
    })
    socket.on('close', () => resolve(received))
    socket.on('error', (error: NodeJS.ErrnoException) => (received === '' ? reject(error) : resolve(received)))
  })
}
