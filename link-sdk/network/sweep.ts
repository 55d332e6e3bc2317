type SweepOptions<Item, Result> = {
  /** The number of items that are worked on at the same time. */
  parallel: number
  signal: AbortSignal
  /** Yields the results of one item. The signal is aborted when the sweep ends early. */
  work: (item: Item, signal: AbortSignal) => AsyncIterable<Result>
  /** Called after each item with the number of completed items. */
  onDone?: (completed: number) => void
}

/** The number of results that wait for the caller before the sweep starts no further items. */
const mostWaitingResults = 1_000

/**
 * Works on many items concurrently, and yields each result as soon as it exists. Items are taken individually, and only
 * as fast as the caller reads the results, so memory does not grow with their number. Ends immediately with the reason of
 * the signal when it is aborted, and with the error when `work` throws. When it ends, also because the caller stops
 * reading, it aborts the signal of all running work.
 */
export async function* sweep<Item, Result>(
  items: Iterable<Item>,
  { parallel, signal, work, onDone }: SweepOptions<Item, Result>,
): AsyncGenerator<Result> {
  const source = items[Symbol.iterator]()
  const results: Result[] = []
  const ended = new AbortController()
  const workSignal = AbortSignal.any([signal, ended.signal])
  let wake = Promise.withResolvers<void>()
  let room = Promise.withResolvers<void>()
  let completed = 0
  let active = 0
  let failure: { error: unknown } | undefined
  const change = () => wake.resolve()

  const runNext = async (): Promise<void> => {
    while (!workSignal.aborted && failure === undefined) {
      if (results.length >= mostWaitingResults) {
        await room.promise
        continue
      }
      const next = source.next()
      if (next.done) return
      for await (const result of work(next.value, workSignal)) {
        results.push(result)
        change()
      }
      if (!workSignal.aborted) onDone?.(++completed)
    }
  }
  const start = () => {
    active += 1
    runNext()
      .catch((error: unknown) => {
        failure ??= { error }
      })
      .finally(() => {
        active -= 1
        change()
      })
  }
  signal.addEventListener('abort', change)
  try {
    for (let worker = 0; worker < parallel; worker += 1) start()
    for (;;) {
      wake = Promise.withResolvers()
      while (results.length > 0) yield results.shift() as Result
      room.resolve()
      room = Promise.withResolvers()
      signal.throwIfAborted()
      if (failure !== undefined) throw failure.error
      if (active === 0) return
      if (results.length === 0) await wake.promise
    }
  } finally {
    signal.removeEventListener('abort', change)
    ended.abort()
    room.resolve()
  }
}
