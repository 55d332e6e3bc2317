import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from './platform.ts'
import { deliverEvents } from './webhook-delivery.ts'

test('delivers all events, in order for each asset, while platform and receiver are killed', async (context) => {
  using folder = temporaryFolder('webhooks')
  const { events, duplicates, ms } = await deliverEvents({
    home: folder.path,
    events: 600,
    assets: 60,
    kills: 4,
    failEvery: 150,
    log: (line) => context.diagnostic(line),
  })
  context.diagnostic(`${events} events, ${JSON.stringify(duplicates)} duplicates, ${Math.round(ms)} ms`)
  assert.equal(events, 600)
})
