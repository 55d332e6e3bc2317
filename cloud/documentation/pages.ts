import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { encodingsOf } from '../platform/http/encodings.ts'
import { etagOf, type Page, type PageRequest, type PageResponse } from '../platform/http/pages.ts'
import { notFoundHtml, pageHtml, startHtml } from './layout.ts'
import { DocumentationSite } from './site.ts'

const compress = promisify(gzip)
const htmlType = 'text/html; charset=utf-8'

/** The content security policy of the documentation: no inline scripts or styles, and nothing from other hosts. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Pictures contain their own styles. No script in a picture can run. */
const filePolicy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

const fileTypes: Record<string, string> = {
  '.json': 'application/json; charset=utf-8',
  '.mjs': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

/** Addresses of pages that have moved. */
const movedPages: Readonly<Record<string, string>> = { '/docs/explorer.js': '/docs/api/explorer.js' }

/** The page of problem codes has a short address, because every problem document names it. */
const problemCodes = { path: '/docs/problems', page: '/docs/reference/problems' }

type Content = { mediaType: string; policy: string; body: Buffer; zipped: Buffer | undefined; etag: string }

/**
 * Serves the site of the documentation below `/docs`. The files are read and rendered when they are requested for the
 * first time. Only known addresses are cached, so the cache is bounded.
 */
export function documentationPages(): Page[] {
  const documentation = new Documentation()
  const answer = (request: PageRequest) => documentation.answer(request)
  return [
    { path: '/docs', answer },
    { path: '/docs/*', answer },
  ]
}

class Documentation {
  #site: Promise<DocumentationSite> | undefined
  readonly #contents = new Map<string, Promise<Content>>()

  async answer({ path, headers }: PageRequest): Promise<PageResponse> {
    const address = withoutTrailingSlashes(path)
    const site = await this.#load()
    const moved = movedPages[address] ?? (address.endsWith('.md') ? pageOfFile(site, address) : undefined)
    if (moved !== undefined) return { status: 308, body: '', headers: { location: moved } }
    const load = loaderOf(site, address)
    if (load === undefined)
      return {
        status: 404,
        body: notFoundHtml(site),
        headers: { 'content-type': htmlType, 'cache-control': 'no-store', 'content-security-policy': policy },
      }
    return response(await this.#content(address, load), headers['accept-encoding'])
  }

  /** Reads the site once. A failure is not cached. */
  #load(): Promise<DocumentationSite> {
    this.#site ??= DocumentationSite.load().catch((error: unknown) => {
      this.#site = undefined
      throw error
    })
    return this.#site
  }

  #content(address: string, load: () => Promise<Content>): Promise<Content> {
    const cached = this.#contents.get(address)
    if (cached !== undefined) return cached
    const loading = load().catch((error: unknown) => {
      this.#contents.delete(address)
      throw error
    })
    this.#contents.set(address, loading)
    return loading
  }
}

/** A loop, because the time of the expression `/\/+$/` grows with the square of the number of slashes. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end--
  return path.slice(0, end)
}

/** Returns the address of a page whose file name was requested, for example `/docs/how-to/use-tls.md`. */
function pageOfFile(site: DocumentationSite, address: string): string | undefined {
  return site.find(address.replace(/(\/README)?\.md$/, ''))?.path
}

function loaderOf(site: DocumentationSite, address: string): (() => Promise<Content>) | undefined {
  if (address === '/docs') return async () => page(startHtml(site))
  if (address === '/docs/search.json')
    return async () => content(fileTypes['.json'] ?? '', JSON.stringify(await site.searchIndex()))
  const found = site.find(address === problemCodes.path ? problemCodes.page : address)
  if (found !== undefined) return async () => page(pageHtml({ site, page: found, rendered: await site.render(found) }))
  const file = site.findFile(address)
  if (file === undefined) return undefined
  return async () => content(fileTypes[extname(file)] ?? 'application/octet-stream', await readFile(file))
}

function page(html: string): Promise<Content> {
  return content(htmlType, html, policy)
}

async function content(mediaType: string, text: Buffer | string, contentPolicy = filePolicy): Promise<Content> {
  const body = Buffer.from(text)
  const zipped = mediaType === 'image/png' ? undefined : await compress(body)
  return { mediaType, policy: contentPolicy, body, zipped, etag: etagOf(body) }
}

function response({ mediaType, policy: used, body, zipped, etag }: Content, accepted: string | string[] | undefined) {
  const isZipped = zipped !== undefined && encodingsOf(accepted).includes('gzip')
  return {
    body: isZipped ? zipped : body,
    headers: {
      etag,
      'content-type': mediaType,
      'cache-control': 'no-cache',
      'content-security-policy': used,
      vary: 'accept-encoding',
      ...(isZipped && { 'content-encoding': 'gzip' }),
    },
  }
}
