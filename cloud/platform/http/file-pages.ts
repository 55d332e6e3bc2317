import { createReadStream } from 'node:fs'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { networkOf } from '../attempts.ts'
import { limits } from '../limits.ts'
import { requestedRange } from './byte-ranges.ts'
import { isUnchanged } from './etag.ts'
import { sentWithin } from './idle-limit.ts'
import { addressOf } from './incoming-request.ts'

/** A file that is sent as a stream. `etag` changes with the content. */
export type ServedFile = { file: string; bytes: number; etag: string; mediaType: string }

/** `FilePage` is a large file that any client can download. `find` throws a problem if the file does not exist. */
export type FilePage = { path: string; find: () => Promise<ServedFile> }

/**
 * `FileRoutes` sends files with their length, and with ranges, so that a client can continue a download. The downloads of a
 * process are limited, in total and for each IPv4 address or IPv6 /64 network, because no sign-in is necessary. Further
 * downloads get 503.
 */
export class FileRoutes {
  readonly #downloads = new Semaphore({
    capacity: limits.publicDownloads,
    perKey: limits.publicDownloadsPerAddress,
    waitingPerKey: 0,
    refusal: 'Too many downloads are in progress. Retry later',
  })

  add(app: FastifyInstance, { path, find }: FilePage): void {
    app.route({
      method: 'GET',
      url: path,
      exposeHeadRoute: false,
      handler: async (request, reply) => this.#send(request, reply, await find()),
    })
    app.route({
      method: 'HEAD',
      url: path,
      handler: async (_request, reply) => {
        const served = await find()
        return reply.headers({ ...headersOf(served), 'content-length': String(served.bytes) }).send()
      },
    })
  }

  async #send(request: FastifyRequest, reply: FastifyReply, served: ServedFile): Promise<FastifyReply> {
    const { headers } = request
    reply.headers(headersOf(served))
    if (isUnchanged(headers['if-none-match'], served.etag)) return reply.code(304).send()
    const condition = headers['if-range']
    const isSame = condition === undefined || condition === served.etag
    const range = isSame ? requestedRange(headers.range, served.bytes) : undefined
    const { first, last } = range ?? { first: 0, last: served.bytes - 1 }
    const leave = await this.#downloads.enter(networkOf(addressOf(request)))
    const source = createReadStream(served.file, { start: first, end: last, highWaterMark: limits.streamBytes })
    if (range !== undefined) reply.code(206).header('content-range', `bytes ${first}-${last}/${served.bytes}`)
    return reply.header('content-length', String(last - first + 1)).send(sentWithin(source, leave))
  }
}

function headersOf({ etag, mediaType }: ServedFile): Record<string, string> {
  return { etag, 'content-type': mediaType, 'accept-ranges': 'bytes', 'cache-control': 'no-cache' }
}
