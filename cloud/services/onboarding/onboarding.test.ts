import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { onboarding } from '@millwright/api/onboarding.ts'
import {
  assertionOf,
  enrolledGateway,
  enrolment,
  newKey,
  proofFor,
  requestToken,
} from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const jobs = '/gatekeeper/v1/jobs'

describe('onboarding a gateway', () => {
  let hub: TestHub
  let admin: TestCaller
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })
  after(() => hub[Symbol.asyncDispose]())

  const created = async (name = 'hall 4') => {
    const { data } = await admin.onboarding.createGateway({ body: { data: { name } } })
    return { gateway: data, config: await admin.onboarding.createGatewayConfig({ params: { id: data.id } }) }
  }
  const enrol = async (body: unknown) =>
    hub.request({
      method: 'POST',
      path: '/onboarding/v1/enrol',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ data: body }),
    })
  const stateOf = async (id: string) => (await admin.onboarding.getGateway({ params: { id } })).data.state

  test('creates a gateway with an asset of the same id and pending trust', async () => {
    const { gateway, config } = await created()
    const { data: asset } = await admin.inventory.readAsset({ params: { id: gateway.id }, query: {} })
    assert.equal(asset.functional_object_type, 'Gateway')
    assert.equal((asset.trust_state as { state_value: string }).state_value, 'pending')
    assert.equal(gateway.state, 'created')
    assert.equal(config.gatewayId, gateway.id)
    const minutes = (Date.parse(config.expiresTimestamp) - Date.now()) / 60_000
    assert.ok(minutes > 29 && minutes <= 30, String(minutes))
  })

  test('enrols a gateway once with its file and its own key, and shows it as trusted and online', async () => {
    const { gateway, config } = await created()
    const key = await newKey()
    const first = await enrol(await enrolment(config, key))
    assert.equal(first.status, 200, first.text)
    await hub.settle()
    assert.equal(await stateOf(gateway.id), 'online')
    const { data: asset } = await admin.inventory.readAsset({ params: { id: gateway.id }, query: {} })
    assert.equal((asset.trust_state as { state_value: string }).state_value, 'trusted')

    const again = await enrol(await enrolment(config, key))
    assert.deepEqual(again.body, first.body, 'whose answer was lost asks again with the same key')
    const other = await enrol(await enrolment(config, await newKey()))
    assert.equal(other.status, 403)
    assert.equal((other.body as { code: string }).code, 'enrolment_refused')
  })

  test('refuses an enrolment file that is invalid, replaced, expired or sent without the key', async () => {
    const { gateway, config } = await created()
    const key = await newKey()
    const wrong = await enrol(await enrolment({ ...config, enrolmentToken: 'mwe_other' }, key))
    assert.equal(wrong.status, 403)
    const stolen = await enrol({ ...(await enrolment(config, key)), publicKey: (await newKey()).publicKey })
    assert.equal(stolen.status, 403)
    const nowhere = await enrol(await enrolment({ ...config, gatewayId: '0198f0c2-7b1e-7c3a-9d55-0242ac120002' }, key))
    assert.equal(nowhere.status, 403)

    const newer = await admin.onboarding.createGatewayConfig({ params: { id: gateway.id } })
    assert.equal((await enrol(await enrolment(config, key))).status, 403)
    await hub.asOwner((owner) =>
      owner.query(`update gateways set config_expires_at = now() - interval '1 second' where id = $1`, [gateway.id]),
    )
    assert.equal((await enrol(await enrolment(newer, key))).status, 403)
    assert.equal(await stateOf(gateway.id), 'config_expired')
    const last = await admin.onboarding.createGatewayConfig({ params: { id: gateway.id } })
    assert.equal((await enrol(await enrolment(last, key))).status, 200)
  })

  test('lets only callers who can write assets of the access group create and enrol a gateway', async () => {
    const names = ['onboarding-read', 'onboarding-write']
    const [readOnly = '', writable = ''] = await Promise.all(
      names.map(async (name) => (await admin.authorization.createAccessGroup({ body: { data: { name } } })).data.id),
    )
    await admin.authorization.createRole({
      body: { data: { name: 'onboarder', permissions: ['glb_gateway_manage', 'glb_jobs_read'] } },
    })
    const { principalId: principal } = await hub.as('onboarder')
    const caller = hub.withToken(await hub.tokenFor(principal, { roles: ['onboarder', 'viewer', 'operator'] }))
    const grant = (granted: string, accessGroup: string) =>
      admin.authorization.createGrant({ body: { data: { principal, role: granted, accessGroup } } })
    await grant('viewer', readOnly)
    await grant('operator', writable)
    const create = async (access_group: string) => {
      const answer = await caller.exchange(onboarding, 'createGateway', {
        body: { data: { name: 'own', access_group } },
      })
      const { code, data } = answer.body as { code?: string; data?: { id: string } }
      return { status: answer.status, code, id: data?.id ?? '' }
    }
    const config = async (id: string) =>
      (await caller.exchange(onboarding, 'createGatewayConfig', { params: { id } })).status
    assert.equal((await create('default')).code, 'access_group_not_found')
    assert.equal((await create(readOnly)).code, 'forbidden')
    const own = await create('onboarding-write')
    assert.deepEqual([own.status, await config(own.id)], [201, 201])
    await admin.inventory.setAccessGroup({
      params: { id: own.id },
      body: { data: { access_group: 'onboarding-read' } },
      headers: { prefer: 'wait=30' },
    })
    assert.equal(await config(own.id), 403, 'the gateway moved to a group that the caller cannot write')
  })

  test("returns the current name and access group of a gateway's asset", async () => {
    const { data: hall1 } = await admin.authorization.createAccessGroup({
      body: { data: { name: 'onboarding-moved' } },
    })
    const { gateway } = await created()
    const params = { id: gateway.id }
    const headers = { prefer: 'wait=30' }
    await admin.inventory.setName({ params, body: { data: { name: 'renamed' } }, headers })
    await admin.inventory.setAccessGroup({ params, body: { data: { access_group: hall1.id } }, headers })
    const { data: listed } = await admin.onboarding.listGateways({ query: { limit: 100 } })
    const shown = [
      listed.find(({ id }) => id === gateway.id),
      (await admin.onboarding.getGateway({ params })).data,
      (await admin.onboarding.revokeGateway({ params })).data,
    ]
    const expected = ['renamed', hall1.id]
    assert.deepEqual(
      shown.map((one) => [one?.name, one?.access_group]),
      [expected, expected, expected],
    )
  })

  test('limits refused enrolments and their audit entries per gateway and address, without revealing a revocation', async () => {
    const { gateway, config } = await created()
    const key = await newKey()
    const wrong = () => enrolment({ ...config, enrolmentToken: 'mwe_other' }, key).then(enrol)
    const first = await wrong()
    await admin.onboarding.revokeGateway({ params: { id: gateway.id } })
    const answers = [await wrong()]
    // The wait doubles with every failure. On a slow machine, the limit is therefore reached a few requests later.
    while (answers.at(-1)?.status !== 429 && answers.length < 20) answers.push(await wrong())
    assert.deepEqual([first.status, answers.at(-1)?.status], [403, 429])
    assert.ok(Number(answers.at(-1)?.headers.get('retry-after')) >= 1)
    const detailOf = ({ body }: { body: unknown }) => (body as { detail: string }).detail
    assert.equal(detailOf(answers[0] ?? first), detailOf(first), 'a revoked gateway gets the same error')
    const { data } = await admin.audit.listEntries({ query: { action: 'onboarding.enrol', outcome: 'denied' } })
    const recorded = data.filter(({ target }) => target === `gateway/${gateway.id}`)
    assert.ok(recorded.length < answers.length, `${recorded.length} entries`)
  })

  test('returns 413 for a large enrolment request without a token', async () => {
    const large = await enrol({ padding: 'x'.repeat(64 * 1024) })
    assert.deepEqual([large.status, (large.body as { code: string }).code], [413, 'body_too_large'])
  })

  test('refuses the token of a gateway without a new proof of possession for each request', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const { token, key } = gateway
    const ask = (headers: Record<string, string>) =>
      hub.request({ method: 'GET', path: jobs, headers: { authorization: `Bearer ${token}`, ...headers } })
    const request = { method: 'GET', path: jobs, token, key }

    assert.equal((await gateway.send({ method: 'GET', path: jobs })).status, 200)
    assert.equal((await ask({})).status, 401, 'no proof')
    const used = await proofFor(hub, request)
    assert.equal((await ask({ dpop: used })).status, 200)
    assert.equal((await ask({ dpop: used })).status, 401, 'used before')
    const now = Math.floor(Date.now() / 1000)
    const wrong: Record<string, Record<string, unknown>> = {
      'another method': { htm: 'POST' },
      'another address': { htu: `${hub.context.settings.baseUrl}/gatekeeper/v1/leases` },
      'another token': { ath: 'x' },
      'long ago': { iat: now - 300 },
      'yet to come': { iat: now + 300 },
    }
    for (const [why, changes] of Object.entries(wrong))
      assert.equal((await ask({ dpop: await proofFor(hub, request, changes) })).status, 401, why)
    const foreign = await proofFor(hub, { ...request, key: await newKey() })
    assert.equal((await ask({ dpop: foreign })).status, 401, 'another key')
    assert.equal((await ask({ dpop: 'x'.repeat(10_000) })).status, 401, 'too long')
  })

  test('issues a token only for an assertion that the key of the gateway signed', async () => {
    const { clientId, key } = await enrolledGateway(hub, admin)
    assert.equal((await requestToken(hub, await assertionOf(hub, { clientId, key }))).status, 200)
    const forged = await requestToken(hub, await assertionOf(hub, { clientId, key: await newKey() }))
    assert.equal(forged.status, 401)
    assert.equal((forged.body as { error: string }).error, 'invalid_client')
    assert.equal((await requestToken(hub, 'nonsense')).status, 401)
  })

  test('refuses the token and new tokens of a revoked gateway immediately', async () => {
    const gateway = await enrolledGateway(hub, admin)
    await admin.onboarding.revokeGateway({ params: { id: gateway.id } })
    assert.equal(await stateOf(gateway.id), 'revoked')
    const refused = async () => (await gateway.send({ method: 'GET', path: jobs })).status === 401
    const deadline = performance.now() + 120_000
    while (!(await refused())) assert.ok(performance.now() < deadline, 'it is never refused')
    assert.equal((await requestToken(hub, await assertionOf(hub, gateway))).status, 401)
    const config = await admin.exchange(onboarding, 'createGatewayConfig', { params: { id: gateway.id } })
    assert.equal(config.status, 409)
  })

  test('deletes a gateway together with its asset', async () => {
    const gateway = await enrolledGateway(hub, admin)
    await admin.onboarding.deleteGateway({ params: { id: gateway.id } })
    await hub.settle()
    assert.equal((await admin.exchange(onboarding, 'getGateway', { params: { id: gateway.id } })).status, 404)
    assert.equal((await requestToken(hub, await assertionOf(hub, gateway))).status, 401)
  })

  test('shows the computer that a gateway reports, and keeps it after a report without it', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const host = { hostName: 'hall-3', operatingSystem: 'Linux 6.1 (x64)', addresses: ['192.0.2.7'] }
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '2.0.0', host, links: [] } } })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '2.0.0', links: [] } } })
    const { data } = await admin.onboarding.getGateway({ params: { id: gateway.id } })
    assert.deepEqual(data.host, host)
  })

  test('shows a gateway that sends no requests as offline, and as online after its next request', async () => {
    const gateway = await enrolledGateway(hub, admin)
    await hub.asOwner((owner) =>
      owner.query(`update gateways set last_seen_at = now() - interval '10 minutes' where id = $1`, [gateway.id]),
    )
    assert.equal(await stateOf(gateway.id), 'offline')
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '2.0.0', links: [] } } })
    assert.equal(await stateOf(gateway.id), 'online')
  })
})
