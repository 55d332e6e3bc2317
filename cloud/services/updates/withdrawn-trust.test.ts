import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { createMinisignKey } from '@millwright/api/signature-testing.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { putContent, sha256Of } from './content-store/testing.ts'
import {
  advance,
  leaseUpdate,
  listDevices,
  readCampaign,
  startCampaign,
  testProduct,
  tick,
  until,
  updatePlant,
} from './testing.ts'

describe('a campaign whose artefact is no longer trusted', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('does not activate a prepared device after the trust anchor was deleted', async () => {
    const plant = await updatePlant(hub, admin)
    const key = createMinisignKey()
    const anchor = { data: { name: 'Vendor', publicKey: key.publicKey } }
    const { data: trusted } = await admin.updates.createTrustAnchor({ body: anchor })
    const content = randomBytes(64)
    const { data: artefact } = await admin.updates.createArtefact({
      body: {
        data: {
          ...{ name: 'Signed', manufacturer: testProduct.manufacturer, products: [testProduct.product] },
          ...{ version: '2.0.0', kind: 'firmware', sha256: sha256Of(content), size: content.length },
          signature: key.sign(content),
        },
      },
    })
    assert.equal((await putContent(hub, admin, { id: artefact.id, bytes: content })).status, 200)
    const { id } = await startCampaign(admin, { artefactId: artefact.id, assetIds: plant.assetIds })
    const held = await until(
      hub,
      () => leaseUpdate(plant.gateway),
      (one) => one !== undefined,
    )
    assert.ok(held)
    await admin.updates.deleteTrustAnchor({ params: { id: trusted.id } })
    await advance(plant.gateway, held, 'PREPARED')
    await tick(hub)
    const stopped = await until(
      hub,
      () => readCampaign(admin, id),
      ({ state }) => state === 'stopped',
    )
    assert.match(stopped.stateReason ?? '', /cannot be installed/)
    assert.equal((await listDevices(admin, id))[0]?.state, 'prepared')
    assert.equal(await leaseUpdate(plant.gateway), undefined)
    await admin.updates.cancelCampaign({ params: { id } })
  })
})
