import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import fc from 'fast-check'
import { parseMessageHeader } from './message-header.ts'
import { pduTypes } from './simulator.ts'
import { element } from './simulator-ber.ts'
import { SimulatedEngine } from './simulator-security.ts'
import { switchValues } from './simulator-switch.ts'
import { credential, scan, startAgents, target } from './testing.ts'

const values = switchValues({ name: 'switch', mac: '00:1B:1B:30:00:00', ports: 4, serial: 'VPL1' })
const user = { name: 'mill', authProtocol: 'sha', authPassword: 'auth-secret', privPassword: 'priv-secret' } as const

describe('random answers', () => {
  /** A change of an answer: bytes that are overwritten, and the length to which it is cut or filled. */
  const change = fc.record({
    bytes: fc.array(fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 6,
    }),
    length: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, fc.double({ min: 0, max: 2, noNaN: true })),
    every: fc.integer({ min: 1, max: 5 }),
  })

  const changed = ({ bytes, length, every }: Parameters<Parameters<typeof change.map>[0]>[0]) => {
    let count = 0
    return (answer: Buffer) => {
      if (++count % every !== 0) return [answer]
      const copy = Buffer.alloc(Math.floor(answer.length * length))
      answer.copy(copy)
      for (const [at, byte] of bytes) if (copy.length > 0) copy[Math.floor(at * copy.length)] = byte
      return [copy]
    }
  }

  for (const [version, options] of [
    ['2c', { community: 'public' }],
    ['3', { user }],
  ] as const) {
    test(`of agents of version ${version} lead to devices or to errors of these devices`, async () => {
      const agents = fc.sample(change, { numRuns: 40, seed: 7 }).map((one) => ({
        ...options,
        values,
        answers: changed(one),
      }))
      await using plant = await startAgents(version === '3' ? 45 : 44, agents)
      const fields = { version: '3', user: 'mill', authPassword: 'auth-secret', privPassword: 'priv-secret' }
      const targets = version === '3' ? [target({ credentials: [credential(fields)] })] : []
      const results = await Array.fromAsync(
        scan(plant.range, plant.port, { targets, options: { timeout_ms: 50, device_seconds: 2 } }),
      )
      const codes = ['DATA_LOSS', 'UNAVAILABLE', 'UNAUTHENTICATED', 'OUT_OF_RANGE', 'FAILED_PRECONDITION']
      assert.deepEqual(
        errorsIn(results).filter(({ code }) => !codes.includes(code)),
        [],
      )
      assert.ok(plant.agents.every(({ requests }) => requests.length > 0))
    })
  }

  test('have a header or none', () => {
    const engine = new SimulatedEngine(user, Buffer.from('8000000003', 'hex'))
    const report = engine.write(7, element(pduTypes.report), { isSecure: false })
    assert.equal(parseMessageHeader(report)?.pduType, pduTypes.report)
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        parseMessageHeader(Buffer.from(bytes))
      }),
      { numRuns: 500 },
    )
    fc.assert(
      fc.property(fc.nat(report.length - 1), fc.nat(255), fc.nat(report.length), (at, byte, length) => {
        const copy = Buffer.from(report.subarray(0, length))
        if (at < length) copy[at] = byte
        parseMessageHeader(copy)
      }),
      { numRuns: 1_000 },
    )
  })
})
