import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { randomCases } from '@millwright/api/test-effort.ts'
import type { DiscoveryResult } from '@millwright/link-sdk/define-link.ts'
import { LinkError } from '@millwright/link-sdk/link-error.ts'
import { unlimitedPermits } from '@millwright/link-sdk/testing/permits.ts'
import fc from 'fast-check'
import { parseCertificate } from './certificate.ts'
import { clientCertificate } from './client-certificate.ts'
import { discover } from './discover.ts'
import { loadLibrary } from './library.ts'
import { defaultOptions } from './options.ts'
import { startSimulator } from './simulator.ts'
import { cleanText } from './text.ts'
import { ChunkAssembler, receiveLimits, TransportError } from './transport.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
/** The time for servers that do not answer. */
const answerMs = 400
/** The time for servers that answer, on a busy machine too. */
const patientMs = 30_000

/** The number of faulty servers for each test. */
const runs = randomCases(30)

async function scan(port: number, timeoutMs = answerMs): Promise<DiscoveryResult[]> {
  const call = {
    filters: [{ key: 'ip_range', operator: 'EQUAL' as const, value: '127.0.0.1' }],
    options: { ...defaultOptions, ports: String(port), timeout_ms: 10_000, answer_timeout_ms: timeoutMs },
    targets: [],
    progress: () => undefined,
    signal: new AbortController().signal,
    log: silent,
    permits: unlimitedPermits(),
  }
  return Array.fromAsync(discover(call))
}

/** Errors outside of any call would end the process of the link. */
const escaped: unknown[] = []
const onEscaped = (error: unknown) => void escaped.push(error)
before(async () => {
  await loadLibrary()
  process.on('uncaughtException', onEscaped)
  process.on('unhandledRejection', onEscaped)
})
after(() => {
  process.off('uncaughtException', onEscaped)
  process.off('unhandledRejection', onEscaped)
  assert.deepEqual(escaped, [])
})

/** Runs a scan of a server that does with each connection what `serve` does. Returns the message of the only result. */
async function messageFrom(serve: (socket: Socket) => void, timeoutMs = patientMs): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    serve(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const startedMs = performance.now()
  const results = await scan((server.address() as AddressInfo).port, timeoutMs)
  assert.ok(performance.now() - startedMs < 60_000)
  for (const socket of sockets) socket.destroy()
  server.close()
  const [one, ...others] = results
  assert.deepEqual(others, [])
  assert.ok(one !== undefined && 'error' in one && one.error instanceof LinkError)
  return one.error.message
}

function acknowledge(receiveBufferBytes: number): Buffer {
  const message = Buffer.alloc(28)
  message.write('ACKF')
  for (const [index, number] of [28, 0, receiveBufferBytes, 0xffff_ffff, 0, 0].entries()) {
    message.writeUInt32LE(number, 4 + 4 * index)
  }
  return message
}

function chunk(type: string, length: number, body = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(8)
  header.write(type)
  header.writeUInt32LE(length, 4)
  return Buffer.concat([header, body])
}

/** Sends the same bytes repeatedly while the connection is open. */
function flood(socket: Socket, bytes: Buffer): void {
  const write = () => {
    while (!socket.destroyed && socket.write(bytes));
  }
  socket.on('drain', write)
  write()
}

describe('a hostile server is reported as an error of its device', () => {
  test('that accepts the connection and sends nothing', async () => {
    assert.match(await messageFrom(() => undefined, answerMs), /does not open a secure channel within 400 ms/)
  })

  test('that closes the connection', async () => {
    assert.match(await messageFrom((socket) => socket.end()), /closed the connection/)
    const message = await messageFrom((socket) => socket.once('data', () => socket.resetAndDestroy()))
    assert.match(message, /interrupted/)
  })

  test('that sends garbage without end', async () => {
    assert.match(await messageFrom((socket) => flood(socket, Buffer.alloc(65_536, 0x41))), /OPC UA protocol/)
  })

  test('that sends one byte at a time', async () => {
    const message = await messageFrom((socket) => {
      const timer = setInterval(() => socket.write('A'), 90)
      socket.on('close', () => clearInterval(timer))
    }, answerMs)
    assert.match(message, /within 400 ms/)
  })

  test('that announces a huge chunk', async () => {
    const message = await messageFrom((socket) => socket.write(chunk('ACKF', 0xffff_fff0)))
    assert.match(message, /a chunk of 4294967280 bytes/)
  })

  test('that offers a buffer of a few bytes', async () => {
    assert.match(await messageFrom((socket) => socket.write(acknowledge(10))), /buffer of 10 bytes/)
  })

  test('that offers huge buffers and sends chunks without end', async () => {
    let sent = 0
    const message = await messageFrom((socket) => {
      const body = Buffer.alloc(receiveLimits.chunkBytes - 8)
      body.writeUInt32LE(1)
      socket.write(acknowledge(0xffff_ffff))
      socket.once('data', () => flood(socket, chunk('MSGC', receiveLimits.chunkBytes, body)))
      socket.on('close', () => {
        sent = socket.bytesWritten
      })
    })
    assert.match(message, /bytes|channel/)
    assert.ok(sent < 3 * receiveLimits.connectionBytes, `${sent} bytes`)
  })

  test('that sends empty chunks without end', async () => {
    const empty = Buffer.concat(Array.from({ length: 1_000 }, () => chunk('MSGC', 8)))
    const message = await messageFrom((socket) => {
      socket.write(acknowledge(65_536))
      flood(socket, empty)
    })
    assert.match(message, /could not be read: the server sent more than 16384 chunks/)
  })

  test('that answers with an error message', async () => {
    const body = Buffer.alloc(8 + 1_000, 0x07)
    body.writeUInt32LE(0x8055_0000)
    body.writeInt32LE(0x7fff_ffff, 4)
    const message = await messageFrom((socket) => socket.write(chunk('ERRF', 8 + body.length, body)))
    assert.match(message, /error 0x80550000/)
    assert.ok(message.length < 400)
  })
})

test('a channel is not renewed, also if the server limits it to a few milliseconds', async () => {
  // The lifetime is followed by the empty nonce in the last eight bytes of the response.
  const alter = (message: Buffer, request: string) => {
    if (request === 'OpenSecureChannel') message.writeUInt32LE(1, message.length - 8)
    return request === 'GetEndpoints' ? undefined : message
  }
  await using server = await startSimulator({}, { alter })
  await scan(server.port)
  assert.equal(server.received.filter((name) => name === 'OpenSecureChannel').length, 1)
})

const device = { name: 'PLC', properties: { Manufacturer: 'Example', SerialNumber: 'S-1', Model: 'M' } }
const simulated = { build: { product: 'P', version: '1' }, devices: [device, { ...device, isGrouped: true }] }
const steps = ['Hello', 'OpenSecureChannel', 'GetEndpoints', 'CreateSession', 'ActivateSession', 'Read', 'Browse']

/** Returns a function that changes the answers to one request. All other answers stay valid. */
const alteration = fc.record({
  step: fc.constantFrom(...steps),
  kind: fc.constantFrom('bytes', 'cut', 'longer', 'length', 'twice', 'noise'),
  place: fc.double({ min: 0, max: 1, noNaN: true }),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 12 }),
})

type Alteration = typeof alteration extends fc.Arbitrary<infer Kind> ? Kind : never

function alterWith({ step, kind, place, bytes }: Alteration) {
  return (message: Buffer, request: string): Buffer => {
    if (request !== step) return message
    const position = Math.min(Math.floor(place * message.length), message.length - 1)
    const altered = Buffer.from(message)
    if (kind === 'bytes') altered.set(bytes.subarray(0, message.length - position), position)
    if (kind === 'cut') return resized(altered.subarray(0, Math.max(position, 8)))
    if (kind === 'longer') return resized(Buffer.concat([altered, bytes]))
    if (kind === 'length') altered.writeUInt32LE(position, 4)
    if (kind === 'twice') return Buffer.concat([altered, altered])
    if (kind === 'noise' && message.length > 24) altered.fill(bytes, 24)
    return altered
  }
}

/** Sets the length in the header to the length of the message. */
function resized(message: Buffer): Buffer {
  message.writeUInt32LE(message.length, 4)
  return message
}

test('a server that changes any bytes of its answers causes errors of its device only', async () => {
  const property = fc.asyncProperty(alteration, async (changes) => {
    await using server = await startSimulator(simulated, { alter: alterWith(changes) })
    for (const result of await scan(server.port, 100)) {
      assert.ok('asset' in result || result.error instanceof LinkError)
      if ('error' in result) assert.notEqual(result.error.code, 'INTERNAL', result.error.message)
    }
    assert.deepEqual(escaped, [])
  })
  await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: 500 * runs, markInterruptAsFailure: false })
})

test('a server that answers a secured channel with any bytes causes errors of its device only', async () => {
  const { der } = await clientCertificate(await loadLibrary())
  const endpoints = [{ mode: 'SignAndEncrypt', policy: 'Basic256Sha256', users: ['Anonymous'] }] as const
  const policy = Buffer.from('http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256')
  const sized = (bytes: Buffer) => Buffer.concat([Buffer.from(new Uint32Array([bytes.length]).buffer), bytes])
  const answers = fc.record({ hasHeader: fc.boolean(), bytes: fc.uint8Array({ maxLength: 600 }) })
  const property = fc.asyncProperty(answers, async ({ hasHeader, bytes }) => {
    const header = [Buffer.alloc(4), sized(policy), sized(der), sized(Buffer.alloc(20))]
    const body = Buffer.concat([...(hasHeader ? header : []), Buffer.from(bytes)])
    const alter = (message: Buffer) =>
      message.toString('latin1', 0, 3) === 'ERR' ? chunk('OPNF', 8 + body.length, body) : message
    const certificate = new X509Certificate(der).toString()
    await using server = await startSimulator({ endpoints, certificate }, { alter })
    const results = await scan(server.port, 100)
    if (server.received.filter((name) => name === 'OpenSecureChannel').length === 2) secured += 1
    assert.deepEqual(
      results.flatMap((one) => ('error' in one ? [one.error.code] : [])),
      ['UNAVAILABLE'],
    )
    assert.deepEqual(escaped, [])
  })
  let secured = 0
  await fc.assert(property, { numRuns: runs, interruptAfterTimeLimit: 500 * runs, markInterruptAsFailure: false })
  assert.ok(secured > 0)
})

test('the division into chunks does not depend on how the bytes arrive', () => {
  const chunks = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 })
  fc.assert(
    fc.property(chunks, fc.array(fc.nat(60), { maxLength: 20 }), (bodies, cuts) => {
      const expected = bodies.map((body) => chunk('MSGF', 8 + body.length, Buffer.from(body)))
      const bytes = Buffer.concat(expected)
      const assembler = new ChunkAssembler()
      const received: Buffer[] = []
      let position = 0
      for (const cut of [...cuts, bytes.length]) {
        received.push(...assembler.feed(bytes.subarray(position, position + cut)))
        position = Math.min(position + cut, bytes.length)
      }
      assert.deepEqual(received, expected)
    }),
  )
})

test('parsers of bytes and texts accept anything', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      parseCertificate(Buffer.from(bytes))
      parseCertificate(Buffer.concat([Buffer.from([0x30, 0x82]), Buffer.from(bytes)]))
      try {
        Array.from(new ChunkAssembler().feed(Buffer.from(bytes)))
      } catch (error) {
        assert.ok(error instanceof TransportError)
      }
    }),
    { numRuns: 50 },
  )
  fc.assert(
    fc.property(fc.uint16Array({ maxLength: 600 }), (units) => {
      const cleaned = cleanText(String.fromCharCode(...units))
      assert.ok(cleaned === undefined || (cleaned.length > 0 && cleaned.length <= 256 && cleaned.isWellFormed()))
      assert.doesNotMatch(cleaned ?? '', /\p{Cc}/u)
    }),
  )
})
