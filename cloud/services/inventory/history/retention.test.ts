import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { inventory, inventoryLimits } from '@millwright/api/inventory/inventory.ts'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import {
  applyWrite,
  asset,
  createAssets,
  createRelations,
  day,
  deleteAssetsAt,
  endRelationsAt,
  node,
} from '../testing.ts'
import { deleteExpiredHistory } from './retention.ts'

/** A time ahead of the clock. The background task therefore deletes nothing in addition to the test. */
const now = Date.now() + 60_000
const ago = (days: number) => new Date(now - days * 24 * 3_600_000).toISOString()

describe('retention of history', () => {
  let hub: TestHub
  let admin: TestCaller
  let fallback: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    const groups = await admin.authorization.listAccessGroups({ query: { name: 'default' } })
    fallback = groups.data[0]?.id ?? ''
  })

  after(() => hub[Symbol.asyncDispose]())

  const keep = (historyDays: number | null) => admin.inventory.updateSettings({ body: { data: { historyDays } } })
  const deleteExpiredAt = (now: string) =>
    deleteExpiredHistory(hub.context.database, {
      tenantId: hub.tenant.tenantId,
      now: new Date(now),
      signal: new AbortController().signal,
    })
  const codeOf = async (operation: string, input: object) => {
    const { status, body } = await admin.exchange(inventory, operation, input)
    return status === 200 ? 200 : (body as ProblemDocument).code
  }
  const rows = (table: string) =>
    hub.asOwner(async (owner) => {
      const { rows: found } = await owner.query<{ count: number }>(
        `select count(*)::int as count from ${table} where tenant_id = $1`,
        [hub.tenant.tenantId],
      )
      return found[0]?.count ?? 0
    })

  test('keeps history indefinitely by default', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'old', at: day(1) }])
    await deleteExpiredAt(day(10_000))
    assert.deepEqual((await admin.inventory.readSettings({})).data, { historyDays: null, historyFrom: null })
    assert.equal(await codeOf('readAsset', { params: { id }, query: { at: day(1) } }), 200)
    assert.equal(await codeOf('readAsset', { params: { id }, query: { at: day(0) } }), 'not_found')
  })

  test('deletes history that is older than the retention period and keeps later states complete', async () => {
    const [ida = '', idb = '', idc = ''] = await createAssets(
      hub,
      ['a', 'b', 'c'].map((name) => ({ name, at: ago(29) })),
    )
    const [a, b, c] = [asset(ida), asset(idb), asset(idc)]
    await endRelationsAt(hub, await createRelations(hub, [[a, 'x', b]], ago(28)), ago(26))
    await endRelationsAt(hub, await createRelations(hub, [[a, 'y', b]], ago(27)), ago(5))
    await createRelations(hub, [[a, 'z', b]], ago(25))
    await deleteAssetsAt(hub, { ids: [c.id], accessGroupId: fallback, at: ago(24) })
    await applyWrite(admin, 'setResponsible', { params: { id: a.id }, body: { data: { responsible: 'jane' } } })
    const edgesAt = async (at: string) =>
      (await admin.inventory.readGraph({ params: { id: a.id }, query: { at } })).data.edges
        .map(({ predicate }) => predicate)
        .toSorted()
        .join('')
    assert.deepEqual([await edgesAt(ago(27)), await edgesAt(ago(15))], ['xy', 'yz'])

    await keep(10)
    await deleteExpiredAt(ago(0))
    const { data } = await admin.inventory.readSettings({})
    assert.deepEqual(data, { historyDays: 10, historyFrom: ago(10) })

    const [params, expired, retained] = [{ id: a.id }, ago(11), ago(10)]
    assert.equal(await codeOf('readAsset', { params, query: { at: expired } }), 'history_gone')
    assert.equal(await codeOf('readGraph', { params, query: { at: expired } }), 'history_gone')
    assert.equal(await codeOf('readPath', { params, query: { at: expired, to: b.id } }), 'history_gone')
    assert.equal(await codeOf('readGraphDifference', { params, query: { from: expired } }), 'history_gone')
    assert.equal((await admin.inventory.readAsset({ params, query: { at: retained } })).data.responsible, 'a test')
    assert.deepEqual([await edgesAt(retained), await edgesAt(ago(4))], ['yz', 'z'])
    assert.equal(await codeOf('readGraphDifference', { params, query: { from: retained } }), 200)
    const history = await admin.inventory.readHistory({ params })
    assert.deepEqual(
      history.data.map(({ version }) => version),
      [2, 1],
      'the last change before the start of the history stays',
    )
    assert.equal(await codeOf('readHistory', { params: { id: c.id } }), 'not_found')
    assert.equal(await codeOf('readAsset', { params: { id: c.id }, query: { at: retained } }), 'not_found')
  })

  test('deletes more history as time passes, and does not restore it when the retention period is extended', async () => {
    const [id = ''] = await createAssets(hub, [{ name: 'busy', at: ago(2) }])
    for (const responsible of ['jane', 'joe', 'ann'])
      await applyWrite(admin, 'setResponsible', { params: { id }, body: { data: { responsible } } })
    const versions = async () =>
      (await admin.inventory.readHistory({ params: { id } })).data.map(({ version }) => version)
    assert.deepEqual(await versions(), [4, 3, 2, 1])
    const later = ago(-12)
    await deleteExpiredAt(later)
    assert.deepEqual(await versions(), [4])
    assert.equal(await rows('ended_relations'), 0)
    const from = (await admin.inventory.readSettings({})).data.historyFrom
    await keep(1000)
    await deleteExpiredAt(later)
    await keep(null)
    await deleteExpiredAt(later)
    assert.deepEqual((await admin.inventory.readSettings({})).data, { historyDays: null, historyFrom: from })
    assert.equal(await codeOf('readAsset', { params: { id }, query: { at: ago(1) } }), 'history_gone')
  })
})

describe('retention settings', () => {
  test('lets administrators set the retention period, audits the change, and applies it in the background', async () => {
    await using hub = await testHub()
    const admin = await hub.as('administrator')
    const [id = ''] = await createAssets(hub, [{ name: 'old', at: day(1) }])
    await hub.settle()
    const response = await admin.exchange(inventory, 'updateSettings', { body: { data: { historyDays: 30 } } })
    assert.equal(response.status, 200)
    assert.match(response.headers.get('etag') ?? '', /^"1\./)
    await hub.settle()
    const { data } = await admin.inventory.readSettings({})
    assert.ok(Math.abs(Date.parse(data.historyFrom ?? '') - (Date.now() - 30 * 24 * 3_600_000)) < 60_000)
    const answer = await admin.exchange(inventory, 'readAsset', { params: { id }, query: { at: day(2) } })
    assert.deepEqual([answer.status, (answer.body as ProblemDocument).code], [410, 'history_gone'])
    assert.match((answer.body as ProblemDocument).detail, /^History before \d{4}-/)
    assert.equal((await admin.inventory.readAsset({ params: { id } })).data.name, 'old')

    const entries = await admin.audit.listEntries({ query: { action: 'inventory.updateSettings' } })
    assert.deepEqual(entries.data[0]?.detail, { historyDays: { from: null, to: 30 } })
    const update = (body: object, headers = {}, caller = admin) =>
      caller.exchange(inventory, 'updateSettings', { body: { data: body }, headers })
    assert.equal((await update({ historyDays: 40 }, { 'if-match': '"7"' })).status, 412)
    assert.equal((await update({ historyDays: 40 }, { 'if-match': '"1"' })).status, 200)
    assert.equal((await update({ historyDays: 40 }, {}, await hub.as('operator'))).status, 403)
    for (const historyDays of [0, -1, 1.5, inventoryLimits.historyDays + 1, '30', undefined])
      assert.equal((await update({ historyDays })).status, 400)
  })

  describe('undoing a merge that is older than the retention period', () => {
    const dayMs = 24 * 3_600_000
    let hub: TestHub
    let admin: TestCaller

    before(async () => {
      hub = await testHub()
      admin = await hub.as('administrator')
      await admin.inventory.updateSettings({ body: { data: { historyDays: 1 } } })
    })

    after(() => hub[Symbol.asyncDispose]())

    async function createdAsset(): Promise<string> {
      const identifier = { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: v7() }
      const device = { functional_object_type: 'Device', asset_identifiers: [identifier] }
      return (await applyWrite(admin, 'createAsset', { body: { data: { asset: device } } })).result.assetId
    }

    /** Merges an asset that has a relation. */
    async function merged(): Promise<{ id: string; mergeId: string; at: number }> {
      const [id, other] = [await createdAsset(), await createdAsset()]
      await createRelations(hub, [[asset(other), 'in', node()]])
      const { mergeId } = (await applyWrite(admin, 'mergeAsset', { params: { id }, body: { data: { other } } })).result
      const [merge] = (await admin.inventory.listMerges({ params: { id } })).data
      return { id, mergeId, at: Date.parse(merge?.mergedTimestamp ?? '') }
    }

    async function assertDeleted({ id, mergeId }: { id: string; mergeId: string }): Promise<void> {
      assert.equal((await admin.inventory.listMerges({ params: { id } })).meta.totalElements, 0)
      const undo = await admin.exchange(inventory, 'undoMerge', { params: { id, mergeId } })
      assert.equal(undo.status, 404)
    }

    const deleteExpiredAt = (time: number, signal = new AbortController().signal) =>
      deleteExpiredHistory(hub.context.database, { tenantId: hub.tenant.tenantId, now: new Date(time), signal })

    test('returns 404 for the undo of a merge as soon as the merge is older than the retention period', async () => {
      const merge = await merged()
      await deleteExpiredAt(merge.at + dayMs)
      await assertDeleted(merge)
    })

    test('returns 404 for the undo of an expired merge even if the deletion of its history was interrupted', async () => {
      const merge = await merged()
      const broken = new AbortController()
      const unobserve = hub.context.database.observe(({ text }) => {
        if (text.startsWith('delete from ended_relations')) broken.abort()
      })
      await deleteExpiredAt(merge.at + 2 * dayMs, broken.signal).finally(unobserve)
      await assertDeleted(merge)
    })
  })
})
