import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { PermitRefusedError } from '@millwright/link-sdk/network/permits.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import {
  decodeIdentification,
  decodePeers,
  decodeRecord,
  identificationRecord,
  isAnswerTo,
  portRecord,
  RecordError,
  readRequest,
} from './record.ts'
import { type ReadOptions, readRecords } from './record-reader.ts'
import { recordAnswer, type SimulatedRecords, startRecordServer } from './simulator.ts'

const host = '127.0.79.1'
const activity = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')
const target = { vendorId: 0x002a, deviceId: 0x010d, instance: 1, isController: false }
const request = (record = identificationRecord) => readRequest({ target, activity, sequence: 7, record })
const records: SimulatedRecords = {
  vendorId: 0x002a,
  orderNumber: '6ES7 155-6AU01-0BN0',
  serialNumber: 'S C-J4PS1234567',
  hardwareRevision: 4,
  firmware: 'V4.2.1',
  ports: [['02:00:5E:00:00:01'], [], ['02:00:5E:00:00:02', '02:00:5E:00:00:03']],
}
const station = { vendorId: 0x002a, deviceId: 0x010d, roles: ['IO device'] as const }

function read(port: number, more: Partial<ReadOptions> = {}) {
  const signal = new AbortController().signal
  const options = { address: host, port, timeoutMs: 5_000, deviceSeconds: 30, permits: unlimitedPermits(), signal }
  return readRecords(station, { ...options, ...more })
}

describe('a request for a record', () => {
  test('has the bytes of the standard, and only the operation Read Implicit', () => {
    const bytes = request(portRecord(2)).toString('hex')
    const header = '04002000 10000000 0000a0de976cd11182710001010d002a 0100a0de976cd111827100a02442df7d'
    assert.ok(bytes.startsWith(header.replaceAll(' ', '')), bytes)
    const rest = '00000000 01000000 07000000 0500 ffff ffff 5400 0000 00 00'
    const lengths = '40040000 40000000 40040000 00000000 40000000'
    const block = `0009003c0100 0007 ${'00'.repeat(16)} 00000000 0000 8002 0000 802a 00000400 ${'00'.repeat(24)}`
    assert.equal(bytes.slice(112), [rest, lengths, block].join('').replaceAll(' ', ''))
  })

  test('to a controller names the interface of controllers', () => {
    const controller = { ...target, isController: true }
    const bytes = readRequest({ target: controller, activity, sequence: 0, record: identificationRecord })
    assert.equal(bytes.toString('hex', 24, 28), '0200a0de')
  })
})

describe('the records of a device', () => {
  test('are read with both byte orders, until the first port that does not exist', async () => {
    for (const isBigEndian of [false, true]) {
      await using server = await startRecordServer({ ...records, isBigEndian }, { host })
      const permits = unlimitedPermits()
      assert.deepEqual(await read(server.port, { permits }), {
        identification: {
          vendorId: 0x002a,
          orderNumber: '6ES7 155-6AU01-0BN0',
          serialNumber: 'C-J4PS1234567',
          hardwareRevision: '4',
          firmwareVersion: 'V4.2.1',
        },
        peers: ['02:00:5E:00:00:01', '02:00:5E:00:00:02', '02:00:5E:00:00:03'],
      })
      assert.equal(server.requests.length, 5)
      assert.ok(server.requests.every((bytes) => bytes.readUInt16LE(68) === 5))
      assert.deepEqual(
        permits.taken.map(({ address, operation, kind }) => [address, operation, kind]),
        Array(5).fill([host, 'ReadImplicit', 'datagram_request']),
      )
    }
  })

  test('are undefined for a silent device, which receives one request', async () => {
    const silent = createSocket('udp4')
    let received = 0
    silent.on('message', () => {
      received += 1
    })
    silent.bind(0, host)
    await once(silent, 'listening')
    assert.equal(await read(silent.address().port, { timeoutMs: 300 }), undefined)
    assert.equal(received, 1)
    silent.close()
  })

  test('are not read when the call is canceled or the permit is refused, or longer than the time limit', async () => {
    await using server = await startRecordServer(records, { host })
    const refusing = { take: () => Promise.reject(new PermitRefusedError('excluded', 'Excluded.')) }
    await assert.rejects(read(server.port, { permits: refusing }), { reason: 'excluded' })
    const canceling = new AbortController()
    canceling.abort()
    await assert.rejects(read(server.port, { signal: canceling.signal }), { name: 'AbortError' })
    assert.equal(server.requests.length, 0)
    const silent = createSocket('udp4')
    silent.bind(0, host)
    await once(silent, 'listening')
    const { port } = silent.address()
    await assert.rejects(read(port, { timeoutMs: 30_000, deviceSeconds: 1 }), /within 1 seconds.*device_seconds/)
    silent.close()
  })

  test('of a hostile device are an error, or are bounded', async () => {
    const hostile = ['', '00', '0020003801', `020f00100100${'00'.repeat(6)}ff`, 'ff'.repeat(100)]
    for (const record of hostile) {
      await using server = await startRecordServer({ record }, { host })
      const result = await read(server.port).catch((error: unknown) => error)
      assert.ok(result instanceof RecordError || JSON.stringify(result) === '{"peers":[]}', record)
    }
  })
})

describe('the decoders of records', () => {
  const answer = recordAnswer(records, request()) ?? Buffer.alloc(0)
  const portAnswer = recordAnswer(records, request(portRecord(3))) ?? Buffer.alloc(0)

  test('accept only the answer to the request', () => {
    assert.ok(isAnswerTo(answer, { activity, sequence: 7 }))
    assert.ok(!isAnswerTo(answer, { activity, sequence: 8 }))
    assert.ok(!isAnswerTo(answer, { activity: Buffer.alloc(16), sequence: 7 }))
    assert.ok(!isAnswerTo(answer.subarray(0, 79), { activity, sequence: 7 }))
    assert.throws(() => decodeRecord(answer, portRecord(1)), /another record/)
    const fault = Buffer.from(answer)
    fault.writeUInt8(3, 1)
    assert.equal(decodeRecord(fault, identificationRecord), undefined)
    const fragment = Buffer.from(answer)
    fragment.writeUInt8(0x04, 2)
    assert.throws(() => decodeRecord(fragment, identificationRecord), /several parts/)
  })

  test('return bounded values or a RecordError for any datagram', () => {
    const mutated = (bytes: Buffer) =>
      fc
        .record({
          changes: fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 8 }),
          end: fc.integer({ min: 0, max: bytes.length }),
        })
        .map(({ changes, end }) => {
          const copy = Buffer.from(bytes)
          for (const [at, byte] of changes) copy.writeUInt8(byte, at)
          return copy.subarray(0, end)
        })
    const random = fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes))
    fc.assert(
      fc.property(fc.oneof(random, mutated(answer), mutated(portAnswer)), (datagram) => {
        isAnswerTo(datagram, { activity, sequence: 7 })
        for (const record of [identificationRecord, portRecord(3)]) {
          for (const decode of [decodeIdentification, decodePeers]) {
            try {
              decode(decodeRecord(datagram, record) ?? datagram)
            } catch (error) {
              assert.ok(error instanceof RecordError, String(error))
            }
          }
        }
      }),
      { numRuns: 3_000 },
    )
  })
})
