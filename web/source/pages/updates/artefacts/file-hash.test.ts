import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { sha256Of } from './file-hash.ts'

test('hashes a file in parts, and reports the progress', async () => {
  const content = randomBytes(2 * 1024 * 1024 + 17)
  const progress: number[] = []
  const { signal } = new AbortController()
  const hash = await sha256Of(new Blob([content]), { signal, onProgress: (bytes) => progress.push(bytes) })
  assert.equal(hash, createHash('sha256').update(content).digest('hex'))
  assert.deepEqual(progress, [1024 * 1024, 2 * 1024 * 1024, content.length])
})

test('stops when the user cancels', async () => {
  const cancel = new AbortController()
  const options = { signal: cancel.signal, onProgress: () => cancel.abort() }
  await assert.rejects(sha256Of(new Blob([Buffer.alloc(4 * 1024 * 1024)]), options), { name: 'AbortError' })
})
