import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@millwright/gateway/testing.ts'
import { FirmwareReader } from '@millwright/links/plant/firmware.ts'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'

async function createFile(...args: string[]) {
  const { terminal, printed } = testTerminal({})
  const code = await run(['plant', 'firmware', ...args], terminal)
  return { code, ...printed }
}

test('millwright plant firmware writes the same valid firmware for the same options', async () => {
  const file = join(temporaryFolder(), 'kc1515.bin')
  const options = ['--product', 'KC 1515-2', '--version', '3.2.0', '--size', '10']
  const { code, out } = await createFile(...options, '--output', file)
  const content = readFileSync(file)
  const reader = new FirmwareReader()
  reader.push(content)
  const { product, version, size } = reader.end()
  assert.deepEqual([code, product, version, size], [0, 'KC 1515-2', '3.2.0', 10_240])
  assert.ok(out.includes(`SHA-256 ${createHash('sha256').update(content).digest('hex')}`))
  await createFile(...options, '--output', `${file}.again`)
  assert.ok(readFileSync(`${file}.again`).equals(content))
})

test('millwright plant firmware fails for an invalid version and for a folder that does not exist', async () => {
  const invalid = await createFile('--product', 'a', '--version', '1\n2', '--output', 'unused.bin')
  assert.deepEqual([invalid.code, /The version must be one line/.test(invalid.err)], [2, true])
  const missing = join(temporaryFolder(), 'missing', 'a.bin')
  const unwritable = await createFile('--product', 'a', '--version', '1', '--output', missing)
  assert.deepEqual([unwritable.code, /cannot be written \(ENOENT\)/.test(unwritable.err)], [2, true])
})
