import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ManagedLink } from '@millwright/api/gatekeeper.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { createCaller } from '../../platform/testing/caller.ts'
import { enrolledGateway, linkReport, managedLink, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

describe('the built-in links of a gateway', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  let hall1: string
  const groups: Record<string, string> = {}

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    for (const name of ['hall-1', 'hall-2'])
      groups[name] = (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id
    hall1 = groups['hall-1'] ?? ''
    gateway = await enrolledGateway(hub, admin, { access_group: 'hall-1' })
    await report([managedLink(), managedLink({ name: 'snmp', appInstanceId: 'millwright.links.snmp' })])
  })
  after(() => hub[Symbol.asyncDispose]())

  const report = (managedLinks: ManagedLink[], links = []) =>
    gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links, managedLinks } } })
  const list = (caller = admin) => caller.discovery.listManagedLinks({ params: { gatewayId: gateway.id } })
  const flip = (caller: TestCaller, enabled: boolean, name = 'plant') =>
    caller.discovery.switchManagedLink({ params: { gatewayId: gateway.id, name }, body: { data: { enabled } } })

  /** Answers the next change as the gateway. */
  async function answerAsGateway(state: 'FINISHED' | 'FAILED', message?: string) {
    const held = await gateway.gatekeeper.leaseJob({
      body: { data: { workflows: ['link-inventory'], waitSeconds: 30 } },
    })
    assert.ok(held !== undefined)
    const { job, lease } = held.data
    const data = { jobId: job.id, state, ...(message === undefined ? {} : { message }) }
    await gateway.gatekeeper.endJob({ params: { id: lease.id }, body: { data } })
    return job.definition
  }

  const holder = (permissions: Permission[], more: Permission[], accessGroupId = hall1) =>
    createCaller(hub, [{ permissions }, { permissions: more, accessGroupId }])

  test('a switch reaches the gateway, is stored and is on the audit trail', async () => {
    const manager = await holder(
      ['glb_gateway_manage', 'glb_jobs_read'],
      ['inventory_read_asset_data', 'inventory_write_asset_data'],
    )
    const [answer, definition] = await Promise.all([flip(manager, true), answerAsGateway('FINISHED')])
    assert.deepEqual([definition.link, definition.enabled], ['plant', true])
    assert.deepEqual([answer.data.enabled, answer.data.state], [true, 'starting'])
    assert.deepEqual(
      (await list(manager)).data.map(({ name, enabled }) => [name, enabled]),
      [
        ['plant', true],
        ['snmp', false],
      ],
    )
    const { data: entries } = await admin.audit.listEntries({
      query: { action: 'discovery.switchManagedLink', target: `gateway/${gateway.id}` },
    })
    assert.deepEqual(
      entries.map(({ detail, outcome }) => [detail, outcome]),
      [[{ link: 'plant', enabled: true }, 'done']],
    )
  })

  test('a report replaces the state and emits an event for each changed link', async () => {
    await hub.settle()
    const { meta } = await admin.events.listEvents({ query: { limit: 1 } })
    const running = managedLink({
      enabled: true,
      state: 'running',
      endpoint: '127.0.0.1:40001',
      notices: ['ICMP is not allowed. Run: sudo setcap cap_net_raw+ep node'],
      log: ['2026-01-31T00:00:00.000Z info The link Plant listens.'],
    })
    await report([running, managedLink({ name: 'snmp', appInstanceId: 'millwright.links.snmp' })])
    assert.deepEqual((await list()).data[0], running)
    await report([{ ...running, state: 'failed', restarts: 1, problem: 'The link ended with exit code 3' }])
    assert.deepEqual(
      (await list()).data.map(({ name, problem }) => [name, problem]),
      [['plant', 'The link ended with exit code 3']],
    )
    await hub.settle()
    const { data: events } = await admin.events.listEvents({ query: { after: meta.newestPosition, limit: 100 } })
    const states = events
      .filter(({ type }) => type === 'io.millwright.discovery.managed-link.changed')
      .map(({ data }) => `${(data as ManagedLink).name} ${(data as ManagedLink).state}`)
    assert.deepEqual(states.slice(-2), ['plant running', 'plant failed'])
  })

  test('a report without built-in links, of an older gateway, keeps the stored links', async () => {
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [] } } })
    assert.equal((await list()).data.length, 1)
    const old = await enrolledGateway(hub, admin, { name: 'old', access_group: 'hall-1' })
    assert.deepEqual((await admin.discovery.listManagedLinks({ params: { gatewayId: old.id } })).data, [])
  })

  test('a switch that the gateway refuses fails with the reason, changes nothing, and is on the audit trail', async () => {
    const before = (await list()).data
    const refused = assert.rejects(flip(admin, false), { code: 'conflict', message: 'The disk is full' })
    await Promise.all([refused, answerAsGateway('FAILED', 'The disk is full')])
    assert.deepEqual((await list()).data, before)
    const { data: entries } = await admin.audit.listEntries({
      query: { action: 'discovery.switchManagedLink', limit: 1 },
    })
    assert.deepEqual(entries[0]?.detail, { link: 'plant', enabled: false })
  })

  test('a switch of an unknown link fails with 404', async () => {
    await assert.rejects(flip(admin, true, 'oven'), { code: 'not_found' })
  })

  test('a link in a hidden access group is not listed or switched, and the log requires write permission', async () => {
    const log = ['2026-01-31T00:00:00.000Z info The link Plant listens.']
    const other = await enrolledGateway(hub, admin, { name: 'line 2', access_group: 'hall-1' })
    const params = { gatewayId: other.id }
    const plant = linkReport({ appInstanceId: 'millwright.links.plant' })
    const snmp = linkReport({ appInstanceId: 'millwright.links.snmp' })
    const managedLinks = [plant, snmp].map(({ appInstanceId }) =>
      managedLink({ name: appInstanceId.slice(appInstanceId.lastIndexOf('.') + 1), appInstanceId, log }),
    )
    const data = { gatewayVersion: '1.0.0', links: [plant, snmp], managedLinks }
    const { data: assets } = await other.gatekeeper.reportLinks({ body: { data } })
    const id = assets.find(({ appInstanceId }) => appInstanceId === snmp.appInstanceId)?.assetId ?? ''
    await admin.inventory.setAccessGroup({ params: { id }, body: { data: { access_group: groups['hall-2'] ?? '' } } })
    await hub.settle()
    const shown = async (caller: TestCaller) =>
      (await caller.discovery.listManagedLinks({ params })).data.map((link) => [link.name, link.log])
    assert.deepEqual(await shown(admin), [
      ['plant', log],
      ['snmp', log],
    ])
    const permissions: Permission[] = ['glb_gateway_manage', 'glb_jobs_read']
    const writer = await holder(permissions, ['inventory_read_asset_data', 'inventory_write_asset_data'])
    assert.deepEqual(await shown(writer), [['plant', log]])
    const reader = await holder(permissions, ['inventory_read_asset_data'])
    assert.deepEqual(await shown(reader), [['plant', undefined]])
    const body = { data: { enabled: true } }
    await assert.rejects(writer.discovery.switchManagedLink({ params: { ...params, name: 'snmp' }, body }), {
      code: 'not_found',
      message: /Its built-in links: plant\.$/,
    })
    const { meta } = await admin.events.listEvents({ query: { limit: 1 } })
    const after = meta.newestPosition
    const listener = await holder(['glb_audit_read', ...permissions], ['inventory_read_asset_data'])
    const enabled = managedLinks.map((link) => ({ ...link, enabled: true, state: 'running' as const }))
    await other.gatekeeper.reportLinks({ body: { data: { ...data, managedLinks: enabled } } })
    await hub.settle()
    const changes = async (caller: TestCaller) => {
      const { data: events } = await caller.events.listEvents({ query: { after, limit: 100 } })
      const own = events.filter(
        ({ type, subject }) => type.endsWith('managed-link.changed') && subject?.includes(other.id),
      )
      return own.map((event) => (event.data as { name: string; state: string }).name)
    }
    assert.deepEqual((await changes(admin)).toSorted(), ['plant', 'snmp'])
    assert.deepEqual(await changes(listener), ['plant'])
    const { data: hall2 } = await admin.authorization.readAccessGroup({ params: { id: groups['hall-2'] ?? '' } })
    const visitor = await createCaller(hub, [
      { permissions },
      { permissions: ['inventory_read_asset_data', 'inventory_write_asset_data'], accessGroupId: hall1 },
      { permissions: ['inventory_read_asset_data'], accessGroupId: hall2.id },
    ])
    await assert.rejects(
      visitor.discovery.switchManagedLink({ params: { ...params, name: 'snmp' }, body }),
      { code: 'forbidden' },
      'no write permission in the group of the link',
    )
  })

  test('a switch requires both permissions in the access group of the gateway', async () => {
    const read: Permission[] = ['inventory_read_asset_data']
    const write: Permission[] = ['inventory_read_asset_data', 'inventory_write_asset_data']
    const elsewhere = await holder(['glb_gateway_manage', 'glb_jobs_read'], write, groups['hall-2'])
    await assert.rejects(flip(elsewhere, true), { code: 'not_found' }, 'the gateway is hidden')
    await assert.rejects(list(elsewhere), { code: 'not_found' })
    const onlyReader = await holder(['glb_gateway_manage', 'glb_jobs_read'], read)
    await assert.rejects(flip(onlyReader, true), { code: 'forbidden' }, 'no write permission in the group')
    const operator = await holder(['glb_discovery_run', 'glb_jobs_read'], write)
    await assert.rejects(flip(operator, true), { code: 'forbidden' }, 'gateways are managed with another permission')
    assert.equal((await list(operator)).data.length, 1)
    const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
    await assert.rejects(flip(stranger, true), { code: 'not_found' }, 'another tenant')
  })
})
