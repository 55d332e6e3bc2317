import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Entry, readArchive, writeArchive } from './archive.ts'

async function* given(entries: readonly Entry[]): AsyncGenerator<Entry> {
  yield* entries
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size)
}

const written = async (entries: readonly Entry[]) => Buffer.concat(await Array.fromAsync(writeArchive(given(entries))))

test('reads the entries of an archive unchanged from chunks of any size', async () => {
  const content = fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes))
  const entry = fc.record({ name: fc.stringMatching(/^[a-z_]{1,40}\/\d{7}\.copy$/), content })
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 5 }), fc.integer({ min: 1, max: 3_000 }), async (entries, size) => {
      const read = await Array.fromAsync(readArchive(inPieces(await written(entries), size)))
      assert.deepEqual(
        read.map(({ name, content: bytes }) => [name, bytes.toString('hex')]),
        entries.map(({ name, content: bytes }) => [name, bytes.toString('hex')]),
      )
    }),
    { numRuns: 60 },
  )
})

test('writes an archive that tar can read', async () => {
  const bytes = await written([{ name: 'assets/0000001.copy', content: Buffer.from('a\tb\n') }])
  assert.equal(execFileSync('tar', ['-tf', '-'], { input: bytes, encoding: 'utf8' }), 'assets/0000001.copy\n')
  assert.equal(execFileSync('tar', ['-xOf', '-'], { input: bytes, encoding: 'utf8' }), 'a\tb\n')
})

test('reports an archive that is truncated or has a changed header as damaged', async () => {
  const bytes = await written([{ name: 'a/1', content: Buffer.alloc(700, 1) }])
  const read = (some: Buffer) => Array.fromAsync(readArchive(inPieces(some, 100)))
  for (const length of [0, 100, 600, 1_300, bytes.length - 1_024]) {
    await assert.rejects(read(bytes.subarray(0, length)), /damaged or incomplete/, String(length))
  }
  const changed = Buffer.from(bytes)
  changed[125] = 0x37
  await assert.rejects(read(changed), /damaged or incomplete/)
})
