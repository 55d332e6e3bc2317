import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import type { DiscoverCall } from '@millwright/link-sdk/define-link.ts'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { ownNetworks } from './broadcast.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'
import { controller, resultsOf } from './testing.ts'

/** The broadcast address of the loopback interface. Nothing of these tests leaves the machine. */
const broadcast = '127.255.255.255'

const namesIn = (results: Awaited<ReturnType<typeof resultsOf>>) =>
  assetsIn(results)
    .map(({ name }) => name)
    .toSorted()

const device = (instance: number, name: string): SimulatedDevice => ({
  instance,
  properties: { '77': name },
  broadcast,
})

/** Starts two devices on loopback that receive broadcasts. The second one answers with a broadcast. */
async function startSegment() {
  const stack = new AsyncDisposableStack()
  const behind = { '5:01': { instance: 51, properties: { '77': 'Room' } } }
  const first = stack.use(await startSimulator({ ...device(1, 'First'), behind }, { host: '127.0.64.1' }))
  const second = { ...device(2, 'Second'), iAm: 'broadcast' as const }
  stack.use(await startSimulator(second, { host: '127.0.64.2', port: first.port }))
  stack.use(await startSimulator(device(3, 'Outside'), { host: '127.0.65.1', port: first.port }))
  return { port: first.port, first, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('a broadcast', () => {
  test('finds the devices of the range with one request, also those that answer with a broadcast', async () => {
    await using segment = await startSegment()
    const permits = unlimitedPermits()
    const options = { ports: String(segment.port), broadcast: true }
    const results = await resultsOf({ range: '127.0.64.0/24', options, permits })
    assert.deepEqual(errorsIn(results), [])
    assert.deepEqual(namesIn(results), ['First', 'Second'])
    assert.deepEqual(permits.taken.map(({ address, operation }) => `${operation} ${address}`).toSorted(), [
      `BroadcastWhoIs ${broadcast}`,
      'ReadPropertyMultiple 127.0.64.1',
      'ReadPropertyMultiple 127.0.64.2',
    ])
  })

  test('finds devices behind routers only with the option routers', async () => {
    await using segment = await startSegment()
    const options = { ports: String(segment.port), broadcast: true, routers: true }
    assert.deepEqual(namesIn(await resultsOf({ range: '127.0.64.0/24', options })), ['First', 'Room', 'Second'])
  })

  test('drops answers of excluded addresses and of instances that are not requested', async () => {
    await using segment = await startSegment()
    const options = { ports: String(segment.port), broadcast: true, low_instance: 2 }
    assert.deepEqual(namesIn(await resultsOf({ range: '127.0.64.0/24', options })), ['Second'])
    const excluding = { range: '127.0.64.0/24', exclude: '127.0.64.2', options: { ...options, low_instance: 0 } }
    assert.deepEqual(namesIn(await resultsOf(excluding)), ['First'])
  })

  test('is not sent for a device that the call names, and not without a permit', async () => {
    await using segment = await startSegment()
    const permits = unlimitedPermits()
    const options = { ports: String(segment.port), broadcast: true }
    const targets = [{ address: { ip_address: '127.0.64.1' }, identifiers: [], credentials: [] }]
    assert.deepEqual(namesIn(await resultsOf({ range: '127.0.64.0/24', options, targets, permits })), ['First'])
    assert.ok(permits.taken.every(({ address }) => address === '127.0.64.1'))
    const received = segment.first.requests.length
    const refusing: DiscoverCall['permits'] = {
      take: async () => {
        throw new PermitRefusedError('excluded', 'Broadcasts are not allowed.')
      },
    }
    const refused = resultsOf({ range: '127.0.64.0/24', options, permits: refusing })
    await assert.rejects(refused, { message: 'Broadcasts are not allowed.' })
    assert.equal(segment.first.requests.length, received)
  })

  test('is not sent to a network whose addresses of the range are all excluded', async () => {
    await using segment = await startSegment()
    const permits = unlimitedPermits()
    const options = { ports: String(segment.port), broadcast: true }
    assert.deepEqual(await resultsOf({ range: '127.0.64.0/24', exclude: '127.0.0.0/8', options, permits }), [])
    assert.deepEqual(permits.taken, [])
  })

  test('is not sent for an invalid range', async () => {
    const permits = unlimitedPermits()
    const range = '127.0.64.0/24,224.0.0.1'
    await assert.rejects(resultsOf({ range, options: { broadcast: true }, permits }), { code: 'INVALID_ARGUMENT' })
    assert.deepEqual(permits.taken, [])
  })

  test('is an error with the reason when another program uses the port alone', async () => {
    const other = createSocket('udp4').bind(0, '0.0.0.0')
    await once(other, 'listening')
    const options = { ports: String(other.address().port), broadcast: true }
    await assert.rejects(resultsOf({ range: '127.0.64.1', options }), {
      code: 'FAILED_PRECONDITION',
      message: /cannot receive answers at UDP port \d+ of the gateway.*without the option broadcast/,
    })
    other.close()
  })

  test('ends immediately when it is canceled', async () => {
    await using segment = await startSegment()
    const canceling = new AbortController()
    const options = { ports: String(segment.port), broadcast: true, collect_ms: 60_000 }
    const scanning = resultsOf({ range: '127.0.64.0/24', options, signal: canceling.signal })
    while (segment.first.requests.length === 0) await new Promise((resolve) => setImmediate(resolve))
    canceling.abort()
    await assert.rejects(scanning, { name: 'AbortError' })
  })

  test('is sent only to networks of this machine that contain addresses of the range', () => {
    const loopback = { from: 0x7f00_4001, to: 0x7f00_40ff }
    assert.deepEqual(ownNetworks([loopback], undefined), [{ broadcast, first: 0x7f00_0000, last: 0x7fff_ffff }])
    assert.deepEqual(ownNetworks([loopback], '127.0.0.1').length, 1)
    assert.deepEqual(ownNetworks([loopback], '192.0.2.1'), [])
    assert.deepEqual(ownNetworks([{ from: 0xcb00_7101, to: 0xcb00_7102 }], undefined), [])
  })
})

describe('a BBMD', () => {
  /** Starts a BBMD and two devices on another network. One of them answers with a broadcast, which the BBMD forwards. */
  async function startNetwork({ refusesForeignDevices = false } = {}) {
    const stack = new AsyncDisposableStack()
    const one = stack.use(await startSimulator({ ...controller, instance: 11 }, { host: '127.0.66.11' }))
    const { port } = one
    const bbmd: SimulatedDevice = {
      instance: 10,
      properties: { '77': 'BBMD' },
      bbmd: { refusesForeignDevices, peers: [11, 12].map((host) => ({ host: `127.0.66.${host}`, port })) },
    }
    const running = stack.use(await startSimulator(bbmd, { host: '127.0.66.10', port }))
    const broadcasting: SimulatedDevice = {
      instance: 12,
      properties: { '77': 'Broadcasting' },
      iAm: 'broadcast',
      broadcastTo: { host: '127.0.66.10', port },
    }
    stack.use(await startSimulator(broadcasting, { host: '127.0.66.12', port }))
    return { port, bbmd: running, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  }

  test('registers the link, forwards Who-Is to its networks, and has no entry at the end', async () => {
    await using network = await startNetwork()
    const permits = unlimitedPermits()
    const options = { ports: String(network.port), bbmd: `127.0.66.10:${network.port}`, interface: 'lo' }
    const scanning = resultsOf({ range: '127.0.66.0/24', options, permits })
    while (network.bbmd.foreignDevices.size === 0) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual([...network.bbmd.foreignDevices.values()], [31], 'the time to collect, and 30 seconds')
    const results = await scanning
    assert.deepEqual(errorsIn(results), [])
    assert.deepEqual(namesIn(results), ['AHU 3', 'BBMD', 'Broadcasting'])
    while (network.bbmd.foreignDevices.size > 0) await new Promise((resolve) => setImmediate(resolve))
    const operations = permits.taken.map(({ operation }) => operation)
    assert.deepEqual(operations.slice(0, 3), ['RegisterForeignDevice', 'DistributeBroadcast', 'DeleteForeignDevice'])
    assert.ok(operations.slice(3).every((operation) => operation === 'ReadPropertyMultiple'))
    assert.ok(permits.taken.slice(0, 3).every(({ address }) => address === '127.0.66.10'))
    assert.deepEqual(
      permits.taken.filter(({ forwarded }) => forwarded).map(({ operation }) => operation),
      ['DistributeBroadcast'],
    )
    assert.deepEqual(namesIn(await resultsOf({ range: '127.0.66.12', options })), ['Broadcasting'])
  })

  test('that refuses foreign devices, or does not answer, ends the scan with the reason', async () => {
    await using network = await startNetwork({ refusesForeignDevices: true })
    const options = { ports: String(network.port), timeout_ms: 300 }
    const scanWith = (bbmd: string) => resultsOf({ range: '127.0.66.0/24', options: { ...options, bbmd } })
    await assert.rejects(scanWith(`127.0.66.10:${network.port}`), {
      code: 'FAILED_PRECONDITION',
      message: /does not accept the link as a foreign device \(BVLC result 48\)/,
    })
    await assert.rejects(scanWith('127.0.66.99:9'), {
      code: 'FAILED_PRECONDITION',
      message: /does not answer.*option bbmd/,
    })
  })

  test('has no entry at the end if the budget refuses the broadcast', async () => {
    await using network = await startNetwork()
    const options = { ports: String(network.port), bbmd: `127.0.66.10:${network.port}`, interface: 'lo' }
    const { take } = unlimitedPermits()
    const operations: string[] = []
    const permits: DiscoverCall['permits'] = {
      take: async (request) => {
        operations.push(request.operation)
        if (request.forwarded) throw new PermitRefusedError('excluded', 'Broadcasts are not allowed.')
        return await take(request)
      },
    }
    const refused = resultsOf({ range: '127.0.66.0/24', options, permits })
    await assert.rejects(refused, { message: 'Broadcasts are not allowed.' })
    assert.deepEqual(operations, ['RegisterForeignDevice', 'DistributeBroadcast', 'DeleteForeignDevice'])
    while (network.bbmd.foreignDevices.size > 0) await new Promise((resolve) => setImmediate(resolve))
  })

  /** Starts a program that accepts the registration, and answers to Who-Is with the messages of `answers`. */
  async function startHostile(answers: readonly Buffer[]) {
    const socket = createSocket('udp4').bind(0, '127.0.67.66')
    await once(socket, 'listening')
    socket.on('message', async (message, { port, address }) => {
      if (message[1] === 0x05) socket.send(Buffer.from('810000060000', 'hex'), port, address)
      if (message[1] !== 0x09) return
      for (const answer of answers) {
        socket.send(answer, port, address)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    return { place: `127.0.67.66:${socket.address().port}`, [Symbol.dispose]: () => socket.close() }
  }

  /** Returns a forwarded I-Am with the address of another device. `station` is the number of a station behind it. */
  function forwardedIAm({ address, port, station }: { address: string; port: number; station?: number }) {
    const source = station === undefined ? '0100' : `0108000102${station.toString(16).padStart(4, '0')}`
    const content = Buffer.from(`${source}1000c402000001 2205c4 9103 2107`.replaceAll(' ', ''), 'hex')
    const header = Buffer.from([0x81, 0x04, 0, 10 + content.length, ...address.split('.').map(Number), 0, 0])
    header.writeUInt16BE(port, 8)
    return Buffer.concat([header, content])
  }

  test('cannot change the name, the vendor or the instance of another device', async () => {
    await using real = await startSimulator(controller, { host: '127.0.67.4' })
    const silent = createSocket('udp4').bind(real.port, '127.0.67.5')
    await once(silent, 'listening')
    using hostile = await startHostile(
      ['127.0.67.4', '127.0.67.5'].map((address) => forwardedIAm({ address, port: real.port })),
    )
    const options = { ports: String(real.port), bbmd: hostile.place, timeout_ms: 200 }
    const results = await resultsOf({ range: '127.0.67.0/24', options })
    silent.close()
    assert.deepEqual(namesIn(results), ['AHU 3'], 'the device is read with its own instance')
    assert.deepEqual(
      errorsIn(results).map(({ message }) => /127\.0\.67\.5 port \d+ does not answer/.test(message)),
      [true],
    )
  })

  test('cannot send the link to other ports or excluded addresses, or to any number of stations', async () => {
    const received: string[] = []
    const victim = async (host: string) => {
      const socket = createSocket('udp4').bind(0, host)
      await once(socket, 'listening')
      socket.on('message', () => received.push(host))
      return { port: socket.address().port, [Symbol.dispose]: () => void socket.close() }
    }
    using other = await victim('127.0.67.1')
    using excluded = await victim('127.0.67.2')
    using listed = await victim('127.0.67.3')
    const stations = Array.from({ length: 1_500 }, (_, index) => index + 1)
    using hostile = await startHostile([
      forwardedIAm({ address: '127.0.67.1', port: other.port }),
      forwardedIAm({ address: '127.0.67.1', port: 9 }),
      forwardedIAm({ address: '127.0.67.2', port: excluded.port }),
      forwardedIAm({ address: '127.0.68.1', port: listed.port }),
      ...stations.map((station) => forwardedIAm({ address: '127.0.67.3', port: listed.port, station })),
    ])
    const ports = `${excluded.port},${listed.port}`
    const permits = unlimitedPermits()
    const results = await resultsOf({
      range: '127.0.67.0/24',
      exclude: '127.0.67.2',
      options: { ports, bbmd: hostile.place, routers: true, timeout_ms: 50, device_seconds: 1 },
      permits,
    })
    assert.deepEqual([...new Set(received)], ['127.0.67.3'])
    assert.deepEqual([...new Set(permits.taken.map(({ address }) => address))], ['127.0.67.66', '127.0.67.3'])
    assert.match(errorsIn(results)[0]?.message ?? '', /more answers than the link accepts/)
  })
})
