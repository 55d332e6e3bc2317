import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { inboxLimits } from '@millwright/api/inbox.ts'
import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { Database, type Transaction } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { decisionTask } from './decision-run.ts'
import { countRunning, endDecision, insertDecision, settleItems, setUndoneBy } from './decision-store.ts'
import { decide, endOfDecision, newDevice, placeOf, type ScannedPlant, scan, scannedPlant } from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('the inbox', () => {
  let hub: TestHub
  let admin: TestCaller
  let plant: ScannedPlant
  let group: string
  let nodeId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    plant = await scannedPlant(hub, admin)
    group = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-3' } } })).data.id
    const { data: tree } = await admin.hierarchy.createHierarchy({ body: { data: { name: 'Plant' } } })
    nodeId = (await admin.hierarchy.createNode({ params: { id: tree.id }, body: { data: { name: 'Line 1' } } })).data.id
  })
  after(() => hub[Symbol.asyncDispose]())

  const pathsOf = async (id: string) =>
    (await admin.hierarchy.listAssetPaths({ params: { id } })).data.map(({ path }) => path.map(({ name }) => name))
  const listed = async (filter: string, q?: string) => {
    const query = { filter, limit: 100, ...(q === undefined ? {} : { q }) }
    const { data } = await admin.inventory.listAssets({ query })
    return data.map(({ name }) => name).toSorted()
  }

  test('facets count new assets by scan, subnet, manufacturer and confidence, each with the other conditions', async () => {
    const maker = (name: string) => ({
      product_instance_information: { manufacturer_product: { manufacturer: { name } } },
    })
    const first = await scan(plant, [
      newDevice(1, '10.1.1.1', { name: 'plc-1', ...maker('Siemens') }),
      newDevice(2, '10.1.1.2', { name: 'plc-2', ...maker('Siemens') }),
      newDevice(3, '10.1.2.1', { name: 'drive-1', ...maker("L'Usine") }),
    ])
    const second = await scan(plant, [
      newDevice(4, '10.1.2.2', {
        name: 'slot-4',
        asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'rack', value: '4' }],
      }),
    ])

    const { data: all } = await admin.inbox.readInboxFacets({ query: {} })
    assert.deepEqual(
      all.scan.map(({ value, count }) => [value, count]),
      [
        [second.runId, 1],
        [first.runId, 3],
      ],
      'gateways and links are not in the inbox, and the newest scan is first',
    )
    assert.equal(all.scan[0]?.scan?.gatewayName, 'line 1')
    const { startedTimestamp = '', createdTimestamp = '' } = all.scan[0]?.scan ?? {}
    assert.ok(startedTimestamp >= createdTimestamp, 'the scan has the start of its run')
    assert.deepEqual(
      all.subnet.map(({ value, count }) => [value, count]),
      [
        ['10.1.1.0/24', 2],
        ['10.1.2.0/24', 2],
      ],
    )
    assert.deepEqual(
      all.confidence.map(({ value, count }) => [value, count]),
      [
        ['high', 3],
        ['medium', 1],
      ],
    )
    const { data: some } = await admin.inbox.readInboxFacets({ query: { manufacturer: 'Siemens' } })
    assert.deepEqual(
      some.subnet.map(({ value, count }) => [value, count]),
      [['10.1.1.0/24', 2]],
    )
    assert.equal(some.manufacturer.length, 3, 'the own condition of a facet does not narrow it')
    const { data: found } = await admin.inbox.readInboxFacets({ query: { q: 'drive' } })
    assert.deepEqual(
      found.scan.map(({ count }) => count),
      [1],
    )

    assert.deepEqual(await listed(inboxFilter({ scan: first.runId, subnet: '10.1.2.0/24' })), ['drive-1'])
    assert.deepEqual(await listed(inboxFilter({ manufacturer: "L'Usine" })), ['drive-1'])
    assert.deepEqual(await listed(inboxFilter({ manufacturer: '' })), ['slot-4'])
    assert.deepEqual(await listed(inboxFilter({ confidence: 'medium' })), ['slot-4'])
    assert.deepEqual(await listed(inboxFilter({ subnet: '' })), [])

    const imported = { assets: [newDevice(5, '10.1.2.9', { name: 'imported-5' })] }
    await admin.inventory.createAssets({ headers: { prefer: 'wait=20' }, body: { data: imported } })
    const { data: withImport } = await admin.inbox.readInboxFacets({ query: {} })
    assert.deepEqual(
      withImport.scan.map(({ value, count }) => [value, count]),
      [
        [second.runId, 1],
        [first.runId, 3],
        [null, 1],
      ],
    )
    const { data: ofImport } = await admin.inbox.readInboxFacets({ query: { scan: '' } })
    assert.deepEqual(
      ofImport.subnet.map(({ value, count }) => [value, count]),
      [['10.1.2.0/24', 1]],
    )
    assert.deepEqual(await listed(inboxFilter({ scan: '' })), ['imported-5'])
  })

  test('an asset shows the scan that found it, its identifiers and the nearest possible duplicate', async () => {
    const known = await scan(plant, [newDevice(20, '10.2.0.9', { name: 'press' })])
    const again = await scan(plant, [
      newDevice(21, '10.2.0.9', { name: 'press', product_instance_information: { serial_number: 'SN20' } }),
    ])
    const id = again.ids.get('press') ?? ''
    const { data } = await admin.inbox.readInboxAsset({ params: { id } })
    assert.equal(data.scan?.jobId, again.jobId)
    assert.equal(data.gateway?.id, plant.gateway.id)
    assert.ok(data.assetLink?.name)
    assert.equal(data.confidence, 'high')
    assert.deepEqual(
      data.identifiers.map(({ identifier }) => identifier.asset_identifier_type),
      ['MacIdentifier'],
    )
    assert.equal(data.possibleDuplicate?.id, known.ids.get('press'))
    assert.deepEqual(
      data.possibleDuplicate?.reasons.map(({ kind }) => kind),
      ['serial_number', 'name', 'ipv4'],
    )
  })

  test('a decision onboards assets into an access group and a node, and an undo returns them', async () => {
    const { ids } = await scan(plant, [
      newDevice(30, '10.3.0.1', { name: 'a' }),
      newDevice(31, '10.3.0.2', { name: 'b' }),
    ])
    const assetIds = [...ids.values()]
    const decision = await decide(admin, { action: 'onboard', assetIds, accessGroupId: group, nodeId })
    assert.deepEqual([decision.state, decision.changed, decision.failed, decision.canUndo], ['finished', 2, 0, true])
    const firstNames = async (caller: TestCaller) => {
      const { data } = await caller.inbox.listDecisions({ query: { limit: 1 } })
      return data.map(({ assets }) => assets.map(({ name }) => name))
    }
    assert.deepEqual(await firstNames(admin), [['a', 'b']])
    const totalOf = async (query: { action?: 'onboard' | 'undo' }) => {
      const { data, meta } = await admin.inbox.listDecisions({ query })
      return { total: meta.totalElements ?? 0, actions: new Set(data.map(({ action }) => action)) }
    }
    assert.deepEqual((await totalOf({ action: 'onboard' })).actions, new Set(['onboard']))
    assert.ok((await totalOf({ action: 'undo' })).total < (await totalOf({})).total)
    const target = { assets: 2, accessGroup: 'hall-3', nodePath: ['Line 1'] }
    assert.deepEqual(decision.targets, [target])
    const { data: results } = await admin.inbox.listDecisionResults({ params: { id: decision.id }, query: {} })
    assert.deepEqual(
      results.map(({ name, outcome }) => [name, outcome]),
      [
        ['a', 'changed'],
        ['b', 'changed'],
      ],
    )
    for (const id of assetIds) {
      assert.deepEqual(await placeOf(admin, id), { state: 'regarded', group: 'hall-3' })
      assert.deepEqual(await pathsOf(id), [['Line 1']])
    }
    const viewer = await hub.as('viewer', { accessGroupId: group })
    const origin = async (caller: TestCaller) =>
      (await caller.inbox.readInboxAsset({ params: { id: assetIds[0] ?? '' } })).data
    assert.ok((await origin(admin)).source)
    assert.equal((await origin(viewer)).source, undefined, 'the viewer cannot read the first group')
    const { data: undo } = await admin.inbox.undoDecision({ params: { id: decision.id } })
    const undone = await endOfDecision(admin, undo.id)
    assert.deepEqual([undone.state, undone.changed, undone.targets], ['finished', 2, []])
    await hub.settle()
    for (const id of assetIds) {
      assert.deepEqual(await placeOf(admin, id), { state: 'unknown', group: 'default' })
      assert.deepEqual(await pathsOf(id), [])
    }
    await assert.rejects(admin.inbox.undoDecision({ params: { id: decision.id } }), code('conflict'))
    await assert.rejects(admin.inbox.undoDecision({ params: { id: undo.id } }), code('conflict'))
  })

  test('a stored decision is accepted if the names of its assets cannot be read', async (t) => {
    const { ids } = await scan(plant, [newDevice(35, '10.3.1.1', { name: 'c' })])
    const context = hub.contextOf('inbox')
    const { peers } = context
    let refused = 0
    const named = t.mock.method(context, 'peers', ((...args: Parameters<typeof peers>) => {
      const clients = peers.apply(context, args) as Record<string, unknown>
      const selectDevices = () => {
        refused++
        throw new Error('the inventory does not respond')
      }
      return new Proxy(clients, { get: (of, name: string) => (name === 'selectDevices' ? selectDevices : of[name]) })
    }) as typeof peers)
    const body = { data: { action: 'onboard' as const, assetIds: [...ids.values()] } }
    const { data: accepted } = await admin.inbox.createDecision({ body })
    named.mock.restore()
    assert.deepEqual([accepted.assets, refused], [[], 1])
    const decision = await endOfDecision(admin, accepted.id)
    assert.deepEqual([decision.changed, decision.assets.map(({ name }) => name)], [1, ['c']])
  })

  test('a decision changes only assets that still wait for it, and an undo leaves later changes', async () => {
    const { ids } = await scan(plant, [
      newDevice(40, '10.4.0.1', { name: 'a' }),
      newDevice(41, '10.4.0.2', { name: 'b' }),
    ])
    const [a = '', b = ''] = [ids.get('a'), ids.get('b')]
    await decide(admin, { action: 'onboard', assetIds: [a] })
    const ignored = await decide(admin, { action: 'ignore', assetIds: [a, b, plant.gateway.id] })
    assert.deepEqual([ignored.changed, ignored.failed], [1, 2])
    const { data: refused } = await admin.inbox.listDecisionResults({
      params: { id: ignored.id },
      query: { outcome: 'failed' },
    })
    assert.deepEqual(
      refused.map((item) => [item.assetId, item.code]),
      [
        [a, 'conflict'],
        [plant.gateway.id, 'conflict'],
      ],
    )
    await decide(admin, { action: 'return', assetIds: [b] })
    const { data: undo } = await admin.inbox.undoDecision({ params: { id: ignored.id } })
    assert.deepEqual((await endOfDecision(admin, undo.id)).failed, 1)
    assert.equal((await placeOf(admin, b)).state, 'unknown')
    assert.equal((await placeOf(admin, a)).state, 'regarded')
  })

  /** Stores a decision about an asset, as a request does before its task runs. */
  async function store(
    { principalId }: TestCaller,
    { assetId, action, undoes }: { assetId: string; action: 'onboard' | 'undo'; undoes: string | null },
    work: (tx: Transaction, id: string) => Promise<void> = async () => {},
  ): Promise<string> {
    const id = newId()
    const now = new Date().toISOString()
    const principal = { principalId, principalKind: 'user', principalName: 'former' } as const
    const [from = '', to = ''] = action === 'undo' ? ['regarded', 'unknown'] : ['unknown', 'regarded']
    const target = { state: to, expectedGroupId: null, accessGroupId: null, nodeId: null }
    const decision = { ...principal, id, action, undoes, ruleId: null, runId: null, undoUntil: now, createdAt: now }
    await hub.contextOf('inbox').database.transaction(hub.tenant, async (tx) => {
      await insertDecision(tx, { ...decision, roles: { roles: [] } }, [{ assetId, expectedStates: [from], ...target }])
      await work(tx, id)
    })
    return id
  }

  test('results that two processes store at the same time count once', async () => {
    const now = new Date().toISOString()
    const result = {
      ordinal: 1,
      outcome: 'changed',
      previousState: 'unknown',
      previousGroupId: null,
      code: null,
      detail: null,
    } as const
    const settled = { results: [result], notAssigned: 1, assignments: [], now }
    const input = { action: 'onboard', undoes: null, assetId: plant.gateway.id } as const
    const id = await store(admin, input, async (tx, decisionId) => {
      await settleItems(tx, { id: decisionId, ...settled })
      await settleItems(tx, { id: decisionId, ...settled })
      await endDecision(tx, decisionId, { state: 'finished', problem: null, now })
    })
    const { data } = await admin.inbox.readDecision({ params: { id }, query: {} })
    assert.deepEqual([data.total, data.changed, data.notAssigned], [1, 1, 1])
  })

  test('two concurrent requests do not exceed the number of running decisions', async () => {
    const { ids } = await scan(plant, [newDevice(61, '10.6.0.2', { name: 'b' })])
    const assetIds = [...ids.values()]
    const running: string[] = []
    const input = { action: 'onboard', undoes: null, assetId: plant.gateway.id } as const
    for (let count = 1; count < inboxLimits.unfinishedDecisions; count++) running.push(await store(admin, input))
    let concurrent: Promise<string> | undefined
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted limit 1`
    running.push(
      await store(admin, input, async (tx) => {
        await countRunning(tx)
        let hasEnded = false
        concurrent = admin.inbox
          .createDecision({ body: { data: { action: 'onboard', assetIds } } })
          .then(
            () => 'accepted',
            (problem: { code: string }) => problem.code,
          )
          .finally(() => {
            hasEnded = true
          })
        for (const deadline = Date.now() + 30_000; Date.now() < deadline && !hasEnded; await setTimeout(10))
          if ((await hub.asOwner((owner) => owner.query(waiting))).rowCount === 1) break
      }),
    )
    assert.equal(await concurrent, 'conflict')
    const ending = { state: 'finished', problem: null, now: new Date().toISOString() } as const
    await hub.contextOf('inbox').database.transaction(hub.tenant, async (tx) => {
      for (const id of running) await endDecision(tx, id, ending)
    })
    assert.equal((await decide(admin, { action: 'onboard', assetIds })).changed, 1)
  })

  test('the facets of the inbox are counted one after the other, so that a request uses one connection', async (t) => {
    await hub.settle()
    const most: number[] = []
    for (let attempt = 0; attempt < 3; attempt++) {
      let [reading, highest] = [0, 0]
      const read = Database.prototype.read
      const counted = t.mock.method(Database.prototype, 'read', async function (this: Database, ...input: never[]) {
        highest = Math.max(highest, ++reading)
        return Reflect.apply(read, this, input).finally(() => reading--)
      } as typeof read)
      await admin.inbox.readInboxFacets({ query: {} })
      counted.mock.restore()
      most.push(highest)
    }
    assert.equal(Math.min(...most), 1)
  })

  test('an undo that failed can be repeated', async () => {
    const { ids } = await scan(plant, [newDevice(60, '10.6.0.1', { name: 'a' })])
    const [assetId = ''] = ids.values()
    const decision = await decide(admin, { action: 'onboard', assetIds: [assetId] })
    const former = await hub.as('operator')
    await admin.identity.updateUser({ params: { id: former.principalId }, body: { data: { disabled: true } } })
    // The user was disabled after the request and before the task.
    const undoId = await store(former, { action: 'undo', undoes: decision.id, assetId }, async (tx, id) => {
      await setUndoneBy(tx, decision.id, id)
      await hub.contextOf('inbox').tasks.enqueue(tx, { kind: decisionTask, key: id })
    })
    assert.equal((await endOfDecision(admin, undoId)).state, 'failed')
    assert.equal((await placeOf(admin, assetId)).state, 'regarded')
    const { data: again } = await admin.inbox.undoDecision({ params: { id: decision.id } })
    assert.equal((await endOfDecision(admin, again.id)).changed, 1)
    assert.equal((await placeOf(admin, assetId)).state, 'unknown')
  })

  test('refuses targets that the caller cannot use, and shows a decision only to its author', async () => {
    const { ids } = await scan(plant, [newDevice(50, '10.5.0.1', { name: 'a' })])
    const assetIds = [...ids.values()]
    const operator = await hub.as('operator', { accessGroupId: group })
    const own = { action: 'onboard' as const, assetIds }
    const missing = '0198f0c2-7b1e-7c3a-9d55-0242ac120002'
    await assert.rejects(decide(admin, { ...own, accessGroupId: missing }), code('access_group_not_found'))
    await assert.rejects(decide(admin, { ...own, nodeId: missing }), code('node_not_found'))
    await assert.rejects(decide(operator, { ...own, nodeId }), code('forbidden'))
    await assert.rejects(decide(admin, { action: 'ignore', assetIds, nodeId }), code('invalid_body'))
    await assert.rejects(decide(admin, { action: 'onboard' }), code('invalid_body'))
    const decision = await decide(operator, own)
    assert.deepEqual(
      [decision.changed, decision.failed],
      [0, 1],
      'the asset is in a group that the operator cannot read',
    )
    assert.equal((await placeOf(admin, assetIds[0] ?? '')).state, 'unknown')
    const byAdmin = await decide(admin, own)
    await assert.rejects(operator.inbox.readDecision({ params: { id: byAdmin.id }, query: {} }), code('not_found'))
    assert.deepEqual(
      (await operator.inbox.listDecisions({ query: {} })).data.map(({ id }) => id),
      [decision.id],
    )
  })
})
