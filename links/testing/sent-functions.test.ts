import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CapturedPacket } from './packet-capture.ts'
import { sentFunctions } from './sent-functions.ts'

const link = '10.0.0.1'
const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

function packet(fields: Partial<CapturedPacket>): CapturedPacket {
  const { payload = Buffer.alloc(0) } = fields
  const ends = { from: link, to: '10.0.0.2', transport: 'udp', sourcePort: 50_000, port: 0 } as const
  return { atMs: 0, ...ends, flags: 0, sequence: 0, payload, payloadBytes: payload.length, ...fields }
}

const codesOf = (...packets: CapturedPacket[]) => sentFunctions(packets, [link]).map(({ code }) => code)

/** The packets of a connection that sends the parts in their order. */
function connection(port: number, ...parts: Buffer[]): CapturedPacket[] {
  const tcp = { transport: 'tcp', port } as const
  let sequence = 0xffff_fff0
  const packets = [packet({ ...tcp, flags: 0x02, sequence })]
  sequence = (sequence + 1) >>> 0
  for (const payload of parts) {
    packets.push(packet({ ...tcp, flags: 0x18, sequence, payload }))
    sequence = (sequence + payload.length) >>> 0
  }
  return [...packets, packet({ ...tcp, flags: 0x11, sequence })]
}

test('sentFunctions returns the function codes of Modbus, also of writes and of divided and repeated requests', () => {
  const identification = bytes('0001 0000 0005 FF 2B0E0100')
  const write = bytes('0002 0000 0006 01 0600010003')
  const packets = connection(502, identification, write.subarray(0, 5), write.subarray(5))
  const repeated = packets.flatMap((one) => [one, one])
  for (const sent of [packets, repeated]) assert.deepEqual(codesOf(...sent), ['connect', '0x2B/0x0E', '0x06'])
  assert.deepEqual(codesOf(...connection(502, Buffer.concat([write, write]))), ['connect', '0x06', '0x06'])
  assert.deepEqual(codesOf(...connection(502, bytes('0001 0005 0002 FF 2B'))), ['connect', 'not Modbus'])
})

test('sentFunctions returns the messages and services of OPC UA', () => {
  const chunk = (type: string, body: string) => {
    const content = bytes(body)
    const head = Buffer.from(`${type}F0000`, 'latin1')
    head.writeUInt32LE(8 + content.length, 4)
    return Buffer.concat([head, content])
  }
  const none = Buffer.from('http://opcfoundation.org/UA/SecurityPolicy#None').toString('hex')
  const channel = '01000000 01000000 0200000003000000'
  const parts = [
    chunk('HEL', '00000000'),
    chunk('OPN', `00000000 2F000000${none} FFFFFFFF FFFFFFFF 0100000001000000 0100BE01`),
    chunk('MSG', `${channel} 0100AC01`),
    chunk('MSG', `${channel} 020000A1020000`),
    chunk('MSG', `${channel} 0101AC01`),
    chunk('CLO', `${channel} 0100C401`),
  ]
  assert.deepEqual(codesOf(...connection(4_840, ...parts)), [
    ...['connect', 'HEL', 'i=446', 'i=428', 'i=673', 'unknown node id', 'i=452'],
  ])
})

test('sentFunctions returns the tags of SNMP PDUs', () => {
  const snmp = (text: string) => codesOf(packet({ port: 161, payload: bytes(text) }))
  assert.deepEqual(snmp('301B 020101 0406 7075626C6963 A50E 020101 020100 020100 3003 3001 00'), ['0xA5'])
  assert.deepEqual(snmp('300D 020101 0406 7075626C6963 A300'), ['0xA3'])
  const header = '300D 020101 020204B0 040104 020103'
  assert.deepEqual(snmp(`301C 020103 ${header} 0400 3006 0400 0400 A000`), ['0xA0'])
  assert.deepEqual(snmp(`3017 020103 ${header} 0400 0401 FF`), ['encrypted PDU'])
  assert.deepEqual(snmp('FF'), ['not SNMP'])
})

test('sentFunctions returns the functions of S7, also of writes', () => {
  const parts = [
    bytes('0300 0016 11E0 0000 0001 00 C001 0A C102 0100 C202 0102'),
    bytes('0300 0019 02F080 3201 0000 0001 0008 0000 F000 0001 0001 01E0'),
    bytes('0300 0021 02F080 3207 0000 0002 0008 0008 000112 04 11 44 01 00 FF09 0004 0011 0000'),
    bytes('0300 0024 02F080 3201 0000 0003 000E 0005 05 01 120A10 02 0001 0001 84 000000 0004 0008 00'),
    bytes('0300 0007 02F080'),
  ]
  assert.deepEqual(codesOf(...connection(102, ...parts)), ['connect', '0xE0', '0xF0', '0x44/0x01', '0x05', 'not S7'])
  assert.deepEqual(codesOf(...connection(102, bytes('0000 0000 00'))).slice(0, 2), ['connect', 'not ISO on TCP'])
})

test('sentFunctions returns the commands and services of EtherNet/IP over UDP and TCP', () => {
  const message = (command: string, body = '') => {
    const content = bytes(body)
    const head = Buffer.alloc(24)
    head.writeUInt16LE(Number(command), 0)
    head.writeUInt16LE(content.length, 2)
    return Buffer.concat([head, content])
  }
  const request = (text: string) => {
    const length = bytes(text).length.toString(16).padStart(2, '0')
    return message('0x6f', `00000000 0500 0200 0000 0000 B200 ${length}00 ${text}`)
  }
  assert.deepEqual(codesOf(packet({ port: 44_818, payload: message('0x63') })), ['0x0063'])
  const parts = [
    message('0x65', '0100 0000'),
    request('01 02 2001 2401'),
    request('52 02 2006 2401 05 9D 0600 01 02 2001 2401 01 00 0102'),
    request('10 03 2001 2401 3007 00'),
  ]
  assert.deepEqual(codesOf(...connection(44_818, ...parts)), [
    ...['connect', '0x0065', '0x006F/0x01', '0x006F/0x52/0x01', '0x006F/0x10'],
  ])
})

test('sentFunctions returns the services of BACnet, also behind routers and at a BBMD', () => {
  const bacnet = (text: string) => codesOf(packet({ port: 47_808, payload: bytes(text) }))
  assert.deepEqual(bacnet('810A 0008 0100 1008'), ['0x10/0x08'])
  assert.deepEqual(bacnet('810B 000C 0120 FFFF 00 FF 1008'), ['0x10/0x08'])
  assert.deepEqual(bacnet('810A 0013 0104 0004 01 0C 0C 02000001 19 78'), ['0x00/0x0C'])
  assert.deepEqual(bacnet('810A 0016 0124 0002 01 05 FF 0004 01 0E 0C 02000001'), ['0x00/0x0E'])
  assert.deepEqual(bacnet('810A 0013 0104 0004 01 0F 0C 02000001 19 78'), ['0x00/0x0F'])
  assert.deepEqual(bacnet('8105 0006 003C'), ['0x81/0x05'])
  assert.deepEqual(bacnet('810A 0009 0180 00 0000'), ['network message'])
  assert.deepEqual(bacnet('00'), ['not BACnet'])
})

test('sentFunctions returns the services of PROFINET DCP', () => {
  const frame = (text: string) => codesOf(packet({ transport: 'ethernet', payload: bytes(text) }))
  assert.deepEqual(frame('FEFE 05 00 00000001 0001 0004 FFFF 0000'), ['0xFEFE/5'])
  assert.deepEqual(frame('FEFD 04 00 00000001 0000 0004 0202 0000'), ['0xFEFD/4'])
  assert.deepEqual(frame('FEFF 05 01 00000001 0000 0000'), ['not a request'])
})

test('sentFunctions returns DNS queries, echo requests, empty datagrams and everything unknown', () => {
  const query = bytes('0001 0100 0001 0000 0000 0000 0131 0569 6E2D6164 00 000C 0001')
  for (const port of [53, 5_353]) assert.deepEqual(codesOf(packet({ port, payload: query })), ['type 12'])
  assert.deepEqual(codesOf(packet({ transport: 'icmp', payload: bytes('08000000') })), ['type 8'])
  assert.deepEqual(codesOf(packet({ transport: 'icmp', payload: bytes('03030000') })), [])
  assert.deepEqual(codesOf(packet({ port: 9 })), ['empty'])
  assert.deepEqual(codesOf(packet({ port: 9, payload: bytes('00') })), ['unknown data'])
  assert.deepEqual(codesOf(...connection(80, bytes('474554'))), ['connect', 'unknown data'])
  assert.deepEqual(codesOf(packet({ transport: 'other' })), ['unknown IP protocol'])
  assert.deepEqual(codesOf(packet({ from: '10.0.0.2', port: 9 })), [])
})
