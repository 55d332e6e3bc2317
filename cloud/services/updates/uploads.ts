import { setTimeout as delay } from 'node:timers/promises'
import { Problem } from '@millwright/api/problem.ts'
import { LruMap } from 'toad-cache'
import { newId } from '../../platform/database/id.ts'
import type { Context } from '../../platform/service.ts'
import { combined } from './combined-chunks.ts'
import { type CompleteDigests, digestsOf, RunningDigests } from './content-digests.ts'
import type { UploadRow } from './content-row-store.ts'
import * as store from './content-row-store.ts'
import type { ContentStore, StoredUpload, StoreName } from './content-store/content-store.ts'
import type { ContentStores } from './content-store/stores.ts'

/**
 * Uploads of contents in parts. A part starts where the stored bytes end. Bytes are confirmed in the database after the store
 * has made them durable, so that a killed process loses only bytes that it has not confirmed. One request at a time writes an
 * upload. A later request in the same process ends the earlier one, because its client usually has lost the connection. A
 * request in another process waits for the lease.
 */

const leaseMs = 8_000
const renewMs = 2_000
/** How long a request waits for the lease of another process. */
const waitMs = leaseMs + 1_000
const pollMs = 250
/** The number of bytes after which received bytes are confirmed. */
const confirmBytes = 16 * 1024 * 1024
/** The maximum number of uploads whose digests are kept between two parts. Others are read again at their end. */
const keptDigests = 64

type Scope = { tenantId: string }

/** A content that was uploaded completely. */
export type UploadedContent = {
  store: StoreName
  location: string
  size: number
  digests: CompleteDigests
}

type ActiveRequest = { abort: AbortController; ended: Promise<void> }

export class Uploads {
  readonly #context: Pick<Context, 'database' | 'log'>
  readonly #stores: ContentStores
  readonly #active = new Map<string, ActiveRequest>()
  readonly #digests = new LruMap<RunningDigests>(keptDigests)

  constructor(context: Pick<Context, 'database' | 'log'>, stores: ContentStores) {
    this.#context = context
    this.#stores = stores
  }

  /** Returns the number of stored bytes of an upload. */
  async offsetOf({ tenantId }: Scope, id: string): Promise<number> {
    const row = await this.#context.database.read({ tenantId }, (handle) => store.findUpload(handle, id))
    return row === undefined ? 0 : this.#stores.named(row.store).storedBytes({ tenantId, ...row })
  }

  /** Runs work on an upload, which starts if it does not exist. No other request writes the upload meanwhile. */
  async use<Result>({ tenantId }: Scope, id: string, work: (upload: OpenUpload) => Promise<Result>): Promise<Result> {
    const key = `${tenantId}/${id}`
    const request = { abort: new AbortController(), ended: Promise.withResolvers<void>() }
    for (let former = this.#active.get(key); former !== undefined; former = this.#active.get(key)) {
      former.abort.abort()
      await former.ended
    }
    this.#active.set(key, { abort: request.abort, ended: request.ended.promise })
    try {
      const upload = await this.#open({ tenantId, id, signal: request.abort.signal })
      try {
        return await work(upload)
      } finally {
        await upload.end()
      }
    } finally {
      this.#active.delete(key)
      request.ended.resolve()
    }
  }

  async #open({ tenantId, id, signal }: { tenantId: string; id: string; signal: AbortSignal }): Promise<OpenUpload> {
    const { database } = this.#context
    const leaseId = newId()
    const deadline = performance.now() + waitMs
    for (;;) {
      const row = await database.transaction({ tenantId }, (tx) => {
        const now = Date.now()
        const lease = { id, leaseId, expiresAt: timeText(now + leaseMs) }
        return store.leaseUpload(tx, lease, { store: this.#stores.current.name, now: timeText(now) })
      })
      if (row !== undefined)
        return OpenUpload.of({
          ...this.#context,
          tenantId,
          row,
          leaseId,
          signal,
          store: this.#stores.named(row.store),
          digests: this.#digests,
        })
      if (signal.aborted) throw replaced()
      if (performance.now() > deadline)
        throw new Problem(
          'conflict',
          'Another request uploads this content. Wait until that request has ended, then continue the upload',
          {
            retryAfter: leaseMs / 1_000,
          },
        )
      await delay(pollMs)
    }
  }
}

type OpenUploadOptions = Pick<Context, 'database' | 'log'> & {
  tenantId: string
  row: UploadRow
  leaseId: string
  /** Aborted when a later request takes the upload over. */
  signal: AbortSignal
  store: ContentStore
  digests: LruMap<RunningDigests>
}

/** `OpenUpload` is an upload whose lease this request holds. */
export class OpenUpload {
  readonly #options: OpenUploadOptions
  readonly #renewal: NodeJS.Timeout
  #receivedBytes: number
  #parts: unknown
  #confirming: Promise<void> = Promise.resolve()
  #isLost = false

  private constructor(options: OpenUploadOptions, receivedBytes: number) {
    this.#options = options
    this.#receivedBytes = receivedBytes
    this.#parts = options.row.parts
    this.#renewal = setInterval(() => {
      // After a failed renewal, the next confirmation fails.
      this.#confirm().catch(() => {})
    }, renewMs).unref()
  }

  static async of(options: OpenUploadOptions): Promise<OpenUpload> {
    const { tenantId, row } = options
    // The store can have fewer bytes than the database, for example after a restore.
    return new OpenUpload(options, await options.store.storedBytes({ tenantId, ...row }))
  }

  /** The number of stored bytes. */
  get receivedBytes(): number {
    return this.#receivedBytes
  }

  /** Discards the stored bytes, so that the next bytes are the first ones. */
  restart(): void {
    this.#receivedBytes = 0
    this.#options.digests.delete(this.#options.row.uploadId)
  }

  /**
   * Appends bytes. Bytes that arrived before an error are stored. `limit` is the maximum number of bytes.
   */
  async append(chunks: AsyncIterable<Uint8Array>, limit: number): Promise<void> {
    const { store, digests: kept, row, signal } = this.#options
    const start = this.#receivedBytes
    const running = start === 0 ? new RunningDigests() : kept.get(row.uploadId)
    const digests = running?.bytes === start ? running : undefined
    kept.delete(row.uploadId)
    const writer = await store.openUpload(this.#stored())
    try {
      let received = 0
      let unconfirmed = 0
      for await (const chunk of combined(untilAborted(chunks, signal))) {
        received += chunk.length
        if (received > limit) throw tooManyBytes(limit)
        digests?.update(chunk)
        await writer.write(chunk)
        unconfirmed += chunk.length
        if (unconfirmed < confirmBytes) continue
        await writer.flush()
        await this.#confirm({ receivedBytes: writer.durableBytes, parts: writer.durableParts })
        unconfirmed = 0
      }
    } finally {
      try {
        await writer.flush()
      } finally {
        await writer.close().catch(() => {})
        await this.#confirm({ receivedBytes: writer.durableBytes, parts: writer.durableParts })
      }
      if (digests?.bytes === this.#receivedBytes) kept.set(row.uploadId, digests)
    }
  }

  /** Turns the upload into a content, and computes its digests. */
  async finish(): Promise<UploadedContent> {
    const { store, digests: kept, row, tenantId } = this.#options
    const size = this.#receivedBytes
    const location = await store.finishUpload(this.#stored())
    const running = kept.get(row.uploadId)
    const digests =
      running?.bytes === size
        ? running.complete()
        : await digestsOf(await store.read({ tenantId, location }, { first: 0, last: size - 1 }))
    kept.delete(row.uploadId)
    await this.#confirm()
    return { store: store.name, location, size, digests }
  }

  /** Releases the lease. */
  async end(): Promise<void> {
    clearInterval(this.#renewal)
    await this.#confirming.catch(() => {})
    const { database, tenantId, row, leaseId, log } = this.#options
    await database
      .transaction({ tenantId }, (tx) => store.releaseUpload(tx, { id: row.id, leaseId }))
      .catch((error: unknown) => log.warn({ error, upload: row.id }, 'The lease of an upload could not be released'))
  }

  #stored(): StoredUpload {
    const { tenantId, row } = this.#options
    return { tenantId, uploadId: row.uploadId, receivedBytes: this.#receivedBytes, parts: this.#parts }
  }

  /** Stores the confirmed bytes and renews the lease. Confirmations run one after the other. */
  #confirm(to?: { receivedBytes: number; parts: unknown }): Promise<void> {
    const run = async () => {
      if (to !== undefined) {
        this.#receivedBytes = to.receivedBytes
        this.#parts = to.parts
      }
      if (this.#isLost) throw replaced()
      const { database, tenantId, row, leaseId } = this.#options
      const now = Date.now()
      const lease = { id: row.id, leaseId, expiresAt: timeText(now + leaseMs) }
      const confirmed = { receivedBytes: this.#receivedBytes, parts: this.#parts, now: timeText(now) }
      this.#isLost = !(await database.transaction({ tenantId }, (tx) => store.confirmUpload(tx, lease, confirmed)))
      if (this.#isLost) throw replaced()
    }
    this.#confirming = this.#confirming.catch(() => {}).then(run)
    return this.#confirming
  }
}

/** Returns the chunks until a later request takes the upload over. */
async function* untilAborted(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  // `Promise.race` with a promise that lives as long as the request would keep all chunks in memory.
  let cancelWait = () => {}
  const next = () =>
    new Promise<IteratorResult<Uint8Array>>((resolve, reject) => {
      cancelWait = () => reject(replaced())
      iterator.next().then(resolve, reject)
    })
  const abort = () => cancelWait()
  signal.addEventListener('abort', abort)
  try {
    for (;;) {
      if (signal.aborted) throw replaced()
      const { done, value } = await next()
      if (done === true) return
      yield value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    // The iterator may wait for bytes, so its end is not awaited.
    iterator.return?.().catch(() => {})
  }
}

function replaced(): Problem {
  return new Problem(
    'conflict',
    'Another request uploads this content, or the upload has ended. Read the offset, then continue the upload',
  )
}

function tooManyBytes(limit: number): Problem {
  return new Problem(
    'invalid_body',
    `The body has more than the ${limit} bytes of its part. Send only the bytes of the part`,
    {
      errors: [{ pointer: '', code: 'too_long', detail: `must have ${limit} bytes` }],
    },
  )
}

function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
