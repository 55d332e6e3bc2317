import { Worker } from 'node:worker_threads'
import { Problem } from '@millwright/api/problem.ts'
import type { Context } from '../../platform/service.ts'
import { NodePaths } from './node-paths.ts'
import { type ExportRun, type ReadPage, readPages } from './page-reader.ts'
import type { NodePath, Table } from './table-rows.ts'
import type { TableFormat, ThreadRequest, ThreadResponse } from './table-thread.ts'

/**
 * The file of a table. The event loop reads the pages while a thread prints the pages before them. A page is sent to the
 * thread only when the thread has printed the pages before it except one, and when the parts that have arrived are
 * stored. So neither pages nor parts accumulate.
 *
 * A thread writes one table at a time. After its last part, it waits for the next table for a limited time. A thread whose
 * table did not end, for example because the export was canceled, is terminated.
 */

/** The maximum number of pages that a thread has not printed. With two of them, it does not wait for the next page. */
const pagesInThread = 2

/**
 * The memory limits of a thread. Few objects live longer than their row, so `young` is small. No table comes near `old`,
 * because the thread limits lines and batches: above `old`, V8 ends the thread, but in some cases the whole process.
 */
const threadMebibytes = { old: 512, young: 16 } as const

/** The time for which a thread waits for the next table. A thread takes longer to start than a small export to run. */
const idleMs = 10_000

type TableFileOptions = {
  run: ExportRun
  read: ReadPage
  table: Table
  format: TableFormat
}

export async function* tableFile(
  context: Pick<Context, 'peers'>,
  { run, read, table, format }: TableFileOptions,
): AsyncGenerator<Uint8Array> {
  await using thread = new TableThread(run.signal)
  thread.send({ table, format })
  const paths = new NodePaths(context)
  for await (const { lines, meta, caller } of readPages(run, read)) {
    const pathsOfPage = await paths.of(caller, meta.nodeIds ?? [])
    await thread.hasRoom()
    yield* thread.takeParts()
    thread.print(lines, pathsOfPage)
  }
  thread.send('end')
  while (await thread.hasParts()) yield* thread.takeParts()
}

/** The thread that waits for the next table, and the timer of its end. Further threads are terminated after their table. */
let idle: { worker: Worker; timer: NodeJS.Timeout } | undefined

/** `TableThread` is a thread during one table. */
class TableThread {
  readonly #worker = takeThread()
  readonly #signal: AbortSignal
  #parts: Uint8Array[] = []
  /** The number of pages that the thread has not printed. */
  #pages = 0
  #hasEnded = false
  #error: unknown
  #changed = Promise.withResolvers<void>()

  constructor(signal: AbortSignal) {
    this.#signal = signal
    this.#worker.on('message', this.#receive).on('error', this.#fail).on('exit', this.#exit)
    signal.addEventListener('abort', this.#stop, { once: true })
    if (signal.aborted) this.#stop()
  }

  send(request: ThreadRequest, transferred: ArrayBuffer[] = []): void {
    this.#worker.postMessage(request, transferred)
  }

  print(lines: Uint8Array, paths: ReadonlyMap<string, NodePath>): void {
    this.#pages += 1
    // Small buffers share their memory, so a copy is transferred.
    const copy = new Uint8Array(lines)
    this.send({ lines: copy.buffer, paths: JSON.stringify([...paths]) }, [copy.buffer])
  }

  /** Waits until the thread can accept a page. */
  async hasRoom(): Promise<void> {
    while (this.#pages >= pagesInThread) await this.#change()
  }

  /** Waits for the next parts. Returns false after the last part. */
  async hasParts(): Promise<boolean> {
    while (this.#parts.length === 0 && !this.#hasEnded) await this.#change()
    return this.#parts.length > 0
  }

  /** Returns the parts that have arrived. */
  takeParts(): Uint8Array[] {
    const parts = this.#parts
    this.#parts = []
    return parts
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#stop)
    this.#worker.off('message', this.#receive).off('error', this.#fail).off('exit', this.#exit)
    if (this.#hasEnded) await keepThread(this.#worker)
    else await this.#worker.terminate()
  }

  readonly #receive = (response: ThreadResponse) => {
    if (response === 'page printed') this.#pages -= 1
    else if (response === 'ended') this.#hasEnded = true
    else if ('part' in response) this.#parts.push(response.part)
    else this.#fail(new Problem(response.refused.code, response.refused.detail))
    this.#changed.resolve()
  }

  /** Ends the wait at once, because the thread may be printing a page. */
  readonly #stop = () => this.#fail(this.#signal.reason)

  readonly #exit = () => this.#fail(new Error('The thread of an export ended before its table'))

  readonly #fail = (error: unknown) => {
    this.#error ??= isOutOfMemory(error) ? tooLarge() : error
    this.#changed.resolve()
  }

  /** Waits for the next message of the thread. */
  async #change(): Promise<void> {
    await this.#changed.promise
    if (this.#error !== undefined) throw this.#error
    this.#changed = Promise.withResolvers<void>()
  }
}

function takeThread(): Worker {
  if (idle === undefined) return startThread()
  const { worker, timer } = idle
  idle = undefined
  clearTimeout(timer)
  worker.ref()
  return worker
}

function startThread(): Worker {
  const { NODE_COMPILE_CACHE: cache } = process.env
  const worker = new Worker(new URL('./table-thread.ts', import.meta.url), {
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: cache },
    resourceLimits: { maxOldGenerationSizeMb: threadMebibytes.old, maxYoungGenerationSizeMb: threadMebibytes.young },
  })
  // A thread that waits has no other listener for errors.
  worker.on('error', () => undefined)
  worker.on('exit', () => {
    if (idle?.worker === worker) idle = undefined
  })
  return worker
}

/** Keeps a thread for the next table. It does not keep the process running. */
async function keepThread(worker: Worker): Promise<void> {
  if (idle !== undefined) {
    await worker.terminate()
    return
  }
  worker.unref()
  idle = { worker, timer: setTimeout(() => worker.terminate(), idleMs).unref() }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}

function tooLarge(): Problem {
  const detail = `The rows of the export need more than ${threadMebibytes.old} MiB of memory. Use a filter that leaves out very large objects, or export NDJSON`
  return new Problem('conflict', detail)
}
