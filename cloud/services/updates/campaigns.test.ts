import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createHierarchy, createNode } from '../hierarchy/testing.ts'
import {
  advance,
  closedWindow,
  createArtefact,
  createDraft,
  leaseUpdate,
  listDevices,
  newPlant,
  openWindow,
  peerOf,
  readCampaign,
  startCampaign,
  statesOf,
  tick,
  type UpdatePlant,
  until,
  updatableDevice,
  workOn,
  workUntil,
} from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('campaigns', () => {
  let hub: TestHub
  let admin: TestCaller
  let artefactId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    artefactId = await createArtefact(hub, admin)
  })

  after(() => hub[Symbol.asyncDispose]())

  const plantOf = (devices = 1, accessGroup?: string) =>
    newPlant(hub, admin, { devices, ...(accessGroup === undefined ? {} : { accessGroup }) })

  async function leased(plant: UpdatePlant) {
    const held = await until(
      hub,
      () => leaseUpdate(plant.gateway),
      (one) => one !== undefined,
    )
    assert.ok(held)
    return held
  }

  const deviceOf = async (id: string, index = 0) => {
    const device = (await listDevices(admin, id))[index]
    assert.ok(device)
    return device
  }

  const stateIs = (id: string, ...states: string[]) =>
    until(
      hub,
      () => deviceOf(id),
      ({ state }) => states.includes(state),
    )

  const campaignIs = (id: string, expected: string) =>
    until(
      hub,
      () => readCampaign(admin, id),
      ({ state }) => state === expected,
    )

  test('updates all devices, shows the jobs, and records events and audit entries', async () => {
    const plant = await plantOf(3)
    const draft = await createDraft(admin, { artefactId, assetIds: plant.assetIds })
    assert.deepEqual([draft.state, draft.actions], ['draft', ['plan', 'edit', 'start', 'delete']])
    const { data: plan } = await admin.updates.planCampaign({ params: { id: draft.id }, query: { limit: 2 } })
    assert.deepEqual([plan.summary.targets, plan.summary.outcomes.update, plan.devices.length], [3, 3, 2])
    assert.equal(plan.nextOffset, 2)
    const { data: started } = await admin.updates.startCampaign({ params: { id: draft.id } })
    assert.deepEqual([started.state, started.devices, started.wave], ['running', 3, 1])
    await assert.rejects(admin.updates.planCampaign({ params: { id: draft.id } }), code('conflict'))
    const ended = await workUntil(plant, draft.id, ({ state }) => state === 'finished')
    assert.deepEqual([ended.counts.succeeded, ended.actions], [3, ['delete']])
    for (const device of await listDevices(admin, draft.id)) {
      assert.deepEqual(
        [device.state, device.progress, device.fromVersion, device.toVersion, device.reportedVersion],
        ['succeeded', 100, '1.0.0', '2.0.0', '2.0.0'],
      )
      const { data: job } = await admin.jobs.getJob({ params: { id: device.jobId ?? '' } })
      assert.deepEqual([job.type, job.phase], ['artefact-update', 'finished'])
    }
    const job = await until(
      hub,
      async () => (await admin.jobs.getJob({ params: { id: ended.jobId ?? '' } })).data,
      ({ phase }) => phase === 'finished',
    )
    assert.deepEqual([job.type, job.progress], ['update-campaign', 100])
    const { data: entries } = await admin.audit.listEntries({ query: { target: `update-campaign/${draft.id}` } })
    assert.deepEqual(
      entries.map(({ action }) => action),
      ['updates.finishCampaign', 'updates.startCampaign', 'updates.createCampaign'],
    )
    const ofAsset = await admin.audit.listEntries({ query: { target: `asset/${plant.assetIds[0]}` } })
    const actions = ofAsset.data.map(({ action }) => action).filter((action) => action.startsWith('updates.'))
    assert.deepEqual(actions, ['updates.endDevice', 'updates.activateDevice', 'updates.startDevice'])
    const { data: page } = await admin.updates.readAssetUpdates({ params: { id: plant.assetIds[0] ?? '' } })
    assert.deepEqual([page.history.length, page.history[0]?.state], [1, 'succeeded'])
    await admin.updates.deleteCampaign({ params: { id: draft.id } })
    await assert.rejects(readCampaign(admin, draft.id), code('not_found'))
  })

  test('sends the gateway what it needs to update the device, and gives it the credentials of the job only', async () => {
    const plant = await plantOf()
    const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, verifyMinutes: 3 })
    const { job, jobId, lease } = await leased(plant)
    const { definition } = job
    assert.deepEqual(
      [definition.campaignId, definition.assetId, definition.fromVersion, definition.verifyMinutes],
      [id, plant.assetIds[0], '1.0.0', 3],
    )
    assert.deepEqual((definition.artefact as { id: string; version: string }).version, '2.0.0')
    assert.equal((definition.assetIdentifiers as unknown[]).length, 1)
    assert.deepEqual([definition.trustAnchors, definition.allowsUnsigned], [[], true])
    const request = (addresses: string[]) =>
      plant.gateway.gatekeeper.requestCredentials({
        params: { id: jobId },
        body: { data: { assetLinkId: String(definition.assetLinkId), addresses, lease } },
      })
    await assert.rejects(request(['198.51.100.1']), code('forbidden'))
    await admin.updates.cancelCampaign({ params: { id } })
    await tick(hub)
    await advance(plant.gateway, { jobId, lease }, 'CANCELED')
    await stateIs(id, 'canceled')
  })

  test('shows the progress and the states of a device, and ignores late reports', async () => {
    const plant = await plantOf()
    const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
    const held = await leased(plant)
    await stateIs(id, 'downloading')
    const renew = (progress: number, phase: string) =>
      plant.gateway.gatekeeper.renewLease({
        params: { id: held.lease },
        body: { data: { jobId: held.jobId, progress, phase } },
      })
    await renew(30, 'downloading')
    assert.deepEqual([(await deviceOf(id)).state, (await deviceOf(id)).progress], ['downloading', 30])
    await renew(60, 'transferring')
    assert.deepEqual([(await deviceOf(id)).state, (await deviceOf(id)).progress], ['transferring', 60])
    await advance(plant.gateway, held, 'PREPARED')
    const again = await leased(plant)
    assert.deepEqual([again.jobId, again.state], [held.jobId, 'ACTIVATE'])
    assert.equal((await deviceOf(id)).state, 'activating')
    const late = { data: { state: 'PREPARING', progress: 10 } }
    await peerOf(hub).noteJob({ params: { jobId: held.jobId }, body: late })
    assert.equal((await deviceOf(id)).state, 'activating')
    for (const state of ['ACTIVATING', 'VERIFYING']) await advance(plant.gateway, again, state)
    assert.equal((await deviceOf(id)).state, 'verifying')
    await advance(plant.gateway, again, 'ACTIVATED', { result: { version: '2.0.0' } })
    await workUntil(plant, id, ({ state }) => state === 'finished')
  })

  test('writes the version that the device reports to its asset, with the source of a discovery', async () => {
    const plant = await plantOf()
    const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
    await workOn(plant.gateway, await leased(plant))
    const held = await leased(plant)
    await advance(plant.gateway, held, 'ACTIVATING')
    const asset = updatableDevice(plant.first, { version: '2.0.0' })
    await advance(plant.gateway, held, 'ACTIVATED', { result: { version: '2.0.0', asset } })
    const params = { id: plant.assetIds[0] ?? '' }
    await until(
      hub,
      async () => (await admin.updates.readAssetUpdates({ params })).data.version,
      (version) => version === '2.0.0',
    )
    const { data: changes } = await admin.inventory.readHistory({ params, query: { limit: 1 } })
    assert.match(JSON.stringify(changes[0]), /"discovery"/)
    await workUntil(plant, id, ({ state }) => state === 'finished')
    const second = await createDraft(admin, { artefactId, assetIds: plant.assetIds })
    const { data: plan } = await admin.updates.planCampaign({ params: { id: second.id } })
    assert.equal(plan.devices[0]?.outcome, 'current')
    await assert.rejects(admin.updates.startCampaign({ params: { id: second.id } }), code('conflict'))
    await admin.updates.deleteCampaign({ params: { id: second.id } })
  })

  test('installs the steps to the version one after the other, each with its own job', async () => {
    const more = { products: ['VALVE-1'] }
    const step = await createArtefact(hub, admin, { ...more, name: 'Step', version: '1.5.0' })
    const last = await createArtefact(hub, admin, { ...more, name: 'Last', requires: [{ from: '>=1.5' }] })
    const plant = await plantOf()
    const number = plant.first
    await writeAsset(valve(number))
    const { id } = await startCampaign(admin, { artefactId: last, assetIds: plant.assetIds })
    const { steps } = await deviceOf(id)
    assert.deepEqual(
      steps.map(({ artefactId: one }) => one),
      [step, last],
    )
    const jobs = new Set<string>()
    await workUntil(
      plant,
      id,
      ({ state }) => state === 'finished',
      (held) => void jobs.add(held.jobId),
    )
    assert.equal(jobs.size, 2)
    const device = await deviceOf(id)
    assert.deepEqual([device.state, device.step, device.reportedVersion], ['succeeded', 1, '2.0.0'])
  })

  function valve(number: number) {
    const device = updatableDevice(number)
    const product = { manufacturer: { name: 'Example' }, product_id: 'VALVE-1', product_name: 'Valve' }
    return { ...device, product_instance_information: { serial_number: `SN${number}`, manufacturer_product: product } }
  }

  async function writeAsset(asset: Record<string, unknown>): Promise<void> {
    const { data } = await admin.inventory.createAsset({ body: { data: { asset } } })
    await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
  }

  test('starts the next wave when all devices of the wave are final, with a limited number of devices at a time', async () => {
    const plant = await plantOf(5)
    const { id, waveCounts } = await startCampaign(admin, {
      artefactId,
      assetIds: plant.assetIds,
      waves: [{ count: 1 }, { percent: 40 }],
      concurrentDevices: 2,
    })
    assert.deepEqual(
      waveCounts.map(({ wave, counts }) => [wave, counts.waiting]),
      [
        [1, 1],
        [2, 2],
        [3, 2],
      ],
    )
    const first = await leased(plant)
    assert.equal(await leaseUpdate(plant.gateway), undefined)
    await workOn(plant.gateway, first)
    await workOn(plant.gateway, await leased(plant))
    const second = await leased(plant)
    const third = await leased(plant)
    await tick(hub)
    assert.equal(await leaseUpdate(plant.gateway), undefined)
    assert.equal((await readCampaign(admin, id)).wave, 2)
    for (const held of [second, third]) await workOn(plant.gateway, held)
    const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
    assert.equal(ended.counts.succeeded, 5)
  })

  test('stops when too many devices of a wave have failed, completes running devices, and continues after resume', async () => {
    const plant = await plantOf(4)
    const { id } = await startCampaign(admin, {
      artefactId,
      assetIds: plant.assetIds,
      stopOnFailurePercent: 25,
      concurrentDevices: 3,
    })
    const held = [await leased(plant), await leased(plant), await leased(plant)]
    const [failed, unknown, third] = held
    assert.ok(failed !== undefined && unknown !== undefined && third !== undefined)
    await advance(plant.gateway, failed, 'FAILED', { message: 'Checksum error' })
    await tick(hub)
    assert.equal((await readCampaign(admin, id)).state, 'running', '25 % is not more than 25 %')
    const fourth = await leased(plant)
    await advance(plant.gateway, unknown, 'PREPARED')
    const activated = await leased(plant)
    await advance(plant.gateway, activated, 'ACTIVATING')
    await advance(plant.gateway, activated, 'UNKNOWN', { message: 'No answer' })
    const stopped = await campaignIs(id, 'stopped')
    assert.match(stopped.stateReason ?? '', /^More than 25 % of the devices of wave 1 failed/)
    assert.deepEqual(stopped.actions, ['resume', 'cancel', 'retry'])
    await advance(plant.gateway, third, 'PREPARED')
    await advance(plant.gateway, fourth, 'PREPARED')
    await tick(hub)
    assert.equal(await leaseUpdate(plant.gateway), undefined, 'nothing is activated while the campaign is stopped')
    const { data: failures } = await admin.updates.listFailures({ params: { id } })
    assert.deepEqual(
      failures.map(({ assets, ...group }) => [
        group,
        assets.map(({ id: assetId }) => plant.assetIds.includes(assetId)),
      ]),
      [
        [{ state: 'failed', reason: 'Checksum error', devices: 1 }, [true]],
        [{ state: 'unknown', reason: 'No answer', devices: 1 }, [true]],
      ],
    )
    await admin.updates.resumeCampaign({ params: { id } })
    const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
    assert.deepEqual([ended.counts.succeeded, ended.counts.failed, ended.counts.unknown], [2, 1, 1])
  })

  test(
    'stops at the first failure with 0 percent, and stops again after resume only for new failures',
    onlyInLongRuns,
    async () => {
      const plant = await plantOf(3)
      const { id } = await startCampaign(admin, {
        artefactId,
        assetIds: plant.assetIds,
        stopOnFailurePercent: 0,
        concurrentDevices: 1,
      })
      const failing = () => ({ state: 'FAILED' as const, message: 'Rejected' })
      for (const failures of [1, 2]) {
        const stopped = await workUntil(plant, id, ({ state }) => state === 'stopped', failing)
        assert.equal(stopped.counts.failed, failures)
        await admin.updates.resumeCampaign({ params: { id } })
      }
      const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
      assert.deepEqual([ended.counts.failed, ended.counts.succeeded], [2, 1])
    },
  )

  test(
    'completes activations after a pause, while prepared devices wait and no other device starts',
    onlyInLongRuns,
    async () => {
      const plant = await plantOf(3)
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, concurrentDevices: 2 })
      const first = await leased(plant)
      const second = await leased(plant)
      await advance(plant.gateway, first, 'PREPARED')
      const activating = await leased(plant)
      await advance(plant.gateway, activating, 'ACTIVATING')
      const { data: paused } = await admin.updates.pauseCampaign({ params: { id } })
      assert.deepEqual([paused.state, paused.actions], ['paused', ['resume', 'cancel']])
      await advance(plant.gateway, activating, 'ACTIVATED', { result: { version: '2.0.0' } })
      await advance(plant.gateway, second, 'PREPARED')
      await tick(hub)
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      const states = [...(await statesOf(admin, id)).values()].toSorted()
      assert.deepEqual(states, ['prepared', 'succeeded', 'waiting'])
      await assert.rejects(admin.updates.pauseCampaign({ params: { id } }), code('conflict'))
      await admin.updates.resumeCampaign({ params: { id } })
      const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
      assert.equal(ended.counts.succeeded, 3)
    },
  )

  describe('cancellation', () => {
    const cancel = (id: string) => admin.updates.cancelCampaign({ params: { id } })

    test('cancels a device that has not started at once', async () => {
      const plant = await plantOf(2)
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, window: closedWindow() })
      await tick(hub)
      const { data } = await cancel(id)
      assert.deepEqual([data.state, data.counts.canceled], ['canceled', 2])
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      assert.match((await deviceOf(id)).reason ?? '', /Canceled by/)
      await assert.rejects(cancel(id), code('conflict'))
    })

    test('cancels a job that no gateway has leased', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await until(
        hub,
        () => deviceOf(id),
        ({ jobId }) => jobId !== undefined,
      )
      await cancel(id)
      await stateIs(id, 'canceled')
      assert.equal(await leaseUpdate(plant.gateway), undefined)
    })

    test('requests the cancellation of a transfer from the gateway', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      const held = await leased(plant)
      await cancel(id)
      await until(
        hub,
        async () =>
          (
            await plant.gateway.gatekeeper.renewLease({
              params: { id: held.lease },
              body: { data: { jobId: held.jobId } },
            })
          ).data.cancelRequested,
        (isRequested) => isRequested,
      )
      assert.equal(await advance(plant.gateway, held, 'PREPARED'), 'CANCELING')
      await advance(plant.gateway, held, 'CANCELED')
      assert.match((await stateIs(id, 'canceled')).reason ?? '', /Canceled by/)
    })

    test('lets a prepared device discard the artefact', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      const held = await leased(plant)
      await admin.updates.pauseCampaign({ params: { id } })
      await advance(plant.gateway, held, 'PREPARED')
      await cancel(id)
      const again = await leased(plant)
      assert.equal(again.state, 'CANCELING')
      await advance(plant.gateway, again, 'CANCELED')
      await stateIs(id, 'canceled')
    })

    test('completes an activation that has started, and then releases the device for another campaign', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await workOn(plant.gateway, await leased(plant))
      const held = await leased(plant)
      await advance(plant.gateway, held, 'ACTIVATING')
      await cancel(id)
      await tick(hub)
      const draft = await createDraft(admin, { artefactId, assetIds: plant.assetIds })
      await assert.rejects(admin.updates.startCampaign({ params: { id: draft.id } }), code('update_in_progress'))
      await assert.rejects(admin.updates.deleteCampaign({ params: { id } }), code('conflict'))
      await advance(plant.gateway, held, 'ACTIVATED', { result: { version: '2.0.0' } })
      const device = await stateIs(id, 'succeeded')
      assert.equal(device.reportedVersion, '2.0.0')
      await until(
        hub,
        () => readCampaign(admin, id),
        ({ finishedTimestamp }) => finishedTimestamp !== undefined,
      )
      assert.equal((await readCampaign(admin, id)).state, 'canceled')
      await until(
        hub,
        async () => (await admin.updates.planCampaign({ params: { id: draft.id } })).data.devices[0]?.outcome,
        (outcome) => outcome === 'update',
      )
      await admin.updates.deleteCampaign({ params: { id: draft.id } })
    })

    test('cancels without the confirmation of a gateway that does not respond', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await leased(plant)
      await cancel(id)
      await tick(hub)
      await hub.asOwner((owner) =>
        owner.query(`update update_devices set cancel_at = now() - interval '11 minutes' where campaign_id = $1`, [id]),
      )
      await tick(hub)
      await stateIs(id, 'canceled')
    })
  })

  describe('retry', () => {
    const failing = () => ({ state: 'FAILED' as const, message: 'Rejected' })

    test('updates failed devices again with a new attempt and job, also in a finished campaign', async () => {
      const plant = await plantOf(2)
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      const finished = await workUntil(
        plant,
        id,
        ({ state }) => state === 'finished',
        (held) => (held.assetId === plant.assetIds[0] ? failing() : undefined),
      )
      assert.deepEqual(finished.actions, ['retry', 'delete'])
      const before = await deviceOf(id)
      const { data: retried } = await admin.updates.retryCampaign({ params: { id } })
      assert.equal(retried.state, 'running')
      assert.notEqual(retried.jobId, finished.jobId)
      const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
      assert.equal(ended.counts.succeeded, 2)
      const devices = await listDevices(admin, id)
      assert.deepEqual(devices.map(({ attempt }) => attempt).toSorted(), [1, 2])
      assert.ok(devices.every(({ jobId }) => jobId !== before.jobId || before.state === 'succeeded'))
      await assert.rejects(admin.updates.retryCampaign({ params: { id } }), code('conflict'))
    })

    test('never retries an unknown device, unless a person names it', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await workUntil(
        plant,
        id,
        ({ state }) => state === 'finished',
        () => ({ state: 'UNKNOWN', message: 'No answer' }),
      )
      await tick(hub)
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      await assert.rejects(admin.updates.retryCampaign({ params: { id } }), code('conflict'))
      const other = { data: { assetIds: [id] } }
      await assert.rejects(admin.updates.retryCampaign({ params: { id }, body: other }), code('conflict'))
      await admin.updates.retryCampaign({ params: { id }, body: { data: { assetIds: plant.assetIds } } })
      const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
      assert.deepEqual([ended.counts.succeeded, (await deviceOf(id)).attempt], [1, 2])
    })

    test('refuses a device that another campaign updates now', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await workUntil(plant, id, ({ state }) => state === 'finished', failing)
      const other = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      await assert.rejects(admin.updates.retryCampaign({ params: { id } }), code('update_in_progress'))
      await workUntil(plant, other.id, ({ state }) => state === 'finished')
    })
  })

  describe('devices in one campaign', () => {
    test('refuses a second campaign for a device, and skips it if other devices remain', async () => {
      const plant = await plantOf(2)
      const [held = '', free = ''] = plant.assetIds
      const first = await startCampaign(admin, { artefactId, assetIds: [held], window: closedWindow() })
      const refused = await createDraft(admin, { artefactId, assetIds: [held] })
      await assert.rejects(admin.updates.startCampaign({ params: { id: refused.id } }), code('update_in_progress'))
      const second = await startCampaign(admin, { artefactId, assetIds: [held, free], window: closedWindow() })
      const states = await statesOf(admin, second.id)
      assert.deepEqual([states.get(held), states.get(free)], ['skipped', 'waiting'])
      for (const { id } of [first, second]) await admin.updates.cancelCampaign({ params: { id } })
    })

    test('starts only one of two campaigns with the same devices that are started at the same time', async () => {
      const plant = await plantOf()
      const drafts = [
        await createDraft(admin, { artefactId, assetIds: plant.assetIds, window: closedWindow() }),
        await createDraft(admin, { artefactId, assetIds: plant.assetIds, window: closedWindow() }),
      ]
      const outcomes = await Promise.allSettled(drafts.map(({ id }) => admin.updates.startCampaign({ params: { id } })))
      const refused = outcomes.filter((one) => one.status === 'rejected')
      assert.equal(refused.length, 1)
      assert.equal(refused[0]?.reason.code, 'update_in_progress')
    })
  })

  describe('windows', () => {
    const setWindow = (id: string, window: object) =>
      hub.asOwner((owner) =>
        owner.query(`update update_campaigns set maintenance_window = $2 where id = $1`, [id, JSON.stringify(window)]),
      )

    test('starts devices when the window opens, and shows the next start', async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, window: closedWindow() })
      await tick(hub)
      const waiting = await until(
        hub,
        () => readCampaign(admin, id),
        ({ stateReason }) => stateReason !== undefined,
      )
      assert.match(waiting.stateReason ?? '', /Waits for the maintenance window that opens at \d{4}-/)
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      await setWindow(id, openWindow)
      await tick(hub)
      const ended = await workUntil(plant, id, ({ state }) => state === 'finished')
      assert.equal(ended.counts.succeeded, 1)
    })

    test(
      'applies the windows that nodes have now, not those at the start of the campaign',
      onlyInLongRuns,
      async () => {
        const plant = await plantOf(3)
        const hierarchyId = await createHierarchy(admin, 'Site')
        const [opened, closed] = [
          (await createNode(admin, hierarchyId, 'Line 1')).id,
          (await createNode(admin, hierarchyId, 'Line 2')).id,
        ]
        const [first = '', second = '', third = ''] = plant.assetIds
        const assign = (node: string, assetId: string) =>
          admin.hierarchy.assignAssets({ params: { id: node }, body: { data: { assetIds: [assetId] } } })
        await assign(opened, first)
        await assign(closed, second)
        await admin.updates.putWindow({ params: { nodeId: opened }, body: { data: closedWindow() } })
        const input = { artefactId, assetIds: plant.assetIds, concurrentDevices: 1 }
        // The window of the campaign is closed until the windows of the nodes have changed, so that no device starts before.
        const { id } = await startCampaign(admin, { ...input, window: closedWindow() })
        await admin.updates.putWindow({ params: { nodeId: closed }, body: { data: closedWindow() } })
        await admin.updates.deleteWindow({ params: { nodeId: opened } })
        await setWindow(id, openWindow)
        await tick(hub)
        await workUntil(plant, id, ({ counts }) => counts.succeeded === 2)
        const states = (await listDevices(admin, id)).map(({ assetId, state }) => [assetId, state])
        const expected = [
          [first, 'succeeded'],
          [second, 'waiting'],
          [third, 'succeeded'],
        ]
        assert.deepEqual(states.toSorted(), expected.toSorted())
      },
    )

    test('keeps a prepared device until the next window when the window closes', onlyInLongRuns, async () => {
      const plant = await plantOf()
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, window: openWindow })
      const held = await leased(plant)
      await setWindow(id, closedWindow())
      // A run of the executor that started before the change can still use the former window.
      await tick(hub)
      await advance(plant.gateway, held, 'PREPARED')
      await tick(hub)
      const device = await until(
        hub,
        () => deviceOf(id),
        ({ reason }) => reason !== undefined,
      )
      assert.deepEqual([device.state, device.reason], ['prepared', 'Waits for the next maintenance window'])
      assert.equal(await leaseUpdate(plant.gateway), undefined)
      await setWindow(id, openWindow)
      await tick(hub)
      await workUntil(plant, id, ({ state }) => state === 'finished')
    })

    test(
      'withdraws a requested activation when the window closes before the gateway began it',
      onlyInLongRuns,
      async () => {
        const plant = await plantOf()
        const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, window: openWindow })
        await workOn(plant.gateway, await leased(plant))
        await stateIs(id, 'activating')
        await setWindow(id, closedWindow())
        await tick(hub)
        const held = await leased(plant)
        assert.equal(held.state, 'CANCELING')
        await workOn(plant.gateway, held)
        assert.match((await stateIs(id, 'canceled')).reason ?? '', /window closed before/)
      },
    )
  })

  describe('gateways and assets', () => {
    const setSeen = (gatewayId: string, ago: string) =>
      hub.asOwner((owner) =>
        owner.query(
          `update gateways set last_seen_at = now() - $2::interval, enrolled_at = now() - $2::interval where id = $1`,
          [gatewayId, ago],
        ),
      )

    test(
      'shows that a device waits for its offline gateway, and updates the devices of other gateways',
      onlyInLongRuns,
      async () => {
        const [offline, online] = [await plantOf(), await plantOf()]
        await setSeen(offline.gateway.id, '1 hour')
        const assetIds = [...offline.assetIds, ...online.assetIds]
        const { id } = await startCampaign(admin, { artefactId, assetIds, concurrentDevices: 1 })
        await workUntil(online, id, ({ counts }) => counts.succeeded === 1)
        const waiting = (await listDevices(admin, id)).find(({ assetId }) => assetId === offline.assetIds[0])
        assert.equal(waiting?.state, 'waiting')
        assert.match(waiting?.reason ?? '', /The gateway line \d+ is offline/)
        await setSeen(offline.gateway.id, '0 seconds')
        await tick(hub)
        await workUntil(offline, id, ({ state }) => state === 'finished')
      },
    )

    test(
      'ends the devices of a revoked gateway: failed before the activation, unknown after it',
      onlyInLongRuns,
      async () => {
        const plant = await plantOf(3)
        const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, concurrentDevices: 2 })
        const first = await leased(plant)
        const second = await leased(plant)
        await advance(plant.gateway, first, 'PREPARED')
        const activating = await leased(plant)
        await advance(plant.gateway, activating, 'ACTIVATING')
        await admin.onboarding.revokeGateway({ params: { id: plant.gateway.id } })
        await tick(hub)
        const ended = await campaignIs(id, 'finished')
        const states = await statesOf(admin, id)
        assert.deepEqual([states.get(activating.assetId), states.get(second.assetId)], ['unknown', 'failed'])
        assert.equal(ended.counts.skipped, 1)
        for (const { reason } of await listDevices(admin, id)) assert.match(reason ?? '', /revoked or deleted/)
        for (const jobId of [first.jobId, second.jobId]) {
          const { data: job } = await admin.jobs.getJob({ params: { id: jobId } })
          assert.notEqual(job.phase, 'running')
        }
      },
    )

    test('cancels the transfer to a device whose asset was deleted, and skips one that has not started', async () => {
      const plant = await plantOf(2)
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds, concurrentDevices: 1 })
      const held = await leased(plant)
      const { data } = await admin.inventory.deleteAssets({ body: { data: { ids: plant.assetIds } } })
      await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      await tick(hub)
      assert.equal(await advance(plant.gateway, held, 'PREPARED'), 'CANCELING')
      await advance(plant.gateway, held, 'CANCELED')
      const ended = await campaignIs(id, 'finished')
      assert.deepEqual([ended.counts.canceled, ended.counts.skipped], [1, 1])
      for (const { reason } of await listDevices(admin, id)) assert.equal(reason, 'The asset was deleted')
    })

    test('repairs lost reports of a gateway, and ends a device whose job was deleted', async () => {
      const plant = await plantOf(2)
      const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
      const [first, second] = [await leased(plant), await leased(plant)]
      const put = (jobId: string, body: { state: string; message?: string; context?: Record<string, unknown> }) =>
        plant.gateway.workflows.putJobStatus({ params: { id: jobId }, body })
      await put(first.jobId, { state: 'FAILED', message: 'Disk full' })
      await hub.asOwner((owner) => owner.query('delete from workflow_jobs where id = $1', [second.jobId]))
      const ended = await until(
        hub,
        async () => {
          await tick(hub)
          return listDevices(admin, id)
        },
        (all) => all.every(({ state }) => state === 'failed'),
      )
      const devices = new Map(ended.map((device) => [device.jobId, device]))
      assert.deepEqual([devices.get(first.jobId)?.state, devices.get(first.jobId)?.reason], ['failed', 'Disk full'])
      assert.equal(devices.get(second.jobId)?.state, 'failed')
      assert.match(devices.get(second.jobId)?.reason ?? '', /deleted before the activation/)
    })
  })

  test('stops when the artefact can no longer be installed, and refuses to delete an artefact in use', async () => {
    const plant = await plantOf()
    const own = await createArtefact(hub, admin, { name: 'Withdrawn' })
    const { id } = await startCampaign(admin, { artefactId: own, assetIds: plant.assetIds, window: closedWindow() })
    await assert.rejects(admin.updates.deleteArtefact({ params: { id: own } }), code('artefact_in_use'))
    await admin.updates.putSettings({ body: { data: { allowsUnsigned: false } } })
    try {
      await hub.asOwner((owner) =>
        owner.query('update update_campaigns set maintenance_window = null where id = $1', [id]),
      )
      await tick(hub)
      const stopped = await campaignIs(id, 'stopped')
      assert.match(stopped.stateReason ?? '', /cannot be installed/)
    } finally {
      await admin.updates.putSettings({ body: { data: { allowsUnsigned: true } } })
    }
    await admin.updates.cancelCampaign({ params: { id } })
    await admin.updates.deleteArtefact({ params: { id: own } })
  })

  test('changes and deletes drafts, and refuses invalid ones', async () => {
    const plant = await plantOf()
    const { id } = await createDraft(admin, { artefactId, assetIds: plant.assetIds })
    const params = { id }
    const changed = await admin.updates.updateCampaign({
      params,
      body: {
        data: { name: 'Renamed', waves: [{ count: 1 }], window: openWindow, targets: { filter: `name eq 'x'` } },
      },
    })
    assert.deepEqual([changed.data.name, changed.data.window], ['Renamed', openWindow])
    const cleared = await admin.updates.updateCampaign({ params, body: { data: { window: null } } })
    assert.deepEqual([cleared.data.window, cleared.data.name], [undefined, 'Renamed'])
    const badWindow = { data: { window: { ...openWindow, cron: 'never' } } }
    await assert.rejects(admin.updates.updateCampaign({ params, body: badWindow }), code('invalid_window'))
    const badFilter = { data: { targets: { filter: 'name ==' } } }
    await assert.rejects(admin.updates.updateCampaign({ params, body: badFilter }), code('invalid_filter'))
    await assert.rejects(createDraft(admin, { artefactId: id, assetIds: plant.assetIds }), code('artefact_not_found'))
    const missing = { assetIds: [...plant.assetIds, id] }
    const pointsToMissing = (problem: { code: string; errors?: readonly { pointer: string }[] }) =>
      problem.code === 'asset_not_found' && problem.errors?.[0]?.pointer === '/data/targets/assetIds/1'
    await assert.rejects(createDraft(admin, { artefactId, ...missing }), pointsToMissing)
    await assert.rejects(
      admin.updates.updateCampaign({ params, body: { data: { targets: missing } } }),
      pointsToMissing,
    )
    await assert.rejects(admin.updates.startCampaign({ params }), code('conflict'))
    for (const action of ['pauseCampaign', 'resumeCampaign', 'cancelCampaign', 'approveCampaign'] as const)
      await assert.rejects(admin.updates[action]({ params }), (problem: { code: string }) =>
        ['conflict', 'forbidden'].includes(problem.code),
      )
    const listed = await admin.updates.listCampaigns({ query: { state: 'draft' } })
    assert.ok(listed.data.some((one) => one.id === id))
    await admin.updates.deleteCampaign({ params })
    await assert.rejects(admin.updates.deleteCampaign({ params }), code('not_found'))
  })

  test('lists only the campaigns that have not ended, or only those that have', async () => {
    const plant = await plantOf()
    const { id } = await createDraft(admin, { artefactId, assetIds: plant.assetIds })
    const idsOf = async (query: { open?: boolean; state?: 'draft' }) =>
      (await admin.updates.listCampaigns({ query: { ...query, limit: 100 } })).data.map((one) => one.id)
    const [all, open, ended] = [await idsOf({}), await idsOf({ open: true }), await idsOf({ open: false })]
    assert.ok(open.includes(id) && !ended.includes(id))
    assert.deepEqual([...open, ...ended].toSorted(), all.toSorted())
    assert.deepEqual(await idsOf({ open: false, state: 'draft' }), [])
    await admin.updates.deleteCampaign({ params: { id } })
  })
})
