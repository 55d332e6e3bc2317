import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deviceLimits } from './device.ts'
import type { SimulatedDevice } from './simulator.ts'
import { queriesOf, scanDevice } from './testing.ts'

const impatient = { timeout_ms: 200 }

const services = [
  { type: '_http._tcp', name: 'Web', port: 80, txt: ['model=M1'] },
  { type: '_ipp._tcp', name: 'Printer', port: 631 },
]
const device: SimulatedDevice = { hostName: 'own', services }

/** Returns an answer with the id and the question of another one, and other records. */
function withRecords(answer: Buffer, records: Buffer, count: number): Buffer {
  let at = 12
  while ((answer[at] ?? 0) > 0) at += (answer[at] ?? 0) + 1
  const head = Buffer.from(answer.subarray(0, at + 5))
  head.writeUInt16BE(count, 6)
  head.writeUInt16BE(0, 10)
  return Buffer.concat([head, records])
}

describe('a device that violates the protocol', () => {
  test('with answers that are not DNS messages yields nothing', async () => {
    const answers = () => [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), Buffer.alloc(0), Buffer.alloc(12)]
    assert.deepEqual((await scanDevice(device, { answers, options: impatient })).results, [])
  })

  test('with names that point to themselves or forward yields nothing', async () => {
    for (const pointer of ['c00c', 'c0ff', 'ffff', '40', '3f61']) {
      const loop = Buffer.from(`${pointer}000c0001000000780002c00c`, 'hex')
      const answers = (answer: Buffer) => [withRecords(answer, Buffer.concat([Buffer.from([0xc0, 40]), loop]), 9)]
      assert.deepEqual((await scanDevice(device, { answers, options: impatient })).results, [], pointer)
    }
  })

  test('with answers to other queries yields nothing', async () => {
    const answers = (answer: Buffer) => {
      answer.writeUInt16BE(answer.readUInt16BE(0) ^ 1, 0)
      return [answer]
    }
    assert.deepEqual((await scanDevice(device, { answers, options: impatient })).results, [])
  })

  test('with many answers to one query is reported as faulty', async () => {
    const answers = (answer: Buffer) => Array.from({ length: 200 }, () => Buffer.alloc(answer.length))
    const { assets, errors } = await scanDevice(device, { answers, options: impatient })
    assert.deepEqual(assets, [])
    assert.equal(errors[0]?.code, 'DATA_LOSS')
    assert.match(errors[0].message, /127\.0\.35\.1 sends answers without queries/)
  })
})

describe('a device that delays its scan', () => {
  test('without answers after the first query is reported with the data that was read, and receives few further queries', async () => {
    const silentFor = ['PTR _http._tcp.local', 'PTR _ipp._tcp.local', 'PTR _ssh._tcp.local', 'PTR _smb._tcp.local']
    const more = ['_ssh._tcp', '_smb._tcp'].map((type) => ({ type, name: 'x', port: 1 }))
    const { assets, errors, simulator } = await scanDevice(
      { hostName: 'own', services: [...services, ...more], silentFor },
      { options: impatient },
    )
    assert.equal(assets.length, 1)
    assert.equal(errors[0]?.code, 'UNAVAILABLE')
    assert.match(errors[0].message, /not complete.*no longer answered/)
    assert.equal(simulator.queries.length, 1 + 2 * deviceLimits.silentQueries)
  })

  test('longer than device_seconds is reported with the data that was read', async () => {
    const silentFor = ['SRV Printer._ipp._tcp.local', 'PTR _http._tcp.local']
    const { assets, errors } = await scanDevice(
      { ...device, style: 'separate', silentFor },
      { options: { device_seconds: 1, timeout_ms: 30_000 } },
    )
    assert.equal(assets.length, 1)
    assert.equal(errors[0]?.code, 'OUT_OF_RANGE')
    assert.match(errors[0].message, /127\.0\.35\.1 could not be read within 1 seconds/)
  })

  test('with many types and services receives a limited number of queries', async () => {
    const many = Array.from({ length: 200 }, (_, index) => ({
      type: `_t${index % 100}._tcp`,
      name: `service ${index}`,
      port: index + 1,
    }))
    const { assets, simulator } = await scanDevice({ hostName: 'own', services: many }, { options: impatient })
    assert.equal(assets.length, 1)
    const types = queriesOf(simulator).filter((query) => /^PTR _t\d+\._tcp/.test(query))
    assert.equal(types.length, deviceLimits.types)
  })

  test('with many services of one type is read up to the limit', async () => {
    const many = Array.from({ length: 60 }, (_, index) => ({ type: '_http._tcp', name: `s${index}`, port: index + 1 }))
    const { assets, simulator } = await scanDevice(
      { hostName: 'own', services: many, style: 'separate' },
      { options: impatient },
    )
    assert.equal(assets.length, 1)
    const servers = queriesOf(simulator).filter((query) => query.startsWith('SRV'))
    assert.equal(servers.length, deviceLimits.servicesOfType)
  })
})

describe('texts of a device', () => {
  test('have no control characters', async () => {
    const txt = ['manufacturer=\u001b[31mAcme', `model=${'x'.repeat(240)}`, 'hex:736e3d00ff00']
    const hostile = [{ type: '_ipp._tcp', name: 'A\u0007\u2028\u202eB', port: 1, txt }]
    const { assets } = await scanDevice({ hostName: 'own', services: hostile }, { options: impatient })
    const text = JSON.stringify(assets)
    assert.equal(assets[0]?.name, 'A B')
    // JSON shows control characters as escapes.
    assert.doesNotMatch(text, /\\u00|[\u2028\u202e]/)
  })
})
