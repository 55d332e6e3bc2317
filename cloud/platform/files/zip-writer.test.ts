import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fromBufferPromise } from 'yauzl'
import { zipParts } from './zip-writer.ts'

describe('zip writer', () => {
  test('another library reads the names and the content of all entries', async () => {
    const random = randomBytes(300_000)
    const entries = [
      { name: 'empty', content: [] },
      { name: '_rels/ü.txt', content: ['one', Buffer.from(' two'), ' thrée'] },
      { name: 'random', content: [random.subarray(0, 7), random.subarray(7)] },
    ]
    const archive = await bytesOf(zipParts(entries))
    const read = await contentOf(archive)
    assert.deepEqual([...read.keys()], ['empty', '_rels/ü.txt', 'random'])
    assert.equal(read.get('empty')?.length, 0)
    assert.equal(read.get('_rels/ü.txt')?.toString(), 'one two thrée')
    assert.deepEqual(read.get('random'), random)
    assert.deepEqual(await bytesOf(zipParts(entries)), archive)
  })

  test('a zip program finds no error', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'millwright-zip-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'a.zip')
    writeFileSync(path, await bytesOf(zipParts([{ name: 'a/b', content: ['text'.repeat(50_000)] }])))
    try {
      execFileSync('unzip', ['-v'], { stdio: 'ignore' })
    } catch {
      return t.skip('unzip is not installed')
    }
    assert.match(execFileSync('unzip', ['-t', path]).toString(), /No errors detected/)
  })

  test('an error of the content ends the archive with this error', async () => {
    async function* content() {
      yield 'start'
      throw new Error('the source failed')
    }
    await assert.rejects(bytesOf(zipParts([{ name: 'a', content: content() }])), /the source failed/)
  })

  test('a reader that stops also stops the source', async () => {
    let stopped = false
    async function* content() {
      try {
        for (;;) yield randomBytes(65_536)
      } finally {
        stopped = true
      }
    }
    let parts = 0
    for await (const _ of zipParts([{ name: 'a', content: content() }])) {
      parts += 1
      if (parts > 3) break
    }
    assert.ok(stopped)
  })
})

async function bytesOf(parts: AsyncIterable<Buffer>): Promise<Buffer> {
  const list: Buffer[] = []
  for await (const part of parts) list.push(part)
  return Buffer.concat(list)
}

async function contentOf(archive: Buffer): Promise<Map<string, Buffer>> {
  const file = await fromBufferPromise(archive)
  const read = new Map<string, Buffer>()
  for await (const entry of file.eachEntry()) {
    const parts: Buffer[] = []
    for await (const part of await file.openReadStreamPromise(entry)) parts.push(part)
    read.set(entry.fileName, Buffer.concat(parts))
  }
  return read
}
