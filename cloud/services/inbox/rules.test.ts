import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inboxLimits } from '@millwright/api/inbox.ts'
import { Database } from '../../platform/database/database.ts'
import { newId } from '../../platform/database/id.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  createRule,
  decide,
  endOfDecision,
  newDevice,
  placeOf,
  ruleRun,
  type ScannedPlant,
  scan,
  scannedPlant,
} from './testing.ts'

const code = (expected: string) => (problem: { code: string }) => problem.code === expected

describe('onboarding rules', () => {
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

  const remove = (id: string) => admin.inbox.deleteOnboardingRule({ params: { id } })
  const read = async (id: string) => (await admin.inbox.readOnboardingRule({ params: { id } })).data

  test('the first rule that matches proposes a target, and the proposals of a rule are accepted together', async () => {
    const { ids } = await scan(plant, [
      newDevice(1, '10.1.1.1', { name: 'plc-1' }),
      newDevice(2, '10.1.1.2', { name: 'drive-1' }),
      newDevice(3, '10.1.9.1', { name: 'plc-2' }),
    ])
    const plcs = await createRule(admin, {
      name: 'Controllers',
      gatewayId: plant.gateway.id,
      ranges: ['10.1.1.1-10.1.1.20'],
      filter: "startswith(name, 'plc-')",
      accessGroupId: group,
      nodeId,
    })
    const range = await createRule(admin, { name: 'Hall 1', ranges: ['10.1.1.0/24'] })
    const { data: proposed } = await admin.inbox.proposeTargets({ body: { data: { assetIds: [...ids.values()] } } })
    assert.deepEqual(
      proposed.map(({ assetId, ruleName, accessGroup, nodePath }) => [assetId, ruleName, accessGroup, nodePath]),
      [
        [ids.get('plc-1'), 'Controllers', 'hall-3', ['Line 1']],
        [ids.get('drive-1'), 'Hall 1', undefined, undefined],
      ],
    )
    const { data: counted } = await admin.inbox.countProposals({})
    assert.deepEqual(
      counted.rules.map(({ ruleName, assets }) => [ruleName, assets]),
      [
        ['Controllers', 1],
        ['Hall 1', 1],
      ],
    )
    const { data: assets, meta } = await admin.inbox.listProposedAssets({ params: { id: range }, query: {} })
    assert.deepEqual([assets, meta.totalElements], [[{ id: ids.get('drive-1'), name: 'drive-1' }], 1])
    const shown = await admin.inbox.readInboxAsset({ params: { id: ids.get('plc-1') ?? '' } })
    assert.equal(shown.data.proposal?.ruleId, plcs)

    const accepted = await decide(admin, { action: 'onboard', ruleId: plcs })
    assert.deepEqual([accepted.changed, accepted.ruleId], [1, plcs])
    const { data: used } = await admin.inbox.readOnboardingRule({ params: { id: plcs } })
    assert.deepEqual([used.onboarded, used.lastDecisionTimestamp], [1, accepted.createdTimestamp])
    assert.equal((await admin.inbox.readOnboardingRule({ params: { id: range } })).data.onboarded, 0)
    assert.deepEqual(await placeOf(admin, ids.get('plc-1') ?? ''), { state: 'regarded', group: 'hall-3' })
    await assert.rejects(decide(admin, { action: 'onboard', ruleId: plcs }), code('conflict'))
    const rest = await decide(admin, {
      action: 'onboard',
      assetIds: [ids.get('drive-1') ?? '', ids.get('plc-2') ?? ''],
      accessGroupId: group,
      useProposals: true,
    })
    assert.equal(rest.changed, 2)
    assert.equal((await placeOf(admin, ids.get('drive-1') ?? '')).group, 'default', 'the rule proposes no group')
    assert.equal((await placeOf(admin, ids.get('plc-2') ?? '')).group, 'hall-3')
    await remove(plcs)
    await remove(range)
  })

  test('the number of database reads for proposals does not depend on the number of rules', async (t) => {
    const assetIds = [newId()]
    const rules: string[] = []
    const readsOf = async () => {
      await hub.settle()
      const counted = t.mock.method(Database.prototype, 'read')
      await admin.inbox.proposeTargets({ body: { data: { assetIds } } })
      counted.mock.restore()
      return counted.mock.callCount()
    }
    const create = async () => rules.push(await createRule(admin, { name: `R${rules.length}`, filter: "name eq 'x'" }))
    await create()
    const reads = await readsOf()
    while (rules.length < 20) await create()
    const readsWithMany = await readsOf()
    for (const rule of rules) await remove(rule)
    assert.ok(readsWithMany < reads + 10, `${reads} reads with one rule, ${readsWithMany} with 20 rules`)
  })

  test('a preview counts matching assets, and a rule needs a condition and a valid target', async () => {
    await scan(plant, [newDevice(10, '10.2.0.1', { name: 'p1' }), newDevice(11, '10.2.0.2', { name: 'p2' })])
    const { data } = await admin.inbox.previewOnboardingRule({ body: { data: { ranges: ['10.2.0.0/24'] } } })
    assert.deepEqual([data.matched, data.assets.length, data.isComplete, data.problem], [2, 2, true, undefined])
    const operator = await hub.as('operator', { accessGroupId: group })
    const limited = await operator.inbox.previewOnboardingRule({ body: { data: { ranges: ['10.2.0.0/24'], nodeId } } })
    assert.equal(limited.data.matched, 0, 'the assets are in a group that the operator cannot read')
    assert.match(limited.data.problem ?? '', /glb_hierarchy/)
    await assert.rejects(createRule(admin, { name: 'All' }), code('invalid_body'))
    await assert.rejects(createRule(admin, { name: 'Range', ranges: ['10.2'] }), code('invalid_range'))
    await assert.rejects(createRule(admin, { name: 'Filter', filter: 'nonsense' }), code('invalid_filter'))
    await assert.rejects(
      createRule(admin, { name: 'Gateway', gatewayId: group, ranges: ['10.0.0.0/8'] }),
      code('asset_not_found'),
    )
    await assert.rejects(
      createRule(operator, { name: 'Hidden gateway', gatewayId: plant.gateway.id }),
      code('asset_not_found'),
    )
  })

  test('an automatic rule onboards new assets of a scan up to its cap, with a log and an undo', async () => {
    const rule = await createRule(admin, {
      name: 'Automatic',
      ranges: ['10.3.0.0/16'],
      accessGroupId: group,
      nodeId,
      mode: 'automatic',
      cap: 2,
    })
    const { ids, runId, jobId } = await scan(
      plant,
      [30, 31, 32].map((index) => newDevice(index, `10.3.0.${index}`, { name: `m${index}` })),
    )
    const log = await ruleRun(admin, rule, runId)
    assert.deepEqual([log.matched, log.taken, log.jobId], [3, 2, jobId])
    const decision = await endOfDecision(admin, log.decisionId ?? '')
    assert.deepEqual([decision.changed, decision.runId, decision.ruleId], [2, runId, rule])
    const use = async () => {
      const { onboarded, lastRunTimestamp } = (await admin.inbox.readOnboardingRule({ params: { id: rule } })).data
      return [onboarded, lastRunTimestamp]
    }
    assert.deepEqual(await use(), [2, log.createdTimestamp])
    const places = await Promise.all([...ids.values()].map((id) => placeOf(admin, id)))
    assert.equal(places.filter(({ state, group }) => state === 'regarded' && group === 'hall-3').length, 2)
    assert.equal(places.filter(({ state, group }) => state === 'unknown' && group === 'default').length, 1)

    const { data: undo } = await admin.inbox.undoDecision({ params: { id: decision.id } })
    assert.equal((await endOfDecision(admin, undo.id)).changed, 2)
    for (const id of ids.values()) assert.deepEqual(await placeOf(admin, id), { state: 'unknown', group: 'default' })
    assert.deepEqual(await use(), [0, log.createdTimestamp], 'undone decisions do not count')
    await remove(rule)
  })

  test('an automatic rule never changes assets that an earlier scan found, or that a person decided about', async () => {
    const device = newDevice(40, '10.4.0.1', { name: 'known' })
    const { ids } = await scan(plant, [device])
    const known = ids.get('known') ?? ''
    const rule = await createRule(admin, {
      name: 'Automatic',
      ranges: ['10.4.0.0/16'],
      accessGroupId: group,
      mode: 'automatic',
    })
    const { runId } = await scan(plant, [device, newDevice(41, '10.4.0.2', { name: 'fresh' })])
    const log = await ruleRun(admin, rule, runId)
    assert.deepEqual([log.matched, log.taken], [1, 1])
    await endOfDecision(admin, log.decisionId ?? '')
    assert.deepEqual(await placeOf(admin, known), { state: 'unknown', group: 'default' })
    await remove(rule)
  })

  test('a rule that proposes keeps its assets from automatic rules after it', async () => {
    const proposing = await createRule(admin, { name: 'Propose', filter: "name eq 'keep'" })
    const automatic = await createRule(admin, { name: 'Automatic', ranges: ['10.5.0.0/16'], mode: 'automatic' })
    const { ids, runId } = await scan(plant, [
      newDevice(50, '10.5.0.1', { name: 'keep' }),
      newDevice(51, '10.5.0.2', { name: 'take' }),
    ])
    const log = await ruleRun(admin, automatic, runId)
    await endOfDecision(admin, log.decisionId ?? '')
    assert.equal((await placeOf(admin, ids.get('keep') ?? '')).state, 'unknown')
    assert.equal((await placeOf(admin, ids.get('take') ?? '')).state, 'regarded')
    await remove(proposing)
    await remove(automatic)
  })

  test('a rule pauses when its author loses the rights and shows why, and a caller that resumes it becomes the author', async () => {
    const author = await hub.as('operator')
    const rule = await createRule(author, {
      name: 'Automatic',
      ranges: ['10.6.0.0/16'],
      accessGroupId: group,
      mode: 'automatic',
    })
    await admin.identity.updateUser({ params: { id: author.principalId }, body: { data: { disabled: true } } })
    const { ids, runId } = await scan(plant, [newDevice(60, '10.6.0.1', { name: 'waits' })])
    const log = await ruleRun(admin, rule, runId)
    assert.equal(log.taken, 0)
    assert.match(log.problem ?? '', /was disabled or deleted/)
    const paused = await read(rule)
    assert.equal(paused.paused, true)
    assert.match(paused.pauseReason ?? '', /was disabled or deleted/)
    assert.equal((await placeOf(admin, ids.get('waits') ?? '')).state, 'unknown')

    const { data: resumed } = await admin.inbox.updateOnboardingRule({
      params: { id: rule },
      body: { data: { paused: false } },
    })
    assert.deepEqual([resumed.paused, resumed.pauseReason, resumed.author === paused.author], [false, undefined, false])
    await remove(rule)
  })

  test('a rule pauses when its author can no longer write the access group', async () => {
    const author = await hub.as('operator', { accessGroupId: group })
    const other = (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-4' } } })).data.id
    const grant = await admin.authorization.createGrant({
      body: { data: { principal: author.principalId, role: 'operator', accessGroup: other } },
    })
    const rule = await createRule(author, {
      name: 'Automatic',
      ranges: ['10.7.0.0/16'],
      accessGroupId: other,
      mode: 'automatic',
    })
    await admin.authorization.deleteGrant({ params: { id: grant.data.id } })
    const { runId } = await scan(plant, [newDevice(70, '10.7.0.1', { name: 'stays' })])
    const log = await ruleRun(admin, rule, runId)
    assert.match(log.problem ?? '', /cannot onboard assets into the target/)
    await remove(rule)
  })

  test('a rule without a target pauses when its author can no longer write assets', async () => {
    const author = await hub.as('operator', { accessGroupId: group })
    const rule = await createRule(author, { name: 'Automatic', ranges: ['10.9.0.0/16'], mode: 'automatic' })
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: author.principalId } })
    for (const { id } of grants) await admin.authorization.deleteGrant({ params: { id } })
    const { runId } = await scan(plant, [newDevice(90, '10.9.0.1', { name: 'left' })])
    const log = await ruleRun(admin, rule, runId)
    assert.match(log.problem ?? '', /can no longer onboard assets/)
    assert.equal((await read(rule)).paused, true)
    await remove(rule)
  })

  test('a caller moves a rule of another author only past rules that it can manage', async () => {
    const paint = (await admin.authorization.createAccessGroup({ body: { data: { name: 'paint' } } })).data.id
    const first = await createRule(admin, { name: 'Paint', ranges: ['10.10.1.0/24'], accessGroupId: paint })
    const wide = await createRule(admin, {
      name: 'Wide',
      ranges: ['10.10.0.0/16'],
      accessGroupId: group,
      mode: 'automatic',
    })
    const third = await createRule(admin, { name: 'Hall', ranges: ['10.10.2.0/24'], accessGroupId: group })
    const operator = await hub.as('operator', { accessGroupId: group })
    const move = (by: TestCaller, id: string, position: number) =>
      by.inbox.updateOnboardingRule({ params: { id }, body: { data: { position } } })
    // With the rights of its author, the rule would onboard assets of the paint shop into the group of the operator.
    await assert.rejects(move(operator, wide, 1), code('forbidden'))
    assert.equal((await move(operator, third, 2)).data.position, 2)
    assert.equal((await move(admin, wide, 1)).data.position, 1)
    const { data: paused } = await operator.inbox.updateOnboardingRule({
      params: { id: wide },
      body: { data: { paused: true } },
    })
    const { author } = await read(first)
    assert.deepEqual([paused.paused, paused.mode, paused.author], [true, 'automatic', author])
    for (const rule of [first, wide, third]) await remove(rule)
  })

  test('events about rules and decisions show other callers nothing that they cannot read', async () => {
    const secret = (await admin.authorization.createAccessGroup({ body: { data: { name: 'secret' } } })).data.id
    const hidden = await createRule(admin, { name: 'Secret rule', ranges: ['10.11.0.0/16'], accessGroupId: secret })
    const shared = await createRule(admin, { name: 'Shared rule', ranges: ['10.12.0.0/16'], accessGroupId: group })
    const { ids } = await scan(plant, [newDevice(95, '10.12.0.1', { name: 'evented' })])
    await decide(admin, { action: 'onboard', assetIds: [...ids.values()] })
    const reader = await createCaller(hub, [
      { permissions: ['inventory_read_asset_data'], accessGroupId: group },
      { permissions: ['glb_audit_read'] },
    ])
    const subjects = async (caller: TestCaller) => {
      const found: string[] = []
      for (let after = 0; ; ) {
        const { data, meta } = await caller.events.listEvents({ query: { after, limit: 100 } })
        found.push(...data.map(({ subject }) => subject))
        if (meta.lastPosition === after) return found
        after = meta.lastPosition
      }
    }
    const seen = await subjects(reader)
    assert.ok(seen.includes(`onboarding-rule/${shared}`))
    assert.ok(!seen.includes(`onboarding-rule/${hidden}`))
    assert.ok(!seen.some((subject) => subject.startsWith('decision/')))
    assert.ok((await subjects(admin)).some((subject) => subject.startsWith('decision/')))
    await remove(hidden)
    await remove(shared)
  })

  test('rules have an order and a limit, and another author cannot change a rule of a group without the permission', async () => {
    const rules = await Promise.all(
      ['one', 'two', 'three'].map((name) => createRule(admin, { name, ranges: ['10.8.0.0/16'], accessGroupId: group })),
    )
    const names = async () => (await admin.inbox.listOnboardingRules({})).data.map(({ name }) => name)
    const before = await names()
    const last = (await admin.inbox.listOnboardingRules({})).data.at(-1)
    await admin.inbox.updateOnboardingRule({ params: { id: last?.id ?? '' }, body: { data: { position: 1 } } })
    assert.deepEqual(await names(), [before[2], before[0], before[1]])
    const viewer = await hub.as('viewer', { accessGroupId: group })
    const [id = ''] = rules
    await assert.rejects(
      viewer.inbox.updateOnboardingRule({ params: { id }, body: { data: { paused: true } } }),
      code('forbidden'),
    )
    assert.equal((await viewer.inbox.listOnboardingRules({})).data.length, 3)
    const stranger = await hub.as('operator', {
      accessGroupId: (await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-9' } } })).data.id,
    })
    assert.deepEqual((await stranger.inbox.listOnboardingRules({})).data, [])
    await assert.rejects(stranger.inbox.deleteOnboardingRule({ params: { id } }), code('not_found'))
    for (const rule of rules) await remove(rule)
    assert.equal(inboxLimits.rules, 50)
  })
})
