import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { firmwareVersionOf } from '@millwright/api/asset-firmware.ts'
import { startLink } from '@millwright/link-sdk/start-link.ts'
import { createFirmware } from '@millwright/links/plant/firmware.ts'
import { link as plant } from '@millwright/links/plant/link.ts'
import { type Document, documentOf, documentsOf } from '../mapping/document.ts'
import { TestCloud, temporaryFolder, until } from '../testing.ts'
import { startUpdateGateway, TestUpdates } from './testing.ts'

const assetLinkId = plant.manifest.id

function productOf(asset: Document): string {
  const { manufacturer_product: product } = documentOf(asset.product_instance_information)
  return String(documentOf(product).product_id)
}

function definitionOf(asset: Document) {
  const addresses = documentsOf(asset.connection_points).flatMap(({ ipv4_address: address }) => address ?? [])
  const fromVersion = firmwareVersionOf(asset) ?? ''
  return { assetLinkId, assetIdentifiers: documentsOf(asset.asset_identifiers), addresses, fromVersion }
}

test('reports the actual state of each device of a plant with faults, and activates none twice', async (t) => {
  const cloud = await TestCloud.start()
  const updates = new TestUpdates(cloud)
  const home = temporaryFolder()
  cloud.configure(home)
  const gateway = await startUpdateGateway(home, { linkSilenceMs: 2_000, renewEveryMs: 500 })
  const link = await startLink(plant, {
    ...{ registry: `127.0.0.1:${gateway.registryPort}`, logLevel: 'silent', home: temporaryFolder(), graceMs: 0 },
  })
  t.after(async () => {
    updates[Symbol.dispose]()
    await gateway.stop()
    await link.stop()
    await cloud.stop()
  })
  const options = {
    ...{ size: 24, seed: 7, protected_percent: 0 },
    ...{ update_fault_percent: 60, update_restart_ms: 200 },
  }
  await until(() => gateway.status().links.some((one) => one.appInstanceId === assetLinkId && one.state === 'running'))
  const scan = cloud.offer('discovery', {
    assetLinkId,
    options: Object.entries(options).map(([key, value]) => ({ key, value })),
  })
  assert.equal((await until(() => cloud.endOf(scan))).state, 'FINISHED')
  const assets = cloud.found(scan)
  assert.equal(assets.length, 24)

  const payload = randomBytes(100_000)
  const jobs = assets.map((asset) => {
    const content = createFirmware({ product: productOf(asset), version: '99.0', payload })
    return updates.offer({ ...definitionOf(asset), verifyMinutes: 0.1 }, { content, version: '99.0' })
  })
  const states: string[] = []
  for (const [index, job] of jobs.entries()) {
    const end = await updates.endOf(job)
    states.push(end.state)
    const keys = ['software_components', 'update.activations']
    const read = cloud.offer('device-info', { ...definitionOf(assets[index] ?? {}), keys })
    const { result } = await until(() => cloud.endOf(read))
    const [software, activations] = result.results
    const version = firmwareVersionOf({ software_components: software.value })
    assert.equal(version === '99.0', end.state === 'ACTIVATED', `${end.state}: ${end.message}`)
    assert.ok(activations.value <= 1, `${activations.value} activations`)
  }
  for (const state of ['ACTIVATED', 'FAILED', 'UNKNOWN']) assert.ok(states.includes(state), states.join())

  const log = updates.offerRetrieval({ ...definitionOf(assets[0] ?? {}), kind: 'logfile' })
  assert.equal((await updates.endOf(log)).state, 'FINISHED')
  assert.match(String(updates.uploads.get(log)?.bytes), /prepared by job/)
})
