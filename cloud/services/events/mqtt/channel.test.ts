import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { serverCertificate, testAuthority } from '../../../platform/tls/testing.ts'
import { until } from '../delivery/testing.ts'
import type { MqttChannel, MqttChannelOptions } from './channel.ts'
import { brokerKinds, errorOf, message, openChannel } from './testing.ts'

const never = new AbortController().signal

for (const { name, skip, hasProperties, start } of brokerKinds) {
  describe(`an MQTT publisher with the broker ${name}`, { skip }, () => {
    test('publishes events in order, with the CloudEvent as payload', async () => {
      await using broker = await start()
      await using reader = await broker.subscribe('millwright/plant/#')
      await using channel = openChannel(broker)
      const first = message('asset/a', { n: -1 })
      const messages = [first, ...Array.from({ length: 200 }, (_, n) => message('asset/a', { n }))]
      const outcomes = await Promise.all(messages.map((one) => channel.send(one, never)))
      assert.deepEqual(
        outcomes.filter((outcome) => errorOf(outcome) !== null),
        [],
      )
      assert.equal(outcomes[0]?.attempt.status, 0)
      await until(() => reader.messages.length >= messages.length, 'all messages')
      assert.deepEqual(
        reader.payloads,
        messages.map(({ body }) => body),
      )
      assert.ok(reader.messages.every(({ topic, retain }) => topic === 'millwright/plant/asset/a' && !retain))
      assert.equal(channel.sockets.length, 1)
      if (!hasProperties) return
      const [{ id, type }] = first.events
      assert.deepEqual(
        { ...reader.messages[0]?.packet.properties },
        {
          payloadFormatIndicator: true,
          contentType: 'application/cloudevents+json; charset=utf-8',
          userProperties: Object.assign(Object.create(null), { id, type }),
        },
      )
    })

    test('never sends more unconfirmed events than the broker permits', async () => {
      await using broker = await start({ receiveMaximum: 2 })
      await using reader = await broker.subscribe('millwright/#')
      await using channel = openChannel(broker)
      const messages = Array.from({ length: 300 }, (_, n) => message(`asset/${n % 7}`, { n }))
      const outcomes = await Promise.all(messages.map((one) => channel.send(one, never)))
      assert.deepEqual([...new Set(outcomes.map(errorOf))], [null])
      await until(() => reader.messages.length >= messages.length, 'all messages')
      assert.deepEqual(
        reader.payloads,
        messages.map(({ body }) => body),
      )
    })

    test('keeps the last event of a topic, and removes it after the deletion of the object', async () => {
      await using broker = await start()
      await using channel = openChannel(broker, { retain: true })
      const [first, second, other] = [message('asset/a', { n: 1 }), message('asset/a', { n: 2 }), message('asset/b')]
      for (const one of [first, second, other]) assert.equal(errorOf(await channel.send(one, never)), null)
      {
        await using late = await broker.subscribe('millwright/#')
        await until(() => late.messages.length >= 2, 'the retained events')
        const kept = late.messages.map(({ payload, retain }) => ({ payload, retain }))
        assert.deepEqual(
          kept.toSorted((a, b) => b.payload.indexOf('"n"') - a.payload.indexOf('"n"')),
          [
            { payload: second.body, retain: true },
            { payload: other.body, retain: true },
          ],
        )
      }
      await using live = await broker.subscribe('millwright/plant/asset/a')
      await until(() => live.messages.length >= 1, 'the retained event')
      const deletion = message('asset/a', {}, 'inventory.asset.deleted')
      assert.equal(errorOf(await channel.send(deletion, never)), null)
      await until(() => live.messages.length >= 3, 'the deletion')
      assert.deepEqual(live.payloads, [second.body, deletion.body, ''])
      await using late = await broker.subscribe('millwright/#')
      await until(() => late.messages.length >= 1, 'the retained event of the other asset')
      assert.deepEqual(late.payloads, [other.body])
    })

    test('keeps the event of a deletion in a topic that several objects share', async () => {
      await using broker = await start()
      await using channel = openChannel(broker, { retain: true, topic: 'millwright/{tenant}/last' })
      const deletion = message('asset/a', {}, 'inventory.asset.deleted')
      await channel.send(deletion, never)
      await using late = await broker.subscribe('millwright/#')
      await until(() => late.messages.length >= 1, 'the retained event')
      assert.deepEqual(late.payloads, [deletion.body])
    })

    test('reports a wrong password and a missing user, and continues after a change', async () => {
      await using broker = await start({ user: { name: 'publisher', password: 'correct' } })
      for (const wrong of [{ userName: 'publisher', password: 'wrong' }, {}]) {
        await using channel = openChannel(broker, wrong)
        const outcome = await channel.send(message('asset/a'), never)
        assert.match(errorOf(outcome) ?? '', /^The broker refused the connection: .*Check the user name/)
        assert.ok([134, 135].includes(outcome.attempt.status ?? 0), String(outcome.attempt.status))
        assert.equal(JSON.stringify(outcome).includes('wrong'), false)
      }
      await using channel = openChannel(broker, { userName: 'publisher', password: 'correct' })
      assert.equal(errorOf(await channel.send(message('asset/a'), never)), null)
    })

    test('reports a topic that the user may not publish to, and publishes other topics', async () => {
      await using broker = await start({ deniedTopic: 'millwright/plant/asset/secret' })
      await using reader = await broker.subscribe('millwright/#')
      await using channel = openChannel(broker)
      const [refused, accepted] = await Promise.all([
        channel.send(message('asset/secret'), never),
        channel.send(message('asset/open', { n: 1 }), never),
      ])
      assert.equal(
        errorOf(refused),
        'The broker refused the event: Not authorized (reason code 135). Allow the user on the broker to publish to the topics of this publisher',
      )
      assert.equal(refused.attempt.status, 135)
      assert.equal(errorOf(accepted), null)
      await until(() => reader.messages.length === 1, 'the permitted event')
      assert.equal(channel.sockets.length, 1)
    })

    test('fails an event whose topic is empty, and publishes other events on the same connection', async () => {
      await using broker = await start()
      await using channel = openChannel(broker, { topic: '{id}' })
      const subjects = ['asset/a', 'update-settings', 'asset/b']
      const outcomes = await Promise.all(subjects.map((subject) => channel.send(message(subject), never)))
      const [first, empty, second] = outcomes.map(errorOf)
      assert.deepEqual([first, second], [null, null])
      assert.match(empty ?? '', /topic of this event is empty/)
      assert.equal(channel.sockets.length, 1)
    })

    test('reports a refused status topic', async () => {
      await using broker = await start({ deniedTopic: 'millwright/status' })
      await using channel = openChannel(broker, { statusTopic: 'millwright/status' })
      assert.match(
        errorOf(await channel.send(message('asset/a'), never)) ?? '',
        /publish to the topics of this publisher$/,
      )
    })

    test('fails events that are larger than the limit of the broker, and sends events up to the limit', async () => {
      const maximumPacketSize = 2_000
      await using broker = await start({ maximumPacketSize })
      await using reader = await broker.subscribe('millwright/#')
      await using channel = openChannel(broker)
      const failure = errorOf(await channel.send(message('asset/a', { text: 'x'.repeat(2_000) }), never)) ?? ''
      const [, needed] =
        /^The event needs a packet of (\d+) bytes, and the broker accepts at most 2000\. Increase/.exec(failure) ?? []
      const overhead = Number(needed) - 2_000
      const atLimit = message('asset/a', { text: 'x'.repeat(maximumPacketSize - overhead) })
      const above = message('asset/a', { text: 'x'.repeat(maximumPacketSize - overhead + 1) })
      assert.match(errorOf(await channel.send(above, never)) ?? '', /needs a packet of 2001 bytes/)
      assert.equal(errorOf(await channel.send(atLimit, never)), null)
      await until(() => reader.messages.length === 1, 'the event at the limit')
      assert.equal(channel.sockets.length, 1)
    })

    test('checks the certificate of the broker against the private authority', async () => {
      const authority = testAuthority()
      const tls = serverCertificate(authority, { hosts: ['localhost', '127.0.0.1'] })
      await using broker = await start({ tls })
      const send = async (options: Partial<MqttChannelOptions>) => {
        await using channel = openChannel(broker, { url: `mqtts://127.0.0.1:${broker.port}`, ...options })
        return errorOf(await channel.send(message('asset/a'), never))
      }
      const trusted = { certificateAuthority: authority.certificate }
      assert.equal(await send(trusted), null)
      assert.equal(await send({ ...trusted, url: `mqtts://localhost:${broker.port}` }), null)
      const untrusted = /^The broker has a certificate that is not trusted/
      assert.match((await send({})) ?? '', untrusted)
      assert.match((await send({ certificateAuthority: testAuthority('Other').certificate })) ?? '', untrusted)
      const plain = await send({ url: `mqtt://127.0.0.1:${broker.port}` })
      assert.match(plain ?? '', /use mqtts$/)
    })

    test('reports TLS to a port without TLS, and a certificate of another host', async () => {
      const authority = testAuthority()
      await using plain = await start()
      await using other = await start({ tls: serverCertificate(authority, { hosts: ['other.example.com'] }) })
      const trusted = { certificateAuthority: authority.certificate, responseMs: 5_000 }
      await using toPlain = openChannel(plain, { ...trusted, url: `mqtts://127.0.0.1:${plain.port}` })
      assert.match(
        errorOf(await toPlain.send(message('asset/a'), never)) ?? '',
        /^The broker (?:does not accept TLS on this port|closed the connection)/,
      )
      await using toOther = openChannel(other, { ...trusted, url: `mqtts://127.0.0.1:${other.port}` })
      assert.match(errorOf(await toOther.send(message('asset/a'), never)) ?? '', /certificate that is not trusted/)
    })

    test('publishes online, the last will after a lost connection, and offline at the end', async () => {
      await using broker = await start()
      await using status = await broker.subscribe('status/plant')
      const channel = openChannel(broker, { statusTopic: 'status/{tenant}' })
      assert.equal(channel.idleMs, Number.POSITIVE_INFINITY)
      await until(() => status.messages.length >= 1, 'online without an event')
      channel.sockets[0]?.destroy()
      await until(() => status.messages.length >= 3, 'offline and online again')
      assert.equal(errorOf(await channel.send(message('asset/a'), never)), null)
      await channel.close()
      await until(() => status.messages.length >= 4, 'offline after the end')
      assert.deepEqual(status.payloads, ['online', 'offline', 'online', 'offline'])
      await using late = await broker.subscribe('status/plant')
      await until(() => late.messages.length >= 1, 'the retained status')
      assert.deepEqual(
        late.messages.map(({ payload, retain }) => [payload, retain]),
        [['offline', true]],
      )
    })

    test('a second connection with the same client id ends the first', async () => {
      await using broker = await start()
      await using first = openChannel(broker, { clientId: 'same' })
      assert.equal(errorOf(await first.send(message('asset/a'), never)), null)
      await using second = openChannel(broker, { clientId: 'same' })
      assert.equal(errorOf(await second.send(message('asset/a'), never)), null)
      await until(() => first.sockets[0]?.destroyed === true, 'the end of the first connection')
      assert.equal(errorOf(await first.send(message('asset/a'), never)), null)
      assert.equal(first.sockets.length, 2)
    })

    test(
      'loses no event and keeps the order of each topic when connections are lost during publishing',
      onlyInLongRuns,
      async () => {
        const [keys, perKey] = [5, 150]
        await using broker = await start()
        await using reader = await broker.subscribe('millwright/#')
        await using channel = openChannel(broker)
        const publishing = new AbortController()
        const cutting = cutConnections(channel.sockets, publishing.signal)
        await publishInOrder(channel, keys, perKey).finally(() => publishing.abort())
        await cutting
        const isComplete = () =>
          keys === new Set(reader.payloads.filter((text) => numberOf(text) === perKey - 1).map(subjectOf)).size
        await until(isComplete, 'the last event of each topic')
        assert.ok(channel.sockets.length > 3, `${channel.sockets.length} connections`)
        for (let key = 0; key < keys; key += 1) {
          const payloads = reader.payloads.filter((text) => subjectOf(text) === `asset/${key}`)
          assertOrdered(payloads)
          // An event without a confirmation is sent again. The repetition has the same payload, with the same id.
          assert.equal(new Set(payloads).size, perKey)
          assert.deepEqual(
            [...new Set(payloads.map(numberOf))],
            Array.from({ length: perKey }, (_, n) => n),
          )
        }
      },
    )

    test('publishes all events in order when the broker is killed and started again during publishing', async () => {
      const [keys, perKey, kills] = [5, 120, 3]
      let broker = await start()
      const { port } = broker
      let reader = await broker.subscribe('millwright/#')
      const received: string[] = []
      await using channel = openChannel({ port }, { responseMs: 5_000 })
      const progress = { delivered: 0 }
      const publishing = publishInOrder(channel, keys, perKey, progress)
      try {
        for (let kill = 1; kill <= kills; kill += 1) {
          await until(() => progress.delivered >= (kill * keys * perKey) / (kills + 2), 'deliveries')
          await broker.kill()
          received.push(...reader.payloads)
          await reader.close()
          broker = await start({ port })
          reader = await broker.subscribe('millwright/#')
        }
        await publishing
        // The reader can subscribe after all other events were published, so one more event is published for it.
        assert.ok((await channel.send(message('asset/0', { n: perKey }), never)).isDelivered)
        await until(() => reader.payloads.some((text) => numberOf(text) === perKey), 'the last event')
      } finally {
        received.push(...reader.payloads)
        await reader.close()
        await broker.kill()
      }
      assert.equal(progress.delivered, keys * perKey)
      assert.ok(channel.sockets.length > kills, `${channel.sockets.length} connections`)
      for (let key = 0; key < keys; key += 1)
        assertOrdered(received.filter((text) => subjectOf(text) === `asset/${key}`))
    })
  })
}

/** Publishes as the deliverer does: the next event of an object after the success of the former. */
async function publishInOrder(
  channel: MqttChannel,
  keys: number,
  perKey: number,
  progress = { delivered: 0 },
): Promise<void> {
  const runs = Array.from({ length: keys }, async (_, key) => {
    for (let n = 0; n < perKey; n += 1) {
      const one = message(`asset/${key}`, { n })
      while (!(await channel.send(one, never)).isDelivered) await pause(5)
      progress.delivered += 1
    }
  })
  await Promise.all(runs)
}

async function cutConnections(sockets: readonly Socket[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await pause(10)
    sockets.at(-1)?.destroy()
  }
}

function assertOrdered(payloads: readonly string[]): void {
  const numbers = payloads.map(numberOf)
  const isOrdered = numbers.every((n, place) => n >= (numbers[place - 1] ?? 0))
  assert.ok(isOrdered, numbers.join(' '))
}

function numberOf(payload: string): number {
  return JSON.parse(payload).data.n
}

function subjectOf(payload: string): string {
  return JSON.parse(payload).subject
}
