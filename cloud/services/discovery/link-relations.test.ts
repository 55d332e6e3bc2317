import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import type { LinkReport } from '@millwright/api/gatekeeper.ts'
import { timePlus } from '../../platform/database/statement.ts'
import { enrolledGateway, linkReport, type TestGateway } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

describe('relations between links and their gateway', () => {
  let hub: TestHub
  let admin: TestCaller
  let gateway: TestGateway
  let linkAsset: string
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())
  beforeEach(async () => {
    gateway = await enrolledGateway(hub, admin)
    const { data } = await report({ registration: registeredAt(0) })
    linkAsset = data[0]?.assetId ?? assert.fail('the link has an asset')
  })

  const report = (changes: Partial<LinkReport>) =>
    gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport(changes)] } } })
  const registeredAt = (minute: number, expiresInSeconds = 900) => ({
    timestamp: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
    expiresInSeconds,
  })
  const relations = async () =>
    (await admin.inventory.listAssetRelations({ params: { id: linkAsset }, query: {} })).data.toSorted((one, other) =>
      one.predicate < other.predicate ? -1 : 1,
    )
  const predicates = async () => (await relations()).map(({ predicate }) => predicate)
  const shown = async () => {
    const { data } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    return data[0] ?? assert.fail('the link is listed')
  }
  const deleteAsset = (id: string) =>
    admin.inventory.deleteAssets({ body: { data: { ids: [id] } }, headers: { prefer: 'wait=30' } })
  const deleteRelations = async () => {
    const ids = (await relations()).map(({ id }) => id)
    await admin.inventory.deleteRelations({ body: { data: { ids } } })
    assert.deepEqual(await predicates(), [])
  }
  /** Runs the periodic tasks of discovery that are due within the next minute. */
  const runJobs = () =>
    hub.contextOf('discovery').tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 60_000) })
  const stops = async () => {
    const deadline = performance.now() + 120_000
    while ((await shown()).state === 'running') {
      assert.ok(performance.now() < deadline, 'the link stops')
      await runJobs()
    }
  }
  const audited = async () => {
    const { data } = await admin.audit.listEntries({ query: { target: `asset/${linkAsset}`, limit: 100 } })
    return data.filter(({ action }) => action.startsWith('inventory.recordLink')).length
  }

  test('a link that the gateway has not inspected yet keeps its product, and its asset does not change', async () => {
    const history = async () => (await admin.inventory.readHistory({ params: { id: linkAsset }, query: {} })).data
    const before = await history()
    const { product, ...uninspected } = linkReport({
      state: 'unreachable',
      interfaces: [],
      problem: 'Not inspected yet',
    })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [uninspected] } } })
    assert.deepEqual(await history(), before)
    assert.equal((await shown()).product?.name, product?.name)
  })

  test('recreates the deleted relations of a link when the link registers again', async () => {
    await deleteRelations()
    await report({ registration: registeredAt(0) })
    assert.deepEqual(await predicates(), [], 'a report without a new registration does not create them')
    await report({ registration: registeredAt(1) })
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])

    await deleteRelations()
    await report({ registration: registeredAt(2), state: 'unreachable' })
    assert.deepEqual(await predicates(), ['is_installed_on'], 'a link that does not answer is not running')
    await report({ registration: registeredAt(3) })
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])

    await deleteRelations()
    await report({})
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'], 'older gateways report no registrations')
  })

  test('creates the relation of a link to its gateway even if a user created the same relation', async () => {
    await deleteRelations()
    const body = { subject: { type: 'asset', id: linkAsset }, object: { type: 'asset', id: gateway.id } } as const
    await admin.inventory.createRelation({ body: { data: { ...body, predicate: 'is_installed_on' } } })
    await report({ registration: registeredAt(1) })
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_installed_on', 'is_running_on'])
  })

  test('does not write to the inventory when a link registers again and its relations exist', async () => {
    const before = await audited()
    assert.ok(before > 0)
    await report({ registration: registeredAt(1) })
    await report({ registration: registeredAt(2) })
    assert.equal(await audited(), before)
  })

  test('recreates the deleted asset of a link when the link registers again', async () => {
    await deleteAsset(linkAsset)
    await report({ registration: registeredAt(1) })
    const { data } = await report({ registration: registeredAt(1) })
    assert.notEqual(data[0]?.assetId, linkAsset)
    linkAsset = data[0]?.assetId ?? ''
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])
  })

  test('ends the running state of a link when its registration expires, and restores it with the next report', async () => {
    await runJobs()
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'], 'the registration is valid')
    await report({ registration: registeredAt(1, 0) })
    const { lastSeenTimestamp } = await shown()
    await stops()
    assert.deepEqual(await predicates(), ['is_installed_on'])
    const stopped = await shown()
    assert.deepEqual(
      [stopped.state, stopped.reachable, stopped.lastSeenTimestamp],
      ['unreachable', false, lastSeenTimestamp],
    )
    assert.match(stopped.problem ?? '', /has not reported this link since/)
    const before = await audited()
    await runJobs()
    assert.equal(await audited(), before, 'the job ends the relation once')

    await report({ registration: registeredAt(2) })
    assert.deepEqual(await predicates(), ['is_installed_on', 'is_running_on'])
    assert.deepEqual([(await shown()).state, (await shown()).problem], ['running', undefined])
  })

  test('records once that an expired link runs again, with the time since which it was silent', async () => {
    const recoveries = async () => {
      const { data } = await admin.audit.listEntries({ query: { target: `gateway/${gateway.id}`, limit: 100 } })
      return data.filter(({ action }) => action === 'discovery.recoverLink')
    }
    await report({ registration: registeredAt(1), state: 'unreachable' })
    await report({ registration: registeredAt(1) })
    assert.equal((await recoveries()).length, 0, 'the link did not expire')
    await report({ registration: registeredAt(2, 0) })
    const { lastSeenTimestamp: silentSince, assetLinkId: link } = await shown()
    await stops()
    const { data: audit } = await admin.audit.listEntries({ query: { target: `gateway/${gateway.id}`, limit: 100 } })
    assert.deepEqual(audit.find(({ action }) => action === 'discovery.expireLink')?.detail, {
      links: [{ link, state: 'unreachable', silentSince }],
    })
    await report({ registration: registeredAt(3), state: 'unreachable', problem: 'Not inspected yet' })
    assert.equal((await recoveries()).length, 0, 'the link does not respond yet')
    await report({ registration: registeredAt(3) })
    await report({ registration: registeredAt(4), state: 'unreachable' })
    await report({ registration: registeredAt(4) })
    assert.deepEqual(
      (await recoveries()).map(({ detail }) => detail),
      [{ links: [{ link, state: 'running', silentSince }] }],
    )
  })

  test('records that a link runs again if it expires while its report is processed', async () => {
    await report({ registration: registeredAt(1) })
    const { lastSeenTimestamp: silentSince } = await shown()
    const reported = await hub.asOwner(async (owner) => {
      const own = [hub.tenant.tenantId, gateway.id]
      await owner.query('begin')
      await owner.query(
        `update asset_links
         set state = 'unreachable', report = jsonb_set(report::jsonb, '{silentSince}', to_jsonb($3::text))::json
         where tenant_id = $1 and gateway_id = $2`,
        [...own, silentSince],
      )
      const finished = report({ registration: registeredAt(1) })
      const isBlocked = async () => (await owner.query('select 1 from pg_locks where not granted')).rows.length > 0
      const deadline = performance.now() + 60_000
      while (!(await isBlocked())) assert.ok(performance.now() < deadline, 'the report waits for the link')
      await owner.query('commit')
      return { finished }
    })
    await reported.finished
    assert.equal((await shown()).state, 'running')
    const { data } = await admin.audit.listEntries({ query: { target: `gateway/${gateway.id}`, limit: 100 } })
    const recovered = data.find(({ action }) => action === 'discovery.recoverLink')
    assert.deepEqual(
      (recovered?.detail?.links as { silentSince: string }[] | undefined)?.map((link) => link.silentSince),
      [silentSince],
    )
  })

  test('expires the registration of a link without a lifetime 900 seconds after the report', async () => {
    await report({})
    const { rows } = await hub.asOwner((owner) =>
      owner.query<{ seconds: string }>(
        `update asset_links set registration_expires_at = ${timePlus('registration_expires_at', "interval '-900 seconds'")}
         where tenant_id = $1 and gateway_id = $2
         returning extract(epoch from last_seen_at - registration_expires_at) as seconds`,
        [hub.tenant.tenantId, gateway.id],
      ),
    )
    assert.deepEqual(
      rows.map(({ seconds }) => Math.round(Number(seconds))),
      [0],
    )
    await stops()
    assert.deepEqual(await predicates(), ['is_installed_on'])
  })

  test('ends the running state of a link of a revoked gateway when its registration expires', async () => {
    await report({ registration: registeredAt(1, 0) })
    await admin.onboarding.revokeGateway({ params: { id: gateway.id } })
    const [link] = (await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })).data
    assert.deepEqual([link?.reachable, link?.problem], [false, 'The gateway was revoked'], 'at once')
    await stops()
    assert.deepEqual(await predicates(), ['is_installed_on'])
  })

  test('ends the running state of a link when the asset of its gateway is deleted and the registration expires', async () => {
    await report({ registration: registeredAt(1, 0) })
    await deleteAsset(gateway.id)
    const stored = async () => {
      const { rows } = await hub.asOwner((owner) =>
        owner.query<{ state: string }>('select state from asset_links where gateway_id = $1', [gateway.id]),
      )
      return rows[0]?.state
    }
    const deadline = performance.now() + 120_000
    while ((await stored()) === 'running') {
      assert.ok(performance.now() < deadline, 'the link stops')
      await runJobs()
    }
    assert.deepEqual(await predicates(), [])
  })

  test('updates the last-seen time of a link only when the link responds or registers', async () => {
    const seen = async () => Date.parse((await shown()).lastSeenTimestamp)
    const first = await seen()
    await report({ registration: registeredAt(0), state: 'unreachable' })
    await report({ registration: registeredAt(0), state: 'unreachable' })
    assert.equal(await seen(), first, 'the link neither answered nor registered')
    await report({ state: 'unreachable' })
    assert.equal(await seen(), first, 'the same without times of registrations')
    await report({ registration: registeredAt(0), state: 'gone' })
    assert.equal(await seen(), first)
    await report({ registration: registeredAt(1), state: 'unreachable' })
    const registered = await seen()
    assert.ok(registered > first, 'the link registered')
    await report({ registration: registeredAt(1) })
    assert.ok((await seen()) > registered, 'the link answered')
  })
})
