import assert from 'node:assert/strict'
import { chownSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { writeDurably } from './durable-file.ts'
import { temporaryFolder } from './testing.ts'

test('a file that root writes belongs to the owner of its folder', async (t) => {
  if (process.getuid?.() !== 0) return t.skip('needs root')
  const folder = join(temporaryFolder(), 'home')
  mkdirSync(folder)
  chownSync(folder, 65_534, 65_534)
  const file = join(folder, 'budget.json')
  await writeDurably(file, '{}')
  const { uid, gid, mode } = statSync(file)
  assert.deepEqual([uid, gid, mode & 0o777], [65_534, 65_534, 0o600])
  assert.equal(readFileSync(file, 'utf8'), '{}')
})
