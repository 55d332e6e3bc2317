import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkLink } from '@millwright/link-sdk/conformance/suite.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { link } from './link.ts'
import { simulatedFirmware, user } from './simulator.ts'

test('the template link conforms to the protocol', async () => {
  const home = mkdtempSync(join(tmpdir(), 'template-link-'))
  let running = await startLink(link, { logLevel: 'silent', home })
  const { port, endpoint } = running
  try {
    const results = await Array.fromAsync(
      checkLink({
        endpoint,
        credentials: JSON.stringify(user),
        withinMs: 120_000,
        update: { kind: 'firmware', content: simulatedFirmware('1.1.0') },
        async restart() {
          await running.stop()
          running = await startLink(link, { logLevel: 'silent', home, port })
        },
      }),
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
    const aboutUpdates = results.filter(({ sentence }) => /update|transfer|activation/.test(sentence))
    assert.deepEqual(
      aboutUpdates.filter(({ outcome, sentence }) => outcome !== 'pass' && !sentence.includes('another device')),
      [],
    )
  } finally {
    await running.stop()
    rmSync(home, { recursive: true })
  }
})
