import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

const source = `
import { before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'

test('file', async () => {
  await delay(1)
  before(() => console.log('hook of the file'))
  describe('suite', () => {
    test('failing', async () => {
      await delay(1)
      setTimeout(() => { throw new Error('uncaught') }, 1)
      await delay(1_000)
    })
    test('passing', () => {})
  })
})`

test('tests, hooks and uncaught errors belong to the test that created them', async () => {
  const scope = new URL('./test-scope.ts', import.meta.url).href
  const args = [`--import=${scope}`, '--test-reporter=tap', '--input-type=module', '--eval', source]
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const { code, stdout } = await promisify(execFile)(process.execPath, args, { env }).then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  )
  assert.equal(code, 1)
  const results = stdout.match(/^ *(not )?ok .*$|^hook.*$/gm)
  assert.deepEqual(results, [
    'hook of the file',
    '        not ok 1 - failing',
    '        ok 2 - passing',
    '    not ok 1 - suite',
    'not ok 1 - file',
  ])
  assert.match(stdout, /error: 'uncaught'/)
})
