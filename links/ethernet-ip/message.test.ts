import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  commands,
  encodeFrame,
  encodeRead,
  encodeUnconnected,
  encodeUnconnectedSend,
  frameLength,
  listIdentityDatagram,
  parseFrame,
  parseIdentity,
  parseInterfaceSettings,
  parseListIdentity,
  parseMacAddress,
  parseShortText,
  parseText,
  parseUnconnected,
  sessionContent,
} from './message.ts'

const bytes = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const name = Buffer.from('1756-EN2T/D').toString('hex')
/** Vendor 1, type 12, product code 166, revision 11.2, status 0x0030, serial number 0x00C0FFEE. */
const identity = `0100 0c00 a600 0b02 3000 eeffc000 0b ${name}`
const item = `0100 0002 af12 0a000007 0000000000000000 ${identity} 03`
const itemBytes = bytes(item).length.toString(16).padStart(2, '0')
const expected = {
  vendorId: 1,
  deviceType: 12,
  productCode: 166,
  revision: { major: 11, minor: 2 },
  status: 0x30,
  serialNumber: 0x00c0ffee,
  productName: '1756-EN2T/D',
}

describe('the encoder of EtherNet/IP requests', () => {
  test('writes the frames of the specification', () => {
    const datagram = '6300 0000 00000000 00000000 f401000000000000 00000000'
    assert.deepEqual(listIdentityDatagram(), bytes(datagram))
    const session = '6500 0400 00000000 00000000 0000000000000000 00000000 0100 0000'
    assert.deepEqual(encodeFrame(commands.registerSession, { content: sessionContent }), bytes(session))
    const read = encodeRead({ classId: 0xf6, instance: 1, attribute: 3 })
    assert.deepEqual(read, bytes('0e03 20f6 2401 3003'))
    assert.deepEqual(encodeUnconnected(read), bytes('00000000 0000 0200 0000 0000 b200 0800 0e03 20f6 2401 3003'))
  })

  test('writes the route to a slot, and a time that fits into ticks', () => {
    const message = encodeRead({ classId: 1, instance: 1 })
    const sent = (timeoutMs: number) => encodeUnconnectedSend(message, { slot: 5, timeoutMs }).toString('hex')
    const rest = bytes('0600 0102 2001 2401 0100 0105').toString('hex')
    assert.equal(sent(200), `52022006240100c8${rest}`)
    assert.equal(sent(675), `52022006240102a8${rest}`)
    assert.equal(sent(22_500), `52022006240107af${rest}`)
    assert.equal(sent(0.5), `5202200624010001${rest}`)
  })
})

describe('the parser of EtherNet/IP answers', () => {
  test('reads an answer to ListIdentity', () => {
    assert.deepEqual(parseListIdentity(bytes(`0100 0c00 ${itemBytes}00 ${item}`)), {
      ...expected,
      state: 3,
      encapsulationVersion: 1,
      ipAddress: '10.0.0.7',
      port: 44_818,
    })
  })

  test('skips items of other types before the identity', () => {
    const parsed = parseListIdentity(bytes(`0200 8600 0200 ffff 0c00 ${itemBytes}00 ${item}`))
    assert.ok(typeof parsed !== 'string')
    assert.equal(parsed.serialNumber, 0x00c0ffee)
  })

  test('returns the fault of an incomplete or wrong answer to ListIdentity', () => {
    const faults = [
      ['', /no items/],
      ['0000', /no identity/],
      ['1100', /17 items/],
      ['0100 0c', /an item of its answer is incomplete/],
      ['0100 0c00 0500 01', /the length of an item is wrong/],
      ['0100 0c00 0400 01000002', /its identity is incomplete/],
      [`0100 0c00 ${itemBytes}00 ${item.replace(' 0b 3', ' ff 3')}`, /length of its product name/],
    ] as const
    for (const [answer, fault] of faults) assert.match(String(parseListIdentity(bytes(answer))), fault)
  })

  test('reads an identity object with and without state', () => {
    assert.deepEqual(parseIdentity(bytes(identity)), expected)
    assert.deepEqual(parseIdentity(bytes(`${identity} ff 0000 00`)), { ...expected, state: 255 })
  })

  test('reads the status and the data of a CIP message', () => {
    const answer = (message: string) => {
      const length = bytes(message).length.toString(16).padStart(2, '0')
      return parseUnconnected(bytes(`00000000 0000 0200 0000 0000 b200 ${length}00 ${message}`))
    }
    assert.deepEqual(answer('8e00 0000 0102'), { service: 0x0e, status: 0, data: bytes('0102') })
    assert.deepEqual(answer('d200 0101 1203 02'), {
      service: 0x52,
      status: 1,
      extendedStatus: 0x0312,
      data: bytes('02'),
    })
    assert.match(String(answer('0e00 0000')), /service code 14/)
    assert.match(String(answer('8e00 00')), /incomplete/)
    assert.match(String(answer('8e00 0102 1203')), /length of a CIP status/)
    assert.match(String(parseUnconnected(bytes('00000000 00'))), /no items/)
    assert.match(String(parseUnconnected(bytes('00000000 0000 0000'))), /no CIP message/)
  })

  test('reads network settings, texts and MAC addresses', () => {
    const settings = '0700000a 00ffffff 0100000a 00000000 00000000'
    const addresses = { ipAddress: '10.0.0.7', networkMask: '255.255.255.0', router: '10.0.0.1' }
    assert.deepEqual(parseInterfaceSettings(bytes(`${settings} 0200 6162`)), { ...addresses, domainName: 'ab' })
    assert.deepEqual(parseInterfaceSettings(bytes(settings)), { ...addresses, domainName: '' })
    assert.match(String(parseInterfaceSettings(bytes(settings).subarray(1))), /incomplete/)
    assert.equal(parseText(bytes('0300 61fc00')), 'aü')
    assert.equal(parseText(bytes('0300 6162')), undefined)
    assert.equal(parseShortText(bytes('02 6162 63')), 'ab')
    assert.equal(parseShortText(bytes('03 6162')), undefined)
    assert.equal(parseMacAddress(bytes('001d9c010203')), '00:1D:9C:01:02:03')
    for (const address of ['000000000000', '01005e000001', '001d9c0102'])
      assert.equal(parseMacAddress(bytes(address)), undefined)
  })

  test('does not wait for frames of unknown commands or with too much content', () => {
    const header = (command: string, length: string) => bytes(`${command} ${length} ${'00'.repeat(20)}`)
    assert.equal(frameLength(header('6f00', '0010')), 24 + 4_096)
    assert.equal(frameLength(header('6f00', '0110')), 'not a frame')
    assert.equal(frameLength(bytes('5353482d')), 'not a frame')
    assert.equal(frameLength(bytes('6f')), undefined)
    assert.match(String(parseFrame(header('6f00', '0100'))), /no EtherNet\/IP header/)
  })
})
