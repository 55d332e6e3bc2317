import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { DcpError, decodeAnswer, identifyFrame, isStationName, type Station } from './dcp.ts'
import { decodeLldp } from './lldp.ts'
import { answersTo, lldpFrame, type SimulatedDevice } from './simulator.ts'
import { idText, vendorName } from './vendors.ts'

const linkMac = '02:00:5E:77:00:01'
const deviceMac = '28:63:36:8A:00:10'
const expected = { destination: linkMac, xid: 0x0102_0304 }
const request = (stationName?: string) =>
  identifyFrame({ source: linkMac, xid: expected.xid, spreadMs: 1_280, stationName })

const controller: SimulatedDevice = {
  name: 'plc-1',
  type: 'S7-1500',
  vendorId: 0x002a,
  deviceId: 0x010d,
  oem: { vendorId: 0x0101, deviceId: 7 },
  role: 3,
  alias: 'port-001.switch-1',
  ipAddress: '10.0.0.5',
  networkMask: '255.255.255.0',
  router: '10.0.0.1',
}

const answerOf = (device: SimulatedDevice): Buffer => {
  const [frame] = answersTo(device, { request: request(), macAddress: deviceMac })
  assert.ok(frame !== undefined)
  return frame
}
const decoded = (device: SimulatedDevice) => decodeAnswer(answerOf(device), expected)

describe('an Identify frame', () => {
  test('has the bytes of the standard for all stations', () => {
    const header = '010ecf000000 02005e770001 8892 fefe 05 00 01020304 0080 0004 ffff0000'
    assert.equal(request().toString('hex'), header.replaceAll(' ', '').padEnd(120, '0'))
  })

  test('has a name without block information, and a padding byte after an odd length', () => {
    const bytes = request('plc-1').toString('hex', 24, 38)
    assert.equal(bytes, '000a 0202 0005 706c632d31 00 0000'.replaceAll(' ', ''))
  })

  test('has a response delay factor within the limits of the standard', () => {
    const factor = (spreadMs: number) => identifyFrame({ source: linkMac, xid: 1, spreadMs }).readUInt16BE(22)
    assert.deepEqual([0, 1, 10, 11, 64_000, 1e9].map(factor), [1, 1, 1, 2, 6_400, 6_400])
  })

  test('selects a station by its name', () => {
    const answers = (name: string) => answersTo(controller, { request: request(name), macAddress: deviceMac }).length
    assert.deepEqual(['plc-1', 'plc-2', 'plc'].map(answers), [1, 0, 0])
    assert.deepEqual(['plc-1', 'a.b-c', '', 'ä', 'a b', 'x'.repeat(241)].map(isStationName), [
      ...[true, true],
      ...[false, false, false, false],
    ])
  })
})

describe('the answer of a station', () => {
  test('is decoded with all blocks', () => {
    const station: Station = {
      macAddress: deviceMac,
      name: 'plc-1',
      type: 'S7-1500',
      vendorId: 0x002a,
      deviceId: 0x010d,
      oemVendorId: 0x0101,
      oemDeviceId: 7,
      instance: 100,
      roles: ['IO device', 'IO controller'],
      alias: 'port-001.switch-1',
      ipAddress: '10.0.0.5',
      networkMask: '255.255.255.0',
      router: '10.0.0.1',
      ipState: 'set',
      options: ['1.2', '2.1', '2.2', '2.3', '2.4', '2.5'],
    }
    assert.deepEqual(decoded(controller), station)
    assert.deepEqual(decoded({ ...controller, isTagged: true }), station)
  })

  test('of a new device has no name and no IP address', () => {
    const station = decoded({ type: 'ET200SP' })
    assert.deepEqual([station?.name, station?.ipAddress, station?.ipState], [undefined, undefined, 'not set'])
  })

  test('contains an address conflict, and an address from DHCP', () => {
    const station = decoded({ ...controller, ipInfo: 0x82 })
    assert.deepEqual([station?.ipState, station?.hasIpConflict], ['set by DHCP', true])
  })

  test('is ignored if it is for another request, from a group, or not an answer', () => {
    const frame = answerOf(controller)
    const changed = (at: number, byte: number) => {
      const copy = Buffer.from(frame)
      copy.writeUInt8(byte, at)
      return decodeAnswer(copy, expected)
    }
    assert.ok(changed(12, 0x88) !== undefined)
    const others = [
      [0, 0x04],
      [6, 0x01],
      [12, 0x08],
      [15, 0xfd],
      [16, 3],
      [17, 5],
      [21, 9],
    ] as const
    for (const [at, byte] of others) assert.equal(changed(at, byte), undefined, String(at))
  })

  test('with wrong lengths is an error that names the device', () => {
    const faulty = (blocks: string) => () => decoded({ blocks })
    assert.throws(faulty('02020010000041'), { name: 'DcpError', message: /28:63:36:8A:00:10.*longer than the data/ })
    assert.throws(faulty('ffff0000'.repeat(65)), /more than 64 blocks/)
    const cut = answerOf(controller).subarray(0, 40)
    assert.throws(() => decodeAnswer(cut, expected), /shorter than their length/)
  })

  test('with blocks that are too short for their type has no values of these blocks', () => {
    const short = ['01020002 0001', '02030003 0000 2a00', '02040002 0000', '02070002 0000', '02080002 0000', '02020000']
    const blocks = [...short, '02090002 0000', '02050003 0000 0100'].join('').replaceAll(' ', '')
    assert.deepEqual(decoded({ blocks }), { macAddress: deviceMac, options: [] })
  })

  test('has texts without control characters, and with at most 256 characters', () => {
    assert.equal(decoded({ ...controller, name: 'plc\0\n 1 ' })?.name, 'plc 1')
    const long = `02010${(402).toString(16)}0000${'41'.repeat(400)}`
    assert.equal(decoded({ blocks: long })?.type?.length, 256)
    assert.equal(decoded({ ...controller, type: 'Geb\xe4ude' })?.type, 'Gebäude')
  })
})

describe('an LLDP frame', () => {
  const lldp = {
    portId: 'port-003',
    systemName: 'switch-1',
    systemDescription:
      'Siemens, SIMATIC NET, SCALANCE X208, 6GK5 208-0BA10-2AA3, HW: Version 4, FW: Version V4.03, SVPL6147920',
    ipAddress: '10.0.0.9',
  }

  test('of a switch is decoded', () => {
    assert.deepEqual(decodeLldp(lldpFrame(lldp, deviceMac)), {
      ...lldp,
      sourceMac: deviceMac,
      chassisMac: deviceMac,
      isProfinet: false,
    })
  })

  test('of a PROFINET device contains its name of station and its MAC address', () => {
    const neighbour = decodeLldp(lldpFrame({ chassisName: 'io-1', isProfinet: true }, deviceMac))
    assert.deepEqual([neighbour?.chassisName, neighbour?.chassisMac, neighbour?.isProfinet], ['io-1', deviceMac, true])
  })

  test('is ignored at the end of a neighbour, with missing or wrong fields, and with another EtherType', () => {
    const frame = lldpFrame(lldp, deviceMac)
    assert.equal(decodeLldp(lldpFrame({ ...lldp, timeToLive: 0 }, deviceMac)), undefined)
    assert.equal(decodeLldp(frame.subarray(0, 20)), undefined)
    assert.equal(decodeLldp(frame.subarray(0, 60)), undefined)
    assert.equal(decodeLldp(Buffer.alloc(13)), undefined)
    const wrong = Buffer.from(frame)
    wrong.writeUInt16BE(0x0800, 12)
    assert.equal(decodeLldp(wrong), undefined)
  })
})

describe('the decoders', () => {
  /** Correct frames with changed, removed and added bytes. */
  const mutated = (frame: Buffer) =>
    fc
      .record({
        changes: fc.array(fc.tuple(fc.nat(frame.length - 1), fc.nat(255)), { maxLength: 8 }),
        end: fc.integer({ min: 0, max: frame.length }),
        rest: fc.uint8Array({ maxLength: 64 }),
      })
      .map(({ changes, end, rest }) => {
        const copy = Buffer.from(frame)
        for (const [at, byte] of changes) copy.writeUInt8(byte, at)
        return Buffer.concat([copy.subarray(0, end), rest])
      })
  const random = fc.uint8Array({ maxLength: 1_600 }).map((bytes) => Buffer.from(bytes))

  test('of DCP return a bounded station, nothing, or a DcpError for any frame', () => {
    const header = answerOf(controller).subarray(0, 24)
    const blocks = fc.uint8Array({ maxLength: 1_400 }).map((bytes) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      return Buffer.concat([header, length, bytes])
    })
    fc.assert(
      fc.property(fc.oneof(random, blocks, mutated(answerOf(controller))), (frame) => {
        try {
          const station = decodeAnswer(frame, expected)
          for (const value of Object.values(station ?? {}))
            if (typeof value !== 'number' && typeof value !== 'boolean') assert.ok(value.length <= 256)
        } catch (error) {
          assert.ok(error instanceof DcpError, String(error))
        }
      }),
      { numRuns: 3_000 },
    )
  })

  test('of LLDP return a bounded neighbour or nothing for any frame', () => {
    const description = 'x'.repeat(400)
    const frame = lldpFrame({ systemDescription: description, isProfinet: true, ipAddress: '10.0.0.1' }, deviceMac)
    fc.assert(
      fc.property(fc.oneof(random, mutated(frame)), (bytes) => {
        for (const value of Object.values(decodeLldp(bytes) ?? {}))
          if (typeof value === 'string') assert.ok(value.length <= 256)
      }),
      { numRuns: 3_000 },
    )
  })
})

test('vendorName returns the short name of a vendor id, which other links use too', () => {
  assert.deepEqual([0x002a, 0x011d, 0xfffe, undefined].map(vendorName), ['Siemens', 'WAGO', undefined, undefined])
  assert.equal(idText(0x2a), '0x002A')
})
