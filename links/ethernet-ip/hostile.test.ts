import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import type { DiscoverCall } from '@millwright/link-sdk/define-link.ts'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { startSilentPort } from '@millwright/link-sdk/testing/silent-port.ts'
import { startSimulator } from './simulator.ts'
import { adapter, controller, readProperties, resultsOf, scan, scanDevice } from './testing.ts'

const host = '127.0.64.1'

type RunningServer = AsyncDisposable & { port: number }

/** Starts a TCP server whose UDP port is closed. */
async function startTcp(serve: (socket: Socket) => void, address = host, port = 0): Promise<RunningServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    serve(socket)
  })
  server.listen(port, address)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Starts a server that sends datagrams as answers to each datagram. */
async function startUdp(answersTo: (request: Buffer) => readonly Buffer[]): Promise<RunningServer> {
  const socket = createSocket('udp4')
  socket.on('message', (message, { port, address }) => {
    for (const answer of answersTo(message)) socket.send(answer, port, address)
  })
  socket.bind(0, host)
  await once(socket, 'listening')
  return { port: socket.address().port, [Symbol.asyncDispose]: async () => void socket.close() }
}

async function scanPort(port: number, options: DiscoverCall['options'] = {}) {
  const permits = unlimitedPermits()
  const results = await resultsOf({ range: host, permits, options: { ports: String(port), ...options } })
  return { results, assets: assetsIn(results), errors: errorsIn(results), permits }
}

function frameOf(request: Buffer, content: Buffer): Buffer {
  const header = Buffer.from(request.subarray(0, 24))
  header.writeUInt16LE(content.length, 2)
  return Buffer.concat([header, content])
}

describe('a hostile server over TCP is reported as faulty', () => {
  const messageOf = async (serve: (socket: Socket) => void, options: DiscoverCall['options'] = {}) => {
    await using server = await startTcp(serve)
    const { results, errors } = await scanPort(server.port, options)
    assert.deepEqual([results.length, errors.length], [1, 1])
    return errors[0]?.message ?? ''
  }

  test('when it speaks another protocol', async () => {
    for (const banner of ['SSH-2.0-OpenSSH_9.2\r\n', 'HTTP/1.1 400 Bad Request\r\n\r\n', '\0'])
      assert.match(
        await messageOf((socket) => void socket.on('data', () => socket.end(banner))),
        /does not speak EtherNet\/IP correctly|closes the connection/,
      )
  })

  test('when it accepts connections, but does not answer', async () => {
    const message = await messageOf(() => undefined, { timeout_ms: 300 })
    assert.match(message, /127\.0\.64\.1 TCP port \d+ does not answer to EtherNet\/IP requests/)
  })

  test('when it announces more content than allowed', async () => {
    const huge = Buffer.alloc(24)
    huge.writeUInt16LE(0x63, 0)
    huge.writeUInt16LE(65_535, 2)
    const message = await messageOf((socket) => void socket.on('data', () => socket.write(huge)))
    assert.match(message, /its answer has no EtherNet\/IP header/)
  })

  test('when it sends its answer byte by byte without end', async () => {
    const message = await messageOf(
      (socket) => {
        socket.once('data', () => {
          const header = Buffer.alloc(24)
          header.writeUInt16LE(0x63, 0)
          header.writeUInt16LE(4_000, 2)
          socket.write(header)
          const timer = setInterval(() => socket.write(Buffer.alloc(1)), 20)
          socket.on('close', () => clearInterval(timer))
        })
      },
      { timeout_ms: 500 },
    )
    assert.match(message, /does not answer/)
  })

  test('when it sends answers without requests', async () => {
    const other = Buffer.alloc(24)
    other.writeUInt16LE(0x6f, 0)
    const flood = Buffer.concat(Array.from({ length: 10_000 }, () => other))
    const message = await messageOf((socket) => void socket.on('data', () => socket.write(flood)))
    assert.match(message, /answers without requests/)
  })

  test('when its identity has wrong lengths', async () => {
    const wrong = Buffer.from('01000c00ff00', 'hex')
    const message = await messageOf((socket) => void socket.on('data', (bytes) => socket.write(frameOf(bytes, wrong))))
    assert.match(message, /the length of an item is wrong/)
  })
})

describe('a hostile server over UDP', () => {
  test('is reported as faulty when it sends only invalid datagrams', async () => {
    await using server = await startUdp(() => Array.from({ length: 100 }, () => Buffer.from('not EtherNet/IP')))
    const { errors, permits } = await scanPort(server.port, { timeout_ms: 30_000 })
    assert.match(errors[0]?.message ?? '', /UDP port \d+ does not speak EtherNet\/IP correctly/)
    assert.equal(permits.taken.filter(({ kind }) => kind === 'datagram_request').length, 1)
  })

  test('is reported as faulty when it refuses ListIdentity, or answers with another command', async () => {
    for (const [at, value, text] of [
      [8, 1, /refuses ListIdentity with the status 1/],
      [0, 0x65, /answers with the command 101/],
    ] as const) {
      await using server = await startUdp((request) => {
        const answer = Buffer.from(request)
        answer.writeUInt16LE(value, at)
        return [answer]
      })
      const { errors } = await scanPort(server.port, { timeout_ms: 200 })
      assert.match(errors[0]?.message ?? '', text)
    }
  })

  test('cannot answer for another address', async () => {
    const content = Buffer.from(`01000c002300${'00'.repeat(32)}020000`, 'hex')
    const attacker = createSocket('udp4')
    attacker.bind(0, '127.0.64.2')
    await once(attacker, 'listening')
    for (const isAttack of [false, true]) {
      const device = createSocket('udp4')
      device.on('message', (request, { port, address }) =>
        (isAttack ? attacker : device).send(frameOf(request, content), port, address),
      )
      device.bind(0, host)
      await once(device, 'listening')
      const { results } = await scanPort(device.address().port, { timeout_ms: 500, tcp: false })
      device.close()
      assert.equal(results.length, isAttack ? 0 : 1)
    }
    attacker.close()
  })
})

describe('a hostile device', () => {
  test('that is silent after its identity is reported, and is read within the time limits', async () => {
    const startedAt = performance.now()
    const { assets, errors } = await scanDevice(
      { identity: adapter, listed: { serial: 0 }, answeredMessages: 0 },
      { options: { timeout_ms: 300 } },
    )
    assert.deepEqual([assets.length, errors], [1, []])
    assert.ok(performance.now() - startedAt < 10_000)
  })

  test('delays only itself', async () => {
    await using slow = await startTcp((socket) => socket.resume())
    await using _fast = await startSimulator({ identity: controller }, { host: '127.0.64.2', port: slow.port })
    const options = { ports: String(slow.port), timeout_ms: 2_000 }
    const found: unknown[] = []
    for await (const { address } of scan({ range: `${host}-127.0.64.2`, options })) found.push(address?.ip_address)
    assert.deepEqual(found, ['127.0.64.2', '127.0.64.1'])
  })

  test('that reports the IP address of another device is reported with the scanned address', async () => {
    const network = { address: '10.0.0.9', mask: '255.0.0.0' }
    const { results } = await scanDevice({ identity: adapter, network })
    assert.match(JSON.stringify(assetsIn(results)[0]?.connection_points), /"ipv4_address":"127.0.60.1"/)
    assert.doesNotMatch(JSON.stringify(results), /10\.0\.0\.9|255\.0\.0\.0/)
  })

  test('that reports a MAC address of zeros or of a group is not identified by it', async () => {
    for (const mac of ['00:00:00:00:00:00', '01:00:5E:00:00:01', 'FF:FF:FF:FF:FF:FF']) {
      const device = { identity: { ...adapter, vendor: 60_000 }, mac, slots: { '1': { ...controller, serial: 0 } } }
      const { errors } = await scanDevice(device, { isRouted: true, options: { slots: '1' } })
      assert.deepEqual(
        errors.map(({ code }) => code),
        ['FAILED_PRECONDITION', 'FAILED_PRECONDITION'],
      )
    }
  })
})

describe('a silent address', () => {
  test('with a closed UDP port receives one datagram before the connection', async () => {
    await using server = await startTcp((socket) => void socket.on('data', () => socket.end()))
    const { permits } = await scanPort(server.port)
    assert.deepEqual(
      permits.taken.map(({ kind }) => kind),
      ['datagram_request', 'connection', 'request'],
    )
  })

  test('receives two datagrams, and attempts to connect with one permit each', async () => {
    await using silent = await startSilentPort(host)
    const socket = createSocket('udp4')
    socket.bind(silent.port, host)
    await once(socket, 'listening')
    const { results, permits } = await scanPort(silent.port, { timeout_ms: 1_000 })
    socket.close()
    assert.deepEqual(results, [])
    assert.deepEqual(
      permits.taken.map(({ operation }) => operation),
      ['ListIdentity', 'ListIdentity', 'Connect', 'Connect'],
    )
  })

  test('has no properties within a few times the time limit', async () => {
    await using silent = await startSilentPort(host)
    const socket = createSocket('udp4')
    socket.bind(silent.port, host)
    await once(socket, 'listening')
    const startedAt = performance.now()
    const address = { ip_address: host, port: silent.port }
    await assert.rejects(readProperties({ address }), { code: 'UNAVAILABLE' })
    socket.close()
    assert.ok(performance.now() - startedAt < 10_000)
  })
})

test('a pause of the process does not count as silence of a device', async () => {
  await using simulator = await startSimulator({ identity: adapter }, { host })
  const pausing: DiscoverCall['permits'] = {
    take: async ({ kind }) => {
      const pause = () => {
        const endMs = performance.now() + 1_200
        while (performance.now() < endMs);
      }
      // The datagram is sent in a later tick, and the pause begins after it.
      if (kind === 'datagram_request') setImmediate(() => setImmediate(pause))
      return { [Symbol.dispose]: () => undefined }
    },
  }
  const options = { ports: String(simulator.port), timeout_ms: 1_000, tcp: false }
  assert.equal(assetsIn(await resultsOf({ range: host, options, permits: pausing })).length, 1)
  assert.equal(simulator.requests.length, 1)
})
