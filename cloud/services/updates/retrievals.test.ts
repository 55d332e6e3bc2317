import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { enrolledGateway, type TestGateway } from '../../platform/testing/gateway.ts'
import type { RawAnswer } from '../../platform/testing/hub.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { readContent, sha256Of, until } from './content-store/testing.ts'
import { advance, createArtefact, leaseUpdate, startCampaign, type UpdatePlant, updatePlant } from './testing.ts'

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

function codeIn({ body }: RawAnswer): string {
  return (body as { code: string }).code
}

function jobPath(jobId: string, lease: string): string {
  return `/updates/v1/jobs/${jobId}/content?lease=${lease}`
}

type Part = { jobId: string; lease: string; bytes: Uint8Array; range: string }

function putPart(gateway: TestGateway, { jobId, lease, bytes, range }: Part): Promise<RawAnswer> {
  const headers = { 'content-type': 'application/octet-stream', 'content-range': range }
  return gateway.send({ method: 'PUT', path: jobPath(jobId, lease), headers, body: bytes })
}

describe('retrievals', () => {
  let hub: TestHub
  let admin: TestCaller
  let plant: UpdatePlant
  let assetId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    plant = await updatePlant(hub, admin, { devices: 2 })
    assetId = plant.assetIds[0] ?? ''
  })

  after(() => hub[Symbol.asyncDispose]())

  const start = (kind: 'backup' | 'configuration' | 'logfile', caller = admin) =>
    caller.updates.createRetrieval({ params: { id: assetId }, body: { data: { kind } } })

  async function lease() {
    const body = { data: { workflows: ['artefact-retrieval'], waitSeconds: 30 } }
    const taken = await plant.gateway.gatekeeper.leaseJob({ body })
    assert.ok(taken?.data !== undefined)
    return { job: taken.data.job, jobId: taken.data.job.id, lease: taken.data.lease.id }
  }

  async function read(id: string) {
    const { data } = await admin.updates.listRetrievals({ params: { id: assetId }, query: {} })
    return data.find((one) => one.id === id)
  }

  /** Returns whether the caller can read an event of the artefact. */
  async function hasEvents(caller: TestCaller, artefactId: string): Promise<boolean> {
    await hub.settle()
    for (let after = 0; ; ) {
      const { data, meta } = await caller.events.listEvents({ query: { after, limit: 100 } })
      if (data.some(({ subject }) => subject === `artefact/${artefactId}`)) return true
      if (data.length === 0 && meta.lastPosition >= meta.newestPosition) return false
      after = meta.lastPosition
    }
  }

  test('stores the file that a gateway read from a device as an artefact', async () => {
    const { data: created } = await start('backup')
    assert.equal(created.state, 'waiting')
    assert.equal((await start('backup')).data.id, created.id, 'a repeated request reads the device once')
    const held = await lease()
    assert.equal(held.jobId, created.jobId)
    assert.deepEqual([held.job.definition.kind, held.job.definition.assetId], ['backup', assetId])
    const bytes = randomBytes(50_000)
    const first = await putPart(plant.gateway, { ...held, bytes: bytes.subarray(0, 20_000), range: 'bytes 0-19999/*' })
    assert.equal(first.status, 204, first.text)
    const head = await plant.gateway.send({ method: 'HEAD', path: jobPath(held.jobId, held.lease) })
    assert.deepEqual([head.status, head.headers.get('upload-offset')], [204, '20000'])
    const wrong = await putPart(plant.gateway, { ...held, bytes: bytes.subarray(5, 10), range: 'bytes 5-9/*' })
    assert.equal(codeIn(wrong), 'offset_mismatch')
    const rest = { ...held, bytes: bytes.subarray(20_000), range: 'bytes 20000-49999/50000' }
    assert.equal((await putPart(plant.gateway, rest)).status, 204)
    const after = await plant.gateway.send({ method: 'HEAD', path: jobPath(held.jobId, held.lease) })
    assert.equal(after.headers.get('upload-offset'), '50000')
    await advance(plant.gateway, held, 'FINISHED', { result: { size: 50_000 } })
    const finished = await read(created.id)
    assert.deepEqual([finished?.state, finished?.progress], ['finished', 100])
    const { data: artefact } = await admin.updates.readArtefact({ params: { id: finished?.artefactId ?? '' } })
    assert.deepEqual(
      [artefact.kind, artefact.sha256, artefact.source?.assetId, artefact.products, artefact.isUsable],
      ['backup', sha256Of(bytes), assetId, ['PUMP-1'], false],
    )
    assert.deepEqual((await readContent(hub, admin, { id: artefact.id })).bytes, bytes)
  })

  test('a finished job completes an upload that the platform did not complete', async () => {
    const { data: created } = await start('configuration')
    const held = await lease()
    const bytes = randomBytes(100)
    assert.equal((await putPart(plant.gateway, { ...held, bytes, range: 'bytes 0-99/*' })).status, 204)
    await advance(plant.gateway, held, 'FINISHED', { result: { size: 100 } })
    await until(async () => (await read(created.id))?.state === 'finished')
  })

  test('a failed job fails the retrieval, and its bytes are deleted', async () => {
    const { data: created } = await start('logfile')
    const held = await lease()
    await putPart(plant.gateway, { ...held, bytes: randomBytes(10), range: 'bytes 0-9/*' })
    await advance(plant.gateway, held, 'FAILED', { message: 'The device refused' })
    const failed = await read(created.id)
    assert.deepEqual([failed?.state, failed?.reason], ['failed', 'The device refused'])
    const { data: second } = await start('logfile')
    const again = await lease()
    await advance(plant.gateway, again, 'FINISHED', { result: { size: 5 } })
    assert.equal((await read(second.id))?.state, 'failed')
  })

  test('only the gateway that holds the lease uploads content', async () => {
    await start('logfile')
    const held = await lease()
    const part = { ...held, bytes: randomBytes(10), range: 'bytes 0-9/10' }
    const other = await enrolledGateway(hub, admin, { name: 'other' })
    assert.equal((await putPart(other, part)).status, 404)
    const wrongLease = { ...part, lease: '01980000-0000-7000-8000-000000000000' }
    assert.equal(codeIn(await putPart(plant.gateway, wrongLease)), 'lease_lost')
    const user = await hub.request({
      method: 'PUT',
      path: jobPath(held.jobId, held.lease),
      headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/octet-stream' },
      body: randomBytes(1),
    })
    assert.ok(user.status === 403 || user.status === 404, user.text)
    assert.equal(codeIn(await putPart(plant.gateway, { ...part, range: '' })), 'invalid_header')
    await advance(plant.gateway, held, 'FAILED', { message: 'over' })
    assert.equal((await putPart(plant.gateway, part)).status, 409)
  })

  test('requires the right to write the asset, and hides retrievals from users who cannot read it', async () => {
    await admin.authorization.createRole({
      body: { data: { name: 'updater', permissions: ['glb_update_manage', 'glb_jobs_read', 'glb_audit_read'] } },
    })
    const updater = await hub.as('updater')
    assert.equal(await codeOf(start('backup', updater)), 'not_found')
    assert.equal(await codeOf(updater.updates.listRetrievals({ params: { id: assetId }, query: {} })), 'not_found')
    const { data: all } = await admin.updates.listArtefacts({ query: { kind: 'backup' } })
    const [artefact] = all
    assert.ok(artefact !== undefined)
    assert.deepEqual((await updater.updates.listArtefacts({ query: { kind: 'backup' } })).data, [])
    assert.equal(await codeOf(updater.updates.readArtefact({ params: { id: artefact.id } })), 'not_found')
    assert.equal((await readContent(hub, updater, { id: artefact.id })).status, 404)
    assert.equal(await hasEvents(admin, artefact.id), true)
    assert.equal(await hasEvents(updater, artefact.id), false)
    const copy = {
      ...{ name: 'Copy', manufacturer: 'Example', products: ['PUMP-1'], version: '1', kind: 'backup' as const },
      ...{ sha256: artefact.sha256, size: artefact.size },
    }
    const { data: known } = await updater.updates.createArtefact({ body: { data: copy } })
    assert.equal(known.content.state, 'missing', 'the hash of a hidden content gives no access to it')
    assert.equal((await readContent(hub, updater, { id: known.id })).status, 409)
    const { data: own } = await admin.updates.createArtefact({ body: { data: copy } })
    assert.equal(own.content.state, 'complete')
    await admin.authorization.createRole({
      body: {
        data: {
          name: 'plant-viewer',
          permissions: ['glb_update_manage', 'glb_jobs_read', 'inventory_read_asset_data'],
        },
      },
    })
    const viewer = await hub.as('plant-viewer')
    assert.equal(await codeOf(start('backup', viewer)), 'forbidden')
    assert.equal((await readContent(hub, viewer, { id: artefact.id })).status, 200)
  })

  test('refuses a retrieval without a link that can read the device', async () => {
    const { statusId } = (
      await admin.inventory.createAsset({
        body: {
          data: {
            asset: {
              functional_object_type: 'Device',
              name: 'unknown',
              asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'tag', value: 'unknown' }],
            },
          },
        },
      })
    ).data
    const { data } = await admin.inventory.readStatus({ params: { id: statusId }, query: { wait: 30 } })
    const { assetId: id } = data.detail.result as unknown as { assetId: string }
    const created = admin.updates.createRetrieval({ params: { id }, body: { data: { kind: 'backup' } } })
    assert.equal(await codeOf(created), 'no_device_link')
  })

  test('a gateway downloads the artefact of the update job whose lease it holds', async () => {
    const id = await createArtefact(hub, admin, { version: '9.0.0' })
    const target = plant.assetIds[1] ?? ''
    await startCampaign(admin, { artefactId: id, assetIds: [target] })
    let held: Awaited<ReturnType<typeof leaseUpdate>>
    await until(async () => {
      await hub.settle()
      held = await leaseUpdate(plant.gateway)
      return held !== undefined
    })
    assert.ok(held !== undefined)
    const content = (await readContent(hub, admin, { id })).bytes
    const path = jobPath(held.jobId, held.lease)
    const whole = await plant.gateway.send({ method: 'GET', path })
    assert.deepEqual([whole.status, whole.bytes], [200, content])
    const part = await plant.gateway.send({ method: 'GET', path, headers: { range: 'bytes=1-' } })
    assert.deepEqual([part.status, part.bytes], [206, content.subarray(1)])
    const outside = await plant.gateway.send({ method: 'GET', path, headers: { range: `bytes=${content.length}-` } })
    assert.equal(outside.status, 416)
    const other = await enrolledGateway(hub, admin, { name: 'third' })
    assert.equal((await other.send({ method: 'GET', path })).status, 404)
    const wrong = jobPath(held.jobId, '01980000-0000-7000-8000-000000000000')
    assert.equal(codeIn(await plant.gateway.send({ method: 'GET', path: wrong })), 'lease_lost')
    await advance(plant.gateway, held, 'FAILED', { message: 'over' })
    assert.equal((await plant.gateway.send({ method: 'GET', path })).status, 409)
  })
})
