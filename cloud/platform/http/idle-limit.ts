import { Readable } from 'node:stream'
import { limits } from '../limits.ts'

/**
 * Returns a stream with the bytes of a file. A slow client pauses the source, so that the memory does not grow. A client
 * that reads no byte for `limits.downloadIdleMs` is disconnected. `onEnd` is called once, when the stream is closed.
 */
export function sentWithin(source: Readable, onEnd: () => void): Readable {
  let sentAt = performance.now()
  async function* chunks() {
    for await (const chunk of source) {
      sentAt = performance.now()
      yield chunk
    }
  }
  const body = Readable.from(chunks(), { objectMode: false, highWaterMark: limits.streamBytes })
  const timer = setInterval(() => {
    if (performance.now() - sentAt > limits.downloadIdleMs)
      body.destroy(new Error(`The client has read nothing for ${limits.downloadIdleMs / 1_000} seconds`))
  }, limits.downloadIdleMs / 4).unref()
  body.once('close', () => {
    clearInterval(timer)
    source.destroy()
    onEnd()
  })
  return body
}
