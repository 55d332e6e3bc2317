import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readServerSentEvents } from './server-sent-events.ts'

test('parses server-sent events that are split at any byte', async () => {
  const text =
    ': hello\n\nid: 7\nevent: io.millwright.x\ndata: {"a":\ndata: 1}\n\nid: 8\n\nevent: end\r\ndata: ü\r\n\r\n'
  const bytes = new TextEncoder().encode(text)
  for (const size of [1, 2, 5, 1000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
      bytes.slice(at * size, (at + 1) * size),
    )
    const read = await Array.fromAsync(readServerSentEvents(streamOf(pieces)))
    assert.deepEqual(read, [
      { id: '7', event: 'io.millwright.x', data: '{"a":\n1}' },
      { id: '8' },
      { event: 'end', data: 'ü' },
    ])
  }
})

function streamOf(pieces: Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
}
