import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { type Contract, type Operation, pathOf, pathsOf } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { type RunningGateway, startGateway } from '../gateway.ts'
import { settingsFor, TestCloud, temporaryFolder } from '../testing.ts'
import { forwardedTarget } from './routes.ts'

/**
 * These tests check what the auth proxy forwards. They send every operation of the cloud through the proxy, in all
 * known spellings.
 */

const id = '01980000-0000-7000-8000-000000000001'

const enginePrefixes = ['/gatekeeper/v1', '/api/wfx/v1', '/wfx-southbound/api/wfx/v1', '/wfx-southbound']
const inventoryPrefixes = ['/inventory/v2', '/inventory/v2-earlyaccess']

/** The complete list of requests that may reach the cloud. `{id}` and `{name}` are filled in. */
const forwarded = new Set([
  ...enginePrefixes.flatMap((prefix) =>
    [
      `GET ${prefix}/health`,
      `GET ${prefix}/version`,
      `GET ${prefix}/workflows`,
      `GET ${prefix}/workflows/{name}`,
      `GET ${prefix}/jobs`,
      `GET ${prefix}/jobs/events`,
      `GET ${prefix}/jobs/{id}`,
      `GET ${prefix}/jobs/{id}/status`,
      `PUT ${prefix}/jobs/{id}/status`,
      `GET ${prefix}/jobs/{id}/definition`,
      `PUT ${prefix}/jobs/{id}/definition`,
      `GET ${prefix}/jobs/{id}/tags`,
    ].map(filled),
  ),
  ...inventoryPrefixes.flatMap((prefix) =>
    [
      `GET ${prefix}/assets`,
      `POST ${prefix}/assets`,
      `POST ${prefix}/assets/batch`,
      `GET ${prefix}/assets/{id}`,
      `GET ${prefix}/assets/{id}/identifiers`,
    ].map(filled),
  ),
  ...[
    'POST /gatekeeper/v1/leases',
    'PUT /gatekeeper/v1/leases/{id}',
    'POST /gatekeeper/v1/leases/{id}/end',
    'POST /gatekeeper/v1/jobs/{id}/found',
  ].map(filled),
])

function filled(template: string): string {
  return template.replaceAll('{name}', 'discovery').replace(/\{\w+\}/g, id)
}

type Row = { contract: Contract; name: string; operation: Operation }

const operations: Row[] = Object.values(contracts as unknown as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations).map(([name, operation]) => ({ contract, name, operation })),
)

/** Returns every path at which the cloud serves an operation, including the alias with `/v1`. */
function cloudPaths({ contract, operation }: Row): string[] {
  const former = (contract.formerPrefixes ?? []).map(({ prefix }) => prefix + operation.path)
  const atPrefix = contract.prefix + operation.path
  const paths = [...new Set([...pathsOf(contract, operation), pathOf(contract, operation), atPrefix, ...former])]
  return paths.flatMap((path) => [path, `/v1${path}`]).map(filled)
}

/** The operations as `[method, path]`, each operation once. The tests try other spellings of these paths. */
const plain = operations.map(({ contract, operation }): [string, string] => [
  operation.method,
  filled(pathOf(contract, operation)),
])
const paths = new Set(plain.map(([, path]) => path))

const escapeOf = (character: string) => `%${character.charCodeAt(0).toString(16)}`
const escaped = (path: string, from: number) => path.slice(0, from) + escapeOf(path[from] ?? '') + path.slice(from + 1)

/** Other spellings of a path. A server that decodes or normalises such a spelling may obtain the original path. */
const spellings: Record<string, (path: string) => string[]> = {
  'an escaped last character': (path) => [escaped(path, path.length - 1)],
  'an escaped character in each segment': (path) =>
    [...path.matchAll(/\/[^/]/g)].map(({ index }) => escaped(path, index + 1)),
  'upper-case escapes of all letters': (path) => [
    path.replace(/[a-z]/g, (character) => escapeOf(character).toUpperCase()),
  ],
  'a double escape': (path) => [path.slice(0, -1) + escapeOf(path.at(-1) ?? '').replace('%', '%25')],
  'an escaped separator': (path) => [path.replace(/\/([^/]*)$/, '%2f$1'), path.replace(/\/([^/]*)$/, '%5C$1')],
  'an overlong escape': (path) => [path.replace(/\/([^/]*)$/, '%c0%af$1')],
  'a trailing NUL or line break': (path) => [`${path}%00`, `${path}%0a`, `${path}%0d%0aHost:%20x`],
  'double slashes': (path) => [`/${path}`, path.replace(/\/([^/]*)$/, '//$1'), `//cloud.example${path}`],
  backslashes: (path) => [path.replaceAll('/', '\\'), path.replace(/\/([^/]*)$/, '\\$1')],
  'dot segments': (path) => [
    `/.${path}`,
    `/gatekeeper/v1/jobs/../../..${path}`,
    `/gatekeeper/v1/jobs/%2e%2e/%2E./..${path}`,
    path.replace(/\/([^/]*)$/, '/./$1'),
    path.replace(/\/([^/]*)$/, '/x/../$1'),
    `${path}/.`,
    `${path}/x/..`,
  ],
  'another case': (path) => [path.toUpperCase(), path.replace(/[a-z](?=[^/]*$)/, (one) => one.toUpperCase())],
  'a trailing slash': (path) => [`${path}/`, `${path}//`],
  'path parameters': (path) => [`${path};x=1`, `${path};/health`],
  'a fragment': (path) => [`${path}#/health`, `/gatekeeper/v1/health#${path}`],
  'a question mark that is escaped': (path) => [`${path}%3f`, `${path}%3Fa=b`],
  'absolute form': (path) => [`http://127.0.0.1${path}`, `http://cloud.example${path}`, `HTTPS://x@127.0.0.1${path}`],
  'no leading slash': (path) => [path.slice(1), `*${path}`],
  'full-width characters and other scripts': (path) => [`${path.slice(0, -1)}\u00ff`],
}

/** Queries that are added to a path. They must not change which operation runs. */
const queries: Record<string, (path: string) => string[]> = {
  'an empty query': (path) => [`${path}?`],
  'a path in the query': (path) => [`/gatekeeper/v1/health?${path}`, `/gatekeeper/v1/health?/..${path}`],
  'a method in the query': (path) => [`${path}?_method=GET&method=GET`],
  'two question marks': (path) => [`${path}??a=b?c`],
}

function attempt(method: string, target: string): string | undefined {
  try {
    return `${method} ${forwardedTarget(method, target)}`
  } catch {
    return undefined
  }
}

const withoutQuery = (line: string) => line.replace(/\?.*$/s, '')

describe('the routes of the auth proxy', () => {
  test('forwardedTarget accepts exactly the agent operations of the cloud', () => {
    const passed = operations.flatMap((row) =>
      cloudPaths(row).flatMap((path) => attempt(row.operation.method, path) ?? []),
    )
    assert.deepEqual([...new Set(passed)].toSorted(), [...forwarded].toSorted())
    for (const { contract, name, operation } of operations.filter(({ operation }) => operation.answersSecret)) {
      for (const path of pathsOf(contract, operation).map(filled)) {
        assert.equal(attempt(operation.method, path), undefined, name)
      }
    }
  })

  for (const [title, spell] of Object.entries(spellings)) {
    test(`forwardedTarget rejects ${title}`, () => {
      for (const [method, path] of plain) {
        for (const target of spell(path).filter((one) => !paths.has(one))) {
          assert.equal(attempt(method, target), undefined, `${method} ${target}`)
        }
      }
    })
  }

  for (const [title, spell] of Object.entries(queries)) {
    test(`forwardedTarget accepts only agent operations with ${title}`, () => {
      for (const [method, path] of plain) {
        const passed = spell(path).flatMap((target) => attempt(method, target) ?? [])
        assert.deepEqual(
          passed.filter((line) => !forwarded.has(withoutQuery(line))),
          [],
        )
      }
    })
  }

  test('forwardedTarget rejects methods that the operation does not have', () => {
    for (const line of forwarded) {
      const [, path = ''] = line.split(' ')
      for (const method of ['HEAD', 'OPTIONS', 'PATCH', 'DELETE', 'QUERY', 'TRACE', 'CONNECT', 'get']) {
        assert.equal(attempt(method, path), undefined, `${method} ${path}`)
      }
    }
  })

  test('forwardedTarget rejects a path of another operation that matches the template of an agent operation', () => {
    for (const path of ['/inventory/v2/assets/facets', '/inventory/v2/assets/..', '/inventory/v2/assets/.']) {
      assert.equal(attempt('GET', path), undefined, path)
    }
  })

  test('forwardedTarget normalises the query', () => {
    assert.equal(
      attempt('GET', '/gatekeeper/v1/jobs?state=A%42C&tag=a b&tag=%zz#x'),
      'GET /gatekeeper/v1/jobs?state=ABC&tag=a+b&tag=%25zz%23x',
    )
  })
})

describe('the auth proxy', () => {
  let cloud: TestCloud
  let gateway: RunningGateway
  before(async () => {
    cloud = await TestCloud.start()
    const home = temporaryFolder()
    cloud.configure(home)
    gateway = await startGateway(settingsFor(home))
  })
  after(async () => {
    await gateway.stop()
    await cloud.stop()
  })

  /**
   * Sends a request target exactly as written. The user agent distinguishes these requests from those of the gateway.
   */
  function send(method: string, target: string, headers: Record<string, string> = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          agent: false,
          host: '127.0.0.1',
          port: gateway.proxyPort,
          method,
          path: target,
          headers: { 'user-agent': 'agent', 'content-type': 'application/json', ...headers },
        },
        (response) => {
          resolve(response.statusCode ?? 0)
          // An event stream does not end, so the test closes it.
          if (response.headers['content-type'] === 'text/event-stream') response.destroy()
          else response.resume()
        },
      )
      sent.once('error', reject).end(method === 'GET' ? undefined : '{}')
    })
  }

  const arrived = () => cloud.requests.filter(({ headers }) => headers['user-agent'] === 'agent')

  test('the auth proxy forwards only agent operations to the cloud', async () => {
    const sent = operations.flatMap((row) => cloudPaths(row).map((path) => ({ method: row.operation.method, path })))
    await Promise.all(sent.filter(({ path }) => !path.startsWith('/v1/')).map(({ method, path }) => send(method, path)))
    const lines = arrived().map(({ method, url }) => `${method} ${url}`)
    assert.deepEqual([...new Set(lines)].toSorted(), [...forwarded].toSorted())
  })

  test('the auth proxy never forwards a credentials operation, in any spelling of its path', async () => {
    const before = arrived().length
    const path = `/gatekeeper/v1/jobs/${id}/credentials`
    const targets = Object.values(spellings).flatMap((spell) => spell(path).concat(spell(`/v1${path}`)))
    for (const target of [path, `/gatekeeper/v1/jobs/${id}/credential%73`, ...targets]) {
      const status = await send('POST', target)
      assert.ok(status === 400 || status === 404, `${target}: ${status}`)
    }
    for (const target of Object.values(queries).flatMap((spell) => spell(path))) await send('POST', target)
    assert.equal(arrived().length, before)
  })

  test('the auth proxy forwards only listed request headers, and sets its own token', async () => {
    await send('GET', '/gatekeeper/v1/jobs?state=NEW', {
      authorization: 'Bearer stolen',
      cookie: 'a=b',
      dpop: 'forged',
      'x-forwarded-for': '10.0.0.1',
      'x-http-method-override': 'DELETE',
      'x-original-url': `/gatekeeper/v1/jobs/${id}/credentials`,
      'x-response-filter': '.id',
    })
    const { url, headers } = arrived().at(-1) ?? assert.fail('The request did not arrive')
    assert.equal(url, '/gatekeeper/v1/jobs?state=NEW')
    assert.equal(headers['x-response-filter'], '.id')
    assert.match(String(headers.authorization), /^Bearer token-/)
    assert.notEqual(headers.dpop, 'forged')
    for (const name of ['cookie', 'x-forwarded-for', 'x-http-method-override', 'x-original-url']) {
      assert.equal(headers[name], undefined, name)
    }
  })

  test('the auth proxy rejects requests from browsers and requests with another host name', async () => {
    const before = arrived().length
    assert.equal(await send('GET', '/gatekeeper/v1/jobs', { origin: 'https://page.example' }), 403)
    assert.equal(await send('GET', '/gatekeeper/v1/jobs', { host: 'page.example' }), 403)
    assert.equal(arrived().length, before)
  })
})
