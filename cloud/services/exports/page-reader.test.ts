import assert from 'node:assert/strict'
import { test } from 'node:test'
import { systemCaller } from '../../platform/access/system.ts'
import { type ExportRun, elementsOf, type ReadPage, readPages } from './page-reader.ts'

const caller = systemCaller({ tenantId: '0199d1c0-0000-7000-8000-000000000000', tenantName: 'default' })

function runWith(signal: AbortSignal): ExportRun {
  return {
    request: { what: 'assets', format: 'ndjson' },
    progress: { rows: 0, total: null },
    signal,
    caller: async () => caller,
  }
}

/** Returns a page with one element, its number. */
function pageOf(number: number, isLast: boolean): string {
  return `${JSON.stringify({ elements: 1, ...(isLast ? {} : { nextCursor: String(number + 1) }) })}\n${number}\n`
}

test('returns the elements of all pages in order, and reads at most two pages ahead', async () => {
  let started = 0
  const read: ReadPage = async (_, { cursor = '0' }) => {
    started += 1
    return pageOf(Number(cursor), cursor === '9')
  }
  const run = runWith(new AbortController().signal)
  const found: number[] = []
  for await (const element of elementsOf<number>(run, read)) {
    found.push(element)
    // Lets all pages that are read ahead arrive.
    await new Promise(setImmediate)
    assert.ok(started <= found.length + 2, `${started} pages after ${found.length} elements`)
  }
  assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  assert.equal(run.progress.rows, 10)
})

test('throws the error of a page after the elements of the pages before it', async () => {
  const read: ReadPage = async (_, { cursor = '0' }) => {
    if (cursor === '2') throw new Error('the page cannot be read')
    return pageOf(Number(cursor), false)
  }
  const found: number[] = []
  await assert.rejects(async () => {
    for await (const element of elementsOf<number>(runWith(new AbortController().signal), read)) found.push(element)
  }, /the page cannot be read/)
  assert.deepEqual(found, [0, 1])
})

test('stops while a page is being read when the export is canceled', async () => {
  const stop = new AbortController()
  const { promise: isReading, resolve } = Promise.withResolvers<void>()
  const read: ReadPage = () => {
    resolve()
    // The query of this page never ends.
    return new Promise(() => undefined)
  }
  const next = readPages(runWith(stop.signal), read).next()
  await isReading
  stop.abort(new Error('canceled'))
  await assert.rejects(next, /canceled/)
})
