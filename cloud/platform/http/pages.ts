import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { isUnchanged } from './etag.ts'

/** Something that is served as it is: a page, a script, a document. */
export type Page = {
  path: string
  mediaType: string
  /** Read at the first request, then kept. */
  load: () => Promise<Buffer | string>
  headers?: Record<string, string>
  /** Made anew at each request: the state of the process. */
  live?: boolean
  /** Says whether this caller may see it. */
  allow?: (request: { address: string; headers: Record<string, string | string[] | undefined> }) => boolean
  /** The status for what was loaded; 200 unless said otherwise. */
  status?: () => number
}

export async function pageRoutes(app: FastifyInstance, pages: Page[]): Promise<void> {
  for (const page of pages) {
    let kept: { body: Buffer | string; etag: string } | undefined
    app.get(page.path, async (request, reply) => {
      if (page.allow?.({ address: request.ip, headers: request.headers }) === false) return reply.callNotFound()
      reply.headers({ 'content-type': page.mediaType, ...page.headers })
      if (page.live) {
        const body = await page.load()
        return reply.code(page.status?.() ?? 200).send(body)
      }
      if (kept === undefined) {
        const body = await page.load()
        kept = { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
      }
      reply.headers({ etag: kept.etag, 'cache-control': 'no-cache' })
      return isUnchanged(request.headers['if-none-match'], kept.etag) ? reply.code(304).send() : reply.send(kept.body)
    })
  }
}
