import type { ChildProcess } from 'node:child_process'
import { mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { importLimits } from '@millwright/api/import-limits.ts'
import { Problem } from '@millwright/api/problem.ts'
import { Semaphore } from '@millwright/api/semaphore.ts'
import { forkUntrusted } from '../untrusted-process.ts'
import type { FileContent, FileRow } from './table.ts'
import type { ReaderRequest, ReaderResponse } from './table-process.ts'

/** Each process can use `parseMebibytes`. Further files wait, and tenants take turns. */
const processes = new Semaphore({
  capacity: importLimits.readers,
  perKey: importLimits.readersOfTenant,
  waitingPerKey: importLimits.waitingReaders,
  refusal: `The platform already reads ${importLimits.readersOfTenant} files of this tenant, and ${importLimits.waitingReaders} files wait. Retry later`,
})

type ReaderOptions = {
  tenantId: string
  /** Ends the process. */
  signal: AbortSignal
}

/** The folders of uploaded files. The id of the process follows. */
const folderPrefix = 'millwright-import-'
let removedAbandoned: Promise<void> | undefined

/** Removes the folders of processes that were killed while they wrote a file. */
async function removeAbandonedFolders(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = new RegExp(`^${folderPrefix}(\\d+)-`).exec(name) ?? []
    if (pid === undefined || isRunning(Number(pid))) continue
    // The folder of another user cannot be removed.
    await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => undefined)
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * `TableReader` reads an uploaded file in its own process, with limits for memory and time. A file that exceeds them gets
 * a problem, and the platform is not affected.
 */
export class TableReader {
  readonly format: FileContent['format']
  readonly headings: readonly string[]
  readonly #process: ReaderProcess

  private constructor(reader: ReaderProcess, { format, headings }: Pick<FileContent, 'format' | 'headings'>) {
    this.#process = reader
    this.format = format
    this.headings = headings
  }

  /** Opens a file with this content. The process starts when the content is complete. */
  static async open(content: AsyncIterable<Uint8Array>, { tenantId, signal }: ReaderOptions): Promise<TableReader> {
    removedAbandoned ??= removeAbandonedFolders()
    await removedAbandoned
    const folder = await mkdtemp(join(tmpdir(), `${folderPrefix}${process.pid}-`))
    let reader: ReaderProcess | undefined
    try {
      const path = join(folder, 'file')
      const file = await open(path, 'wx', 0o600)
      try {
        for await (const chunk of content) await file.write(chunk)
      } finally {
        await file.close()
      }
      const leave = await processes.enter(tenantId)
      // An upload that was aborted while it waited starts no process.
      if (signal.aborted) leave()
      signal.throwIfAborted()
      reader = new ReaderProcess({ folder, signal, leave })
      const response = await reader.ask({ open: path })
      if (!('opened' in response)) throw new Error('The reader process responded with rows before a file was opened')
      return new TableReader(reader, response.opened)
    } catch (error) {
      await (reader === undefined ? rm(folder, { recursive: true, force: true }) : reader.end())
      throw error
    }
  }

  /** Returns the next rows, at most this many. A batch of large rows has fewer rows. */
  async next(count: number): Promise<{ rows: FileRow[]; isLast: boolean }> {
    const response = await this.#process.ask({ next: count })
    if (!('rows' in response)) throw new Error('The reader process responded without rows')
    return { ...response, rows: JSON.parse(response.rows) as FileRow[] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process.end()
  }
}

class ReaderProcess {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #signal: AbortSignal
  readonly #leave: () => void
  #leftMs = importLimits.parseSeconds * 1_000

  constructor({ folder, signal, leave }: { folder: string; signal: AbortSignal; leave: () => void }) {
    this.#folder = folder
    this.#signal = signal
    this.#leave = leave
    this.#child = forkUntrusted(new URL('./table-process.ts', import.meta.url), importLimits.parseMebibytes)
    this.#child.on('error', () => {})
    signal.addEventListener('abort', this.#kill, { once: true })
  }

  readonly #kill = () => {
    this.#child.kill('SIGKILL')
  }

  /** Sends a request to the process. The time that the process needs for all requests is limited. */
  async ask(request: ReaderRequest): Promise<Exclude<ReaderResponse, { refused: unknown }>> {
    this.#signal.throwIfAborted()
    const child = this.#child
    const start = performance.now()
    const { promise, resolve, reject } = Promise.withResolvers<ReaderResponse>()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#kill()
    }, this.#leftMs)
    const ended = (_: number | null, endSignal: NodeJS.Signals | null) => {
      if (this.#signal.aborted) reject(this.#signal.reason)
      else if (isLate) reject(tooSlow())
      else if (endSignal === 'SIGABRT') reject(tooLarge())
      // The error is not transient, because the same file can end the next process too.
      else reject(new Error('The process that reads the file ended'))
    }
    child.once('message', resolve as (message: unknown) => void)
    child.once('exit', ended)
    if (child.connected) child.send(request, (error) => error !== null && ended(child.exitCode, child.signalCode))
    else ended(child.exitCode, child.signalCode)
    try {
      const response = await promise
      if ('refused' in response) throw new Problem(response.refused.code, response.refused.detail)
      return response
    } finally {
      clearTimeout(timer)
      child.off('message', resolve as (message: unknown) => void)
      child.off('exit', ended)
      this.#leftMs = Math.max(1, this.#leftMs - (performance.now() - start))
    }
  }

  async end(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#kill)
    this.#kill()
    this.#leave()
    await rm(this.#folder, { recursive: true, force: true })
  }
}

function tooSlow(): Problem {
  const detail = `The file could not be read within ${importLimits.parseSeconds} seconds. Split the table into several files`
  return new Problem('file_too_large', detail)
}

function tooLarge(): Problem {
  const detail = `The file needs more than ${importLimits.parseMebibytes} MiB of memory. Split the table into several files`
  return new Problem('file_too_large', detail)
}
