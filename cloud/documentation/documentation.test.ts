import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type TestHub, testHub } from '../platform/testing/hub.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = globSync('docs/**/*.md', { cwd: root }).filter((file) => file !== 'docs/README.md')
const paths = ['/docs', '/docs/decisions', ...files.map((file) => `/${file.replace(/\.md$/, '')}`)].toSorted()
const projectPaths = globSync('*.md', { cwd: root }).map((file) => `/docs/project/${file.slice(0, -3).toLowerCase()}`)

describe('the site of the documentation', () => {
  let hub: TestHub
  /** The HTML of each page. */
  const pages = new Map<string, string>()

  before(async () => {
    hub = await testHub()
    for (const path of [...paths, ...projectPaths]) pages.set(path, (await get(path)).text)
  })

  after(() => hub[Symbol.asyncDispose]())

  const get = (path: string, headers: Record<string, string> = {}) => hub.request({ method: 'GET', path, headers })

  test('serves every page of docs/ with a title, navigation and a strict content security policy', async () => {
    assert.ok(paths.length > 90)
    for (const path of [...paths, ...projectPaths]) {
      const { status, headers, text } = await get(path)
      assert.equal(status, 200, path)
      assert.equal(headers.get('content-type'), 'text/html; charset=utf-8', path)
      assert.doesNotMatch(headers.get('content-security-policy') ?? 'unsafe', /unsafe/, path)
      assert.equal(text.match(/<h1/g)?.length, 1, path)
      assert.match(text, /<title>[^<]+ · Millwright documentation<\/title>/, path)
      assert.doesNotMatch(text, /<script(?![^>]* src=)|<style| style="| on\w+="/, path)
      if (path !== '/docs') assert.match(text, /aria-current="page"/, path)
      const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
      assert.equal(new Set(ids).size, ids.length, path)
    }
  })

  test('all links, anchors and pictures of the site resolve', async () => {
    const broken: string[] = []
    const others = new Set<string>()
    for (const [path, html] of pages) {
      for (const target of targetsIn(html)) {
        const [address = '', anchor] = target.split('#')
        const linked = address === '' ? html : pages.get(address)
        if (linked === undefined) others.add(address)
        else if (anchor !== undefined && !linked.includes(` id="${anchor}"`)) broken.push(`${path}: ${target}`)
      }
    }
    assert.deepEqual(broken, [])
    const local = [...others].filter((address) => address.startsWith('/') && !address.startsWith('/console/'))
    assert.ok(local.some((address) => address.endsWith('.svg')))
    for (const address of local) {
      const { status, headers } = await get(address)
      assert.ok(status === 200 || (address === '/' && status === 503), `${address}: ${status}`)
      if (address.endsWith('.svg')) assert.equal(headers.get('content-type'), 'image/svg+xml')
    }
    assert.deepEqual(
      [...others].filter((address) => !/^(\/|https?:|mailto:)/.test(address)),
      [],
    )
  })

  test('the links to the next page lead through all pages', () => {
    const visited = ['/docs/tutorial/first-plant']
    for (let at = visited.at(-1); at !== undefined; ) {
      at = /<a class="adjacent-link next" href="([^"]+)"/.exec(pages.get(at) ?? '')?.[1]
      if (at === undefined) break
      assert.ok(!visited.includes(at), at)
      visited.push(at)
    }
    assert.deepEqual(visited.toSorted(), [...paths, ...projectPaths].filter((path) => path !== '/docs').toSorted())
  })

  test('redirects names of files and the former address of the script of the API reference', async () => {
    const location = async (path: string) => {
      const { status, headers } = await get(path)
      return [status, headers.get('location')]
    }
    assert.deepEqual(await location('/docs/how-to/use-tls.md'), [308, '/docs/how-to/use-tls'])
    assert.deepEqual(await location('/docs/README.md'), [308, '/docs'])
    assert.deepEqual(await location('/docs/explorer.js'), [308, '/docs/api/explorer.js'])
    assert.match((await get('/docs/api')).text, /openapi-explorer spec-url="\/openapi\.json"/)
  })

  test('returns an HTML page with navigation for unknown pages, and no file outside of the documentation', async () => {
    for (const path of ['/docs/nothing', '/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/%00']) {
      const { status, text } = await get(path)
      assert.equal(status, 404, path)
      assert.doesNotMatch(text, /"dependencies"/, path)
    }
    assert.match((await get('/docs/nothing')).text, /<h1>Page not found<\/h1>/)
  })

  test('responds to a path with very many slashes without delay', async () => {
    const best = { slashes: Number.POSITIVE_INFINITY, letters: Number.POSITIVE_INFINITY }
    const paths = { slashes: `/docs${'/'.repeat(16_000)}a`, letters: `/docs/${'a'.repeat(16_000)}` }
    for (let count = 0; count < 5; count++)
      for (const kind of ['slashes', 'letters'] as const) {
        const startedAt = performance.now()
        assert.equal((await get(paths[kind])).status, 404)
        best[kind] = Math.min(best[kind], performance.now() - startedAt)
      }
    assert.ok(best.slashes < 20 * best.letters, `${best.slashes} ms, and ${best.letters} ms without slashes`)
    assert.equal((await get('/docs/how-to/use-tls//')).status, 200)
  })

  test('compresses pages, and returns 304 for unchanged pages', async () => {
    const { headers, bytes } = await get('/docs/reference/api', { 'accept-encoding': 'gzip' })
    assert.equal(headers.get('content-encoding'), 'gzip')
    assert.ok(bytes.length < (pages.get('/docs/reference/api')?.length ?? 0) / 4)
    const etag = headers.get('etag') ?? ''
    assert.equal((await get('/docs/reference/api', { 'if-none-match': etag })).status, 304)
  })

  test('the search index contains every section, with addresses that exist', async () => {
    const { body } = await get('/docs/search.json')
    const entries = body as { path: string; page: string; text: string }[]
    assert.ok(entries.length > 500)
    assert.ok(entries.some(({ text }) => text.includes('MILLWRIGHT_BASE_URL')))
    const missing = entries.filter(({ path }) => {
      const [address = '', anchor] = path.split('#')
      const html = pages.get(address)
      return html === undefined || (anchor !== undefined && !html.includes(` id="${anchor}"`))
    })
    assert.deepEqual(missing, [])
  })
})

/** Returns the targets of all links, pictures, scripts and styles of a page. */
function targetsIn(html: string): string[] {
  return [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, target = '']) => target.replaceAll('&amp;', '&'))
}
