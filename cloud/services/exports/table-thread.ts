import { on } from 'node:events'
import { flushCompileCache } from 'node:module'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import { writeCsv } from '../../platform/files/csv.ts'
import { writeXlsx } from '../../platform/files/xlsx-writer.ts'
import { type NodePath, rowReader, type Table } from './table-rows.ts'

/**
 * The thread that writes tables as files, one after the other. `table-file.ts` starts it, and sends a table, its pages as
 * bytes, and its end. The thread parses the lines of each page, prints their rows, and responds with the parts of the file.
 * It reports each printed page, so that pages do not accumulate.
 */

export type TableFormat = 'xlsx' | 'csv'
export type ThreadPage = {
  /** One JSON value per line. */
  lines: ArrayBuffer
  /** The paths of the nodes in the lines, as JSON text of `[string, NodePath][]`. A copy of objects takes longer than text. */
  paths: string
}
export type ThreadRequest = { table: Table; format: TableFormat } | ThreadPage | 'end'

export type ThreadResponse =
  | { part: Uint8Array }
  | 'page printed'
  | 'ended'
  | { refused: { code: ProblemCode; detail: string } }

/** The size of lines after which their rows are printed, so that a page of large elements needs less memory. */
const batchBytes = 4 * 1024 * 1024
/** The maximum size of a line. A parsed line takes up to 23 times its size, far less than the limit of the thread. */
const lineMebibytes = 8
const lineFeed = 0x0a

const port = parentPort as MessagePort
const requests = (on(port, 'message') as AsyncIterable<[ThreadRequest]>)[Symbol.asyncIterator]()
const encoder = new TextEncoder()

async function nextRequest(): Promise<ThreadRequest> {
  return (await requests.next()).value[0]
}

function respond(response: ThreadResponse, transferred: ArrayBuffer[] = []): void {
  port.postMessage(response, transferred)
}

async function writeTables(): Promise<never> {
  for (;;) {
    const request = await nextRequest()
    if (request === 'end' || !('table' in request)) throw new Error('The thread received a page before a table')
    for await (const chunk of fileOf(request)) {
      // Chunks of the compression share their memory, so a copy is transferred.
      const part = typeof chunk === 'string' ? encoder.encode(chunk) : new Uint8Array(chunk)
      respond({ part }, [part.buffer])
    }
    respond('ended')
  }
}

function fileOf({ table, format }: { table: Table; format: TableFormat }): AsyncIterable<string | Uint8Array> {
  const { name, columns } = table
  const content = { name, headings: columns.map(({ heading }) => heading), pages: pagesOf(table) }
  return format === 'xlsx' ? writeXlsx(content) : writeCsv(content)
}

async function* pagesOf(table: Table): AsyncGenerator<string[][]> {
  const readRow = rowReader(table)
  let read = 0
  for (;;) {
    const request = await nextRequest()
    if (request === 'end') return
    if (!('lines' in request)) throw new Error('The thread received a table before the end of another table')
    const text = Buffer.from(request.lines)
    const paths = new Map<string, NodePath>(JSON.parse(request.paths))
    let rows: string[][] = []
    for (let start = 0, end = 0, printed = 0; start < text.length; start = end + 1) {
      const next = text.indexOf(lineFeed, start)
      end = next < 0 ? text.length : next
      read += 1
      if (end - start > lineMebibytes * 2 ** 20) throw tooLarge(read)
      rows.push(readRow(JSON.parse(text.toString('utf8', start, end)), paths))
      if (end - printed < batchBytes) continue
      yield rows
      rows = []
      printed = end
    }
    yield rows
    respond('page printed')
  }
}

function tooLarge(row: number): Problem {
  const detail = `Row ${row} of the export has more than ${lineMebibytes} MiB of data. Use a filter that leaves it out, or export NDJSON`
  return new Problem('conflict', detail)
}

// The platform ends the thread, so the cache is not written at its end.
flushCompileCache()

await writeTables().catch((error: unknown) => {
  if (!(error instanceof Problem)) throw error
  respond({ refused: { code: error.code, detail: error.message } })
  requests.return?.()
})
