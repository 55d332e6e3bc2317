import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { MaintenanceWindow } from '@millwright/api/updates.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createHierarchy, createNode } from '../hierarchy/testing.ts'

const night: MaintenanceWindow = { cron: '0 22 * * *', minutes: 120, timezone: 'Europe/Berlin' }

describe('maintenance windows of hierarchy nodes', () => {
  let hub: TestHub
  let admin: TestCaller
  let nodeId: string
  let hierarchyId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    hierarchyId = await createHierarchy(admin, 'Plant')
    nodeId = (await createNode(admin, hierarchyId, 'Line 1')).id
  })

  after(() => hub[Symbol.asyncDispose]())

  test('stores, replaces, lists and deletes the window of a node', async () => {
    const params = { nodeId }
    await assert.rejects(admin.updates.readWindow({ params }), { code: 'not_found' })
    const { data: created } = await admin.updates.putWindow({ params, body: { data: night } })
    assert.deepEqual([created.nodeId, created.nodePath, created.window], [nodeId, 'Plant/Line 1', night])
    assert.ok(Date.parse(created.nextStart ?? '') > Date.now())
    const { data: changed } = await admin.updates.putWindow({ params, body: { data: { ...night, minutes: 60 } } })
    assert.equal(changed.window.minutes, 60)
    const listed = await admin.updates.listWindows({})
    assert.deepEqual([listed.data.map((one) => one.nodeId), listed.meta.totalElements], [[nodeId], 1])
    assert.deepEqual((await admin.updates.readWindow({ params })).data.window, { ...night, minutes: 60 })
    await admin.updates.deleteWindow({ params })
    await assert.rejects(admin.updates.deleteWindow({ params }), { code: 'not_found' })
    assert.deepEqual((await admin.updates.listWindows({})).data, [])
    const { data: entries } = await admin.audit.listEntries({ query: { target: `node/${nodeId}` } })
    assert.deepEqual(entries.map(({ action }) => action).slice(0, 3), [
      'updates.deleteWindow',
      'updates.putWindow',
      'updates.putWindow',
    ])
  })

  test('refuses invalid windows, unknown nodes and callers without permission', async () => {
    const put = (node: string, window: MaintenanceWindow, caller = admin) =>
      caller.updates.putWindow({ params: { nodeId: node }, body: { data: window } })
    await assert.rejects(put(nodeId, { ...night, cron: 'at night' }), { code: 'invalid_window' })
    await assert.rejects(put(nodeId, { ...night, timezone: 'Berlin' }), { code: 'invalid_window' })
    await assert.rejects(put(nodeId, { ...night, minutes: 0 }), { code: 'invalid_body' })
    await assert.rejects(put('01980000-0000-7000-8000-000000000000', night), { code: 'not_found' })
    await assert.rejects(put(nodeId, night, await hub.as('viewer')), { code: 'forbidden' })
  })

  test('shows no path of a node to a caller that cannot read hierarchies', async () => {
    await admin.updates.putWindow({ params: { nodeId }, body: { data: night } })
    const limited = await createCaller(hub, [{ permissions: ['glb_jobs_read'] }])
    const { data } = await limited.updates.listWindows({})
    assert.deepEqual(
      data.map((one) => [one.nodeId, one.nodePath]),
      [[nodeId, undefined]],
    )
  })

  test('deletes the windows of deleted nodes', async () => {
    const { id } = await createNode(admin, hierarchyId, 'Line 2')
    await admin.updates.putWindow({ params: { nodeId: id }, body: { data: night } })
    await admin.hierarchy.deleteNode({ params: { id } })
    const tomorrow = new Date(Date.now() + 25 * 60 * 60_000)
    await hub.contextOf('updates').tasks.runDue(hub.tenant.tenantId, { at: tomorrow })
    await assert.rejects(admin.updates.readWindow({ params: { nodeId: id } }), { code: 'not_found' })
  })
})
