import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryFolder } from './platform.ts'
import { updateFleet } from './update-fleet.ts'

test('reports the actual state of 50 devices with faults while gateway and platform are killed, and updates none twice', async (context) => {
  using folder = temporaryFolder('fleet')
  const { states, activations, ms } = await updateFleet({
    home: folder.path,
    devices: 50,
    faultPercent: 20,
    seed: 5,
    kills: 2,
    log: (line) => context.diagnostic(line),
  })
  context.diagnostic(`${JSON.stringify(states)}, ${activations} activations, ${Math.round(ms)} ms`)
  assert.ok((states.succeeded ?? 0) >= 35, JSON.stringify(states))
})
