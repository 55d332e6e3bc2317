import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { after, before, describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { read as readBook, utils } from '@e965/xlsx'
import { Problem } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { ExportRun, ReadPage } from './page-reader.ts'
import { tableFile } from './table-file.ts'
import type { Table } from './table-rows.ts'
import type { TableFormat } from './table-thread.ts'

const caller = systemCaller({ tenantId: '0199d1c0-0000-7000-8000-000000000000', tenantName: 'default' })
const context = { peers: () => assert.fail('Pages without nodes need no other service') }
const names: Table = {
  what: 'assets',
  name: 'Assets',
  columns: [
    { heading: 'Name', target: 'name' },
    { heading: 'Description', target: 'description' },
  ],
  hasRelations: false,
}

type FileOptions = { table?: Table; format?: TableFormat; signal?: AbortSignal }

function fileOf(
  read: ReadPage,
  { table = names, format = 'csv', signal = new AbortController().signal }: FileOptions = {},
) {
  const run: ExportRun = {
    request: { what: 'assets', format },
    progress: { rows: 0, total: null },
    signal,
    caller: async () => caller,
  }
  return { run, parts: tableFile(context, { run, read, table, format }) }
}

async function contentOf(parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(parts))
}

/** Returns a page of these lines. */
function pageOf(lines: readonly string[], nextCursor?: number): string {
  const meta = JSON.stringify({ elements: lines.length, ...(nextCursor && { nextCursor: String(nextCursor) }) })
  return `${[meta, ...lines].join('\n')}\n`
}

const rowsOfPage = 40
const description = 'Frequenzumrichter für Förderbänder, 4 kW, Schaltschrank links'

function linesOfPage(page: number): string[] {
  return Array.from({ length: rowsOfPage }, (_, index) =>
    JSON.stringify({ name: `asset ${page * rowsOfPage + index}`, description }),
  )
}

/** Returns a function that reads this number of pages. */
function reader(pages: number): ReadPage {
  return async (_, { cursor = '0' }) => {
    const page = Number(cursor)
    return pageOf(linesOfPage(page), page + 1 < pages ? page + 1 : undefined)
  }
}

describe('files of tables', () => {
  /** The threads that were started since the last test. */
  let started: Worker[] = []
  const add = (message: unknown) => started.push((message as { worker: Worker }).worker)

  before(() => subscribe('worker_threads', add))
  after(() => unsubscribe('worker_threads', add))

  /** Runs a table that fails, so that no thread of an earlier table waits, and forgets the threads. */
  async function withoutThreads(): Promise<void> {
    await assert.rejects(contentOf(fileOf(failingAt(0)).parts))
    started = []
  }

  function failingAt(page: number): ReadPage {
    return async (position, { cursor = '0', ...rest }) => {
      if (Number(cursor) === page) throw new Problem('unavailable', 'The page cannot be read')
      return reader(page + 1_000)(position, { cursor, ...rest })
    }
  }

  async function hasExited(thread: Worker | undefined): Promise<void> {
    assert.ok(thread)
    if (thread.threadId >= 0) await once(thread, 'exit')
  }

  test('contain the rows of many pages in order', async () => {
    const assets = Array.from({ length: 100 * rowsOfPage }, (_, index) => `asset ${index}`)
    const { run, parts } = fileOf(reader(100))
    const lines = (await contentOf(parts)).toString().split('\r\n')
    assert.deepEqual(lines, ['\ufeffName,Description', ...assets.map((name) => `${name},"${description}"`), ''])
    assert.equal(run.progress.rows, assets.length)
    const book = readBook(await contentOf(fileOf(reader(100), { format: 'xlsx' }).parts))
    const rows = utils.sheet_to_json<Record<string, string>>(book.Sheets.Assets ?? {})
    assert.deepEqual(
      rows.map((row) => [row.Name, row.Description]),
      assets.map((name) => [name, description]),
    )
  })

  test('contain all rows of a page that is larger than one batch', async () => {
    const large = 'x'.repeat(1024 * 1024)
    const lines = Array.from({ length: 10 }, (_, index) =>
      JSON.stringify({ name: `asset ${index}`, description: large }),
    )
    const content = await contentOf(fileOf(async () => pageOf(lines)).parts)
    assert.deepEqual(
      content.toString().split('\r\n').slice(1, -1),
      lines.map((_, index) => `asset ${index},${large}`),
    )
  })

  test('are printed in a thread that waits for the next table, and ends after ten seconds without one', async (t) => {
    await withoutThreads()
    t.mock.timers.enable({ apis: ['setTimeout'] })
    await contentOf(fileOf(reader(3)).parts)
    await contentOf(fileOf(reader(3), { format: 'xlsx' }).parts)
    assert.equal(started.length, 1)
    t.mock.timers.tick(10_000)
    await hasExited(started[0])
    await contentOf(fileOf(reader(1)).parts)
    assert.equal(started.length, 2)
  })

  test('read at most five pages before the first part is taken', async () => {
    let pages = 0
    const { parts } = fileOf(async (...request) => {
      pages += 1
      return reader(1_000)(...request)
    })
    await parts.next()
    // Lets all pages that are read ahead arrive.
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    assert.ok(pages <= 5, `${pages} pages`)
    await parts.return(undefined)
  })

  test('fail with the problem of a page, and end their thread', async () => {
    await withoutThreads()
    await assert.rejects(contentOf(fileOf(failingAt(5)).parts), (error) => {
      return error instanceof Problem && error.code === 'unavailable' && error.message === 'The page cannot be read'
    })
    assert.equal(started.length, 1)
    await hasExited(started[0])
  })

  test('fail with the error of the thread, and the next table gets a new thread', async () => {
    await withoutThreads()
    await assert.rejects(contentOf(fileOf(async () => pageOf(['{"name":'])).parts), SyntaxError)
    await contentOf(fileOf(reader(1)).parts)
    assert.equal(started.length, 2)
    await hasExited(started[0])
  })

  test('end their thread at once when the export is canceled', async () => {
    await withoutThreads()
    const stop = new AbortController()
    // The thread needs about a second for such a page, and more pages wait for it.
    const slow = pageOf(Array.from({ length: 200_000 }, (_, index) => JSON.stringify({ name: index, description })))
    const { promise: isPrinting, resolve } = Promise.withResolvers<void>()
    const content = contentOf(
      fileOf(
        async (_, { cursor = '0' }) => {
          if (Number(cursor) > 2) resolve()
          return slow.replace('{"elements":200000', `{"elements":200000,"nextCursor":"${Number(cursor) + 1}"`)
        },
        { signal: stop.signal, format: 'xlsx' },
      ).parts,
    )
    await isPrinting
    stop.abort(new Error('canceled'))
    await assert.rejects(content, /canceled/)
    assert.equal(started.length, 1)
    await hasExited(started[0])
  })

  test('fail with a clear problem when a row is larger than the limit', async () => {
    const lines = ['{"name":"small"}', JSON.stringify({ name: 'large', description: 'x'.repeat(8 * 1024 * 1024) })]
    await assert.rejects(contentOf(fileOf(async () => pageOf(lines)).parts), (error) => {
      return error instanceof Problem && error.code === 'conflict' && /^Row 2 .* more than 8 MiB/.test(error.message)
    })
    assert.match((await contentOf(fileOf(reader(1)).parts)).toString(), /asset 0/)
  })

  test('contain a row whose objects take many times the memory of its text', onlyInLongRuns, async () => {
    const points = '{},'.repeat(2_700_000)
    const columns = ['name', 'mac_address', 'ip_address'].map((target) => ({ heading: target, target }))
    const large = { ...names, columns }
    const line = `{"name":"press","connection_points":[${points}{"mac_address":"02:00:00:00:00:01"}]}`
    const { parts } = fileOf(async () => pageOf([line, line]), { table: large })
    assert.equal(
      (await contentOf(parts)).toString(),
      `\ufeffname,mac_address,ip_address\r\n${'press,02:00:00:00:00:01,\r\n'.repeat(2)}`,
    )
  })

  test('fail with a clear problem when V8 ends the thread at its memory limit', async () => {
    await withoutThreads()
    const { parts } = fileOf(reader(1_000))
    await parts.next()
    // The error is simulated, because a thread that really exceeds the limit can end the process of the test.
    started[0]?.emit('error', Object.assign(new Error('Worker terminated'), { code: 'ERR_WORKER_OUT_OF_MEMORY' }))
    await assert.rejects(contentOf(parts), (error) => {
      return error instanceof Problem && error.code === 'conflict' && /more than 512 MiB of memory/.test(error.message)
    })
    await hasExited(started[0])
  })
})
