import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { describe, test } from 'node:test'
import { Aedes } from 'aedes'
import { generate, type IConnackPacket, type Packet } from 'mqtt-packet'
import { Outbound } from '../../../platform/outbound.ts'
import { plantedWord } from '../../../platform/testing/secrets-shown.ts'
import { until } from '../delivery/testing.ts'
import type { MqttChannelOptions } from './channel.ts'
import { errorOf, FakeBroker, message, openChannel } from './testing.ts'

const never = new AbortController().signal
/** The time limit of attempts to a broker that does not respond. */
const responseMs = 500
/** The time limit of attempts to a broker that responds. On a slow machine, a response can take long. */
const patientMs = 20_000

type Answer = Packet | Buffer | undefined

function write(socket: Socket, answer: Answer): void {
  if (answer === undefined) return
  socket.write(Buffer.isBuffer(answer) ? answer : generate(answer, { protocolVersion: 5 }))
}

const accepted: IConnackPacket = { cmd: 'connack', sessionPresent: false, reasonCode: 0 }

function confirmation({ messageId = 0 }: Packet, reasonCode = 0): Packet {
  return { cmd: 'puback', messageId, reasonCode }
}

/** Starts a broker that answers connections and publications as given. */
function startBroker({
  onConnect = () => accepted,
  onPublish = (packet) => confirmation(packet),
}: {
  onConnect?: () => Answer
  onPublish?: (packet: Packet) => Answer
}): Promise<FakeBroker> {
  return FakeBroker.start({
    onPacket(packet, socket) {
      if (packet.cmd === 'connect') write(socket, onConnect())
      if (packet.cmd === 'publish') write(socket, onPublish(packet))
    },
  })
}

/** Sends one event, and returns the error. Fails if the attempt takes much longer than its limit. */
async function attempt(broker: FakeBroker, options: Partial<MqttChannelOptions> = {}) {
  const limitMs = options.responseMs ?? patientMs
  await using channel = openChannel(broker, {
    userName: 'user',
    password: plantedWord,
    ...options,
    responseMs: limitMs,
  })
  const outcome = await channel.send(message('asset/a'), never)
  const { status, durationMs, responseBody } = outcome.attempt
  assert.ok(durationMs < limitMs + 2_000, `${durationMs} ms`)
  assert.equal(JSON.stringify(outcome).includes(plantedWord), false)
  return { error: errorOf(outcome), status, responseBody }
}

describe('an MQTT publisher whose broker does not follow the protocol', () => {
  test('ends an attempt after the time limit when the broker accepts the connection and is silent', async () => {
    await using broker = await FakeBroker.start({})
    assert.equal((await attempt(broker, { responseMs })).error, 'The broker did not accept the connection within 0.5 s')
    await until(() => broker.sockets[0]?.destroyed === true, 'the connection is closed')
  })

  test('ends an attempt after the time limit when the response arrives byte by byte', async () => {
    const response = generate({ ...accepted, properties: { reasonString: 'x'.repeat(200) } }, { protocolVersion: 5 })
    await using broker = await FakeBroker.start({
      onPacket(packet, socket) {
        if (packet.cmd !== 'connect') return
        let at = 0
        const timer = setInterval(() => socket.write(response.subarray(at, ++at)), 20)
        socket.on('close', () => clearInterval(timer))
      },
    })
    assert.equal((await attempt(broker, { responseMs })).error, 'The broker did not accept the connection within 0.5 s')
  })

  test('closes the connection when the broker does not confirm an event, and opens another one', async () => {
    let isSilent = true
    await using broker = await startBroker({ onPublish: (packet) => (isSilent ? undefined : confirmation(packet)) })
    await using channel = openChannel(broker, { responseMs: 3_000 })
    const outcomes = await Promise.all(['asset/a', 'asset/b'].map((one) => channel.send(message(one), never)))
    assert.deepEqual(new Set(outcomes.map(errorOf)), new Set(['The broker did not confirm an event in time']))
    isSilent = false
    assert.equal(errorOf(await channel.send(message('asset/a'), never)), null)
    assert.equal(broker.sockets.length, 2)
    await until(() => broker.sockets[0]?.destroyed === true, 'the first connection is closed')
  })

  test('an event that waits for earlier ones fails after its time limit and is not sent later', async () => {
    await using broker = await startBroker({
      onConnect: () => ({ ...accepted, properties: { receiveMaximum: 1 } }),
      onPublish: () => undefined,
    })
    await using channel = openChannel(broker, { responseMs })
    await Promise.all(['asset/a', 'asset/b', 'asset/c'].map((one) => channel.send(message(one), never)))
    assert.equal(broker.packets.filter(({ cmd }) => cmd === 'publish').length, 1)
  })

  test('refuses data that is not MQTT', async () => {
    const http = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')
    for (const data of [http, Buffer.from('SSH-2.0-OpenSSH_9.2\r\n'), Buffer.alloc(100), Buffer.alloc(100, 0xff)]) {
      await using broker = await startBroker({ onConnect: () => data })
      const { error } = await attempt(broker)
      assert.equal(error, 'The broker sent data that is not a response of MQTT 5. Check the host and the port')
    }
  })

  test('refuses a large packet before it is received, and reads no more', async () => {
    let sent = 0
    await using broker = await FakeBroker.start({
      onPacket(packet, socket) {
        if (packet.cmd !== 'connect') return
        // A response of 256 MB that consists of properties.
        socket.write(Buffer.from([0x20, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0xff, 0xff, 0xff, 0x7f]))
        const property = Buffer.from([0x26, 0, 1, 0x61, 0, 1, 0x62])
        const chunk = Buffer.concat(Array.from({ length: 10_000 }, () => property))
        const flood = () => {
          while (!socket.destroyed && socket.write(chunk)) sent += chunk.length
        }
        socket.on('drain', flood)
        flood()
      },
    })
    assert.equal((await attempt(broker)).error, 'The broker sent a packet that is larger than 16384 bytes')
    await until(() => broker.sockets[0]?.destroyed === true, 'the connection is closed')
    assert.ok(sent < 20_000_000, `${sent} bytes`)
  })

  test('accepts a response with many properties up to the limit', async () => {
    const userProperties = { key: Array.from({ length: 500 }, (_, n) => `value ${n}`) }
    await using broker = await startBroker({ onConnect: () => ({ ...accepted, properties: { userProperties } }) })
    assert.equal((await attempt(broker)).error, null)
  })

  test('refuses responses to requests that were not sent', async () => {
    const publish: Packet = {
      cmd: 'publish',
      qos: 1,
      dup: false,
      retain: false,
      topic: 'a',
      payload: 'b',
      messageId: 1,
    }
    const unexpected: Packet[] = [{ cmd: 'pingresp' }, accepted, { cmd: 'puback', messageId: 77, reasonCode: 0 }]
    for (const packet of [...unexpected, publish, { cmd: 'pubcomp', messageId: 1, reasonCode: 0 } as Packet]) {
      await using broker = await startBroker({ onPublish: () => packet })
      const { error } = await attempt(broker)
      assert.match(error ?? '', /^The broker (?:sent a response without|confirmed a publication that|sent data that)/)
      await until(() => broker.sockets[0]?.destroyed === true, 'the connection is closed')
    }
  })

  test('refuses a confirmation before the response to the connection', async () => {
    await using broker = await startBroker({ onConnect: () => ({ cmd: 'puback', messageId: 1, reasonCode: 0 }) })
    assert.match((await attempt(broker)).error ?? '', /was not sent$/)
  })

  test('closes the connection when the broker floods it with valid packets', async () => {
    await using broker = await FakeBroker.start({
      onPacket(packet, socket) {
        if (packet.cmd !== 'connect') return
        write(socket, accepted)
        const pings = Buffer.concat(Array.from({ length: 50_000 }, () => Buffer.from([0xd0, 0])))
        for (let count = 0; count < 20; count += 1) socket.write(pings)
      },
    })
    assert.equal((await attempt(broker)).error, 'The broker sent a response without a request')
  })

  test('refuses properties that are not valid', async () => {
    const twice = Buffer.from([0x20, 9, 0, 0, 6, 0x13, 0, 10, 0x13, 0, 20])
    const zero = Buffer.from([0x20, 6, 0, 0, 3, 0x21, 0, 0])
    const unknown = Buffer.from([0x20, 5, 0, 0, 2, 0x7f, 0])
    const cut = Buffer.from([0x20, 5, 0, 0, 100, 0x13, 0])
    const short = [
      [0x20, 0],
      [0x20, 1, 0],
      [0x20, 2, 0, 0],
    ].map((bytes) => Buffer.from(bytes))
    for (const data of [twice, zero, unknown, cut, ...short]) {
      await using broker = await startBroker({ onConnect: () => data })
      const { error } = await attempt(broker)
      assert.match(error ?? 'accepted', /^The broker sent a (?:packet|property|response)/, data.toString('hex'))
    }
    await using broker = await startBroker({ onConnect: () => twice })
    assert.equal((await attempt(broker)).error, 'The broker sent a property that is not valid')
  })

  test('returns an outcome when the broker sends random data at any time', async () => {
    for (let round = 0; round < 150; round += 1) {
      const types = [0x20, 0x40, 0xd0, 0xe0]
      const length = round % 60
      const head = Buffer.from([types[round % types.length] ?? 0x20, length])
      const data = Buffer.concat([head, randomBytes(round % 3 === 0 ? length : round % 90)])
      await using broker = await startBroker(
        round % 2 === 0 ? { onConnect: () => data } : { onPublish: () => Buffer.concat([data, Buffer.alloc(4)]) },
      )
      await using channel = openChannel(broker, { responseMs: 30 })
      const outcome = await channel.send(message('asset/a'), never)
      assert.equal(outcome.isDelivered, outcome.attempt.error === null)
    }
  })

  test('reports the reason of a refused event, and of the end of the connection', async () => {
    const reasonString = 'x'.repeat(5_000)
    await using quota = await startBroker({
      onPublish: ({ messageId = 0 }) => ({
        cmd: 'puback',
        messageId,
        reasonCode: 151,
        properties: { reasonString },
      }),
    })
    assert.deepEqual(await attempt(quota), {
      error: 'The broker refused the event: Quota exceeded (reason code 151)',
      status: 151,
      responseBody: reasonString.slice(0, 1_024),
    })
    await using taken = await startBroker({ onPublish: () => ({ cmd: 'disconnect', reasonCode: 142 }) })
    assert.deepEqual(await attempt(taken), {
      error:
        'The broker closed the connection: Session taken over (reason code 142). Another client uses the same client id. Change the client id of one of them',
      status: 142,
      responseBody: undefined,
    })
    await using unread = await startBroker({ onPublish: (packet) => confirmation(packet, 16) })
    assert.deepEqual(await attempt(unread), { error: null, status: 16, responseBody: undefined })
  })

  test('reports a broker without MQTT 5, QoS 1 or retained messages', async () => {
    const aedes = await Aedes.createBroker()
    await using older = await FakeBroker.start({ onConnection: (socket) => void aedes.handle(socket) })
    const { error, status } = await attempt(older)
    assert.deepEqual([error, status], ['The broker does not support MQTT 5. Use a broker with MQTT 5', 1])
    await new Promise<void>((resolve) => aedes.close(() => resolve()))
    await using qos = await startBroker({ onConnect: () => ({ ...accepted, properties: { maximumQoS: 0 } }) })
    assert.equal((await attempt(qos)).error, 'The broker does not support QoS 1. Use a broker that does')
    await using plain = await startBroker({
      onConnect: () => ({ ...accepted, properties: { retainAvailable: false } }),
    })
    assert.equal((await attempt(plain)).error, null)
    const refused = await attempt(plain, { retain: true })
    assert.equal(refused.error, 'The broker does not support retained messages. Set retain to false')
  })

  test('reports a broker that closes the connection', async () => {
    await using early = await FakeBroker.start({ onConnection: (socket) => socket.destroy() })
    assert.match(
      (await attempt(early)).error ?? '',
      /^The broker closed the connection without a response\. If the port/,
    )
    await using late = await FakeBroker.start({
      onPacket(packet, socket) {
        if (packet.cmd === 'connect') write(socket, accepted)
        else socket.destroy()
      },
    })
    assert.equal((await attempt(late)).error, 'The broker closed the connection')
  })

  test('sends pings in the time that the broker sets, and closes the connection without an answer', async () => {
    let pings = 0
    await using broker = await FakeBroker.start({
      onPacket(packet, socket) {
        if (packet.cmd === 'connect') write(socket, { ...accepted, properties: { serverKeepAlive: 1 } })
        if (packet.cmd === 'publish') write(socket, confirmation(packet))
        if (packet.cmd === 'pingreq' && ++pings < 3) write(socket, { cmd: 'pingresp' })
      },
    })
    await using channel = openChannel(broker)
    assert.equal(errorOf(await channel.send(message('asset/a'), never)), null)
    await until(() => broker.sockets[0]?.destroyed === true, 'the connection is closed')
    assert.equal(pings, 3)
    assert.equal(errorOf(await channel.send(message('asset/a'), never)), null)
  })

  test('ends at once when the attempt is canceled or the channel is closed', async () => {
    await using silent = await FakeBroker.start({})
    const channel = openChannel(silent)
    const cancel = new AbortController()
    const canceled = channel.send(message('asset/a'), cancel.signal)
    await until(() => silent.packets.length === 1, 'the broker received the connection')
    cancel.abort()
    assert.equal(errorOf(await canceled), 'The attempt was canceled')
    assert.equal(errorOf(await channel.send(message('asset/a'), cancel.signal)), 'The attempt was canceled')
    const open = channel.send(message('asset/a'), never)
    await channel.close()
    assert.equal(errorOf(await open), 'The publisher was stopped')
    await until(() => silent.sockets.every(({ destroyed }) => destroyed), 'all connections are closed')
  })

  test('closes in a short time when the broker does not end the connection', async () => {
    await using broker = await startBroker({
      onConnect: () => accepted,
      onPublish: (packet) => (packet.cmd === 'publish' && packet.topic === 'status' ? confirmation(packet) : undefined),
    })
    const channel = openChannel(broker, { statusTopic: 'status' })
    await until(() => broker.packets.some(({ cmd }) => cmd === 'publish'), 'online')
    const startedAt = performance.now()
    await channel.close()
    assert.ok(performance.now() - startedAt < 5_000)
    assert.deepEqual(
      broker.packets.map((packet) => (packet.cmd === 'publish' ? String(packet.payload) : packet.cmd)),
      ['connect', 'online', 'offline', 'disconnect'],
    )
  })
})

describe('the target of an MQTT publisher', () => {
  test('is checked when the connection opens', async () => {
    await using broker = await FakeBroker.start({})
    const send = async (allow: string[], address: string) => {
      const outbound = new Outbound({ allow, lookup: async () => [{ address, family: 4 }] })
      await using channel = openChannel(broker, { outbound, url: `mqtt://broker.example.com:${broker.port}` })
      return errorOf(await channel.send(message('asset/a'), never))
    }
    assert.match((await send(['broker.example.com'], '127.0.0.1')) ?? '', /has a loopback.*MILLWRIGHT_OUTBOUND_ALLOW$/)
    assert.match((await send([], '127.0.0.1')) ?? '', /does not allow connections to broker\.example\.com/)
    assert.match((await send(['10.0.0.0/8'], '127.0.0.1')) ?? '', /does not allow connections/)
    assert.equal(broker.sockets.length, 0)
  })
})
