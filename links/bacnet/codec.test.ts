import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { BacnetError } from './bacnet-error.ts'
import {
  decodeDatagram,
  decodeReadProperty,
  decodeReadPropertyMultiple,
  encodeDeleteForeignDevice,
  encodeReadProperty,
  encodeReadPropertyMultiple,
  encodeRegisterForeignDevice,
  encodeWhoIs,
} from './codec.ts'

const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')
const hex = (buffer: Buffer) => buffer.toString('hex')
const all = { low: 0, high: 4_194_303 }

describe('the encoder', () => {
  test('encodes Who-Is for one address, for all networks, for a segment and for a BBMD', () => {
    const whoIs = { instances: all, isRouted: false, delivery: 'unicast' as const }
    assert.equal(hex(encodeWhoIs(whoIs)), '810a000801001008')
    assert.equal(hex(encodeWhoIs({ ...whoIs, isRouted: true })), '810a000c0120ffff00ff1008')
    assert.equal(hex(encodeWhoIs({ ...whoIs, delivery: 'broadcast' })), '810b000801001008')
    assert.equal(hex(encodeWhoIs({ ...whoIs, delivery: 'bbmd' })), '8109000801001008')
    const limited = encodeWhoIs({ ...whoIs, instances: { low: 3, high: 70_000 } })
    assert.equal(hex(limited), '810a000e0100100809031b011170')
  })

  test('encodes requests to a device and to a station behind a router', () => {
    const station = { network: 2_001, mac: Buffer.of(12) }
    assert.equal(
      hex(encodeReadProperty({ instance: 4_194_303 }, 75, 1)),
      '810a00110104 0005010c 0c023fffff 194b'.replaceAll(' ', ''),
    )
    const routed = encodeReadProperty({ instance: 5, station }, 372, 2)
    assert.equal(hex(routed), '810a00170124 07d1010cff 0005020c 0c02000005 1a0174'.replaceAll(' ', ''))
    const multiple = encodeReadPropertyMultiple({ instance: 5 }, [77, 372], 3)
    assert.equal(hex(multiple), '810a00160104 0005030e 0c02000005 1e 094d 0a0174 1f'.replaceAll(' ', ''))
  })

  test('encodes the registration of a foreign device and its deletion', () => {
    assert.equal(hex(encodeRegisterForeignDevice(33)), '810500060021')
    assert.equal(hex(encodeDeleteForeignDevice({ address: '10.0.1.2', port: 47_809 })), '8108000a0a000102bac1')
  })
})

describe('the decoder', () => {
  const apduOf = (text: string) => {
    const received = decodeDatagram(bytes(text))
    assert.ok(received.type === 'apdu')
    return received
  }

  test('decodes I-Am of a device, of a station behind a router, and forwarded by a BBMD', () => {
    const iAm = { instance: 1_234, maxApdu: 1_476, segmentation: 3, vendorId: 260 }
    const content = '1000 c4020004d2 2205c4 9103 220104'
    assert.deepEqual(apduOf(`810b0015 0100 ${content}`).apdu, { type: 'iAm', iAm })
    const routed = apduOf(`810a0019 0108 07d1010c ${content}`)
    assert.deepEqual(routed.source, { network: 2_001, mac: Buffer.of(12) })
    const forwarded = apduOf(`8104001b 0a000105bac0 0100 ${content}`)
    assert.deepEqual(forwarded.origin, { address: '10.0.1.5', port: 47_808 })
    const global = apduOf(`810b0019 0120 ffff00ff ${content}`)
    assert.deepEqual(global.apdu, { type: 'iAm', iAm })
  })

  test('decodes answers with a value, an array, a structure and an error', () => {
    const single = decodeReadProperty(bytes('0c02000005 194d 3e 7504004142 43 3f'))
    assert.deepEqual(single, { instance: 5, property: 77, value: 'ABC' })
    const list = decodeReadProperty(bytes('0c02000005 194c 2901 3e c402000005 c400000001 3f'))
    assert.deepEqual(list, { instance: 5, property: 76, value: 5 })
    const nested = decodeReadProperty(bytes('0c02000005 1998 3e 0e 1e 2101 1f 0f 3f'))
    assert.equal(nested.value, undefined)
    const text = '0c02000005 1e 294d 4e 720041 4f 2a0174 5e 9102 9120 5f 2978 4e 2107 4f 1f'
    const { instance, values } = decodeReadPropertyMultiple(bytes(text))
    assert.deepEqual(
      [instance, [...values]],
      [
        5,
        [
          [77, 'A'],
          [120, 7],
        ],
      ],
    )
  })

  test('decodes refusals, segments, results and unreachable networks', () => {
    assert.deepEqual(apduOf('810a000d 0100 50010c 9102 9120').apdu, {
      type: 'refusal',
      invokeId: 1,
      reason: 'error 32 (unknown property)',
      isSegmentation: false,
    })
    assert.deepEqual(apduOf('810a0009 0100 600109').apdu, {
      type: 'refusal',
      invokeId: 1,
      reason: 'reject reason 9 (service not supported)',
      isSegmentation: false,
    })
    assert.deepEqual(apduOf('810a0009 0100 710104').apdu, {
      type: 'refusal',
      invokeId: 1,
      reason: 'abort reason 4 (segmentation not supported)',
      isSegmentation: true,
    })
    assert.deepEqual(apduOf('810a000c 0100 3c010004 0e0c').apdu, { type: 'segment', invokeId: 1 })
    assert.deepEqual(decodeDatagram(bytes('810000060030')), { type: 'result', code: 0x30 })
    const unreachable = decodeDatagram(bytes('810a000a 0180 03 01 07d1'))
    assert.deepEqual(unreachable, { type: 'unreachableNetwork', reason: 1, network: 2_001 })
  })

  test('rejects wrong headers, lengths and tags', () => {
    const datagrams = [
      '',
      '82',
      '810a',
      '810a0009010010',
      '810a00060200',
      '810a000601',
      '810a000e 0108 07d108 0102030405',
      '810a000a 0108 07d100 10',
      '810b0015 0100 1000 c4000004d2 2205c4 9103 220104',
      '810b000d 0100 1000 c4020004d2',
    ]
    for (const text of datagrams) assert.throws(() => decodeDatagram(bytes(text)), { fault: 'faulty' }, text)
    const answers = [
      '',
      '0c02000005',
      '0c02000005 194d 3e',
      '0c02000005 194d 3e 7504',
      '0c02000005 194d 3e 0e 3f',
      '0c00000005 194d 3e 3f',
    ]
    for (const text of answers) {
      assert.throws(() => decodeReadProperty(bytes(text)), { fault: 'faulty' }, text)
      assert.throws(() => decodeReadPropertyMultiple(bytes(text)), { fault: 'faulty' }, text)
    }
    const huge = '0c02000005 194d 3e 75ffffffffff 3f'
    assert.throws(() => decodeReadProperty(bytes(huge)), { fault: 'faulty' })
  })
})

describe('random messages', () => {
  const decoders = [decodeDatagram, decodeReadProperty, decodeReadPropertyMultiple]

  /** Decodes with all decoders. The bytes are in the middle of a larger buffer, so that reads outside are noticed. */
  const decodeAll = (content: Uint8Array) => {
    const around = Buffer.alloc(content.length + 64, 0x41)
    around.set(content, 32)
    const message = around.subarray(32, 32 + content.length)
    for (const decode of decoders) {
      try {
        const text = JSON.stringify(decode(message), (_, value) => (value instanceof Map ? [...value] : value))
        assert.ok(text.length < 100_000)
      } catch (error) {
        assert.ok(error instanceof BacnetError, String(error))
        assert.equal(error.fault, 'faulty')
      }
    }
  }

  const valid = [
    '810b0015 0100 1000 c4020004d2 2205c4 9103 220104',
    '8104001f 0a000105bac0 0108 07d1010c 1000 c4020004d2 2205c4 9103 220104',
    '810a000d 0100 50010c 9102 9120',
    '810a000a 0180 03 01 07d1',
    '0c02000005 194d 3e 7504004142 43 3f',
    '0c02000005 194d 3e 750903 0000004b000000fc 3f',
    '0c02000005 1998 3e 0e 1e 2101 1f 0f 3f',
    '0c02000005 1e 294d 4e 720041 4f 2a0174 5e 9102 9120 5f 2978 4e 2107 4f 1f',
  ].map(bytes)

  test('of any bytes are decoded or rejected', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), decodeAll), { numRuns: 2_000 })
    const framed = fc.tuple(fc.constantFrom(0, 4, 10, 11), fc.uint8Array({ maxLength: 200 })).map(([code, content]) => {
      const header = Buffer.of(0x81, code, 0, 0, 1, 0)
      header.writeUInt16BE(header.length + content.length, 2)
      return Buffer.concat([header, content])
    })
    fc.assert(fc.property(framed, decodeAll), { numRuns: 2_000 })
  })

  test('that are truncated or changed valid messages are decoded or rejected', () => {
    for (const message of valid)
      for (let length = 0; length <= message.length; length += 1) decodeAll(message.subarray(0, length))
    const change = fc.record({
      message: fc.constantFrom(...valid),
      places: fc.array(fc.tuple(fc.nat(40), fc.nat(255)), { minLength: 1, maxLength: 6 }),
      more: fc.uint8Array({ maxLength: 20 }),
    })
    fc.assert(
      fc.property(change, ({ message, places, more }) => {
        const copy = Buffer.concat([message, more])
        for (const [at, byte] of places) copy[at % copy.length] = byte
        decodeAll(copy)
        if (copy[0] === 0x81 && copy.length >= 4) copy.writeUInt16BE(copy.length, 2)
        decodeAll(copy)
      }),
      { numRuns: 5_000 },
    )
  })

  test('with many nested tags are decoded without recursion', () => {
    const nested = Buffer.concat([bytes('0c02000005 194d 3e'), Buffer.alloc(60_000, 0x0e)])
    assert.throws(() => decodeReadProperty(nested), { fault: 'faulty' })
  })
})
