import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { combined } from './combined-chunks.ts'

async function* chunksOf(bytes: Buffer, sizes: Iterable<number>, error?: Error): AsyncGenerator<Uint8Array> {
  let start = 0
  for (const size of sizes) {
    yield bytes.subarray(start, start + size)
    start += size
  }
  if (error !== undefined) throw error
}

test('combines chunks of one byte to a few large ones', async () => {
  const bytes = randomBytes(200_000)
  const received = await Array.fromAsync(combined(chunksOf(bytes, new Array<number>(bytes.length).fill(1))))
  assert.equal(received.length, 4)
  assert.deepEqual(Buffer.concat(received), bytes)
})

test('keeps the order of small and large chunks', async () => {
  const sizes = [1, 70_000, 0, 40_000, 30_000, 65_536, 5, 65_535, 200_000, 3]
  const bytes = randomBytes(sizes.reduce((sum, size) => sum + size, 0))
  assert.deepEqual(Buffer.concat(await Array.fromAsync(combined(chunksOf(bytes, sizes)))), bytes)
})

test('returns the bytes that arrived before an error, then the error', async () => {
  const bytes = randomBytes(100)
  const received: Uint8Array[] = []
  await assert.rejects(async () => {
    for await (const chunk of combined(chunksOf(bytes, [60, 40], new Error('The connection was lost'))))
      received.push(chunk)
  }, /connection was lost/)
  assert.deepEqual(Buffer.concat(received), bytes)
})
