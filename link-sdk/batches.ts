/**
 * Joins what is there already into one message, and holds back nothing: while the next one is not there, what was
 * gathered goes out, and so it does before a failure. Encoded messages with repeated fields only, one after the other, are one encoded message.
 */
export async function* inBatches(
  messages: AsyncIterable<Uint8Array>,
  most: { items: number; bytes: number },
): AsyncGenerator<Buffer> {
  const iterator = messages[Symbol.asyncIterator]()
  let gathered: Uint8Array[] = []
  let bytes = 0
  const take = () => {
    const batch = Buffer.concat(gathered)
    gathered = []
    bytes = 0
    return batch
  }
  try {
    for (;;) {
      const coming = iterator.next()
      if (gathered.length > 0 && !(await isThere(coming))) yield take()
      const { done, value } = await coming
      if (done) break
      gathered.push(value)
      bytes += value.byteLength
      if (gathered.length >= most.items || bytes >= most.bytes) yield take()
    }
    if (gathered.length > 0) yield take()
  } catch (error) {
    if (gathered.length > 0) yield take()
    throw error
  } finally {
    await iterator.return?.()
  }
}

/** Whether a promise settles before the event loop goes round. */
function isThere(promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const immediate = setImmediate(resolve, false)
    const settled = () => {
      clearImmediate(immediate)
      resolve(true)
    }
    promise.then(settled, settled)
  })
}
