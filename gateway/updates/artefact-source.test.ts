import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { problemOf } from './artefact-source.ts'

const problemIn = (status: number, body: Readable) => problemOf({ status, body, headers: {} })

test('reads the problem of a response', async () => {
  const body = Readable.from([Buffer.from('{"code":"lease_lost",'), Buffer.from('"detail":"The lease has expired"}')])
  const problem = await problemIn(409, body)
  assert.ok(problem instanceof Problem)
  assert.deepEqual([problem.code, problem.message], ['lease_lost', 'The lease has expired'])
})

test('does not read a response without an end', async () => {
  let chunks = 0
  function* endless() {
    for (; chunks < 1_000; chunks++) yield Buffer.alloc(16 * 1024, ' ')
  }
  const body = Readable.from(endless())
  const problem = await problemIn(500, body)
  assert.ok(problem instanceof Problem && problem.code === 'internal')
  assert.ok(chunks < 100 && body.destroyed)
})
