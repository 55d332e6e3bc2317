import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import fc from 'fast-check'
import {
  frameLength,
  parseFrame,
  parseIdentity,
  parseInterfaceSettings,
  parseListIdentity,
  parseMacAddress,
  parseShortText,
  parseText,
  parseUnconnected,
} from './message.ts'
import { type SimulatedDevice, startSimulator } from './simulator.ts'
import { adapter, controller, resultsOf } from './testing.ts'

const host = '127.0.63.1'
const device: SimulatedDevice = {
  identity: adapter,
  listed: { serial: 0 },
  hostName: 'rack',
  mac: '00:1D:9C:01:02:03',
  network: { address: host, mask: '255.255.255.0' },
  slots: { '0': controller },
}

const parsers = [
  parseFrame,
  parseListIdentity,
  parseIdentity,
  parseUnconnected,
  parseInterfaceSettings,
  parseText,
  parseShortText,
  parseMacAddress,
  frameLength,
]

/** A change of an answer: bytes that are overwritten, and the length to which it is cut or filled. */
const change = fc.record({
  bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), { maxLength: 6 }),
  length: fc.oneof({ weight: 3, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 2, noNaN: true })),
})
type Change = Parameters<Parameters<typeof change.map>[0]>[0]

function changed(answer: Buffer, { bytes, length }: Change): Buffer {
  const copy = Buffer.alloc(Math.floor(answer.length * length))
  answer.copy(copy)
  for (const [at, byte] of bytes) if (copy.length > 0) copy[Math.floor(at * copy.length)] = byte
  return copy
}

/** Valid contents of frames, which the parsers read. */
const contents = [
  '01000c002d0001000002af120a000007000000000000000001000c00a6000b023000eeffc0000b313735362d454e32542f4403',
  '00000000000002000000000000b200060081000000010000',
  '0700000a00ffffff0100000a0000000000000000040070616765',
].map((text) => Buffer.from(text, 'hex'))

describe('the parsers', () => {
  test('never throw for random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (random) => {
        for (const parse of parsers) parse(Buffer.from(random))
      }),
      { numRuns: 2_000 },
    )
  })

  test('return texts of at most 256 readable characters', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (random) => {
        const length = Buffer.alloc(2)
        length.writeUInt16LE(random.length)
        const text = parseText(Buffer.concat([length, random]))
        assert.match(text ?? '-', /^[^\p{C}]{0,256}$/u)
      }),
      { numRuns: 500 },
    )
  })

  test('never throw for changed and truncated answers', () => {
    fc.assert(
      fc.property(fc.constantFrom(...contents), change, (content, one) => {
        for (const parse of parsers) parse(changed(content, one))
      }),
      { numRuns: 5_000 },
    )
    assert.ok(contents.every((content) => parsers.some((parse) => typeof parse(content) === 'object')))
    for (const content of contents) {
      for (let end = 0; end <= content.length; end += 1) for (const parse of parsers) parse(content.subarray(0, end))
    }
  })

  test('do not read outside of their bytes', () => {
    const identity = Buffer.concat([Buffer.alloc(14), Buffer.of(3), Buffer.from('abcSECRET')])
    const parsed = parseIdentity(identity.subarray(0, 18))
    assert.ok(typeof parsed !== 'string')
    assert.equal(parsed.productName, 'abc')
    assert.equal(typeof parseIdentity(identity.subarray(0, 17)), 'string')
  })
})

/** The errors that a device can cause. */
const deviceCodes = ['UNAVAILABLE', 'PAYLOAD_DESERIALISATION_ISSUE', 'OUT_OF_RANGE', 'FAILED_PRECONDITION']

describe('a device with random answers', () => {
  test('over TCP leads to findings or to errors of this device', async () => {
    await using simulator = await startSimulator(device, { host })
    let one: Change = { bytes: [], length: 1 }
    let every = 1
    await using proxy = await startProxy(simulator.port, (answer, index) =>
      index % every === 0 ? changed(answer, one) : answer,
    )
    const options = { ports: String(proxy.port), udp: false, slots: '0-2', timeout_ms: 50, device_seconds: 1 }
    await fc.assert(
      fc.asyncProperty(change, fc.integer({ min: 1, max: 4 }), async (next, nextEvery) => {
        one = next
        every = nextEvery
        const results = await resultsOf({ range: host, options })
        assert.ok(results.length >= 1 && results.length <= 4)
        for (const { code } of errorsIn(results)) assert.ok(deviceCodes.includes(code), code)
      }),
      { numRuns: 60 },
    )
  })

  test('over UDP leads to a finding or to an error of this device', onlyInLongRuns, async () => {
    const [valid = Buffer.alloc(0)] = contents
    let one: Change = { bytes: [], length: 1 }
    const socket = createSocket('udp4')
    socket.on('message', (message, { port, address }) => {
      const header = Buffer.from(message)
      header.writeUInt16LE(valid.length, 2)
      socket.send(changed(Buffer.concat([header, valid]), one), port, address)
    })
    socket.bind(0, host)
    await once(socket, 'listening')
    const options = { ports: String(socket.address().port), tcp: false, timeout_ms: 50 }
    try {
      await fc.assert(
        fc.asyncProperty(change, async (next) => {
          one = next
          const results = await resultsOf({ range: host, options })
          assert.equal(results.length, 1)
          assert.equal(assetsIn(results).length + errorsIn(results).length, 1)
        }),
        { numRuns: 60 },
      )
    } finally {
      socket.close()
    }
  })
})

/** Starts a server that passes requests to another port of the host, and changes its answers. */
async function startProxy(port: number, change: (answer: Buffer, index: number) => Buffer) {
  const server = createServer((socket) => {
    let index = 0
    const target = connect(port, host)
    socket.on('data', (bytes) => target.write(bytes))
    target.on('data', (bytes) => {
      index += 1
      socket.write(change(bytes, index))
    })
    for (const [one, other] of [
      [socket, target],
      [target, socket],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}
