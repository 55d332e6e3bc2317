import type { ExportRequest } from '@millwright/api/exports.ts'
import type { ExportPageMeta } from '@millwright/api/inventory/export-pages.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { createYield } from '../../platform/event-loop.ts'
import type { Progress } from './export-store.ts'

/** Pages of other services: one JSON value per line, first the description of the page, then its elements. */

/** The largest and the smallest number of elements on a page. */
const pageElements = { most: 500, fewest: 16 } as const
/** The size of a page above which the next page has fewer elements. */
const largePageBytes = 4 * 1024 * 1024

/** The number of pages that are read before they are needed. With two of them, a slow page delays the export less. */
const pagesAhead = 2

/** A run of an export. */
export type ExportRun = {
  request: ExportRequest
  progress: Progress
  signal: AbortSignal
  /** Returns the principal of the export with its current rights. Throws if it may no longer export. */
  caller: () => Promise<Caller>
}

export type PagePosition = { cursor?: string; limit: number; count: boolean }

/** The response of a service: text, or bytes if the service runs in this process. */
export type PageBody = string | AsyncIterable<string | Uint8Array>

export type ReadPage = (caller: Caller, position: PagePosition) => Promise<PageBody>

type Page = { meta: ExportPageMeta; lines: Buffer; caller: Caller }

/**
 * Reads pages one after the other. The next pages are read while the current one is written. Each page is read with the
 * current rights of the principal.
 */
export async function* readPages({ progress, signal, caller }: ExportRun, read: ReadPage): AsyncGenerator<Page> {
  let limit: number = pageElements.most
  /** The pages that are read or being read, in order, and the cursor of the page after them, if it is known. */
  const ahead: Promise<Page>[] = []
  let following: string | undefined
  const readPage = async (cursor?: string): Promise<Page> => {
    const principal = await caller()
    const position = { limit, count: cursor === undefined, ...(cursor === undefined ? {} : { cursor }) }
    const page = parsedPage(await collected(await read(principal, position)))
    if (page.lines.length > largePageBytes && limit > pageElements.fewest) limit = Math.ceil(limit / 2)
    following = page.meta.nextCursor
    return { ...page, caller: principal }
  }
  const start = (cursor?: string) => {
    following = undefined
    const page = readPage(cursor)
    ahead.push(page)
    // The error is thrown when the page is needed.
    page.then(startNext, () => undefined)
  }
  const startNext = () => {
    if (following !== undefined && ahead.length < pagesAhead && !signal.aborted) start(following)
  }
  start()
  for (let next = ahead[0]; next !== undefined; next = ahead[0]) {
    const page = await unlessAborted(next, signal)
    ahead.shift()
    startNext()
    if (page.meta.total !== undefined) progress.total = page.meta.total
    yield page
    progress.rows += page.meta.elements
  }
}

/** Waits for a page. Throws at once if the run is stopped, because a page of a slow query can take longer than that. */
async function unlessAborted<Result>(promise: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const stop = () => reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function collected(body: PageBody): Promise<Buffer> {
  if (typeof body === 'string') return Buffer.from(body)
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)
  const [only, ...others] = chunks
  return only instanceof Buffer && others.length === 0 ? only : Buffer.concat(chunks)
}

function parsedPage(text: Buffer): Pick<Page, 'meta' | 'lines'> {
  const end = text.indexOf('\n')
  return { meta: JSON.parse(text.toString('utf8', 0, end)), lines: text.subarray(end + 1) }
}

/** Returns the lines of all pages unchanged. */
export async function* lines(run: ExportRun, read: ReadPage): AsyncGenerator<Uint8Array> {
  for await (const page of readPages(run, read)) if (page.lines.length > 0) yield page.lines
}

/** Returns the lines of all pages as one JSON document. */
export async function* jsonDocument(run: ExportRun, read: ReadPage): AsyncGenerator<string> {
  yield '{"data":['
  let isFirst = true
  for await (const page of readPages(run, read)) {
    if (page.lines.length === 0) continue
    // JSON text of one line contains no line break.
    yield `${isFirst ? '' : ','}\n${page.lines.toString('utf8', 0, page.lines.length - 1).replaceAll('\n', ',\n')}`
    isFirst = false
  }
  yield '\n]}\n'
}

/** Returns the elements of each page, with the caller in whose name the page was read. */
async function* elementPages<Element>(
  run: ExportRun,
  read: ReadPage,
): AsyncGenerator<{ elements: Element[]; caller: Caller }> {
  const { signal } = run
  for await (const { lines: text, caller } of readPages(run, read)) {
    const yieldTurn = createYield(caller.tenantId)
    const parsed: Element[] = []
    for (const line of text.toString().split('\n')) {
      if (line !== '') parsed.push(JSON.parse(line))
      const turn = yieldTurn()
      if (turn === undefined) continue
      await turn
      signal.throwIfAborted()
    }
    yield { elements: parsed, caller }
  }
}

/** Returns the elements of all pages. Other requests are served between two elements. */
export async function* elementsOf<Element>(run: ExportRun, read: ReadPage): AsyncGenerator<Element> {
  for await (const { elements, caller } of elementPages<Element>(run, read)) {
    const yieldTurn = createYield(caller.tenantId)
    for (const element of elements) {
      yield element
      await yieldTurn()
    }
  }
}
