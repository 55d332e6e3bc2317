import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { decode, encode, type Answer as PeerRecord } from 'dns-packet'
import fc from 'fast-check'
import { encodeQuery, messageLimits, type Name, parseAnswer, type RecordType } from './message.ts'
import { startSimulator } from './simulator.ts'
import { resultsOf } from './testing.ts'

const label = fc.stringMatching(/^[a-zA-Z0-9_][a-zA-Z0-9_ -]{0,30}$/).filter((text) => text.trim() === text)
const name = fc.array(label, { minLength: 1, maxLength: 5 })
const text = fc.string({ minLength: 1, maxLength: 100, unit: 'binary-ascii' })
const port = fc.integer({ min: 0, max: 65_535 })

/** Records in the form of dns-packet, and the same records in the form of the link. */
const record = fc.oneof(
  fc.tuple(name, fc.ipV4()).map(([owner, data]) => ({
    peer: { type: 'A', name: owner.join('.'), data } as PeerRecord,
    own: { name: owner, type: 'A', address: data },
  })),
  fc.tuple(name, name).map(([owner, target]) => ({
    peer: { type: 'PTR', name: owner.join('.'), data: target.join('.') } as PeerRecord,
    own: { name: owner, type: 'PTR', target },
  })),
  fc.tuple(name, name, port).map(([owner, target, number]) => ({
    peer: { type: 'SRV', name: owner.join('.'), data: { port: number, target: target.join('.') } } as PeerRecord,
    own: { name: owner, type: 'SRV', port: number, target },
  })),
  fc.tuple(name, fc.array(text, { minLength: 1, maxLength: 10 })).map(([owner, strings]) => ({
    peer: { type: 'TXT', name: owner.join('.'), data: strings.map((one) => Buffer.from(one, 'latin1')) } as PeerRecord,
    own: { name: owner, type: 'TXT', strings },
  })),
)

const message = fc.array(record, { minLength: 1, maxLength: 8 }).map((records) => ({
  own: records.map(({ own }) => own),
  bytes: encode({ type: 'response', id: 7, answers: records.map(({ peer }) => peer) }),
}))

describe('the parser of answers', () => {
  test('reads the records that dns-packet encodes', () => {
    fc.assert(
      fc.property(message, ({ own, bytes }) => {
        assert.deepEqual(parseAnswer(bytes), { id: 7, records: own })
      }),
      { numRuns: 300 },
    )
  })

  test('reads a limited number of questions and labels, so that a short message has a low cost', () => {
    const header = (questions: number, answers: number) => {
      const bytes = Buffer.from('000784000000000000000000', 'hex')
      bytes.writeUInt16BE(questions, 4)
      bytes.writeUInt16BE(answers, 6)
      return bytes
    }
    const record = Buffer.from('00010001000000780004 7f000001'.replaceAll(' ', ''), 'hex')
    const nameOf = (labels: number) => Buffer.from(`${'0161'.repeat(labels)}00`, 'hex')
    const question = Buffer.concat([nameOf(1), Buffer.from('000c0001', 'hex')])
    const withQuestions = (count: number) =>
      parseAnswer(
        Buffer.concat([header(count, 1), ...Array.from({ length: count }, () => question), nameOf(2), record]),
      )
    assert.equal(withQuestions(messageLimits.questions)?.records.length, 1)
    assert.equal(withQuestions(messageLimits.questions + 1), undefined)
    const withLabels = (count: number) => parseAnswer(Buffer.concat([header(0, 1), nameOf(count), record]))
    assert.equal(withLabels(34)?.records[0]?.name.length, 34)
    assert.equal(withLabels(messageLimits.labels + 1), undefined)
  })

  test('returns records or nothing for random bytes, truncations and changed messages', () => {
    const check = (bytes: Uint8Array) => {
      const parsed = parseAnswer(Buffer.from(bytes))
      assert.ok(parsed === undefined || parsed.records.length <= messageLimits.records)
    }
    const header = Buffer.from('0007840000000040000000ff', 'hex')
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), check), { numRuns: 1_000 })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => check(Buffer.concat([header, bytes]))),
      { numRuns: 1_000 },
    )
    fc.assert(
      fc.property(message, fc.nat(), fc.nat(255), fc.nat(), ({ bytes }, at, byte, length) => {
        const copy = Buffer.from(bytes.subarray(0, length % (bytes.length + 1)))
        if (copy.length > 0) copy[at % copy.length] = byte
        check(copy)
      }),
      { numRuns: 2_000 },
    )
  })

  test('has a limited cost for the largest message with many pointers', () => {
    // A chain of pointers, each to the one before it, and records whose names start at its end.
    const bytes = Buffer.alloc(messageLimits.bytes)
    bytes.writeUInt16BE(0x8400, 2)
    bytes.writeUInt16BE(65_535, 6)
    for (let at = 14; at + 2 <= bytes.length; at += 2) bytes.writeUInt16BE(0xc000 + at - 2, at)
    const startedMs = performance.now()
    for (let count = 0; count < 200; count += 1) parseAnswer(bytes)
    assert.ok(performance.now() - startedMs < 5_000)
    assert.equal(parseAnswer(Buffer.alloc(messageLimits.bytes + 1, bytes)), undefined)
  })

  test('leaves out records with invalid data, and reads the records after them', () => {
    const answers: PeerRecord[] = [
      { type: 'A', name: 'a.local', data: '10.0.0.1' },
      { type: 'TXT', name: 'b.local', data: 'x=1' },
      { type: 'A', name: 'c.local', data: '10.0.0.2' },
    ]
    const bytes = encode({ type: 'response', answers })
    const at = bytes.indexOf('x=1') - 1
    bytes[at] = 200
    const addresses = parseAnswer(bytes)?.records.map((one) => ('address' in one ? one.address : undefined))
    assert.deepEqual(addresses, ['10.0.0.1', '10.0.0.2'])
  })
})

describe('the encoder of queries', () => {
  test('encodes questions that dns-packet decodes', () => {
    const type = fc.constantFrom<RecordType>('A', 'PTR', 'SRV', 'TXT')
    fc.assert(
      fc.property(name, type, fc.integer({ min: 0, max: 65_535 }), (labels, itsType, id) => {
        const bytes = encodeQuery(id, { name: labels, type: itsType })
        assert.ok(bytes !== undefined)
        const { id: decoded, type: kind, questions } = decode(bytes)
        assert.deepEqual([decoded, kind, questions?.length], [id, 'query', 1])
        assert.deepEqual([questions?.[0]?.name, questions?.[0]?.type], [labels.join('.'), itsType])
      }),
    )
  })

  test('refuses names that are too long', () => {
    const tooLong: Name[] = [['x'.repeat(64)], Array.from({ length: 5 }, () => 'x'.repeat(60)), ['', 'local']]
    for (const one of tooLong) assert.equal(encodeQuery(1, { name: one, type: 'A' }), undefined)
  })
})

test('random changes of answers lead to devices or to errors of these devices', async () => {
  const change = fc.record({
    bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(255)), {
      minLength: 1,
      maxLength: 6,
    }),
    length: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 2, noNaN: true })),
    every: fc.integer({ min: 1, max: 4 }),
  })
  const services = Array.from({ length: 6 }, (_, index) => ({
    type: `_t${index}._tcp`,
    name: `Service ${index}`,
    port: index + 1,
    txt: ['manufacturer=Acme', 'model=M1', `serial=${index}`],
  }))
  await using stack = new AsyncDisposableStack()
  let usedPort = 0
  const queried: (() => number)[] = []
  for (const [index, { bytes, length, every }] of fc.sample(change, { numRuns: 40, seed: 7 }).entries()) {
    let count = 0
    const answers = (answer: Buffer) => {
      if (++count % every !== 0) return [answer]
      const copy = Buffer.alloc(Math.floor(answer.length * length))
      answer.copy(copy)
      // The id stays valid, so that the link reads the message.
      for (const [at, byte] of bytes) if (copy.length > 2) copy[2 + Math.floor(at * (copy.length - 2))] = byte
      return [copy]
    }
    const place = { host: `127.0.36.${index + 1}`, port: usedPort, answers }
    const device = { hostName: 'own', services, style: index % 2 === 0 ? 'separate' : 'additional' } as const
    const simulator = stack.use(await startSimulator(device, place))
    usedPort = simulator.port
    queried.push(() => simulator.queries.length)
  }
  const options = { ports: String(usedPort), timeout_ms: 50, device_seconds: 3 }
  const results = await resultsOf({ range: '127.0.36.1-127.0.36.40', options })
  const codes = ['DATA_LOSS', 'UNAVAILABLE', 'OUT_OF_RANGE', 'FAILED_PRECONDITION']
  assert.deepEqual(
    errorsIn(results).filter(({ code }) => !codes.includes(code)),
    [],
  )
  assert.ok(queried.every((count) => count() > 0))
})
