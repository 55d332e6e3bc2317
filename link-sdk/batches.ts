/**
 * Joins messages that are already available into one message, without delaying any message. The joined message is sent
 * when no further message is available, or when the source fails. The encoded messages contain only repeated fields, so
 * their concatenation is a valid message.
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
      if (gathered.length > 0 && !(await isSettled(coming))) yield take()
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

/** Resolves to true when a promise settles before the next turn of the event loop. */
function isSettled(promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const immediate = setImmediate(resolve, false)
    const settled = () => {
      clearImmediate(immediate)
      resolve(true)
    }
    promise.then(settled, settled)
  })
}
