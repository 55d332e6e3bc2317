import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { randomCases } from '../test-effort.ts'
import type { MessageChannel } from './channel.ts'
import { encodeControl, frameTypes, maxBatchBytes, maxMessageBytes, ProtocolError, writeFrame } from './frames.ts'
import type { StreamHeader, StreamMessage } from './stream-header.ts'
import { Tunnel, type TunnelOptions } from './tunnel.ts'
import { TunnelStream } from './tunnel-stream.ts'

const header: StreamHeader = {
  sessionId: '01980000-0000-7000-8000-000000000001',
  assetId: '01980000-0000-7000-8000-000000000002',
  address: '192.0.2.7',
  port: 22,
  kind: 'tcp',
}

/** One end of a connection in memory. Messages wait until `step` delivers them. */
class TestChannel implements MessageChannel {
  other: TestChannel | undefined
  isOpen = true
  readonly sent: Uint8Array[] = []
  #onMessage: (message: Uint8Array) => void = () => {}
  readonly #onClose: (() => void)[] = []
  #onDrain: () => void = () => {}

  get bufferedBytes(): number {
    return this.sent.reduce((sum, { length }) => sum + length, 0)
  }

  send(message: Uint8Array): void {
    // The copy shows that the sender does not change the bytes later.
    if (this.isOpen) this.sent.push(Buffer.from(message))
  }

  close(): void {
    if (!this.isOpen) return
    this.isOpen = false
    for (const listener of this.#onClose) listener()
    // The other side receives what was sent before, then the close.
    while (this.step());
    this.other?.close()
  }

  onMessage(listener: (message: Uint8Array) => void): void {
    this.#onMessage = listener
  }

  onClose(listener: () => void): void {
    this.#onClose.push(listener)
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener
  }

  /** Delivers one message. Returns false if there is none. */
  step(): boolean {
    const message = this.sent.shift()
    if (message === undefined) return false
    if (this.other?.isOpen === true) this.other.#onMessage(message)
    if (this.sent.length === 0) this.#onDrain()
    return true
  }
}

function connect(gateway: Tunnel, cloud: Tunnel) {
  const [one, other] = [new TestChannel(), new TestChannel()]
  one.other = other
  other.other = one
  cloud.attach(other)
  gateway.attach(one)
  return {
    gateway: one,
    cloud: other,
    /** Loses the connection with all messages that are not delivered. */
    lose() {
      one.sent.length = 0
      other.sent.length = 0
      one.close()
    },
    /** Delivers messages until both sides have nothing to send. */
    async settle() {
      for (let idle = 0; idle < 3; ) {
        await nextTurn()
        idle = one.step() || other.step() ? 0 : idle + 1
      }
    },
  }
}

type Connection = ReturnType<typeof connect>

const patient = { resumeMs: 600_000, idleMs: 600_000, idleWithStreamsMs: 600_000, answerMs: 600_000 }

function pair(options: Partial<TunnelOptions> = {}) {
  const accepted: { stream: TunnelStream; header: StreamHeader }[] = []
  const onOpen = (stream: TunnelStream, opened: StreamHeader) => {
    accepted.push({ stream, header: opened })
    stream.accept()
  }
  const limits = { ...patient, ...options.limits }
  const gateway = new Tunnel({ role: 'gateway', onOpen, ...options, limits })
  const cloud = new Tunnel({ role: 'cloud', onOpen, ...options, limits })
  return {
    gateway,
    cloud,
    accepted,
    [Symbol.dispose]() {
      gateway.close('The test ends')
      cloud.close('The test ends')
    },
  }
}

/** Opens a stream from the cloud and returns both of its ends. */
async function openStream(ends: ReturnType<typeof pair>, connection: Connection) {
  const opened = ends.cloud.open(header)
  await connection.settle()
  const stream = await opened
  const other = ends.accepted.at(-1)?.stream
  assert.ok(other !== undefined)
  return { stream, other }
}

/** Records what a stream delivers: bytes as one text, messages as objects, and its end. */
function record(stream: TunnelStream): (string | StreamMessage)[] {
  const delivered: (string | StreamMessage)[] = []
  stream.on('data', (bytes: Buffer) => add(delivered, bytes.toString('latin1')))
  stream.on('message', (message: StreamMessage) => delivered.push(message))
  stream.on('end', () => delivered.push('end'))
  stream.on('error', (error) => delivered.push({ type: 'error', detail: error.message }))
  return delivered
}

function add(items: (string | StreamMessage)[], text: string): void {
  if (typeof items.at(-1) === 'string') items.push(`${items.pop()}${text}`)
  else if (text !== '') items.push(text)
}

describe('a tunnel', () => {
  test('opens a stream with its header and carries bytes and messages in order', async () => {
    using ends = pair()
    const connection = connect(ends.gateway, ends.cloud)
    const { stream, other } = await openStream(ends, connection)
    assert.deepEqual(ends.accepted[0]?.header, header)
    const [atGateway, atCloud] = [record(other), record(stream)]
    stream.write('abc')
    stream.sendMessage({ type: 'size', columns: 80, rows: 24 })
    stream.end('def')
    other.sendMessage({ type: 'exit', code: 0 })
    other.end()
    await connection.settle()
    assert.deepEqual(atGateway, ['abc', { type: 'size', columns: 80, rows: 24 }, 'def', 'end'])
    assert.deepEqual(atCloud, [{ type: 'exit', code: 0 }, 'end'])
    assert.deepEqual([ends.cloud.streamCount, ends.gateway.streamCount], [0, 0])
  })

  test('rejects the opening of a stream that the other side refuses', async () => {
    const refusal = { code: 'target_not_allowed', detail: 'The address is not in the list' }
    using ends = pair({ onOpen: (stream) => stream.refuse(refusal) })
    const connection = connect(ends.gateway, ends.cloud)
    const opened = assert.rejects(ends.cloud.open(header), { name: 'StreamRefusal', ...refusal })
    await connection.settle()
    await opened
    assert.equal(ends.cloud.streamCount, 0)
  })

  test('resets a stream that is aborted before the other side answers', async () => {
    const waiting: TunnelStream[] = []
    using ends = pair({ onOpen: (stream) => waiting.push(stream) })
    const connection = connect(ends.gateway, ends.cloud)
    const controller = new AbortController()
    const opened = assert.rejects(ends.cloud.open(header, { signal: controller.signal }), { name: 'AbortError' })
    await connection.settle()
    controller.abort()
    await opened
    await connection.settle()
    assert.deepEqual([waiting[0]?.destroyed, ends.cloud.streamCount, ends.gateway.streamCount], [true, 0, 0])
  })

  test('passes the reason of a reset to the other side', async () => {
    using ends = pair()
    const connection = connect(ends.gateway, ends.cloud)
    const { stream, other } = await openStream(ends, connection)
    const failed = once(stream, 'error')
    other.reset({ code: 'device_unreachable', detail: 'The device closed the connection' })
    await connection.settle()
    const [error] = await failed
    assert.deepEqual([error.code, error.detail], ['device_unreachable', 'The device closed the connection'])
    assert.ok(other.destroyed)
  })

  test('delivers a message only after the bytes before it, and only to a listener', async () => {
    using ends = pair()
    const connection = connect(ends.gateway, ends.cloud)
    const { stream, other } = await openStream(ends, connection)
    other.pause()
    stream.write('abc')
    stream.sendMessage({ type: 'one' })
    stream.write('def')
    await connection.settle()
    const delivered = record(other)
    other.pause()
    await nextTurn()
    assert.deepEqual(delivered, [])
    other.resume()
    await connection.settle()
    assert.deepEqual(delivered, ['abc', { type: 'one' }, 'def'])
  })

  test('a slow reader blocks only its own stream', async () => {
    using ends = pair()
    const connection = connect(ends.gateway, ends.cloud)
    const slow = await openStream(ends, connection)
    const fast = await openStream(ends, connection)
    let sent = 0
    while (sent < 4 * 1024 * 1024 && slow.stream.write(Buffer.alloc(64 * 1024))) {
      sent += 64 * 1024
      await connection.settle()
    }
    assert.ok(sent < 600 * 1024, `${sent} bytes were sent`)
    const delivered = record(fast.other)
    fast.stream.write('still fast')
    await connection.settle()
    assert.deepEqual(delivered, ['still fast'])
  })

  test('continues all streams on a new channel after a loss', async () => {
    using ends = pair()
    const first = connect(ends.gateway, ends.cloud)
    const { stream, other } = await openStream(ends, first)
    const delivered = record(other)
    stream.write('before ')
    await first.settle()
    stream.write('lost ')
    await nextTurn()
    await nextTurn()
    assert.ok(first.cloud.sent.length > 0)
    first.lose()
    assert.deepEqual([ends.cloud.state, ends.gateway.state], ['suspended', 'suspended'])
    stream.write('after')
    const resumed = once(ends.cloud, 'resumed')
    const second = connect(ends.gateway, ends.cloud)
    await second.settle()
    await resumed
    assert.deepEqual(delivered, ['before lost after'])
  })

  test('a new channel replaces a channel whose loss was not noticed', async () => {
    using ends = pair()
    const first = connect(ends.gateway, ends.cloud)
    const { stream, other } = await openStream(ends, first)
    const delivered = record(other)
    stream.write('abc')
    const second = connect(ends.gateway, ends.cloud)
    await second.settle()
    await second.settle()
    assert.equal(first.cloud.isOpen, false)
    assert.deepEqual(delivered, ['abc'])
  })

  test('ends all streams when the connection is not resumed in time', async () => {
    using ends = pair({ limits: { resumeMs: 10 } })
    const connection = connect(ends.gateway, ends.cloud)
    const { stream } = await openStream(ends, connection)
    const closed = once(ends.cloud, 'closed')
    const failed = once(stream, 'error')
    connection.lose()
    assert.match((await closed)[0], /not resumed in time/)
    assert.equal((await failed)[0].code, 'tunnel_closed')
    await assert.rejects(ends.cloud.open(header), { code: 'tunnel_closed' })
  })

  test('closes a channel whose other side does not answer', async () => {
    using ends = pair({ limits: { idleMs: 5, idleWithStreamsMs: 5, answerMs: 20 } })
    const connection = connect(ends.gateway, ends.cloud)
    const suspended = once(ends.cloud, 'suspended')
    await connection.settle()
    // From now on, nothing is delivered.
    await suspended
    assert.equal(connection.cloud.isOpen, false)
  })

  test('keeps a silent channel whose other side answers the check', async () => {
    using ends = pair({ limits: { idleMs: 2, answerMs: 60_000 } })
    const connection = connect(ends.gateway, ends.cloud)
    await connection.settle()
    let pings = 0
    while (pings < 5) {
      await delay(1)
      pings += connection.cloud.sent.filter(([type]) => type === 3).length
      await connection.settle()
    }
    assert.deepEqual([ends.cloud.state, ends.gateway.state], ['attached', 'attached'])
  })

  test('closes both sides when a resume names a tunnel that does not exist', async () => {
    using ends = pair()
    const first = connect(ends.gateway, ends.cloud)
    await first.settle()
    first.lose()
    using others = pair()
    const closed = once(ends.gateway, 'closed')
    const connection = connect(ends.gateway, others.cloud)
    await connection.settle()
    assert.match((await closed)[0], /does not exist/)
  })

  test('Tunnel.accept finds the tunnel of a resume and creates other tunnels', async () => {
    using ends = pair()
    const created: Tunnel[] = []
    const find = (id: string) => created.find((tunnel) => tunnel.id === id)
    const create = (id: string) => {
      const tunnel = new Tunnel({ role: 'cloud', id, limits: patient })
      created.push(tunnel)
      return tunnel
    }
    const dial = (gateway: Tunnel) => {
      const [one, other] = [new TestChannel(), new TestChannel()]
      one.other = other
      other.other = one
      Tunnel.accept(other, { find, create })
      gateway.attach(one)
      while (one.step() || other.step());
      return one
    }
    dial(ends.gateway).close()
    assert.equal(created[0]?.state, 'suspended')
    dial(ends.gateway)
    assert.deepEqual([created.length, created[0]?.state, ends.gateway.state], [1, 'attached', 'attached'])
    const lost = created.pop()
    const closed = once(ends.gateway, 'closed')
    dial(ends.gateway)
    assert.match((await closed)[0], /does not exist/)
    for (const tunnel of [...created, lost]) tunnel?.close('The test ends')
  })

  test('refuses a stream above the limit, and closes the tunnel of a side that ignores the limit', async () => {
    using ends = pair()
    const strict = new Tunnel({
      role: 'gateway',
      onOpen: (stream) => stream.accept(),
      limits: { ...patient, streams: 1 },
    })
    const connection = connect(strict, ends.cloud)
    const first = ends.cloud.open(header)
    await connection.settle()
    await first
    const closed = once(ends.cloud, 'closed')
    const second = assert.rejects(ends.cloud.open(header), { code: 'tunnel_closed' })
    await connection.settle()
    await second
    assert.match((await closed)[0], /which is the limit/)
    using small = pair({ limits: { streams: 0 } })
    await assert.rejects(small.cloud.open(header), { code: 'busy' })
  })

  test('refuses messages and headers that are too long', async () => {
    using ends = pair()
    const connection = connect(ends.gateway, ends.cloud)
    const { stream } = await openStream(ends, connection)
    assert.throws(() => stream.sendMessage({ type: 'long', text: 'x'.repeat(maxMessageBytes) }), RangeError)
    await assert.rejects(ends.cloud.open({ ...header, address: 'x'.repeat(70_000) }), RangeError)
  })
})

describe('a violation of the protocol closes the tunnel', () => {
  const frame = (type: number, streamId: number, payload: Uint8Array = Buffer.alloc(0)) => {
    const bytes = Buffer.alloc(8 + payload.length)
    writeFrame(bytes, 0, { type: type as typeof frameTypes.data, streamId, payload })
    return bytes
  }
  const violations: [string, Uint8Array, RegExp][] = [
    ['an empty message', Buffer.alloc(0), /0 bytes/],
    ['an unknown type', Buffer.alloc(8, 99), /unknown/],
    ['an incomplete header', frame(frameTypes.end, 1).subarray(0, 5), /incomplete/],
    ['an incomplete payload', frame(frameTypes.data, 1, Buffer.alloc(10)).subarray(0, 12), /incomplete/],
    ['a payload above the limit', frame(frameTypes.accept, 1, Buffer.alloc(1)), /limit is 0/],
    ['a frame of a stream that never existed', frame(frameTypes.data, 77, Buffer.alloc(1)), /does not exist/],
    ['stream 0', frame(frameTypes.end, 0), /does not exist/],
    ['a second answer', frame(frameTypes.accept, 1), /does not wait/],
    ['a stream with an id of the receiver', frame(frameTypes.open, 5, Buffer.from('{}')), /cannot be opened/],
    ['a header that is not JSON', frame(frameTypes.open, 2, Buffer.from('{')), /not a JSON object/],
    ['a message without a type', frame(frameTypes.message, 1, Buffer.from('{}')), /no type/],
    ['a reset without a code', frame(frameTypes.reset, 1, Buffer.from('{}')), /no code/],
    ['a window without credit', frame(frameTypes.window, 1), /no credit/],
    ['too much credit', frame(frameTypes.window, 1, Buffer.alloc(4, 0xff)), /exceeds its limit/],
    ['data after the end', Buffer.concat([frame(frameTypes.end, 1), frame(frameTypes.data, 1)]), /after its end/],
    [
      'more bytes than the window',
      Buffer.concat([frame(frameTypes.data, 1, Buffer.alloc(60_000)), frame(frameTypes.data, 1, Buffer.alloc(60_000))]),
      /more bytes than its window/,
    ],
    ['a confirmation of batches that were not sent', encodeControl({ type: 'ack', received: 1000 }), /not stored/],
    ['a second hello', encodeControl({ type: 'hello', id: '00'.repeat(16), isResume: true, received: 0 }), /twice/],
    ['a long control message', Buffer.from([3, 0]), /2 instead of 1/],
  ]

  for (const [what, bytes, reason] of violations) {
    test(`closes the tunnel for ${what}`, async () => {
      using ends = pair()
      const connection = connect(ends.gateway, ends.cloud)
      const { stream } = await openStream(ends, connection)
      stream.pause()
      const closed = once(ends.cloud, 'closed')
      const closedAtGateway = once(ends.gateway, 'closed')
      for (let repeated = 0; repeated < 5 && ends.cloud.state !== 'closed'; repeated++) {
        connection.gateway.send(bytes)
        connection.gateway.step()
      }
      await connection.settle()
      assert.match((await closed)[0], reason)
      assert.match((await closedAtGateway)[0], reason)
      assert.ok(stream.destroyed)
    })
  }

  test('small frames in large batches do not fill the memory while the reader waits', async () => {
    const nothing = () => {}
    const port = { ready: nothing, send: nothing, reset: nothing, growWindow: () => true, remove: nothing }
    const stream = new TunnelStream({ id: 1, port })
    stream.handleAccept()
    stream.on('data', () => stream.pause())
    const before = process.memoryUsage().arrayBuffers
    const flood = async () => {
      for (let count = 0; count < 4_000; count++) {
        stream.handleData(Buffer.alloc(maxBatchBytes).subarray(0, 1))
        await nextTurn()
      }
    }
    await assert.rejects(flood(), ProtocolError)
    globalThis.gc?.()
    const bytes = process.memoryUsage().arrayBuffers - before
    assert.ok(globalThis.gc === undefined || bytes < 16 * 1024 * 1024, `${bytes} bytes`)
    stream.destroy()
  })

  test('survives random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), async (messages) => {
        using ends = pair()
        const connection = connect(ends.gateway, ends.cloud)
        await openStream(ends, connection)
        for (const message of messages) connection.gateway.send(message)
        await connection.settle()
      }),
    )
  })

  test('survives changed bytes in valid messages', async () => {
    const change = fc.record({ at: fc.nat(400), value: fc.integer({ min: 0, max: 255 }), turn: fc.nat(20) })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 10 }), async (changes) => {
        using ends = pair()
        const connection = connect(ends.gateway, ends.cloud)
        const { stream, other } = await openStream(ends, connection)
        record(stream)
        for (let turn = 0; turn < 20; turn++) {
          other.write(Buffer.alloc(turn * 10))
          other.sendMessage({ type: 'turn', turn })
          await nextTurn()
          for (const { at, value } of changes.filter((one) => one.turn === turn)) {
            const message = connection.gateway.sent[0]
            if (message !== undefined && message.length > 0) message[at % message.length] = value
          }
          await connection.settle()
        }
      }),
      { numRuns: randomCases(100) },
    )
  })
})

/** The operations of the property-based test. `stream` selects one of the open streams. */
const operation = fc.oneof(
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('open' as const), byCloud: fc.boolean() }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('write' as const),
      stream: fc.nat(20),
      byOpener: fc.boolean(),
      bytes: fc.oneof(fc.nat(20), fc.nat(5_000), fc.nat(400_000)),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('message' as const),
      stream: fc.nat(20),
      byOpener: fc.boolean(),
      characters: fc.oneof(fc.nat(20), fc.nat(30_000)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('end' as const), stream: fc.nat(20), byOpener: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('pause' as const, 'resume' as const),
      stream: fc.nat(20),
      byOpener: fc.boolean(),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('deliver' as const), byCloud: fc.boolean(), count: fc.nat(10) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('lose' as const), turns: fc.nat(3) }) },
)

type Operation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never

/** One direction of a stream: what was sent and what was delivered. */
type Direction = { from: TunnelStream; sent: (string | StreamMessage)[]; delivered: (string | StreamMessage)[] }

test('every stream delivers its bytes and messages once and in order, with losses of the channel at any time', async () => {
  const runs = randomCases(100)
  let resumes = 0
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { size: '+1', maxLength: 120 }), async (operations) => {
      using ends = pair({ limits: { unconfirmedBytes: 300_000, channelBytes: 50_000 } })
      const opened: { byOpener: Direction; byOther: Direction }[] = []
      let connection = connect(ends.gateway, ends.cloud)
      let counter = 0
      ends.cloud.on('resumed', () => {
        resumes += 1
      })
      await connection.settle()
      const directionOf = ({ stream, byOpener }: { stream: number; byOpener: boolean }) => {
        const found = opened[stream % opened.length]
        return byOpener ? found?.byOpener : found?.byOther
      }
      const run = async (one: Operation): Promise<void> => {
        if (one.kind === 'open') {
          const promise = (one.byCloud ? ends.cloud : ends.gateway).open(header)
          await connection.settle()
          const stream = await promise
          const other = ends.accepted.at(-1)?.stream
          assert.ok(other !== undefined)
          opened.push({
            byOpener: { from: stream, sent: [], delivered: record(other) },
            byOther: { from: other, sent: [], delivered: record(stream) },
          })
        } else if (one.kind === 'deliver') {
          const channel = one.byCloud ? connection.cloud : connection.gateway
          for (let index = 0; index < one.count; index++) {
            await nextTurn()
            channel.step()
          }
        } else if (one.kind === 'lose') {
          connection.lose()
          for (let turn = 0; turn < one.turns; turn++) await nextTurn()
          connection = connect(ends.gateway, ends.cloud)
        } else {
          const direction = directionOf(one)
          if (direction === undefined) return
          const { from, sent } = direction
          if (one.kind === 'pause') from.pause()
          if (one.kind === 'resume') from.resume()
          if (from.writableEnded) return
          if (one.kind === 'write') {
            const text = String.fromCharCode(97 + (counter++ % 26)).repeat(one.bytes)
            add(sent, text)
            from.write(text, 'latin1')
          } else if (one.kind === 'message') {
            const message = { type: 'test', counter: counter++, text: 'é'.repeat(one.characters) }
            sent.push(message)
            from.sendMessage(message)
          } else if (one.kind === 'end') {
            sent.push('end')
            from.end()
          }
        }
      }
      for (const one of operations) await run(one)
      for (const { byOpener, byOther } of opened) {
        for (const { from, sent } of [byOpener, byOther]) {
          from.resume()
          if (from.writableEnded) continue
          sent.push('end')
          from.end()
        }
      }
      await connection.settle()
      for (const { byOpener, byOther } of opened) {
        assert.deepEqual(byOpener.delivered, byOpener.sent)
        assert.deepEqual(byOther.delivered, byOther.sent)
      }
      assert.deepEqual([ends.cloud.streamCount, ends.gateway.streamCount], [0, 0])
    }),
    { numRuns: runs },
  )
  assert.ok(resumes > runs / 6, `${resumes} resumes`)
})
