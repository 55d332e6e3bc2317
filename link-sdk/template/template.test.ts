import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { link } from './link.ts'
import { user } from './simulator.ts'

test('the template link conforms to the protocol', async () => {
  await using running = await startLink(link, { logLevel: 'silent' })
  const results = await Array.fromAsync(
    checkLink({ endpoint: running.endpoint, credentials: JSON.stringify(user), withinMs: 120_000 }),
  )
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.length > 10)
  const aboutProtected = results.filter(({ sentence }) => /protected device/.test(sentence))
  assert.deepEqual(
    aboutProtected.map(({ outcome }) => outcome),
    ['pass', 'pass', 'pass'],
  )
})
