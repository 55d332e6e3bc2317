import { rmSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { dirname } from 'node:path'
import { importLimits } from '@millwright/api/import-limits.ts'
import { Problem, type ProblemCode } from '@millwright/api/problem.ts'
import { type FileContent, type FileRow, openFile } from './table.ts'

/**
 * The process that reads one uploaded file. `table-reader.ts` starts it, and requests one batch of rows after the other, so
 * that the rows that are read do not accumulate. A batch is sent as JSON text of limited size: a workbook can refer to one
 * large string in each cell, and the platform must not run out of memory or stack when it receives the rows.
 */

export type ReaderRequest = { open: string } | { next: number }

export type ReaderResponse =
  | { opened: Pick<FileContent, 'format' | 'headings'> }
  | { rows: string; isLast: boolean }
  | { refused: { code: ProblemCode; detail: string } }

/** The number of characters after which a batch ends. */
const batchCharacters = 1024 * 1024

let rows: AsyncIterator<FileRow> | undefined
let readCharacters = 0
let folder: string | undefined

async function respond(request: ReaderRequest): Promise<ReaderResponse> {
  if ('open' in request) {
    folder = dirname(request.open)
    const { format, headings, rows: content } = await openFile(request.open)
    rows = content[Symbol.asyncIterator]()
    return { opened: { format, headings } }
  }
  const batch: string[] = []
  let isLast = false
  for (let characters = 0; batch.length < request.next && characters < batchCharacters; ) {
    const next = await rows?.next()
    if (next === undefined || next.done === true) {
      isLast = true
      break
    }
    const text = JSON.stringify(next.value)
    characters += text.length
    readCharacters += text.length
    if (readCharacters > importLimits.rowCharacters) throw tooLarge()
    batch.push(text)
  }
  return { rows: `[${batch.join()}]`, isLast }
}

function tooLarge(): Problem {
  const detail = `The rows of the file have more than ${importLimits.rowCharacters} characters. Split the data into several files`
  return new Problem('file_too_large', detail)
}

// The platform kills the process, so the cache is not written at its end.
flushCompileCache()

process.on('message', (request: ReaderRequest) => {
  respond(request).then(
    (response) => process.send?.(response),
    (error: unknown) => {
      const problem =
        error instanceof Problem
          ? error
          : new Problem('damaged_file', 'The file cannot be read. Save it again, and upload it again')
      const response: ReaderResponse = { refused: { code: problem.code, detail: problem.message } }
      process.send?.(response)
    },
  )
})
// Only the platform ends the process. A signal to the whole process group must not end it during a request.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
process.on('disconnect', () => {
  // The platform deletes the folder of the file, unless it was killed.
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  process.exit()
})
