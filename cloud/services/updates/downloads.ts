import type { Readable } from 'node:stream'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import type { ByteRange } from '../../platform/http/byte-ranges.ts'
import { sentWithin } from '../../platform/http/idle-limit.ts'
import { type Answer, answer, type Context } from '../../platform/service.ts'
import type { ContentRow } from './content-row-store.ts'
import type { ContentStores } from './content-store/stores.ts'

/** The maximum number of downloads at the same time in a process, for all tenants together and for one tenant. */
const downloadLimits = { all: 256, perTenant: 128, waiting: 1_000 } as const

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
    const body = sentWithin(source, leave)
    body.on('error', (error) => this.#context.log.warn({ error, sha256 }, 'A content was not sent completely'))
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
}

function unreadable(cause: unknown): Problem {
  return new Problem('unavailable', 'The store of the contents is not available. Retry later', { retryAfter: 5, cause })
}
