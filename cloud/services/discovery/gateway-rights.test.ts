import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { authorization } from '@millwright/api/authorization.ts'
import type { CloudEvent } from '@millwright/api/events.ts'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { workflows } from '@millwright/api/workflows.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { EventReader } from '../../platform/testing/event-reader.ts'
import {
  assertionOf,
  enrolledGateway,
  foundDevice,
  leaseDiscovery,
  linkReport,
  proofFor,
  requestToken,
  runScan,
  type TestGateway,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const assetLinkId = 'cdm-device-class-driver-example'
type Asset = Record<string, unknown> & { id: string }

describe('permissions of a gateway for discovered assets', () => {
  let hub: TestHub
  let admin: TestCaller
  let groups: { id: string; name: string }[]
  let hall1: TestGateway
  let hall2: TestGateway
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    groups = await Promise.all(
      ['hall-1', 'hall-2', 'hall-3'].map(async (name) => {
        return (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data
      }),
    )
    hall1 = await gatewayIn('hall-1')
    hall2 = await gatewayIn('hall-2')
  })
  after(() => hub[Symbol.asyncDispose]())

  const groupId = (name: string) => groups.find((group) => group.name === name)?.id ?? ''

  async function gatewayIn(group: string): Promise<TestGateway> {
    const gateway = await enrolledGateway(hub, admin, { name: `gateway of ${group}`, access_group: group })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    return gateway
  }

  async function newDiscovery(gateway: TestGateway): Promise<string> {
    const { jobId } = await admin.discovery.createDiscovery({
      params: { gatewayId: gateway.id },
      body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } },
    })
    return jobId
  }

  /**
   * Runs a discovery of a gateway that finds these devices, and returns the report. `again` is the id of an existing
   * discovery; without it, a new discovery is created.
   */
  async function scan(gateway: TestGateway, devices: Record<string, unknown>[], again?: string) {
    const jobId = again ?? (await newDiscovery(gateway))
    if (again !== undefined) await admin.discovery.runDiscovery({ params: { jobId } })
    await runScan({ hub, admin, gateway, jobId, assets: devices })
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    return { jobId, runId: report.run.id, findings: report.findings, errors: report.errors }
  }

  async function create(group: string, asset: Record<string, unknown>): Promise<string> {
    const { data } = await admin.inventory.createAsset({ body: { data: { asset: { ...asset, access_group: group } } } })
    const { data: status } = await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
    return (status.detail.result as { assetId: string }).assetId
  }
  const read = async (id: string) => (await admin.inventory.readAsset({ params: { id }, query: {} })).data as Asset
  const move = async (id: string, group: string) => {
    await admin.inventory.setAccessGroup({
      params: { id },
      body: { data: { access_group: group } },
      headers: { prefer: 'wait=30' },
    })
  }
  const relationsOf = async (id: string) => {
    const { data } = await admin.inventory.listAssetRelations({ params: { id }, query: {} })
    return data.map(({ predicate, object }) => [predicate, object.id] as const)
  }
  const conflictsOf = async (caller: TestCaller, query: { asset?: string; gateway?: string }) =>
    (await caller.inventory.listIdentityConflicts({ query })).data
  const grant = async (gateway: TestGateway, role: string, group: string) =>
    (
      await admin.authorization.createGrant({
        body: { data: { principal: gateway.id, role, accessGroup: groupId(group) } },
      })
    ).data
  const reasons = (errors: readonly { reason?: string }[]) => errors.map(({ reason }) => reason)

  test('reports a device with the MAC address of an asset in another access group as identity_taken', async () => {
    const victim = await create('hall-2', foundDevice(1, { name: 'Boiler' }))
    const before = await read(victim)
    const { jobId, runId, findings, errors } = await scan(hall1, [
      foundDevice(1, { name: 'Stolen', access_group: 'hall-1' }),
      foundDevice(2, { access_group: 'hall-2' }),
    ])

    assert.deepEqual(reasons(errors), ['identity_taken'])
    assert.match(errors[0]?.description ?? '', /grant the gateway a role/, 'the error explains how to allow the write')
    const text = JSON.stringify(errors)
    assert.ok(!text.includes(victim) && !text.includes('Boiler'), 'the error does not reveal the asset')
    assert.deepEqual(await read(victim), before, 'the asset is unchanged')
    assert.deepEqual(await relationsOf(victim), [], 'no relation is written')
    const [other] = findings
    assert.deepEqual([findings.length, other?.outcome], [1, 'new'])
    const made = await read(other?.assetId ?? '')
    assert.equal(made.access_group, 'hall-1', 'a new asset is in the group of its gateway')

    await scan(hall1, [foundDevice(1, { name: 'Stolen again' })])
    const [conflict, ...more] = await conflictsOf(admin, { asset: victim })
    assert.ok(conflict !== undefined && more.length === 0, 'there is one conflict, also after two scans')
    assert.deepEqual(conflict.asset, { id: victim, name: 'Boiler' })
    assert.equal(conflict.gateway.id, hall1.id)
    assert.equal(conflict.deviceName, 'Stolen again')
    assert.ok(conflict.runId !== runId && conflict.jobId !== jobId, 'it names the latest run')
    assert.deepEqual(
      conflict.identifiers.map(({ mac_address }) => mac_address),
      ['02:00:00:00:00:01'],
    )
  })

  test('shows an identity conflict to callers who can read both the asset and the gateway', async () => {
    const victim = await create('hall-2', foundDevice(11))
    await scan(hall1, [foundDevice(11, { name: 'Copy' })])
    const readers = await Promise.all(
      [['hall-1'], ['hall-2'], ['hall-1', 'hall-2']].map(async (names) => {
        const [first = '', ...others] = names
        const reader = await hub.as('viewer', { accessGroupId: groupId(first) })
        for (const name of others) {
          await admin.authorization.createGrant({
            body: { data: { principal: reader.principalId, role: 'viewer', accessGroup: groupId(name) } },
          })
        }
        return reader
      }),
    )
    const counts = await Promise.all(
      readers.map(async (reader) => (await conflictsOf(reader, { asset: victim })).length),
    )
    assert.deepEqual(counts, [0, 0, 1])
    await admin.inventory.deleteAssets({ body: { data: { ids: [victim] } }, headers: { prefer: 'wait=30' } })
    assert.deepEqual(await conflictsOf(admin, { asset: victim }), [], 'it ends with its asset')
  })

  test('updates an asset that a user moved to another access group when its gateway finds it again', async () => {
    const { findings } = await scan(hall1, [foundDevice(21)])
    const id = findings[0]?.assetId ?? ''
    await move(id, 'hall-2')
    const again = await scan(hall1, [foundDevice(21, { name: 'Renamed at the device' })])
    assert.deepEqual(
      again.findings.map(({ assetId, outcome }) => [assetId, outcome]),
      [[id, 'changed']],
    )
    const asset = await read(id)
    assert.deepEqual([asset.name, asset.access_group], ['Renamed at the device', 'hall-2'])

    const other = await gatewayIn('hall-1')
    assert.deepEqual(reasons((await scan(other, [foundDevice(21)])).errors), ['identity_taken'])
    // The gateway of the new group may also write the asset.
    assert.deepEqual((await scan(hall2, [foundDevice(21)])).errors, [])
    assert.equal((await read(id)).access_group, 'hall-2')
  })

  test('does not report an asset as gone when its device responds but is reported as identity_taken', async () => {
    const devices = ['kept', 'moved', 'silent'].map((name, index) => foundDevice(36 + index, { name }))
    const { jobId, findings } = await scan(hall1, devices)
    const moved = findings.find(({ name }) => name === 'moved')?.assetId ?? assert.fail()
    await move(moved, 'hall-3')
    await admin.inventory.deleteRelationsByFilter({ query: { relationsFilter: `subject.id eq '${moved}'` } })

    const second = await scan(hall1, devices.slice(0, 2), jobId)

    assert.deepEqual(reasons(second.errors), ['identity_taken'])
    const outcomes = second.findings.map(({ name, outcome }) => [name, outcome])
    assert.deepEqual(outcomes.toSorted(), [
      ['kept', 'unchanged'],
      ['silent', 'gone'],
    ])
  })

  test('lets a gateway write assets of another access group while the gateway holds a role in that group', async () => {
    const id = await create('hall-3', foundDevice(31))
    assert.deepEqual(reasons((await scan(hall1, [foundDevice(31)])).errors), ['identity_taken'])
    await grant(hall1, 'viewer', 'hall-3')
    assert.deepEqual(
      reasons((await scan(hall1, [foundDevice(31)])).errors),
      ['identity_taken'],
      'reading is not enough',
    )
    const { id: grantId } = await grant(hall1, 'operator', 'hall-3')
    const { findings, errors } = await scan(hall1, [foundDevice(31, { name: 'Granted' })])
    assert.deepEqual(errors, [])
    assert.equal(findings[0]?.assetId, id)
    const asset = await read(id)
    assert.deepEqual([asset.name, asset.access_group], ['Granted', 'hall-3'])
    assert.deepEqual(await conflictsOf(admin, { asset: id }), [])

    const second = await create('hall-3', foundDevice(32))
    await admin.authorization.deleteGrant({ params: { id: grantId } })
    assert.deepEqual(reasons((await scan(hall1, [foundDevice(32)])).errors), ['identity_taken'])
    assert.equal((await conflictsOf(admin, { asset: second })).length, 1)
    assert.deepEqual((await scan(hall1, [foundDevice(31)])).errors, [], 'what it found before stays writable')
  })

  test('refuses a gateway token for operations that are not available to gateways, even if the gateway has a role that allows them', async () => {
    const gateway = await gatewayIn('hall-1')
    await grant(gateway, 'administrator', 'hall-2')
    const granted = await requestToken(hub, await assertionOf(hub, gateway))
    const { access_token: token } = granted.body as { access_token: string }
    for (const [method, path, body] of [
      ['GET', '/inventory/v2/assets', undefined],
      ['POST', '/inventory/v2/assets', { data: { asset: foundDevice(35) } }],
      ['DELETE', '/inventory/v2/assets', { data: { ids: [hall2.id] } }],
      ['GET', '/inventory/v2/identity-conflicts', undefined],
    ] as const) {
      const dpop = await proofFor(hub, { method, path, token, key: gateway.key })
      const headers = { authorization: `Bearer ${token}`, dpop, 'content-type': 'application/json' }
      const sent = body === undefined ? {} : { body: JSON.stringify(body) }
      assert.equal((await hub.request({ method, path, headers, ...sent })).status, 403, `${method} ${path}`)
    }
  })

  test('refuses a grant to a gateway that is not enrolled', async () => {
    const { data } = await admin.onboarding.createGateway({ body: { data: { name: 'not yet' } } })
    const { status, body } = await admin.exchange(authorization, 'createGrant', {
      body: { data: { principal: data.id, role: 'operator' } },
    })
    assert.deepEqual([status, (body as { code: string }).code], [422, 'principal_not_found'])
  })

  test('does not let two gateways of different groups overwrite the same device', async () => {
    const [first, second] = await Promise.all([
      scan(hall1, [foundDevice(41, { name: 'seen from hall 1' })]),
      scan(hall2, [foundDevice(41, { name: 'seen from hall 2' })]),
    ])
    const taken = [...first.errors, ...second.errors]
    assert.deepEqual(reasons(taken), ['identity_taken'], 'one gateway gets the asset')
    const id = [...first.findings, ...second.findings][0]?.assetId ?? ''
    const owner = first.findings.length > 0 ? hall1 : hall2
    const { access_group, name } = await read(id)
    for (const gateway of [hall1, hall2]) await scan(gateway, [foundDevice(41, { name: String(name) })])
    const after = await read(id)
    assert.deepEqual([after.access_group, after.name], [access_group, name])
    const finders = (await relationsOf(id)).filter(([predicate]) => predicate === 'found_by_gateway')
    assert.deepEqual(finders, [['found_by_gateway', owner.id]])
  })

  test('lets two gateways of the same group write the same device, and relates both to it', async () => {
    const other = await gatewayIn('hall-1')
    const { findings } = await scan(hall1, [foundDevice(45)])
    const again = await scan(other, [foundDevice(45, { name: 'Second view' })])
    assert.deepEqual(again.errors, [])
    const id = findings[0]?.assetId ?? ''
    assert.equal((await read(id)).name, 'Second view')
    const finders = (await relationsOf(id)).filter(([predicate]) => predicate === 'found_by_gateway')
    assert.deepEqual(finders.map(([, gateway]) => gateway).toSorted(), [hall1.id, other.id].toSorted())
  })

  test('creates no relation of a device to an asset that its gateway may not write', async () => {
    const hidden = await create('hall-2', foundDevice(51))
    const own = await create('hall-1', foundDevice(52))
    const relationTo = (index: number) => ({
      predicate: 'is_connected_to',
      related_asset: { asset_identifiers: foundDevice(index).asset_identifiers },
      relational_role_of_related_asset: 'object',
      is_bidirectional: true,
    })
    const { findings, errors } = await scan(hall1, [
      foundDevice(53, { asset_relations: [relationTo(51), relationTo(52)] }),
    ])
    assert.deepEqual(errors, [])
    const related = (await relationsOf(findings[0]?.assetId ?? '')).filter(([name]) => name === 'is_connected_to')
    assert.ok(related.some(([, object]) => object === own))
    assert.deepEqual(await relationsOf(hidden), [])
  })

  test('updates the asset with the most certain identifier of a device, and does not reveal a hidden asset', async () => {
    const hidden = await create('hall-2', foundDevice(61, { name: 'Hidden' }))
    const own = await create('hall-1', {
      ...foundDevice(62),
      asset_identifiers: [{ asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://plant.example/?s=62' }],
    })
    const both = [
      { asset_identifier_type: 'IdLinkIdentifier', id_link: 'https://plant.example/?s=62' },
      { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:00:3d' },
    ]
    const { findings, errors } = await scan(hall1, [foundDevice(62, { name: 'Both', asset_identifiers: both })])
    assert.deepEqual([findings.map(({ assetId }) => assetId), errors], [[own], []])
    const { data: identifiers } = await admin.inventory.readIdentifiers({ params: { id: own } })
    assert.equal(identifiers.length, 1, 'the identifier of the hidden asset stays there')
    assert.equal((await read(hidden)).name, 'Hidden')
  })

  test('refuses a device with the identity of a gateway or of an asset link', async () => {
    const { data: identifiers } = await admin.inventory.readIdentifiers({ params: { id: hall1.id } })
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: hall1.id } })
    const link = links[0]?.assetId ?? ''
    const gatewayMac = { asset_identifier_type: 'MacIdentifier', mac_address: '02:00:00:00:0f:01' }
    // An administrator adds the network address of the machine to the gateway's asset.
    await create('hall-1', {
      functional_object_type: 'Gateway',
      asset_identifiers: [...identifiers.map(({ identifier_uncertainty: _, ...rest }) => rest), gatewayMac],
    })
    const [gatewayBefore, linkBefore] = [await read(hall1.id), await read(link)]
    const linkIdentifiers = (await admin.inventory.readIdentifiers({ params: { id: link } })).data
    const custom = (list: readonly Record<string, unknown>[]) =>
      list
        .filter(({ asset_identifier_type: type }) => type === 'CustomIdentifier')
        .map(({ identifier_uncertainty: _, ...rest }) => rest)
    const other = await gatewayIn('hall-1')
    const devices = [
      foundDevice(71, { name: 'By network address', asset_identifiers: [gatewayMac] }),
      foundDevice(72, { name: 'By gateway id', asset_identifiers: custom(identifiers) }),
      foundDevice(73, { name: 'By link id', asset_identifiers: custom(linkIdentifiers) }),
    ]
    for (const gateway of [other, hall1]) {
      const { findings, errors } = await scan(gateway, devices)
      assert.deepEqual(findings, [])
      assert.deepEqual(reasons(errors).toSorted(), ['identity_taken', 'invalid_asset', 'invalid_asset'])
    }
    assert.deepEqual([await read(hall1.id), await read(link)], [gatewayBefore, linkBefore])
  })

  test('refuses a new asset with an identifier that is reserved for gateways and links', async () => {
    const gateway = await enrolledGateway(hub, admin, { name: 'reserved', access_group: 'hall-1' })
    const custom = (name: string, value: string) => ({ asset_identifier_type: 'CustomIdentifier', name, value })
    const write = async (
      asset: Record<string, unknown>,
      meta: { source?: { type: 'assetlinkdiscovery'; value: string } } = {},
    ) => {
      const { data } = await admin.inventory.createAsset({ body: { data: { asset, meta } } })
      const { data: status } = await admin.inventory.readStatus({ params: { id: data.statusId }, query: { wait: 30 } })
      const { code, assetId, outcome } = status.detail.result as Record<string, string>
      return { code, assetId, outcome }
    }
    const planted = (name: string) => ({
      ...foundDevice(90, { asset_identifiers: [custom(name, `${gateway.id}/${assetLinkId}`)] }),
      access_group: 'hall-2',
    })
    for (const name of ['asset_link_instance', 'gateway'])
      assert.equal((await write(planted(name))).code, 'invalid_asset')
    const source = { type: 'assetlinkdiscovery', value: gateway.id } as const
    assert.equal((await write(planted('asset_link_instance'), { source })).code, 'invalid_asset')

    const reported = await gateway.gatekeeper.reportLinks({
      body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } },
    })
    const link = reported.data[0]?.assetId ?? ''
    const own = (await read(link)).access_group
    assert.equal(own, 'hall-1')
    const renamed = await write({ ...planted('asset_link_instance'), access_group: 'hall-1' })
    assert.deepEqual([renamed.assetId, renamed.outcome], [link, 'updated'], 'a person updates the asset of a link')
  })

  test('changes no run when the job of a gateway refers to a run of another gateway', async () => {
    const start = (gateway: TestGateway) =>
      admin.discovery.createDiscovery({
        params: { gatewayId: gateway.id },
        body: { data: { assetLinkId, discoveryOptions: [{ key: 'size', value: '3' }] } },
      })
    const { jobId } = await start(hall2)
    const theirs = await leaseDiscovery(hall2)
    await start(hall1)
    const own = await leaseDiscovery(hall1)
    const definition = { ...own.job.definition, runId: theirs.job.definition.runId }
    const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
    await hub.context.peers(workflows, system).putJobDefinition({ params: { id: own.job.id }, body: definition })
    await assert.rejects(
      hall1.gatekeeper.uploadFound({
        params: { id: own.job.id },
        body: { data: { lease: own.lease.id, sequence: 0, assets: [foundDevice(75)], errors: [] } },
      }),
      { code: 'not_found' },
    )
    await hall1.gatekeeper.endJob({
      params: { id: own.lease.id },
      body: { data: { jobId: own.job.id, state: 'FAILED', message: 'by another gateway' } },
    })
    await hub.settle()
    const { data } = await admin.discovery.getDiscovery({ params: { jobId } })
    assert.deepEqual([data.state, data.message], ['running', undefined])
    await hall2.gatekeeper.endJob({
      params: { id: theirs.lease.id },
      body: { data: { jobId: theirs.job.id, state: 'FINISHED' } },
    })
  })

  test('finds the asset of a link after a user moved it to another access group', async () => {
    const gateway = await gatewayIn('hall-1')
    const report = (version: string) =>
      gateway.gatekeeper.reportLinks({
        body: {
          data: {
            gatewayVersion: '1.0.0',
            links: [linkReport({ product: { vendor: 'Example', name: 'Reference link', version } })],
          },
        },
      })
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    const id = links[0]?.assetId ?? ''
    assert.equal((await read(id)).access_group, 'hall-1')
    await move(id, 'hall-3')
    await report('2.0.0')
    const { data: after } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    assert.deepEqual([after[0]?.assetId, after[0]?.version], [id, '2.0.0'])
    assert.equal((await read(id)).access_group, 'hall-3')
  })

  test('creates assets of found devices in the current access group of the gateway', async () => {
    const gateway = await gatewayIn('hall-1')
    await move(gateway.id, 'hall-3')
    const foreign = await create('hall-1', foundDevice(81))
    const { findings, errors } = await scan(gateway, [foundDevice(81), foundDevice(82)])
    assert.deepEqual(reasons(errors), ['identity_taken'], `its former group is not writable: ${foreign}`)
    assert.equal((await read(findings[0]?.assetId ?? '')).access_group, 'hall-3')
  })

  test('refuses a write of a gateway whose grant is revoked between upload and apply', async () => {
    const id = await create('hall-3', foundDevice(91, { name: 'Original' }))
    const gateway = await gatewayIn('hall-1')
    const { id: grantId } = await grant(gateway, 'operator', 'hall-3')
    const running = await hub.asOwner(async (owner) => {
      // The test locks this row. The applier waits for the lock, so the write stays in the queue.
      await owner.query('begin')
      await owner.query('select from assets where tenant_id = $1 and id = $2 for update', [hub.tenant.tenantId, id])
      const scanning = scan(gateway, [foundDevice(91, { name: 'Late' })])
      scanning.catch(() => undefined)
      const isQueued = async () => {
        const { rowCount } = await owner.query(
          `select from operations where tenant_id = $1 and principal_id = $2 and state = 'queued' and kind = 'put-many'`,
          [hub.tenant.tenantId, gateway.id],
        )
        return rowCount !== 0
      }
      const deadline = performance.now() + 120_000
      while (!(await isQueued())) assert.ok(performance.now() < deadline, 'the write is accepted')
      await admin.authorization.deleteGrant({ params: { id: grantId } })
      await owner.query('commit')
      return { scanning }
    })
    assert.deepEqual(reasons((await running.scanning).errors), ['identity_taken'])
    assert.equal((await read(id)).name, 'Original')
  })

  test('publishes each alarm and driver event of a link once, for callers who can read the gateway and the link', async () => {
    const base = await hub.listen()
    await admin.authorization.createRole({ body: { data: { name: 'job-reader', permissions: ['glb_jobs_read'] } } })
    const { principalId } = await hub.as('viewer', { accessGroupId: groupId('hall-2') })
    await admin.authorization.createGrant({ body: { data: { principal: principalId, role: 'job-reader' } } })
    const inHall2 = await hub.tokenFor(principalId, { roles: ['viewer', 'job-reader'] })
    const query = { types: 'discovery.link.alarm,discovery.link.event' }
    using all = await EventReader.open(base, { token: admin.token, query })
    using some = await EventReader.open(base, { token: inHall2, query })
    const eventOf = (sequence: number, kind: 'alarm' | 'driver' = 'alarm') => ({
      timestamp: '2026-01-01T00:00:00.000Z',
      kind,
      text: `event ${sequence}`,
      sequence,
    })
    const report = (gateway: TestGateway, eventStream: string, events: ReturnType<typeof eventOf>[]) =>
      gateway.gatekeeper.reportLinks({
        body: { data: { gatewayVersion: '1.0.0', links: [linkReport({ eventStream, events })] } },
      })
    const [first, second] = [randomUUID(), randomUUID()]
    await Promise.all([1, 2, 3].map(() => report(hall1, first, [eventOf(1), eventOf(2, 'driver')])))
    await hall1.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    await report(hall1, first, [eventOf(2, 'driver'), eventOf(5)])
    await report(hall1, second, [eventOf(1)])
    await report(hall2, first, [eventOf(1)])
    await hub.settle()
    const shown = (events: CloudEvent[]) =>
      events.map(({ type, data }) => [type, data.gatewayId, data.text, data.dropped ?? 0])
    const alarm = 'io.millwright.discovery.link.alarm'
    const ofHall2 = [alarm, hall2.id, 'event 1', 0]
    const events = await all.take(5)
    assert.deepEqual(shown(events), [
      [alarm, hall1.id, 'event 1', 0],
      ['io.millwright.discovery.link.event', hall1.id, 'event 2', 0],
      [alarm, hall1.id, 'event 5', 2],
      [alarm, hall1.id, 'event 1', 0],
      ofHall2,
    ])
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: hall1.id } })
    assert.equal(events[0]?.subject, `asset/${links[0]?.assetId}`)
    assert.deepEqual(shown(await some.take(1)), [ofHall2])
  })

  test('limits the link events that one report publishes, and publishes the remaining ones with the next report', async () => {
    const gateway = await gatewayIn('hall-3')
    const perLink = gatekeeperLimits.eventsPerLink
    const links = Array.from({ length: gatekeeperLimits.eventsPerReport / perLink + 1 }, (_, index) =>
      linkReport({
        appInstanceId: `talking-${index}`,
        eventStream: randomUUID(),
        events: Array.from({ length: perLink }, (_, index) => ({
          timestamp: '2026-01-01T00:00:00.000Z',
          kind: 'driver' as const,
          text: 'state',
          sequence: index + 1,
        })),
      }),
    )
    const published = async () => {
      const { rows } = await hub.asOwner((owner) =>
        owner.query(`select count(*)::int as count from events where data ->> 'gatewayId' = $1 and type = $2`, [
          gateway.id,
          'discovery.link.event',
        ]),
      )
      return rows[0].count
    }
    const report = () => gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links } } })
    await report()
    assert.equal(await published(), gatekeeperLimits.eventsPerReport)
    await report()
    assert.equal(await published(), gatekeeperLimits.eventsPerReport + perLink)
    const { data: listed } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    const talking = listed.find(({ assetLinkId: id }) => id === 'talking-0')
    assert.equal(talking?.events.length, gatekeeperLimits.storedEventsPerLink)
  })
})
