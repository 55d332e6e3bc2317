import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { subscriptionLimits } from '@millwright/api/event-subscriptions.ts'
import { events } from '@millwright/api/events.ts'
import type { Permission } from '@millwright/api/permission.ts'
import { rotateDataKey } from '../../../platform/secrets/data-rotation.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { testAuthority } from '../../../platform/tls/testing.ts'
import { sealedSubscriptionSecrets } from '../subscription-store.ts'
import { createWebhook, HttpReceiver, isSigned, sendTest } from './testing.ts'

const unknownId = '0197a4f2-0000-7000-8000-000000000001'

describe('webhooks', () => {
  let hub: TestHub
  let admin: TestCaller
  let receiver: HttpReceiver

  before(async () => {
    receiver = await HttpReceiver.open()
    hub = await testHub({ outboundAllow: ['127.0.0.1', 'cmms.example.com'] })
    admin = await hub.as('administrator')
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
  })

  const read = async (id: string, caller = admin) => (await caller.events.readWebhook({ params: { id } })).data
  const update = async (id: string, data: object, caller = admin) =>
    (await caller.events.updateWebhook({ params: { id }, body: { data } })).data
  const remove = (id: string) => admin.events.deleteWebhook({ params: { id } })
  const managerWith = async (name: string, permissions: Permission[], accessGroupId?: string) => {
    await admin.authorization.createRole({ body: { data: { name, permissions } } })
    return hub.as(name, accessGroupId === undefined ? {} : { accessGroupId })
  }
  const auditOf = async (id: string) =>
    (await admin.audit.listEntries({ query: { target: `webhook/${id}` } })).data.map(({ action }) => action)

  test('creates a webhook with defaults, and returns its secret only once', async () => {
    const body = { data: { url: 'https://cmms.example.com/hooks?key=1', types: ['io.millwright.inventory.asset.'] } }
    const headers = { 'idempotency-key': 'create the first webhook' }
    const created = await admin.exchange(events, 'createWebhook', { body, headers })
    const { data } = created.body as { data: Awaited<ReturnType<typeof createWebhook>> }
    const { secret, ...webhook } = data
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(created.status, 201)
    assert.equal(created.headers.get('location'), `/events/v1/webhooks/${webhook.id}`)
    assert.deepEqual([webhook.name, webhook.batchSize, webhook.active], ['cmms.example.com', 1, true])
    assert.deepEqual([webhook.state, webhook.reason, webhook.circuit], ['active', null, 'closed'])
    assert.deepEqual([webhook.accessGroup, webhook.filter, webhook.certificateAuthority], [null, null, null])
    assert.equal(webhook.owner.id, admin.principalId)
    // Events can be published between the creation and the response.
    assert.ok(webhook.position <= webhook.newestPosition)

    await assert.rejects(admin.events.createWebhook({ body, headers }), { code: 'already_answered' })
    const others = [
      await read(webhook.id),
      (await admin.events.listWebhooks({})).data,
      await update(webhook.id, { active: false }),
      (await admin.audit.listEntries({})).data,
      (await admin.events.listEvents({ query: { limit: 100 } })).data,
    ]
    for (const shown of others) assert.doesNotMatch(JSON.stringify(shown), /whsec_|key=1(?=.*createWebhook)/)
    assert.ok(!hub.printed.join('').includes(secret.slice(6, 20)), 'the log contains the secret')
    await remove(webhook.id)
  })

  test('refuses a target that the installation does not allow, with 400 and the setting', async () => {
    const refused = ['https://192.0.2.9/', 'https://other.example.com', 'http://169.254.169.254/latest/meta-data/']
    for (const url of refused) {
      const answer = await admin.exchange(events, 'createWebhook', { body: { data: { url, types: ['test.'] } } })
      const problem = answer.body as { code: string; status: number; detail: string; errors: { pointer: string }[] }
      assert.deepEqual([answer.status, problem.status, problem.code], [400, 400, 'target_not_allowed'], url)
      assert.match(problem.detail, /MILLWRIGHT_OUTBOUND_ALLOW/)
      assert.equal(problem.errors[0]?.pointer, '/data/url')
    }
    for (const url of ['https://jane:pw@cmms.example.com', 'ftp://cmms.example.com', 'file:///etc/passwd', 'urn:a:b'])
      await assert.rejects(createWebhook(admin, { url }), { code: /^(?:target_not_allowed|invalid_body)$/ }, url)
    const { id } = await createWebhook(admin, { url: 'https://cmms.example.com' })
    await assert.rejects(update(id, { url: 'https://192.0.2.9' }), { code: 'target_not_allowed', status: 400 })
    await remove(id)
  })

  test('refuses types that are not words between dots, and shows an example', async () => {
    for (const type of ['.', '..', '.inventory', 'inventory..asset', 'inventory.asset..', 'Inventory'])
      await assert.rejects(createWebhook(admin, { url: 'https://cmms.example.com', types: [type] }), {
        code: 'invalid_body',
        message: /^\/data\/types\/0 .* for example inventory\.asset$/,
      })
    await assert.rejects(createWebhook(admin, { url: 'https://cmms.example.com', types: [''] }), {
      code: 'invalid_body',
    })
  })

  test('refuses unknown access groups, filters that are not valid, and certificates that are not valid', async () => {
    const { url } = receiver
    await assert.rejects(createWebhook(admin, { url, accessGroup: unknownId }), { code: 'access_group_not_found' })
    for (const filter of ['name eq', "no_such_property eq '1'"])
      await assert.rejects(createWebhook(admin, { url, filter }), (error: { errors?: { pointer: string }[] }) => {
        assert.equal(error.errors?.[0]?.pointer, '/data/filter')
        return true
      })
    const { certificate, key } = testAuthority()
    for (const certificateAuthority of ['no certificate', certificate.replace('M', '!'), key, `${certificate}${key}`])
      await assert.rejects(createWebhook(admin, { url, certificateAuthority }), { code: 'invalid_certificate' })
    const { id } = await createWebhook(admin, { url, certificateAuthority: `${certificate}\n${certificate}` })
    await assert.rejects(update(id, { certificateAuthority: 'x' }), { code: 'invalid_certificate' })
    await assert.rejects(update(id, { filter: 'name eq' }), { code: 'invalid_filter' })
    assert.equal((await update(id, { certificateAuthority: null })).certificateAuthority, null)
    await remove(id)
  })

  test('refuses more webhooks than the limit', async () => {
    const tenant = await hub.anotherTenant()
    const other = await hub.as('administrator', { tenant })
    await hub.asOwner((owner) =>
      owner.query(
        `insert into event_subscriptions (tenant_id, id, kind, name, url, types, active, details, principal_id,
           principal_kind, principal_name, roles, created_at, modified_at)
         select $1, gen_random_uuid(), 'webhook', 'w', 'https://a.example', '{a}', false, '{"batchSize":1}', $2, 'user',
           'u', '{"roles":[]}', now(), now() from generate_series(1, $3)`,
        [tenant.tenantId, other.principalId, subscriptionLimits.subscriptions - 2],
      ),
    )
    const created = await Promise.allSettled(
      Array.from({ length: 8 }, () => createWebhook(other, { url: receiver.url })),
    )
    assert.equal(created.filter(({ status }) => status === 'fulfilled').length, 2)
    await assert.rejects(createWebhook(other, { url: receiver.url }), { code: 'too_many_subscriptions' })
  })

  test('changes, pauses, resumes and deletes a webhook with ETags, audit entries and events', async () => {
    const { id } = await createWebhook(admin, { url: receiver.url })
    const first = await admin.exchange(events, 'readWebhook', { params: { id } })
    const etag = first.headers.get('etag') ?? ''
    const changed = await update(id, { name: 'CMMS', batchSize: 5, types: ['test.'] })
    assert.deepEqual([changed.name, changed.batchSize, changed.types], ['CMMS', 5, ['test.']])
    const stale = { params: { id }, headers: { 'if-match': etag } }
    await assert.rejects(admin.events.updateWebhook({ ...stale, body: { data: { active: true } } }), {
      code: 'precondition_failed',
    })
    await assert.rejects(admin.events.deleteWebhook(stale), { code: 'precondition_failed' })
    assert.deepEqual([changed.state, changed.reason], ['paused', 'user'])
    const resumed = await update(id, { active: true })
    assert.deepEqual([resumed.state, resumed.reason, resumed.active], ['active', null, true])
    await remove(id)
    await assert.rejects(read(id), { code: 'not_found' })
    await assert.rejects(sendTest(admin, id), { code: 'not_found' })
    assert.deepEqual((await auditOf(id)).toReversed(), [
      'events.createWebhook',
      'events.updateWebhook',
      'events.updateWebhook',
      'events.deleteWebhook',
    ])
    await hub.settle()
    const { data } = await admin.events.listEvents({ query: { limit: 100 } })
    const own = data.filter(({ subject }) => subject === `webhook/${id}`)
    assert.deepEqual(
      own.map(({ type }) => type.replace('io.millwright.events.webhook.', '')),
      ['created', 'updated', 'updated', 'deleted'],
    )
    assert.deepEqual(own[1]?.data, { webhookId: id, name: 'CMMS', changed: ['name', 'batchSize', 'types'] })
  })

  test('lists webhooks by name, in pages', async () => {
    const ids: string[] = []
    for (const name of ['b', 'c', 'a']) ids.push((await createWebhook(admin, { url: receiver.url, name })).id)
    const { data, meta } = await admin.events.listWebhooks({ query: { limit: 2, offset: 1 } })
    assert.deepEqual(
      data.map(({ name }) => name),
      ['b', 'c'],
    )
    assert.equal(meta.totalElements, 3)
    for (const id of ids) await remove(id)
  })

  test('makes the principal that changes what is sent or where the owner', async () => {
    const { data: hall } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-3' } } })
    const manager = await managerWith('hook-manager', ['glb_webhook_manage'])
    const { id } = await createWebhook(admin, { url: receiver.url, accessGroup: hall.id })
    const renamed = await update(id, { name: 'renamed', active: true }, manager)
    assert.equal(renamed.owner.id, admin.principalId)
    assert.equal((await update(id, { active: false }, manager)).owner.id, admin.principalId)
    // The manager cannot read the access group, so it cannot become the owner while the webhook selects this group.
    await assert.rejects(update(id, { url: `${receiver.url}/mine` }, manager), { code: 'access_group_not_found' })
    await assert.rejects(update(id, { accessGroup: hall.id }, manager), { code: 'access_group_not_found' })
    const taken = await update(id, { url: `${receiver.url}/mine`, accessGroup: null }, manager)
    assert.equal(taken.owner.id, manager.principalId)
    const { data } = await admin.audit.listEntries({ query: { target: `webhook/${id}` } })
    assert.deepEqual(data[0]?.detail.ownerBefore, admin.principalId)
    assert.equal((await update(id, { types: ['io.millwright.'] })).owner.id, admin.principalId)
    await remove(id)
  })

  test('signs with both secrets during a rotation, and with the new one after it', async () => {
    receiver.answer = (_, response) => response.end()
    const { id, secret: first } = await createWebhook(admin, { url: receiver.url })
    const rotate = async (previousSecretHours?: number) => {
      const body = { data: previousSecretHours === undefined ? {} : { previousSecretHours } }
      return (await admin.events.rotateWebhookSecret({ params: { id }, body })).data
    }
    const { secret: second, previousSecretExpiresTimestamp } = await rotate()
    const hours = (Date.parse(previousSecretExpiresTimestamp ?? '') - Date.now()) / 3_600_000
    assert.ok(hours > 23.9 && hours <= 24)
    await sendTest(admin, id)
    assert.equal(String(receiver.last.headers['webhook-signature']).split(' ').length, 2)
    assert.deepEqual([isSigned(receiver.last, first), isSigned(receiver.last, second)], [true, true])

    const setUntil = (time: string) =>
      hub.asOwner((owner) =>
        owner.query('update event_subscriptions set previous_secret_until = $3 where tenant_id = $1 and id = $2', [
          hub.tenant.tenantId,
          id,
          time,
        ]),
      )
    await setUntil(new Date(Date.now() - 1_000).toISOString())
    assert.equal((await read(id)).previousSecretExpiresTimestamp, null)
    await sendTest(admin, id)
    assert.deepEqual([isSigned(receiver.last, first), isSigned(receiver.last, second)], [false, true])

    const { secret: third, previousSecretExpiresTimestamp: none } = await rotate(0)
    assert.equal(none, null)
    await sendTest(admin, id)
    assert.deepEqual([isSigned(receiver.last, second), isSigned(receiver.last, third)], [false, true])
    assert.equal((await auditOf(id)).filter((action) => action === 'events.rotateWebhookSecret').length, 2)
    await remove(id)
  })

  test('signs with the same secrets after a rotation of the data key of the tenant', async () => {
    receiver.answer = (_, response) => response.end()
    const { id, secret: first } = await createWebhook(admin, { url: receiver.url })
    const { secret: second } = (await admin.events.rotateWebhookSecret({ params: { id } })).data
    const { tenantId } = hub.tenant
    const { safe } = hub.contextOf('events')
    const rotation = await hub.asOwner((owner) =>
      rotateDataKey(owner, { tenantId, safe, columns: sealedSubscriptionSecrets }),
    )
    assert.ok(rotation.resealed >= 2)
    await sendTest(admin, id)
    assert.deepEqual([isSigned(receiver.last, first), isSigned(receiver.last, second)], [true, true])
    await remove(id)
  })

  test('limits the test events of a webhook', async () => {
    receiver.answer = (_, response) => response.end()
    const { id } = await createWebhook(admin, { url: receiver.url })
    for (let count = 0; count < 10; count++) await sendTest(admin, id)
    const answer = await admin.exchange(events, 'testWebhook', { params: { id } })
    assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '60'])
    await remove(id)
  })

  test('does not show webhooks of another tenant', async () => {
    const { id } = await createWebhook(admin, { url: receiver.url })
    const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
    assert.deepEqual((await stranger.events.listWebhooks({})).data, [])
    const params = { id }
    const calls = [
      () => stranger.events.readWebhook({ params }),
      () => stranger.events.updateWebhook({ params, body: { data: { url: receiver.url } } }),
      () => stranger.events.rotateWebhookSecret({ params }),
      () => stranger.events.testWebhook({ params }),
      () => stranger.events.listWebhookDeliveries({ params }),
      () => stranger.events.replayWebhook({ params, body: { data: { fromPosition: 1 } } }),
      () => stranger.events.retryWebhookDeadLetters({ params }),
      () => stranger.events.deleteWebhook({ params }),
    ]
    for (const call of calls) await assert.rejects(call(), { code: 'not_found' })
    // The id of a webhook is not valid for the operations of MQTT publishers.
    assert.equal((await read(id)).id, id)
    await remove(id)
  })
})
