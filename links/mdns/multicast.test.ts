import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import { readDevice } from './device.ts'
import { findResponders, mdnsGroup } from './multicast.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'

/** The multicast queries of these tests stay on the loopback interface. */
const loopback = '127.0.0.1'

const device: SimulatedDevice = {
  hostName: 'own',
  services: Array.from({ length: 100 }, (_, index) => ({ type: `_t${index}._tcp`, name: 'x', port: index + 1 })),
}

const find = (port: number, more: Partial<Parameters<typeof findResponders>[0]> = {}) =>
  findResponders({
    localAddress: loopback,
    port,
    timeoutMs: 300,
    permits: unlimitedPermits(),
    signal: new AbortController().signal,
    accepts: () => true,
    ...more,
  })

describe('a multicast query', () => {
  test('finds the devices that answer, with two datagrams and their permits for the group', async () => {
    await using simulator = await startSimulator(device, { host: loopback, group: mdnsGroup })
    const permits = unlimitedPermits()
    const found = await find(simulator.port, { permits })
    assert.deepEqual([...found], [loopback])
    assert.equal(simulator.queries.length, 2)
    const request = { address: mdnsGroup, protocol: 'mdns', operation: 'Multicast PTR query', kind: 'datagram_request' }
    assert.deepEqual(permits.taken, [request, request])
  })

  test('drops answers of addresses that are not accepted', async () => {
    await using simulator = await startSimulator(device, { host: loopback, group: mdnsGroup })
    assert.equal((await find(simulator.port, { accepts: (address) => address !== loopback })).size, 0)
  })

  test('stores the address of a device that sends many answers once, and nothing else of them', async () => {
    const answers = (answer: Buffer) => [
      ...Array.from({ length: 20 }, () => answer),
      Buffer.from('not a DNS message'),
      Buffer.alloc(0),
    ]
    await using simulator = await startSimulator(device, { host: loopback, group: mdnsGroup, answers })
    const found = await find(simulator.port)
    assert.deepEqual(found, new Set([loopback]))
  })

  test('ends when the scan is canceled, and sends nothing without a permit', async () => {
    await using simulator = await startSimulator(device, { host: loopback, group: mdnsGroup })
    const controller = new AbortController()
    const running = find(simulator.port, { signal: controller.signal, timeoutMs: 30_000 })
    while (simulator.queries.length === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort(new Error('canceled'))
    await assert.rejects(running, /canceled/)
    const take = () => Promise.reject(new PermitRefusedError('excluded', 'excluded'))
    await assert.rejects(find(simulator.port, { permits: { take } }), { reason: 'excluded' })
    assert.equal(simulator.queries.length, 1)
  })

  test('reports an interface that cannot be used', async () => {
    await assert.rejects(find(5353, { localAddress: '192.0.2.1' }), { code: 'UNAVAILABLE', message: /192\.0\.2\.1/ })
  })

  test('does not replace the answer of the device, because another device can answer with its address', async () => {
    const silent = createSocket('udp4').bind(0, loopback)
    await once(silent, 'listening')
    const { port } = silent.address()
    const signal = new AbortController().signal
    const at = { address: loopback, port, timeoutMs: 100, permits: unlimitedPermits(), signal }
    try {
      const reading = await readDevice(at, { deviceSeconds: 5, isResponder: true })
      assert.deepEqual(reading?.services, [])
      assert.equal(reading.hostName, undefined)
      assert.match(reading.problem?.message ?? '', /not to queries to its address/)
      assert.equal(await readDevice(at, { deviceSeconds: 5 }), undefined)
    } finally {
      silent.close()
    }
  })
})
