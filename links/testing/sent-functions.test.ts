import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IpPacket } from './packet-capture.ts'
import { sentFunctions } from './sent-functions.ts'

const link = '10.0.0.1'
const bytes = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

function packet(fields: Partial<IpPacket>): IpPacket {
  const { payload = Buffer.alloc(0) } = fields
  const ends = { from: link, to: '10.0.0.2', transport: 'udp', sourcePort: 50_000, port: 0 } as const
  return { atMs: 0, ...ends, flags: 0, sequence: 0, payload, payloadBytes: payload.length, ...fields }
}

const codesOf = (...packets: IpPacket[]) => sentFunctions(packets, link).map(({ code }) => code)

/** The packets of a connection that sends the parts in their order. */
function connection(port: number, ...parts: Buffer[]): IpPacket[] {
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

test('sentFunctions returns DNS queries, echo requests, empty datagrams and everything unknown', () => {
  const query = bytes('0001 0100 0001 0000 0000 0000 0131 0569 6E2D6164 00 000C 0001')
  assert.deepEqual(codesOf(packet({ port: 53, payload: query })), ['type 12'])
  assert.deepEqual(codesOf(packet({ transport: 'icmp', payload: bytes('08000000') })), ['type 8'])
  assert.deepEqual(codesOf(packet({ transport: 'icmp', payload: bytes('03030000') })), [])
  assert.deepEqual(codesOf(packet({ port: 9 })), ['empty'])
  assert.deepEqual(codesOf(packet({ port: 9, payload: bytes('00') })), ['unknown data'])
  assert.deepEqual(codesOf(...connection(80, bytes('474554'))), ['connect', 'unknown data'])
  assert.deepEqual(codesOf(packet({ transport: 'other' })), ['unknown IP protocol'])
  assert.deepEqual(codesOf(packet({ from: '10.0.0.2', port: 9 })), [])
})
