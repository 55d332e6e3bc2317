import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { isUnchanged } from './etag.ts'
import { type FilePage, FileRoutes } from './file-pages.ts'
import { addressOf } from './incoming-request.ts'

/** Content outside the operations of the contracts, such as a page, a script or a document. */
export type Page = StaticPage | DynamicPage | FilePage

/** A request for a page. The path has no query. */
export type PageRequest = { path: string; headers: Record<string, string | string[] | undefined> }

export type PageResponse = { status?: number; body: Buffer | string; headers: Record<string, string> }

/** `DynamicPage` selects its content by the request. Undefined content means 404. The path may end with `*`. */
export type DynamicPage = {
  path: string
  answer: (request: PageRequest) => Promise<PageResponse | undefined> | undefined
}

type PageOptions = {
  path: string
  mediaType: string
  headers?: Record<string, string>
  /** Returns true if the client that sent the request may read the page. */
  allow?: (request: { address: string; headers: Record<string, string | string[] | undefined> }) => boolean
}

/** `StaticPage` is content that is read at the first request and cached. With `live`, it is read at each request. */
export type StaticPage = PageOptions &
  (
    | { live?: false; load: () => Promise<Buffer | string> }
    | { live: true; load: () => Promise<Buffer | string | { status: number; body: string }> }
  )

export async function pageRoutes(app: FastifyInstance, pages: Page[]): Promise<void> {
  const files = new FileRoutes()
  for (const page of pages) {
    if ('find' in page) {
      files.add(app, page)
      continue
    }
    if ('answer' in page) {
      dynamicRoute(app, page)
      continue
    }
    let kept: { body: Buffer | string; etag: string } | undefined
    app.get(page.path, async (request, reply) => {
      if (page.allow?.({ address: addressOf(request), headers: request.headers }) === false) return reply.callNotFound()
      reply.headers({ 'content-type': page.mediaType, ...page.headers })
      if (page.live) {
        const loaded = await page.load()
        if (typeof loaded === 'string' || Buffer.isBuffer(loaded)) return reply.send(loaded)
        return reply.code(loaded.status).send(loaded.body)
      }
      if (kept === undefined) {
        const body = await page.load()
        kept = { body, etag: etagOf(body) }
      }
      reply.headers({ etag: kept.etag, 'cache-control': 'no-cache' })
      return isUnchanged(request.headers['if-none-match'], kept.etag) ? reply.code(304).send() : reply.send(kept.body)
    })
  }
}

function dynamicRoute(app: FastifyInstance, { path, answer }: DynamicPage): void {
  app.get(path, async (request, reply) => {
    const served = await answer({ path: pathOf(request.url), headers: request.headers })
    if (served === undefined) return reply.callNotFound()
    const etag = served.headers.etag ?? etagOf(served.body)
    reply.headers({ ...served.headers, etag })
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.code(served.status ?? 200).send(served.body)
  })
}

function pathOf(url: string): string {
  const path = url.split('?')[0] ?? ''
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

export function etagOf(body: Buffer | string): string {
  return `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
}
