type SweepOptions<Item, Result> = {
  /** The number of items that are worked on at the same time. */
  parallel: number
  signal: AbortSignal
  /** Yields the results of one item. */
  work: (item: Item) => AsyncIterable<Result>
  /** Called after each item with the number of completed items. */
  onDone?: (completed: number) => void
}

/**
 * Works on many items concurrently, and yields each result as soon as it exists. Items are taken individually, so memory
 * does not grow with their number. Ends immediately with the reason of the signal when it is aborted, and with the error
 * when `work` throws.
 */
export async function* sweep<Item, Result>(
  items: Iterable<Item>,
  { parallel, signal, work, onDone }: SweepOptions<Item, Result>,
): AsyncGenerator<Result> {
  const source = items[Symbol.iterator]()
  const results: Result[] = []
  let wake = Promise.withResolvers<void>()
  let completed = 0
  let active = 0
  let failure: { error: unknown } | undefined
  const change = () => wake.resolve()

  const runNext = async (): Promise<void> => {
    while (!signal.aborted && failure === undefined) {
      const next = source.next()
      if (next.done) return
      for await (const result of work(next.value)) {
        results.push(result)
        change()
      }
      onDone?.(++completed)
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
      signal.throwIfAborted()
      if (failure !== undefined) throw failure.error
      if (active === 0) return
      if (results.length === 0) await wake.promise
    }
  } finally {
    signal.removeEventListener('abort', change)
    failure ??= { error: undefined }
  }
}
