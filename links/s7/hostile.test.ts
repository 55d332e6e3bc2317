import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import fc from 'fast-check'
import {
  connectionRequest,
  listRequest,
  mostPacketBytes,
  nextPartRequest,
  packetLengthOf,
  parseListPart,
  parseMessage,
  parsePacket,
  parseSetup,
  setupRequest,
} from './message.ts'
import { listIds, nameplateOf, operatingModeOf } from './system-status-list.ts'
import { listen, resultsOf, testHost } from './testing.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** Correct answers of a controller to the first requests of the link, with the references 1, 2 and 3. */
const confirm = hex('0300 0016 11 d0 0001 0009 00 c0 01 0a c1 02 0100 c2 02 0101')
const setup = hex('0300 001b 02 f0 80 32 03 0000 0001 0008 0000 0000 f0 00 0001 0001 00f0')
const order = Buffer.from('6ES7 315-2EH14-0AB0 ').toString('hex')
const module = `0001 ${order} 00c0 0004 0001`
const firmware = `0007 ${Buffer.alloc(20, ' ').toString('hex')} 00c0 56 03 02 06`
const modules = listAnswer(2, `0011 0000 001c 0002 ${module} ${firmware}`)
const type = Buffer.from('CPU 315-2 PN/DP').toString('hex').padEnd(64, '0')
const components = listAnswer(3, `001c 0000 0022 0001 0007 ${type}`)
const answers = [confirm, setup, modules, components]

function listAnswer(reference: number, list: string, { more = 0, sequence = 1 } = {}): Buffer {
  const content = hex(list)
  const data = Buffer.concat([Buffer.from([0xff, 9, content.length >> 8, content.length & 255]), content])
  const parameters = Buffer.from([0, 1, 0x12, 8, 0x12, 0x84, 1, sequence, 0, more, 0, 0])
  const header = Buffer.from([
    0x32,
    7,
    0,
    0,
    reference >> 8,
    reference & 255,
    0,
    12,
    data.length >> 8,
    data.length & 255,
  ])
  return packetOf(Buffer.concat([header, parameters, data]))
}

function packetOf(message: Buffer, last = 0x80): Buffer {
  const length = message.length + 7
  return Buffer.concat([Buffer.from([3, 0, length >> 8, length & 255, 2, 0xf0, last]), message])
}

/** Runs all decoders on a packet, as the connection does. */
function decode(bytes: Buffer): void {
  const length = packetLengthOf(bytes)
  if (typeof length === 'number') assert.ok(length >= 7 && length <= mostPacketBytes)
  if (typeof length !== 'number' || bytes.length < length) return
  const tpdu = parsePacket(bytes.subarray(0, length))
  if (typeof tpdu === 'string' || tpdu.type !== 'data') return
  const message = parseMessage(tpdu.content)
  if (typeof message === 'string') return
  parseSetup(message)
  const part = parseListPart(message)
  if (typeof part !== 'string') decodeLists(part.content)
}

function decodeLists(list: Buffer): void {
  const lists = new Map(Object.values(listIds).map((id) => [id, list]))
  for (const value of Object.values(nameplateOf(lists))) assert.ok(typeof value === 'number' || value.length <= 256)
  operatingModeOf(lists)
}

describe('the S7 decoders', () => {
  test('read correct answers', () => {
    assert.deepEqual(parsePacket(confirm), { type: 'confirm', reference: 1 })
    const lists = [modules, components].map((packet) => {
      const tpdu = parsePacket(packet)
      assert.ok(typeof tpdu !== 'string' && tpdu.type === 'data')
      const message = parseMessage(tpdu.content)
      assert.ok(typeof message !== 'string')
      const part = parseListPart(message)
      assert.ok(typeof part !== 'string' && part.error === 0 && part.isLast)
      return [part.content.readUInt16BE(0), part.content] as const
    })
    assert.deepEqual(nameplateOf(new Map(lists)), {
      orderNumber: '6ES7 315-2EH14-0AB0',
      hardwareVersion: '4',
      firmwareVersion: 'V3.2.6',
      moduleType: 'CPU 315-2 PN/DP',
    })
  })

  test('read the lists of redundant CPUs, whose record numbers contain the rack', () => {
    const name = (text: string) => Buffer.from(text).toString('hex').padEnd(64, '0')
    const list = hex(`001c 0000 0022 0002 f802 ${name('CPU in rack 0')} f102 ${name('CPU in rack 1')}`)
    assert.equal(nameplateOf(new Map([[0x1c, list]])).moduleName, 'CPU in rack 0')
  })

  test('return no records for lists with a wrong id, length or number of records', () => {
    for (const list of ['', '001c', '0011 0000 0022 0001', '001c 0000 0000 ffff 00', '001c 0000 ffff ffff 0007 41'])
      assert.deepEqual(nameplateOf(new Map([[0x1c, hex(list)]])), {})
  })

  test('never throw for random bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array))
    fc.assert(fc.property(bytes, decode), { numRuns: 1_000 })
    fc.assert(fc.property(bytes, decodeLists), { numRuns: 1_000 })
    fc.assert(
      fc.property(bytes, (content) => decode(packetOf(Buffer.concat([hex('3207 0000 0002'), content])))),
      { numRuns: 1_000 },
    )
  })

  test('never throw for truncated and changed answers', () => {
    const change = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 6 })
    fc.assert(
      fc.property(fc.constantFrom(...answers), change, fc.nat(400), (answer, changes, length) => {
        const copy = Buffer.from(answer.subarray(0, length))
        for (const [at, byte] of changes) if (at < copy.length) copy[at] = byte
        decode(copy)
        if (copy.length >= 7) copy.writeUInt16BE(copy.length, 2)
        decode(copy)
        decodeLists(copy.subarray(Math.min(33, copy.length)))
      }),
      { numRuns: 2_000 },
    )
  })
})

test('the requests of the link have the bytes of the protocol', () => {
  const place = { rack: 1, slot: 4, connectionType: 'pg' } as const
  assert.deepEqual(connectionRequest(place), hex('0300 0016 11 e0 0000 0001 00 c0 01 0a c1 02 0100 c2 02 0124'))
  assert.deepEqual(setupRequest(1), hex('0300 0019 02f080 32 01 0000 0001 0008 0000 f0 00 0001 0001 01e0'))
  assert.deepEqual(
    listRequest(2, { id: 0x1c, index: 0 }),
    hex('0300 0021 02f080 32 07 0000 0002 0008 0008 00 01 12 04 11 44 01 00 ff 09 0004 001c 0000'),
  )
  assert.deepEqual(
    nextPartRequest(3, 7),
    hex('0300 0021 02f080 32 07 0000 0003 000c 0004 00 01 12 08 12 44 01 07 00 00 0000 0a 00 0000'),
  )
})

describe('a hostile controller', () => {
  /** Starts a server that gives one answer for each request. `answer` gets the number of the request and its bytes. */
  const startAnswering = (answer: (count: number, request: Buffer) => Buffer) =>
    listen((socket) => {
      let count = 0
      socket.on('data', (request: Buffer) => void socket.write(answer(count++, request)))
    })
  const scan = (port: number, options = {}) => resultsOf({ options: { ports: String(port), slots: '1', ...options } })

  test('with changed answers can only be reported as faulty, or with what it reports', async () => {
    const change = fc.record({
      at: fc.nat(answers.length - 1),
      bytes: fc.array(fc.tuple(fc.nat(100), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      length: fc.oneof({ weight: 3, arbitrary: fc.constant(1_000) }, fc.nat(60)),
    })
    let changes: { at: number; bytes: [number, number][]; length: number } | undefined
    await using server = await listen((socket) => {
      let count = 0
      socket.on('data', () => {
        const answer = Buffer.from(answers[count] ?? Buffer.alloc(0))
        const isChanged = changes?.at === count
        count += 1
        if (!isChanged || changes === undefined) return void socket.write(answer)
        for (const [at, byte] of changes.bytes) if (at < answer.length) answer[at] = byte
        socket.end(answer.subarray(0, changes.length))
      })
    })
    await fc.assert(
      fc.asyncProperty(change, async (next) => {
        changes = next
        const results = await scan(server.port)
        assert.equal(results.length, 1)
        const codes = ['PAYLOAD_DESERIALISATION_ISSUE', 'UNAVAILABLE']
        assert.ok(errorsIn(results).every(({ code }) => codes.includes(code)))
      }),
      { numRuns: 150 },
    )
  })

  test('with random answers can only be reported as faulty', async () => {
    let bytes: Buffer = Buffer.alloc(0)
    await using server = await listen((socket) => void socket.on('data', () => socket.end(bytes)))
    const packet = fc
      .tuple(fc.constantFrom(0xd0, 0x80, 0x70, 0xf0, 0xe0, 0x10), fc.uint8Array({ maxLength: 60 }))
      .map(([code, content]) => {
        const length = content.length + 6
        return Buffer.from([3, 0, length >> 8, length & 255, content.length % 8, code, ...content])
      })
    const random = fc.oneof(
      fc.uint8Array({ maxLength: 100 }).map((array) => Buffer.from(array)),
      packet,
    )
    await fc.assert(
      fc.asyncProperty(fc.array(random, { maxLength: 4 }), async (packets) => {
        bytes = Buffer.concat(packets)
        const results = await scan(server.port)
        assert.deepEqual([results.length, assetsIn(results).length], [1, 0])
      }),
      { numRuns: 100 },
    )
  })

  test('that refuses or ends S7 communication after the connection is an error in plain words', async () => {
    const refusal = hex('0300 0013 02 f0 80 32 02 0000 0001 0000 0000 8104')
    const disconnection = hex('0300 000b 06 80 0001 0009 80')
    const texts: [Buffer, RegExp][] = [
      [refusal, /refuses S7 communication with the error 0x8104/],
      [disconnection, /ends the connection without an answer/],
      [hex('0300 0013 02 f0 80 32 03 0000 0001 0000 0000 0000'), /answer to setup communication is wrong/],
    ]
    for (const [packet, text] of texts) {
      await using server = await startAnswering((count) => (count === 0 ? confirm : packet))
      assert.match(errorsIn(await scan(server.port))[0]?.message ?? '', text)
    }
  })

  test('that continues a list without end receives a limited number of requests', async () => {
    let requests = 0
    await using server = await startAnswering((count, request) => {
      requests += 1
      if (count < 2) return answers[count] ?? Buffer.alloc(0)
      return listAnswer(request.readUInt16BE(11), '0011 0000 001c ffff', { more: 1, sequence: count & 255 })
    })
    const [error] = errorsIn(await scan(server.port))
    assert.match(error?.message ?? '', /list does not end/)
    assert.equal(requests, 2 + 32)
  })

  test('that sends very long parts of a list is stopped at the size limit', async () => {
    let requests = 0
    await using server = await startAnswering((count, request) => {
      requests += 1
      if (count < 2) return answers[count] ?? Buffer.alloc(0)
      return listAnswer(request.readUInt16BE(11), 'ff'.repeat(1_900), { more: 1 })
    })
    assert.match(errorsIn(await scan(server.port))[0]?.message ?? '', /list does not end/)
    assert.equal(requests, 2 + 9)
  })

  test('that sends data without end is disconnected', async () => {
    const floods: [Buffer, RegExp][] = [
      [confirm, /answers without requests/],
      [packetOf(Buffer.alloc(0), 0), /answers without requests/],
      [packetOf(Buffer.alloc(1), 0), /message is too long/],
      [setup, /answers without requests/],
      [hex('0300 ffff 02f080'), /packet of 65535 bytes/],
      [hex('0300 0007 02f080'), /not an S7 message/],
      [hex('0300 0007 ffd080'), /COTP header/],
    ]
    for (const [packet, message] of floods) {
      const flood = Buffer.concat(Array.from({ length: 20_000 }, () => packet))
      await using server = await startAnswering((count) => (count === 0 ? confirm : flood))
      const [error] = errorsIn(await scan(server.port))
      if (packet === setup) assert.match(error?.message ?? '', /answers without requests|closes the connection/)
      else assert.match(error?.message ?? '', message)
    }
  })

  test('that answers one byte at a time is stopped by the time limit for a device', async () => {
    await using server = await listen((socket) => {
      const timer = setInterval(() => socket.write(packetOf(Buffer.alloc(1), 0)), 20)
      socket.on('close', () => clearInterval(timer))
    })
    const [error] = errorsIn(await scan(server.port, { timeout_ms: 30_000, device_seconds: 1 }))
    assert.equal(error?.code, 'OUT_OF_RANGE')
    assert.match(
      error?.message ?? '',
      new RegExp(`^${testHost} port ${server.port} could not be read within 1 seconds`),
    )
  })
})
