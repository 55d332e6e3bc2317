import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import type { Context } from '../../platform/service.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { advanceCampaign } from './executor.ts'
import {
  advance,
  closedWindow,
  createArtefact,
  createRelations,
  type Edge,
  leaseUpdate,
  listDevices,
  newPlant,
  readCampaign,
  startCampaign,
  tick,
  type UpdatePlant,
  until,
  updatePlant,
  workOn,
} from './testing.ts'

/** Returns a context that waits before it ends the transaction in which a device starts. */
function pausingContext(context: Context, beforeEnd: () => Promise<void>): Context {
  const isStart = (result: unknown) =>
    typeof result === 'object' && result !== null && 'isStarted' in result && result.isStarted === true
  const database = new Proxy(context.database, {
    get(own, name) {
      const value: unknown = Reflect.get(own, name, own)
      if (typeof value !== 'function') return value
      if (name !== 'transaction') return (...values: unknown[]) => Reflect.apply(value, own, values)
      const transaction: Context['database']['transaction'] = (scope, work) =>
        own.transaction(scope, async (tx) => {
          const result = await work(tx)
          if (isStart(result)) await beforeEnd()
          return result
        })
      return transaction
    },
  })
  return { ...context, database }
}

describe('devices of several campaigns', () => {
  let hub: TestHub
  let admin: TestCaller
  let artefactId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    artefactId = await createArtefact(hub, admin)
  })

  after(() => hub[Symbol.asyncDispose]())

  const plantOf = (devices: number) => newPlant(hub, admin, { devices })

  const start = (name: string, assetIds: string[], more: object = {}) =>
    startCampaign(admin, { artefactId, name, assetIds, ...more })

  const openWindowOf = (...ids: string[]) =>
    hub.asOwner((owner) =>
      owner.query('update update_campaigns set maintenance_window = null where id = any($1::uuid[])', [ids]),
    )

  /** Returns those of the assets whose devices are being updated. */
  async function startedOf(assetIds: readonly string[]): Promise<string[]> {
    const { rows } = await hub.asOwner((owner) =>
      owner.query<{ id: string }>(
        'select asset_id as id from update_devices where tenant_id = $1 and is_started and asset_id = any($2::uuid[])',
        [hub.tenant.tenantId, assetIds],
      ),
    )
    return rows.map(({ id }) => id)
  }

  /** Works on the jobs of a plant until campaigns are finished. At most one device of each set is updated at any time. */
  async function finish(plant: UpdatePlant, ids: readonly string[], sets: readonly string[][]): Promise<void> {
    const check = async () => {
      for (const set of sets) assert.ok((await startedOf(set)).length <= 1, 'two devices at the same time')
    }
    await until(
      hub,
      async () => {
        await tick(hub)
        await check()
        for (let held = await leaseUpdate(plant.gateway); held !== undefined; held = await leaseUpdate(plant.gateway)) {
          await workOn(plant.gateway, held)
          await check()
        }
        return Promise.all(ids.map((id) => readCampaign(admin, id)))
      },
      (campaigns) => campaigns.every(({ state }) => state === 'finished'),
    )
    for (const id of ids)
      for (const { state, reason } of await listDevices(admin, id))
        assert.deepEqual([state, reason], ['succeeded', undefined])
  }

  const reasonOf = async (id: string, assetId: string) =>
    (await listDevices(admin, id)).find((device) => device.assetId === assetId)?.reason

  test('never update both devices of a redundant pair, and update other devices at the same time', async () => {
    const plant = await plantOf(4)
    const [left = '', right = '', other = '', another = ''] = plant.assetIds
    await createRelations(admin, [[left, 'is_redundant_with', right]])
    const first = await start('Left side', [left, other])
    await until(
      hub,
      () => startedOf([left, other]),
      (started) => started.length === 2,
    )
    const second = await start('Right side', [right, another])
    await tick(hub)
    assert.deepEqual(await startedOf([right, another]), [another])
    assert.equal(
      await reasonOf(second.id, right),
      'Waits until a redundant device in the campaign Left side is updated',
    )
    await finish(plant, [first.id, second.id], [[left, right]])
  })

  test('apply a redundancy that only the campaign of the other device knows', async () => {
    const plant = await plantOf(2)
    const [early = '', late = ''] = plant.assetIds
    const first = await start('Early', [early], { window: closedWindow() })
    await createRelations(admin, [[late, 'is_redundant_with', early]])
    const second = await start('Late', [late])
    await until(
      hub,
      () => startedOf([late]),
      (started) => started.length === 1,
    )
    await openWindowOf(first.id)
    await tick(hub)
    assert.equal(await reasonOf(first.id, early), 'Waits until a redundant device in the campaign Late is updated')
    await finish(plant, [first.id, second.id], [[early, late]])
  })

  test('update one device of a ring at a time', async () => {
    const plant = await plantOf(3)
    const [one = '', two = '', three = ''] = plant.assetIds
    await createRelations(admin, [
      [one, 'is_connected_to', two],
      [two, 'is_connected_to', three],
      [three, 'is_connected_to', one],
    ])
    const first = await start('Ring A', [three])
    await until(
      hub,
      () => startedOf([three]),
      (started) => started.length === 1,
    )
    const second = await start('Ring B', [one, two])
    await tick(hub)
    for (const assetId of [one, two])
      assert.equal(
        await reasonOf(second.id, assetId),
        'Waits until another device of the same connected group in the campaign Ring A is updated',
      )
    await finish(plant, [first.id, second.id], [[one, two, three]])
  })

  test('do not activate a prepared device while a device that excludes it is activated', async () => {
    const plant = await plantOf(2)
    const [one = '', two = ''] = plant.assetIds
    const first = await start('One', [one])
    const second = await start('Two', [two])
    await tick(hub)
    const held = [await leaseUpdate(plant.gateway), await leaseUpdate(plant.gateway)]
    const ofOne = held.find((each) => each?.assetId === one)
    const ofTwo = held.find((each) => each?.assetId === two)
    assert.ok(ofOne !== undefined && ofTwo !== undefined)
    // Both devices started before the platform knew that they are redundant.
    await hub.asOwner((owner) =>
      owner.query('update update_devices set not_with_assets = $2 where campaign_id = $1', [
        second.id,
        JSON.stringify([one]),
      ]),
    )
    await advance(plant.gateway, ofOne, 'PREPARED')
    await tick(hub)
    const activating = await leaseUpdate(plant.gateway)
    assert.deepEqual([activating?.assetId, activating?.state], [one, 'ACTIVATE'])
    assert.ok(activating !== undefined)
    await advance(plant.gateway, ofTwo, 'PREPARED')
    await tick(hub)
    assert.equal(await leaseUpdate(plant.gateway), undefined)
    assert.equal(await reasonOf(second.id, two), 'Waits until a redundant device in the campaign One is updated')
    await workOn(plant.gateway, activating)
    await finish(plant, [first.id, second.id], [])
  })

  test('keep the rule when two processes continue two campaigns at the same time', async () => {
    await using split = await testHub({ arrangement: 'split' })
    await using sibling = await split.sibling({ arrangement: 'split' })
    const pairs = 6
    const user = await split.as('administrator')
    const artefact = await createArtefact(split, user)
    const plant = await updatePlant(split, user, { devices: 2 * pairs, first: 1_000 })
    const sets = Array.from({ length: pairs }, (_, index) => plant.assetIds.slice(2 * index, 2 * index + 2))
    await createRelations(
      user,
      sets.map(([one = '', other = '']): Edge => [one, 'is_redundant_with', other]),
    )
    const halves = [0, 1].map((side) => sets.map((set) => set[side] ?? ''))
    const campaigns: string[] = []
    for (const assetIds of halves) {
      const options = { artefactId: artefact, assetIds, window: closedWindow(), concurrentDevices: 20 }
      campaigns.push((await startCampaign(user, options)).id)
    }
    await tick(split)
    const startedNow = async () => {
      const { rows } = await split.asOwner((owner) =>
        owner.query<{ id: string }>(
          'select asset_id as id from update_devices where tenant_id = $1 and is_started order by id',
          [split.tenant.tenantId],
        ),
      )
      return new Set(rows.map(({ id }) => id))
    }
    await split.asOwner((owner) =>
      owner.query('update update_campaigns set maintenance_window = null where tenant_id = $1', [
        split.tenant.tenantId,
      ]),
    )
    const { signal } = new AbortController()
    const { tenantId } = split.tenant
    const advanceBoth = () =>
      Promise.all(
        [split, sibling].map((process, index) =>
          advanceCampaign(process.contextOf('updates'), { tenantId, id: campaigns[index] ?? '', signal }),
        ),
      )
    const deadline = performance.now() + 120_000
    for (let round = 0; ; round++) {
      await advanceBoth()
      const started = await startedNow()
      for (const set of sets) assert.ok(set.filter((id) => started.has(id)).length <= 1, 'both devices of a pair')
      if (round === 0) assert.equal(started.size, pairs, 'one device of each pair starts')
      for (let held = await leaseUpdate(plant.gateway); held !== undefined; held = await leaseUpdate(plant.gateway))
        await workOn(plant.gateway, held)
      const states = await Promise.all(campaigns.map(async (id) => (await readCampaign(user, id)).state))
      if (states.every((state) => state === 'finished')) break
      assert.ok(performance.now() < deadline, `the campaigns do not end: ${states.join(', ')}`)
    }
    for (const id of campaigns) assert.equal((await readCampaign(user, id)).counts.succeeded, pairs)
  })

  test('start one device of a pair when two processes start both at the same moment', async () => {
    await using sibling = await hub.sibling()
    const plant = await plantOf(2)
    const [left = '', right = ''] = plant.assetIds
    await createRelations(admin, [[left, 'is_redundant_with', right]])
    const window = closedWindow()
    const ids = [(await start('Left', [left], { window })).id, (await start('Right', [right], { window })).id]
    await tick(hub)
    await openWindowOf(...ids)
    const { tenantId } = hub.tenant
    const isOtherWaiting = async () => {
      const { rows } = await hub.asOwner((owner) =>
        owner.query(
          `select from pg_locks where locktype = 'advisory' and not granted
             and ((classid::bigint << 32) | objid::bigint) = hashtextextended($1::text, 7273)`,
          [tenantId],
        ),
      )
      return rows.length > 0
    }
    // The first start ends only when the second one waits for its lock, or has passed its check too.
    let passed = 0
    const beforeEnd = async () => {
      passed += 1
      const deadline = performance.now() + 120_000
      while (passed < 2 && !(await isOtherWaiting())) {
        assert.ok(performance.now() < deadline, 'the second process does not start its device')
        await delay(10)
      }
    }
    const { signal } = new AbortController()
    await Promise.all(
      [hub, sibling].map((process, index) =>
        advanceCampaign(pausingContext(process.contextOf('updates'), beforeEnd), {
          tenantId,
          id: ids[index] ?? '',
          signal,
        }),
      ),
    )
    assert.equal((await startedOf([left, right])).length, 1)
    const reasons = [await reasonOf(ids[0] ?? '', left), await reasonOf(ids[1] ?? '', right)]
    assert.equal(reasons.filter((reason) => /^Waits until a redundant device in/.test(reason ?? '')).length, 1)
    await finish(plant, ids, [[left, right]])
  })

  test('show why a device waits for its order or a free place, and keep the progress of failed devices', async () => {
    const plant = await plantOf(3)
    const [plc = '', upstream = '', alone = ''] = plant.assetIds
    await createRelations(admin, [[plc, 'is_connected_to', upstream]])
    const { id } = await start('Reasons', plant.assetIds, { concurrentDevices: 1 })
    await tick(hub)
    const held = await leaseUpdate(plant.gateway)
    assert.ok(held !== undefined)
    const waiting = held.assetId === plc ? alone : plc
    assert.match((await reasonOf(id, waiting)) ?? '', /limits the number of devices/)
    assert.match((await reasonOf(id, upstream)) ?? '', /devices downstream/)
    await plant.gateway.gatekeeper.renewLease({
      params: { id: held.lease },
      body: { data: { jobId: held.jobId, progress: 40, phase: 'transferring' } },
    })
    await advance(plant.gateway, held, 'FAILED', { message: 'Rejected' })
    const failed = (await listDevices(admin, id)).find(({ assetId }) => assetId === held.assetId)
    assert.deepEqual([failed?.state, failed?.progress, failed?.reason], ['failed', 40, 'Rejected'])
    await admin.updates.cancelCampaign({ params: { id } })
  })
})
