import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { link } from './link.ts'

test('the link keeps to the protocol', async () => {
  await using running = await startLink(link, { logLevel: 'silent' })
  const results = await Array.fromAsync(checkLink({ endpoint: running.endpoint }))
  assert.deepEqual(
    results.filter(({ outcome }) => outcome === 'fail'),
    [],
  )
  assert.ok(results.length > 10)
})
