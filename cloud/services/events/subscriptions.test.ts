import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Delivery } from '@millwright/api/event-subscriptions.ts'
import { newId } from '../../platform/database/id.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { until } from './delivery/testing.ts'
import { emitAssetEvent, emitEvents } from './testing.ts'
import { createWebhook, HttpReceiver, isSigned, sendTest } from './webhooks/testing.ts'

describe('deliveries of a webhook', () => {
  let hub: TestHub
  let admin: TestCaller
  let receiver: HttpReceiver

  before(async () => {
    receiver = await HttpReceiver.open()
    hub = await testHub({ ownProcesses: true, outboundAllow: ['127.0.0.1'] })
    admin = await hub.as('administrator')
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await receiver[Symbol.asyncDispose]()
  })

  const answerWith = (status: number) => {
    receiver.answer = (_, response) => response.writeHead(status).end('response of the receiver')
  }
  const create = (fields: Partial<Parameters<typeof createWebhook>[1]> = {}, caller = admin) =>
    createWebhook(caller, { url: receiver.url, active: true, types: ['test.'], ...fields })
  const remove = (id: string) => admin.events.deleteWebhook({ params: { id } })
  const read = async (id: string) => (await admin.events.readWebhook({ params: { id } })).data
  const update = async (id: string, data: object, caller = admin) =>
    (await caller.events.updateWebhook({ params: { id }, body: { data } })).data
  const list = async (id: string, query: object = {}, caller = admin) =>
    (await caller.events.listWebhookDeliveries({ params: { id }, query })).data
  const readDelivery = async (id: string, deliveryId: string, caller = admin) =>
    (await caller.events.readWebhookDelivery({ params: { id, deliveryId } })).data
  /** Waits until the log has a number of deliveries in a state, and returns them, newest first. */
  const logged = async (id: string, state: Delivery['state'], count = 1): Promise<Delivery[]> => {
    let found: Delivery[] = []
    await until(async () => {
      found = await list(id, { state })
      return found.length >= count
    }, `${count} deliveries in the state ${state}`)
    return found
  }
  const receivedIds = () => receiver.requests.map(({ headers }) => headers['webhook-id'])
  const asOwner = (text: string, ...values: unknown[]) =>
    hub.asOwner((owner) => owner.query(text, [hub.tenant.tenantId, ...values]))

  test('lists the hosts that the installation allows, only for callers who can create webhooks', async () => {
    const admin = await hub.as('administrator')
    assert.deepEqual((await admin.events.listOutboundHosts({})).data, ['127.0.0.1'])
    const viewer = await hub.as('viewer')
    await assert.rejects(viewer.events.listOutboundHosts({}), { code: 'forbidden' })
  })

  test('shows the request and the response of a delivery, without its signature', async () => {
    answerWith(201)
    const { id } = await create()
    await emitEvents(hub, ['thing/log-1'])
    const [delivery] = await logged(id, 'succeeded')
    assert.ok(delivery !== undefined)
    const { request, ...detail } = await readDelivery(id, delivery.id)
    assert.deepEqual(detail, delivery)
    assert.deepEqual([delivery.type, delivery.subject], ['io.millwright.test.thing.changed', 'thing/log-1'])
    assert.deepEqual([delivery.attemptCount, delivery.attempts[0]?.status], [1, 201])
    assert.equal(delivery.attempts[0]?.responseBody, 'response of the receiver')
    assert.equal(request?.target, receiver.url)
    assert.equal(request?.body, receiver.last.body)
    assert.deepEqual(Object.keys(request?.headers ?? {}), ['content-type', 'user-agent', 'webhook-id'])
    assert.equal(request?.headers['webhook-id'], delivery.eventId)

    await asOwner('delete from events where tenant_id = $1 and position = $2', delivery.position)
    assert.equal((await readDelivery(id, delivery.id)).request, null)
    await remove(id)
  })

  test('hides the object, the request and the response from managers that cannot read the event', async () => {
    answerWith(200)
    const { id } = await create()
    await emitEvents(hub, ['thing/private'])
    const [delivery] = await logged(id, 'succeeded')
    const body = { data: { name: 'log-reader', permissions: ['glb_webhook_manage' as const] } }
    await admin.authorization.createRole({ body })
    const manager = await hub.as('log-reader')
    const [seen] = await list(id, {}, manager)
    assert.deepEqual([seen?.id, seen?.subject], [delivery?.id, null])
    const detail = await readDelivery(id, delivery?.id ?? '', manager)
    assert.equal(detail.request, null)
    assert.doesNotMatch(JSON.stringify(detail), /private|response of the receiver/)
    const other = await hub.as('administrator')
    assert.match(JSON.stringify(await readDelivery(id, delivery?.id ?? '', other)), /thing\/private/)
    await remove(id)
  })

  test('hides the earlier deliveries from a manager that becomes the owner', async () => {
    answerWith(200)
    const { data: hall } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-8' } } })
    const { id } = await create({ types: ['io.millwright.inventory.'] })
    await emitAssetEvent(hub, `asset/${newId()}`, hall.id)
    const [delivery] = await logged(id, 'succeeded')
    const body = { data: { name: 'taking-over', permissions: ['glb_webhook_manage' as const] } }
    await admin.authorization.createRole({ body })
    const manager = await hub.as('taking-over')
    assert.equal((await update(id, { batchSize: 2 }, manager)).owner.id, manager.principalId)
    const seen = [await list(id, {}, manager), await readDelivery(id, delivery?.id ?? '', manager)]
    assert.doesNotMatch(JSON.stringify(seen), /asset\/|response of the receiver/)
    assert.match(JSON.stringify(await list(id)), /asset\//)
    await remove(id)
  })

  test('hides deliveries from the owner when the owner can no longer read the events', async () => {
    answerWith(500)
    const { data: hall } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-10' } } })
    const body = {
      data: { name: 'hall-hooks', permissions: ['glb_webhook_manage' as const, 'inventory_read_asset_data' as const] },
    }
    await admin.authorization.createRole({ body })
    const keeps = { data: { name: 'hooks-only', permissions: ['glb_webhook_manage' as const] } }
    await admin.authorization.createRole({ body: keeps })
    const owner = await hub.as('hall-hooks')
    const { id } = await create({ types: ['io.millwright.inventory.'] }, owner)
    await emitAssetEvent(hub, `asset/${newId()}`, hall.id)
    const [delivery] = await logged(id, 'failed')
    const deliveryId = delivery?.id ?? ''
    assert.match((await readDelivery(id, deliveryId, owner)).subject ?? '', /^asset\//)
    const { data: grants } = await admin.authorization.listGrants({ query: { principal: owner.principalId } })
    for (const grant of grants) await admin.authorization.deleteGrant({ params: { id: grant.id } })
    const grant = { data: { principal: owner.principalId, role: 'hooks-only' } }
    await admin.authorization.createGrant({ body: grant })
    const smaller = hub.withToken(await hub.tokenFor(owner.principalId, { roles: ['hooks-only'] }))
    const retried = await smaller.events.retryWebhookDelivery({ params: { id, deliveryId } })
    const seen = [retried.data, await list(id, {}, smaller), await readDelivery(id, deliveryId, smaller)]
    assert.doesNotMatch(JSON.stringify(seen), /asset\/|response of the receiver/)
    const [skipped] = await logged(id, 'skipped')
    assert.deepEqual([skipped?.id, skipped?.attemptCount], [deliveryId, 1])
    await remove(id)
  })

  test('lists deliveries by state, in pages, newest first', async () => {
    answerWith(200)
    const { id } = await create()
    const subjects = ['thing/p1', 'thing/p2', 'thing/p3', 'thing/p4', 'thing/p5']
    await emitEvents(hub, subjects)
    const all = await logged(id, 'succeeded', subjects.length)
    const pages: string[] = []
    for (let cursor: string | undefined; ; ) {
      const query = { limit: 2, ...(cursor === undefined ? {} : { cursor }) }
      const { data, meta } = await admin.events.listWebhookDeliveries({ params: { id }, query })
      pages.push(...data.map((delivery) => delivery.id))
      cursor = meta.nextCursor
      if (cursor === undefined) break
    }
    assert.deepEqual(
      pages,
      all.map((delivery) => delivery.id),
    )
    assert.deepEqual(await list(id, { state: 'failed' }), [])
    assert.deepEqual(await list(id, { deadLetters: true }), [])
    await assert.rejects(list(id, { cursor: 'x' }), { code: 'invalid_cursor' })
    const ids = (rows: readonly { id: string }[]) => rows.map((row) => row.id)
    for (const filter of [{}, { state: 'succeeded' as const }])
      assert.deepEqual(ids(await list(id, { ...filter, offset: 1 })), ids(all).slice(1))
    const [first] = ids(all)
    assert.deepEqual(ids(await list(id, { cursor: first ?? '', offset: 1 })), ids(all).slice(2))
    assert.deepEqual(await list(id, { offset: all.length }), [])
    assert.deepEqual(await list(id, { state: 'failed', offset: 1 }), [])
    assert.deepEqual(await list(id, { deadLetters: true, offset: 1 }), [])
    await assert.rejects(readDelivery(id, newId()), { code: 'not_found' })
    await remove(id)
  })

  test('sends a failed event again at once, and refuses a retry of other deliveries', async () => {
    answerWith(500)
    const { id } = await create()
    const retry = (deliveryId: string) => admin.events.retryWebhookDelivery({ params: { id, deliveryId } })
    await emitEvents(hub, ['thing/retried'])
    const [failed] = await logged(id, 'failed')
    assert.equal((await read(id)).waiting, 1)
    answerWith(200)
    const { data } = await retry(failed?.id ?? '')
    assert.equal(data.id, failed?.id)
    const [succeeded] = await logged(id, 'succeeded')
    assert.deepEqual([succeeded?.id, succeeded?.attemptCount], [failed?.id, 2])
    await assert.rejects(retry(failed?.id ?? ''), { code: 'conflict' })
    await assert.rejects(retry(newId()), { code: 'not_found' })
    answerWith(500)
    const tested = await sendTest(admin, id)
    assert.equal(tested.state, 'failed')
    assert.equal((await read(id)).waiting, 0)
    await assert.rejects(retry(tested.id), { code: 'conflict', message: /test event/ })
    await remove(id)
  })

  test('sends dead letters again, unless their event was deleted', async () => {
    answerWith(500)
    const { id } = await create()
    await emitEvents(hub, ['thing/dead'])
    const [failed] = await logged(id, 'failed')
    await update(id, { active: false })
    await asOwner(
      'update event_deliveries set is_dead_letter = true, next_at = null where tenant_id = $1 and subscription_id = $2',
      id,
    )
    assert.equal((await list(id, { deadLetters: true }))[0]?.isDeadLetter, true)
    assert.equal((await read(id)).deadLetters, 1)
    answerWith(200)
    const { data } = await admin.events.retryWebhookDeadLetters({ params: { id } })
    assert.equal(data.retried, 1)
    await update(id, { active: true })
    await logged(id, 'succeeded')
    assert.equal((await read(id)).deadLetters, 0)

    await asOwner(
      `update event_deliveries set state = 'failed', is_dead_letter = true where tenant_id = $1 and subscription_id = $2`,
      id,
    )
    await asOwner('delete from events where tenant_id = $1 and position = $2', failed?.position)
    await assert.rejects(admin.events.retryWebhookDelivery({ params: { id, deliveryId: failed?.id ?? '' } }), {
      code: 'events_gone',
    })
    await remove(id)
  })

  test('sends the events from a position on again with the same ids', async () => {
    answerWith(200)
    const { id } = await create()
    const replay = (fromPosition: number) =>
      admin.events.replayWebhook({ params: { id }, body: { data: { fromPosition } } })
    await emitEvents(hub, ['thing/r1', 'thing/r2'])
    const sent = await logged(id, 'succeeded', 2)
    const first = Math.min(...sent.map(({ position }) => position ?? 0))
    const before = receivedIds()
    const { data } = await replay(first)
    assert.equal(data.position, first - 1)
    await logged(id, 'succeeded', 4)
    const ids = receivedIds().slice(before.length)
    assert.deepEqual(ids.toSorted(), sent.map(({ messageId }) => messageId).toSorted())
    await assert.rejects(replay(data.newestPosition + 1_000), { code: 'invalid_cursor' })
    await asOwner('delete from events where tenant_id = $1 and position <= $2', first)
    await assert.rejects(replay(first), { code: 'events_gone' })
    await remove(id)
  })

  test('disables a webhook whose receiver answers 410, until a user activates it', async () => {
    answerWith(410)
    const { id } = await create()
    await emitEvents(hub, ['thing/gone'])
    await until(async () => (await read(id)).state === 'disabled', 'disabled')
    assert.equal((await read(id)).reason, 'receiver_gone')
    const { data: entries } = await admin.audit.listEntries({ query: { target: `webhook/${id}` } })
    assert.equal(entries[0]?.action, 'events.disableWebhook')
    answerWith(200)
    assert.equal((await update(id, { url: `${receiver.url}/new` })).state, 'disabled')
    assert.equal((await update(id, { active: true })).state, 'active')
    await logged(id, 'succeeded')
    await remove(id)
  })

  test('retries at once when a user corrects the URL', async () => {
    await using broken = await HttpReceiver.open()
    broken.answer = (_, response) => response.writeHead(404).end()
    answerWith(200)
    const { id } = await create({ url: broken.url })
    await emitEvents(hub, ['thing/a', 'thing/b', 'thing/c', 'thing/d', 'thing/e', 'thing/f'])
    await until(async () => (await read(id)).circuit === 'open', 'open circuit breaker')
    assert.ok((await read(id)).nextAttemptTimestamp !== null)
    assert.equal((await read(id)).lastError, 'The receiver answered 404 Not Found')
    await update(id, { url: receiver.url })
    await logged(id, 'succeeded', 6)
    const { circuit, waiting, nextAttemptTimestamp } = await read(id)
    assert.deepEqual([circuit, waiting, nextAttemptTimestamp], ['closed', 0, null])
    await remove(id)
  })

  test('retries at once when a user activates an interrupted webhook again', async () => {
    answerWith(503)
    const { id } = await create()
    await emitEvents(hub, ['thing/r1', 'thing/r2', 'thing/r3', 'thing/r4', 'thing/r5', 'thing/r6'])
    await until(async () => (await read(id)).circuit === 'open', 'open circuit breaker')
    answerWith(200)
    await update(id, { active: true })
    await logged(id, 'succeeded', 6)
    assert.deepEqual([(await read(id)).circuit, (await read(id)).waiting], ['closed', 0])
    await remove(id)
  })

  test('uses a new secret for the next events of a running webhook', async () => {
    answerWith(200)
    const { id, secret: first } = await create()
    await emitEvents(hub, ['thing/s1'])
    await logged(id, 'succeeded', 1)
    assert.ok(isSigned(receiver.last, first))
    const { secret: second } = (await admin.events.rotateWebhookSecret({ params: { id } })).data
    await emitEvents(hub, ['thing/s2'])
    await logged(id, 'succeeded', 2)
    assert.deepEqual([isSigned(receiver.last, first), isSigned(receiver.last, second)], [true, true])
    const { secret: third } = (
      await admin.events.rotateWebhookSecret({ params: { id }, body: { data: { previousSecretHours: 0 } } })
    ).data
    await emitEvents(hub, ['thing/s3'])
    await logged(id, 'succeeded', 3)
    assert.deepEqual([isSigned(receiver.last, second), isSigned(receiver.last, third)], [false, true])
    await remove(id)
  })

  test('sends only events that the new owner can read after a change of the URL', async () => {
    answerWith(200)
    const { data: hall } = await admin.authorization.createAccessGroup({ body: { data: { name: 'hall-9' } } })
    const body = { data: { name: 'hook-manager', permissions: ['glb_webhook_manage' as const] } }
    await admin.authorization.createRole({ body })
    const manager = await hub.as('hook-manager')
    const { id } = await create({ types: ['io.millwright.inventory.'] })
    await emitAssetEvent(hub, `asset/${newId()}`, hall.id)
    await logged(id, 'succeeded', 1)
    await update(id, { url: `${receiver.url}/mine` }, manager)
    await emitAssetEvent(hub, `asset/${newId()}`, hall.id)
    await hub.settle()
    const { newestPosition } = await read(id)
    await until(async () => (await read(id)).position >= newestPosition, 'handled')
    // The new owner does not see the objects and responses of the deliveries of the former owner.
    const [former, ...others] = await list(id, {}, manager)
    assert.deepEqual([former?.subject, former?.attempts[0]?.responseBody, others.length], [null, undefined, 0])
    assert.equal((await readDelivery(id, former?.id ?? '', manager)).request, null)
    assert.equal((await sendTest(manager, id)).subject, `webhook/${id}`)
    const isTest = (body: string) => JSON.parse(body).type.endsWith('.tested')
    const isLeaked = () => receiver.requests.some(({ path, body }) => path === '/events/mine' && !isTest(body))
    assert.equal(isLeaked(), false)
    // A replay by the former owner does not change the owner, so it sends nothing either.
    await admin.events.replayWebhook({ params: { id }, body: { data: { fromPosition: newestPosition } } })
    await until(async () => (await read(id)).position >= newestPosition, 'handled')
    assert.equal(isLeaked(), false)
    await remove(id)
  })
})
