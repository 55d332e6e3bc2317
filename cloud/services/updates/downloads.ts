import { Readable } from 'node:stream'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { limits } from '../../platform/limits.ts'
import { type Answer, answer, type Context } from '../../platform/service.ts'
import type { ContentRow } from './content-row-store.ts'
import type { ByteRange } from './content-store/content-store.ts'
import type { ContentStores } from './content-store/stores.ts'

/** The maximum number of downloads at the same time in a process, for all tenants together and for one tenant. */
const downloadLimits = { all: 256, perTenant: 128, waiting: 1_000 } as const
/** A client that reads no byte in this time is disconnected. */
const idleMs = 60_000

/** `Downloads` sends contents as streams. A slow client pauses the store, so that the memory does not grow. */
export class Downloads {
  readonly #context: Pick<Context, 'log'>
  readonly #stores: ContentStores
  readonly #semaphore = new Semaphore({
    capacity: downloadLimits.all,
    perKey: downloadLimits.perTenant,
    waitingPerKey: downloadLimits.waiting,
    refusal: `${downloadLimits.waiting} downloads of this tenant are already waiting. Start fewer downloads at the same time`,
  })

  constructor(context: Pick<Context, 'log'>, stores: ContentStores) {
    this.#context = context
    this.#stores = stores
  }

  /** Returns the response with a content or with a range of it. */
  async send(
    { tenantId }: { tenantId: string },
    content: ContentRow,
    { range, disposition }: { range: ByteRange | undefined; disposition?: string },
  ): Promise<Answer<Readable>> {
    const { sha256, size, store, location } = content
    const sent = range ?? { first: 0, last: size - 1 }
    const leave = await this.#semaphore.enter(tenantId)
    const source = await this.#stores
      .named(store)
      .read({ tenantId, location }, sent)
      .catch((error: unknown) => {
        leave()
        throw error instanceof Problem ? error : unreadable(error)
      })
    const body = this.#limited(source, { sha256, leave })
    return answer(range === undefined ? 200 : 206, body, {
      'content-type': 'application/octet-stream',
      'content-length': String(sent.last - sent.first + 1),
      'accept-ranges': 'bytes',
      'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
      'cache-control': 'no-store',
      ...(range === undefined ? {} : { 'content-range': `bytes ${range.first}-${range.last}/${size}` }),
      ...(disposition === undefined ? {} : { 'content-disposition': disposition }),
    })
  }

  #limited(source: Readable, { sha256, leave }: { sha256: string; leave: () => void }): Readable {
    let sentAt = performance.now()
    async function* chunks() {
      for await (const chunk of source) {
        sentAt = performance.now()
        yield chunk
      }
    }
    const body = Readable.from(chunks(), { objectMode: false, highWaterMark: limits.streamBytes })
    const timer = setInterval(() => {
      if (performance.now() - sentAt > idleMs)
        body.destroy(new Error(`The client has read nothing for ${idleMs / 1_000} seconds`))
    }, idleMs / 4).unref()
    body.once('close', () => {
      clearInterval(timer)
      source.destroy()
      leave()
    })
    body.on('error', (error) => this.#context.log.warn({ error, sha256 }, 'A content was not sent completely'))
    return body
  }
}

function unreadable(cause: unknown): Problem {
  return new Problem('unavailable', 'The store of the contents is not available. Retry later', { retryAfter: 5, cause })
}
