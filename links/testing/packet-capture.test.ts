import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mostPerSecond, sentPackets } from './packet-capture.ts'

const link = '10.0.0.1'
const device = '10.0.0.2'
const bytesOf = (address: string) => address.split('.').map(Number)

type Content = { from?: string; atMs: number; protocol: number; body: number[] }

function record({ from = link, atMs, protocol, body }: Content): Buffer {
  const length = 20 + body.length
  const ip = [0x45, 0, length >> 8, length & 255, 0, 0, 0, 0, 64, protocol, 0, 0, ...bytesOf(from), ...bytesOf(device)]
  const frame = [...Array<number>(12).fill(0), 0x08, 0x00, ...ip, ...body]
  const header = Buffer.alloc(16)
  header.writeUInt32LE(Math.floor(atMs / 1_000), 0)
  header.writeUInt32LE((atMs % 1_000) * 1_000, 4)
  header.writeUInt32LE(frame.length, 8)
  header.writeUInt32LE(frame.length, 12)
  return Buffer.concat([header, Buffer.from(frame)])
}

const tcp = (flags: number, sequence: number, payload: number[] = []) => [
  ...[0xc0, 0, 0x01, 0xf6, 0, 0, 0, sequence, 0, 0, 0, 0, 0x50, flags, 0, 0, 0, 0, 0, 0],
  ...payload,
]

function capture(contents: Content[]): Buffer {
  const header = Buffer.alloc(24)
  header.writeUInt32LE(0xa1b2c3d4, 0)
  return Buffer.concat([header, ...contents.map(record)])
}

test('sentPackets returns connections, requests, datagrams and pings of the sender, without repetitions', () => {
  const packets = sentPackets(
    capture([
      { atMs: 1_000, protocol: 6, body: tcp(0x02, 1) },
      { atMs: 1_200, protocol: 6, body: tcp(0x02, 1) },
      { atMs: 1_300, from: device, protocol: 6, body: tcp(0x12, 9) },
      { atMs: 1_400, protocol: 6, body: tcp(0x10, 2) },
      { atMs: 1_500, protocol: 6, body: tcp(0x18, 2, [1, 2, 3]) },
      { atMs: 1_600, protocol: 17, body: [0, 1, 0, 161, 0, 8, 0, 0] },
      { atMs: 1_700, protocol: 1, body: [8, 0, 0, 0] },
      { atMs: 1_800, protocol: 1, body: [0, 0, 0, 0] },
    ]),
    link,
  )
  assert.deepEqual(packets, [
    { atMs: 1_000, to: device, kind: 'connection' },
    { atMs: 1_500, to: device, kind: 'request' },
    { atMs: 1_600, to: device, kind: 'datagram' },
    { atMs: 1_700, to: device, kind: 'datagram' },
  ])
  assert.throws(() => sentPackets(Buffer.from('no capture'), link), TypeError)
})

test('mostPerSecond returns the largest number of packets within one second', () => {
  const at = (...times: number[]) => times.map((atMs) => ({ atMs, to: device, kind: 'datagram' as const }))
  assert.equal(mostPerSecond([]), 0)
  assert.equal(mostPerSecond(at(0, 1_000, 2_000)), 1)
  assert.equal(mostPerSecond(at(0, 600, 999, 1_500, 1_599)), 4)
})
