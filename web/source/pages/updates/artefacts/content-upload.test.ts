import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BackOff } from '@millwright/api/back-off.ts'
import type { Artefact } from '@millwright/api/updates.ts'
import { Failure } from '../../../app/api/failure.ts'
import { type ContentApi, partOf, uploadContent } from './content-upload.ts'

/** `StoredContent` stores parts like the platform. It can lose the connection after a number of bytes. */
class StoredContent implements ContentApi {
  bytes = ''
  isComplete = false
  readonly ranges: string[] = []
  readonly #size: number
  /** The failures of the next requests with content, and the number of characters that are stored before them. */
  failures: { code: string; stored: number }[] = []

  constructor(size: number) {
    this.#size = size
  }

  async readArtefact(): Promise<Artefact> {
    return this.#shown()
  }

  async readOffset(): Promise<number> {
    return this.bytes.length
  }

  async putPart({ content, range }: { content: Blob; range: string }): Promise<Artefact> {
    this.ranges.push(range)
    const text = await content.text()
    const failure = this.failures.shift()
    this.bytes += failure === undefined ? text : text.slice(0, failure.stored)
    if (failure !== undefined) throw new Failure({ title: 'Failed', code: failure.code })
    this.isComplete = this.bytes.length === this.#size
    return this.#shown()
  }

  #shown(): Artefact {
    return {
      content: { state: this.isComplete ? 'complete' : 'partial', receivedBytes: this.bytes.length },
    } as Artefact
  }
}

const file = new Blob(['0123456789abcdef'])
const backOff = () => new BackOff({ firstMs: 0, longestMs: 0 })

function options(changed: object = {}) {
  const { signal } = new AbortController()
  return { signal, onProgress: () => {}, onInterrupted: () => {}, partBytes: 6, backOff: backOff(), ...changed }
}

test('sends a file in parts', async () => {
  const stored = new StoredContent(16)
  const progress: number[] = []
  await uploadContent(file, stored, options({ onProgress: (bytes: number) => progress.push(bytes) }))
  assert.equal(stored.bytes, '0123456789abcdef')
  assert.deepEqual(stored.ranges, ['bytes 0-5/16', 'bytes 6-11/16', 'bytes 12-15/16'])
  assert.deepEqual([...new Set(progress)], [0, 6, 12, 16])
})

test('continues at the stored offset after the connection was lost in the middle of a part', async () => {
  const stored = new StoredContent(16)
  stored.failures = [
    { code: 'no_answer', stored: 4 },
    { code: 'no_answer', stored: 0 },
  ]
  const interrupted: boolean[] = []
  await uploadContent(file, stored, options({ onInterrupted: (is: boolean) => interrupted.push(is) }))
  assert.equal(stored.bytes, '0123456789abcdef')
  assert.deepEqual(stored.ranges, ['bytes 0-5/16', 'bytes 4-9/16', 'bytes 4-9/16', 'bytes 10-15/16'])
  assert.deepEqual(interrupted, [false, true, false, true, false])
})

test('continues an upload that another page started', async () => {
  const stored = new StoredContent(16)
  stored.bytes = '0123456789'
  await uploadContent(file, stored, options())
  assert.deepEqual(stored.ranges, ['bytes 10-15/16'])
})

test('completes an upload whose bytes are all stored, and finds one that is complete already', async () => {
  const stored = new StoredContent(16)
  stored.bytes = '0123456789abcdef'
  await uploadContent(file, stored, options())
  assert.deepEqual(stored.ranges, ['bytes */16'])
  await uploadContent(file, stored, options())
  assert.deepEqual(stored.ranges, ['bytes */16'])
})

test('fails when the platform refuses the content', async () => {
  const stored = new StoredContent(16)
  stored.failures = [{ code: 'hash_mismatch', stored: 0 }]
  await assert.rejects(uploadContent(file, stored, options()), { code: 'hash_mismatch' })
  assert.equal(stored.ranges.length, 1)
})

test('gives up after many attempts without progress', async () => {
  const stored = new StoredContent(16)
  stored.failures = Array.from({ length: 100 }, () => ({ code: 'no_answer', stored: 0 }))
  await assert.rejects(uploadContent(file, stored, options()), { code: 'no_answer' })
  assert.equal(stored.ranges.length, 20)
})

test('stops when the user cancels', async () => {
  const stored = new StoredContent(16)
  const cancel = new AbortController()
  const running = uploadContent(file, stored, options({ signal: cancel.signal, onInterrupted: () => cancel.abort() }))
  stored.failures = [{ code: 'no_answer', stored: 3 }]
  await assert.rejects(running)
  assert.equal(stored.bytes, '012')
})

test('the last part ends with the last byte of the file', () => {
  assert.equal(partOf(file, 12, 6).range, 'bytes 12-15/16')
})
