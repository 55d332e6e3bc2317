import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callerOf, databaseEnded, startPlatform, temporaryFolder, until } from './platform.ts'
import { discover, discovered, onlineGateway, over, plantGateway } from './shop-floor.ts'

/** The time limit of a wait. It is longer than the lease of a killed gateway, which must expire first. */
const patienceMs = 240_000

test('offers a job again after all processes are killed during a scan, and stores each device once', async () => {
  using home = temporaryFolder()
  let platform = await startPlatform({ home: home.path, environment: plantGateway })
  try {
    let caller = await callerOf(platform)
    // `discover` waits for the link.
    const gatewayId = await onlineGateway(caller)
    const assets = async () => (await caller.inventory.listAssets({ query: { limit: 1 } })).meta.totalElements ?? 0
    const total = await assets()
    const options = { size: '200', seed: '8', rate: '50', protected_percent: '0' }
    const jobId = await discover(caller, gatewayId, options)
    await until('some were found', async () => (await discovered(caller, jobId)).found > 20)
    platform.program.child.kill('SIGKILL')
    await platform.program.ended
    await databaseEnded(home.path)

    platform = await startPlatform({ home: home.path, environment: plantGateway })
    caller = await callerOf(platform)
    const discovery = await over(caller, jobId, patienceMs)
    assert.equal(discovery.state, 'finished', discovery.message)
    assert.ok(discovery.found >= 200, `${discovery.found} found`)
    assert.equal((await assets()) - total, discovery.found, 'each device is one asset')
  } finally {
    await platform[Symbol.asyncDispose]()
  }
})
