import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { until } from '../testing.ts'
import { streamLimits } from './remote-streams.ts'
import { refusalOfOpening, sessionId, TestDevice, TestPlatform } from './testing.ts'

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

/** Waits until a number has not changed for 300 ms. */
async function settled(measure: () => number): Promise<void> {
  let [last, since] = [measure(), performance.now()]
  await until(() => {
    const now = measure()
    if (now !== last) [last, since] = [now, performance.now()]
    return performance.now() - since > 300
  })
}

describe('a tcp stream', () => {
  test('carries bytes in both directions, and each direction ends on its own', async () => {
    await using device = await TestDevice.start(async (socket) => {
      const request = await text(socket)
      socket.end(`answer to ${request}`)
    })
    using platform = new TestPlatform(device.port)
    const { stream } = await platform.open({ kind: 'tcp' })
    stream.write('the ')
    stream.end('request')
    assert.equal(await text(stream), 'answer to the request')
  })

  test('ends the direction to the device after the message "end", because a WebSocket has no half close', async () => {
    await using device = await TestDevice.start(async (socket) => socket.end(`got ${await text(socket)}`))
    using platform = new TestPlatform(device.port)
    const { stream } = await platform.open({ kind: 'tcp' })
    stream.write('all bytes')
    stream.sendMessage({ type: 'end' })
    assert.equal(await text(stream), 'got all bytes')
  })

  test('the device can end its direction first, and still reads', async () => {
    const received = Promise.withResolvers<string>()
    await using device = await TestDevice.start((socket) => {
      socket.end('greeting')
      text(socket).then(received.resolve)
    })
    using platform = new TestPlatform(device.port)
    const { stream } = await platform.open({ kind: 'tcp' })
    assert.equal(await text(stream), 'greeting')
    stream.end('late request')
    assert.equal(await received.promise, 'late request')
  })

  test('carries 16 MiB in each direction without a change', async () => {
    const bytes = randomBytes(16 * 1024 * 1024)
    const received = Promise.withResolvers<Buffer>()
    await using device = await TestDevice.start((socket) => {
      const chunks: Buffer[] = []
      socket.on('data', (chunk) => chunks.push(chunk))
      socket.on('end', () => received.resolve(Buffer.concat(chunks)))
      socket.end(bytes)
    })
    using platform = new TestPlatform(device.port)
    const { stream } = await platform.open({ kind: 'tcp' })
    stream.end(bytes)
    const answer = await buffer(stream)
    assert.equal(digest(answer), digest(bytes))
    assert.equal(digest(await received.promise), digest(bytes))
  })

  test('a slow reader stops the device, and does not stop another stream', async () => {
    let isEndless = true
    let sent = 0
    await using device = await TestDevice.start((socket) => {
      if (!isEndless) {
        socket.end('quick')
        return
      }
      const chunk = Buffer.alloc(64 * 1024)
      const write = () => {
        while (socket.write(chunk)) sent += chunk.length
      }
      socket.on('drain', write)
      write()
    })
    using platform = new TestPlatform(device.port)
    const slow = await platform.open({ kind: 'tcp' })
    await settled(() => sent)
    assert.ok(sent < 32 * 1024 * 1024, `the device sent ${sent} bytes that nobody read`)
    isEndless = false
    const quick = await platform.open({ kind: 'tcp' })
    quick.stream.end()
    assert.equal(await text(quick.stream), 'quick')
    slow.stream.destroy()
    await until(() => device.sockets.size === 0)
  })

  test('a slow device stops the client', onlyInLongRuns, async () => {
    await using device = await TestDevice.start((socket) => socket.pause())
    using platform = new TestPlatform(device.port)
    const { stream } = await platform.open({ kind: 'tcp' })
    let written = 0
    const chunk = Buffer.alloc(64 * 1024)
    await settled(() => {
      while (!stream.writableNeedDrain) {
        stream.write(chunk)
        written += chunk.length
      }
      return written
    })
    assert.ok(written < 32 * 1024 * 1024, `the client could write ${written} bytes that the device did not read`)
  })

  test('is refused with device_unreachable if the port is closed', async () => {
    const device = await TestDevice.start(() => undefined)
    const { port } = device
    await device[Symbol.asyncDispose]()
    using platform = new TestPlatform(port)
    const { code, detail } = await refusalOfOpening(platform.open({ kind: 'tcp' }))
    assert.equal(code, 'device_unreachable')
    assert.match(detail, /cannot connect to 127\.0\.0\.1, port \d+: the device refuses connections to this port/)
    assert.deepEqual(platform.streams.counts, { sessions: 0, streams: 0 })
  })

  test('ends with device_unreachable if the device resets the connection', async () => {
    await using device = await TestDevice.start((socket) => socket.once('data', () => socket.resetAndDestroy()))
    using platform = new TestPlatform(device.port)
    const opened = await platform.open({ kind: 'tcp' })
    opened.stream.write('x')
    const { code, detail } = await opened.refusal()
    assert.equal(code, 'device_unreachable')
    assert.match(detail, /the device ended the connection/)
  })

  test('the connection to the device ends when the stream is reset or the tunnel closes', async () => {
    await using device = await TestDevice.start(() => undefined)
    using platform = new TestPlatform(device.port)
    const first = await platform.open({ kind: 'tcp' })
    await platform.open({ kind: 'tcp' })
    await until(() => device.sockets.size === 2)
    first.stream.reset({ code: 'session_ended', detail: 'The session has ended.' })
    await until(() => device.sockets.size === 0)
    await platform.open({ kind: 'tcp' })
    await until(() => device.sockets.size === 1)
    platform.tunnel.close('test')
    await until(() => device.sockets.size === 0 && platform.streams.counts.streams === 0)
    assert.deepEqual(platform.streams.counts, { sessions: 0, streams: 0 })
  })

  test('is refused without a connection if the rules refuse the target', async () => {
    let connections = 0
    await using device = await TestDevice.start((socket: Socket) => {
      connections += 1
      socket.destroy()
    })
    const { port } = device
    for (const [request, settings, ports] of [
      [{ kind: 'tcp' }, { isEnabled: true, loopback: false, allow: [{ network: '127.0.0.0/8', ports: [port] }] }, []],
      [{ kind: 'tcp' }, { isEnabled: true, loopback: true, allow: [] }, []],
      [{ kind: 'tcp' }, { isEnabled: false, loopback: true, allow: [{ network: '127.0.0.0/8', ports: [port] }] }, []],
      [
        { kind: 'tcp' },
        { isEnabled: true, loopback: true, allow: [{ network: '127.0.0.0/8', ports: [port] }] },
        [port],
      ],
      [{ kind: 'tcp', address: 'localhost' }, undefined, []],
      [{ kind: 'tcp', address: '2130706433' }, undefined, []],
      [{ kind: 'tcp', address: '127.1' }, undefined, []],
      [{ kind: 'tcp', address: '0.0.0.0' }, undefined, []],
      [{ kind: 'tcp', address: '::ffff:0:7f00:1' }, undefined, []],
      [{ kind: 'tcp', address: '10.0.0.1' }, undefined, []],
      [{ kind: 'check', address: '169.254.169.254' }, undefined, []],
      [{ kind: 'terminal', columns: 80, rows: 24, hasCredential: false, address: '::' }, undefined, []],
      [{ kind: 'file-list', path: '/', address: '127.0.0.1%lo' }, undefined, []],
      [{ kind: 'tcp', port: 0 }, undefined, []],
      [{ kind: 'udp' as 'tcp' }, undefined, []],
      [{ kind: 'tcp', address: ['127.0.0.1'] as unknown as string }, undefined, []],
    ] as const) {
      using platform = new TestPlatform(port, {
        ...(settings && { settings: structuredClone(settings) as never }),
        ports: [...ports],
      })
      const { code } = await refusalOfOpening(platform.open(request))
      assert.equal(code, 'target_not_allowed', JSON.stringify(request))
    }
    assert.equal(connections, 0)
  })

  test('accepts a check of an allowed target without a connection, also in IPv4-mapped form', async () => {
    let connections = 0
    await using device = await TestDevice.start(() => {
      connections += 1
    })
    using platform = new TestPlatform(device.port)
    for (const address of ['127.0.0.1', '::ffff:127.0.0.1']) {
      const { stream } = await platform.open({ kind: 'check', address })
      stream.end()
      assert.equal(await text(stream), '')
    }
    assert.equal(connections, 0)
    await until(() => platform.streams.counts.streams === 0)
  })

  test('ends when a change of the local rules no longer allows its target', async () => {
    await using device = await TestDevice.start(() => undefined)
    using platform = new TestPlatform(device.port)
    const opened = await platform.open({ kind: 'tcp' })
    platform.streams.recheck()
    assert.equal(opened.stream.destroyed, false)
    platform.settings = { isEnabled: true, loopback: true, allow: [] }
    platform.streams.recheck()
    assert.equal((await opened.refusal()).code, 'target_not_allowed')
    await until(() => device.sockets.size === 0)
  })

  test('a session cannot have more streams than the limit, and other sessions are not affected', async () => {
    await using device = await TestDevice.start(() => undefined)
    using platform = new TestPlatform(device.port)
    const open = await Promise.all(
      Array.from({ length: streamLimits.perSession }, () => platform.open({ kind: 'tcp' })),
    )
    const { code, detail } = await refusalOfOpening(platform.open({ kind: 'tcp' }))
    assert.deepEqual([code, detail], ['busy', 'The session has 64 open streams, which is the limit.'])
    await platform.open({ kind: 'tcp' }, { session: sessionId.replace(/.$/, '9') })
    open[0]?.stream.destroy()
    await once(open[0]?.stream ?? device.sockets.values().next().value ?? process, 'close')
    await until(() => platform.streams.counts.streams === streamLimits.perSession)
    await platform.open({ kind: 'tcp' })
  })
})
