import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { type TestCaller, type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { plantedWord } from '../../../platform/testing/secrets-shown.ts'
import { serverCertificate, testAuthority } from '../../../platform/tls/testing.ts'
import { brokerKinds } from './testing.ts'

const types = ['io.millwright.']
const topic = 'millwright/{tenant}/{kind}/{id}'

describe('configuration of MQTT publishers', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub({ outboundAllow: ['127.0.0.1', '*.example.com'] })
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  type Fields = Partial<Parameters<TestCaller['events']['createMqttPublisher']>[0]['body']['data']>
  const create = async (fields: Fields = {}, caller = admin) => {
    const data = { url: 'mqtts://broker.example.com', types, topic, active: false, ...fields }
    return (await caller.events.createMqttPublisher({ body: { data } })).data
  }
  const update = async (id: string, data: Fields, caller = admin) =>
    (await caller.events.updateMqttPublisher({ params: { id }, body: { data } })).data

  test('creates a publisher with defaults, and never returns the password', async () => {
    const created = await create({ userName: 'millwright', password: plantedWord })
    const { id, name, clientId, retain, statusTopic, hasPassword, state, reason } = created
    assert.deepEqual([name, clientId, retain, statusTopic], ['broker.example.com', `millwright-${id}`, false, null])
    assert.deepEqual([hasPassword, state, reason], [true, 'paused', 'user'])
    const { data } = await admin.events.readMqttPublisher({ params: { id } })
    assert.deepEqual(data, created)
    const listed = await admin.events.listMqttPublishers({})
    assert.ok(listed.data.some((one) => one.id === id))
    assert.doesNotMatch(JSON.stringify([created, data, listed]), new RegExp(plantedWord))
    const webhooks = await admin.events.listWebhooks({})
    assert.deepEqual(webhooks.data, [])
    await assert.rejects(admin.events.readWebhook({ params: { id } }), { code: 'not_found' })
    await admin.events.deleteMqttPublisher({ params: { id } })
    await assert.rejects(admin.events.readMqttPublisher({ params: { id } }), { code: 'not_found' })
  })

  test('changes single fields and keeps the others', async () => {
    const { id } = await create({ clientId: 'line-3', userName: 'a', statusTopic: 'status/{tenant}', retain: true })
    const changed = await update(id, { userName: null, retain: false })
    const { clientId, userName, statusTopic, retain } = changed
    assert.deepEqual([clientId, userName, statusTopic, retain], ['line-3', null, 'status/{tenant}', false])
    assert.equal(changed.topic, topic)
    assert.equal((await update(id, { statusTopic: null })).statusTopic, null)
    assert.equal((await update(id, { userName: 'b', password: `${plantedWord} new` })).hasPassword, true)
    assert.equal((await update(id, { password: null })).hasPassword, false)
  })

  test('refuses brokers that the installation does not allow, and names the setting', async () => {
    const refusal = { code: 'target_not_allowed', message: /MILLWRIGHT_OUTBOUND_ALLOW/ }
    for (const url of ['mqtt://broker.example.com', 'mqtts://10.0.0.1', 'mqtts://2130706434'])
      await assert.rejects(create({ url }), refusal, url)
    const { id } = await create()
    await assert.rejects(update(id, { url: 'mqtts://10.0.0.1' }), refusal)
    for (const url of ['mqtts://user:secret@broker.example.com', 'mqtts://broker.example.com/path'])
      await assert.rejects(create({ url }), { code: 'target_not_allowed' }, url)
    for (const url of ['https://broker.example.com', 'ws://broker.example.com', 'mqtts://'])
      await assert.rejects(create({ url }), { code: 'invalid_body' }, url)
    await assert.rejects(admin.events.createWebhook({ body: { data: { url: 'mqtts://broker.example.com', types } } }), {
      code: 'target_not_allowed',
    })
  })

  test('refuses topics that are not valid, and names the field', async () => {
    const cases: [Fields, RegExp][] = [
      [{ topic: 'a/{asset}' }, /\{asset\} is not a placeholder. Use \{tenant\}, \{type\}, \{kind\}, \{id\}/],
      [{ topic: 'a/{id' }, /\{ is not a placeholder/],
      [{ topic: 'a/{type}', retain: true }, /\{type\} together with retain/],
      [{ statusTopic: 'status/{id}' }, /\{id\} is not a placeholder. Use \{tenant\}/],
      [{ topic: 'same', statusTopic: 'same' }, /must differ/],
    ]
    for (const [fields, message] of cases) await assert.rejects(create(fields), { code: 'invalid_topic', message })
    for (const wrong of ['a/+', 'a/#', '$SYS/a', 'a\0b', ''])
      await assert.rejects(create({ topic: wrong }), { code: /invalid_/ }, wrong)
    const { id } = await create({ topic: 'events/{type}' })
    await assert.rejects(update(id, { retain: true }), { code: 'invalid_topic' })
    await assert.rejects(update(id, { topic: 'a/{unknown}' }), { code: 'invalid_topic' })
  })

  test('errors of fields name the rule and an example', async () => {
    const texts: [Fields, string, RegExp][] = [
      [{ url: 'https://broker.example.com' }, '/data/url', /mqtts:\/\/broker\.example\.com/],
      [{ url: 'mqtts://' }, '/data/url', /names no host.*mqtts:\/\/broker\.example\.com/],
      [{ clientId: 'a b' }, '/data/clientId', /must consist of letters, digits/],
      [{ topic: 'a/#' }, '/data/topic', /must not contain the characters \+ and #/],
      [{ statusTopic: 'a/#' }, '/data/statusTopic', /must not contain the characters \+ and #/],
    ]
    for (const [fields, pointer, text] of texts)
      await assert.rejects(create(fields), ({ errors }: Problem) => {
        assert.equal(errors?.[0]?.pointer, pointer)
        assert.match(errors[0].detail, text)
        return true
      })
  })

  test('refuses a password without a user name', async () => {
    const refusal = { code: 'invalid_body', message: /needs a user name/ }
    await assert.rejects(create({ password: plantedWord }), refusal)
    const { id } = await create({ userName: 'millwright', password: plantedWord })
    await assert.rejects(update(id, { userName: null }), refusal)
    assert.equal((await update(id, { userName: null, password: null })).hasPassword, false)
    await assert.rejects(update(id, { password: plantedWord }), refusal)
  })

  test('needs the password again when the broker or its authority changes', async () => {
    const { id } = await create({ userName: 'millwright', password: `${plantedWord} first` })
    const message = /needs the password again/
    await assert.rejects(update(id, { url: 'mqtts://other.example.com' }), { code: 'invalid_body', message })
    const { certificate } = testAuthority()
    await assert.rejects(update(id, { certificateAuthority: certificate }), { code: 'invalid_body', message })
    assert.equal((await update(id, { url: 'mqtts://broker.example.com', name: 'same' })).hasPassword, true)
    const changed = await update(id, { url: 'mqtts://other.example.com', password: `${plantedWord} second` })
    assert.deepEqual([changed.url, changed.hasPassword], ['mqtts://other.example.com', true])
    assert.equal((await update(id, { url: 'mqtts://third.example.com', password: null })).hasPassword, false)
    assert.equal((await update(id, { url: 'mqtts://fourth.example.com' })).hasPassword, false)
  })

  for (const { name, skip, start } of brokerKinds) {
    test(`publishes a test event to the broker ${name}, with another client id and without retain`, {
      skip,
    }, async () => {
      const authority = testAuthority()
      const user = { name: 'millwright', password: `${plantedWord} correct` }
      await using broker = await start({ user, tls: serverCertificate(authority) })
      await using reader = await broker.subscribe('#')
      const publisher = await create({
        url: `mqtts://127.0.0.1:${broker.port}`,
        certificateAuthority: authority.certificate,
        userName: user.name,
        password: user.password,
        retain: true,
        statusTopic: 'status',
      })
      const params = { id: publisher.id }
      const { data: delivery } = await admin.events.testMqttPublisher({ params })
      assert.deepEqual([delivery.state, delivery.attempts[0]?.error, delivery.position], ['succeeded', null, null])
      assert.ok([0, 16].includes(delivery.attempts[0]?.status ?? -1))
      const received = reader.messages
      assert.deepEqual(
        received.map((one) => [one.topic, one.retain]),
        [[`millwright/${hub.tenant.name}/mqtt-publisher/${publisher.id}`, false]],
      )
      const event = JSON.parse(received[0]?.payload ?? '{}')
      assert.deepEqual(event.data, { mqttPublisherId: publisher.id, name: publisher.name })
      assert.equal(event.type, 'io.millwright.events.mqtt-publisher.tested')
      await using late = await broker.subscribe('millwright/#')
      assert.deepEqual(late.messages, [])

      await update(publisher.id, { password: `${plantedWord} wrong` })
      const { data: failed } = await admin.events.testMqttPublisher({ params })
      assert.deepEqual([failed.state, failed.isDeadLetter], ['failed', false])
      assert.match(failed.attempts[0]?.error ?? '', /refused the connection/)
      const { data: log } = await admin.events.listMqttDeliveries({ params })
      assert.deepEqual(
        log.map(({ id }) => id),
        [failed.id, delivery.id],
      )
    })
  }
})
