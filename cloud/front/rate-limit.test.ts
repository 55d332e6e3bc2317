import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ProblemDocument } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { sendMs } from '../platform/shared-counts.ts'
import { enrolledGateway, proofFor } from '../platform/testing/gateway.ts'
import { testHub } from '../platform/testing/hub.ts'
import { processes } from '../platform/testing/shared-counts.ts'
import { RateLimit } from './rate-limit.ts'

describe('rate limit', () => {
  test('applies the steady rate of the rate limit to all processes together', async () => {
    const { all, deliver } = processes()
    let now = 0
    const limits = all.map((sharedCounts) => new RateLimit({ perSecond: 100, sharedCounts, now: () => now }))
    let allowed = 0
    const seconds = 10
    for (; now < seconds * 1_000; now += 10) {
      for (const limit of limits)
        for (let request = 0; request < 5; request++) {
          try {
            limit.take('robot')
            allowed += 1
          } catch {}
        }
      if (now % sendMs === 0) await deliver()
    }
    // Each process allows its own burst. Then the rate applies to both together.
    assert.ok(allowed <= 100 * seconds + 2 * 100 + 50, String(allowed))
    assert.ok(allowed >= 90 * seconds, String(allowed))
  })

  test('reports only clients that use much of the rate limit', async () => {
    const { all, sent, deliver } = processes()
    const [limit] = all.map((sharedCounts) => new RateLimit({ perSecond: 1_000, sharedCounts, now: () => 0 }))
    for (let request = 0; request < 4; request++) limit?.take('quiet')
    for (let request = 0; request < 20; request++) limit?.take('busy')
    await deliver()
    assert.equal(sent.length, 1)
    assert.match(sent[0] ?? '', /"busy",20/)
    assert.doesNotMatch(sent[0] ?? '', /quiet/)
  })

  test('allows a burst of one second of requests, then a steady rate', () => {
    let now = 0
    const limit = new RateLimit({ perSecond: 10, now: () => now })
    for (let i = 0; i < 10; i++) limit.take('jane')
    assert.throws(() => limit.take('jane'), { code: 'too_many_requests' })
    now += 100
    limit.take('jane')
    assert.throws(() => limit.take('jane'), { code: 'too_many_requests' })
  })

  test('limits the requests of each principal separately', () => {
    const limit = new RateLimit({ perSecond: 1, now: () => 0 })
    limit.take('jane')
    limit.take('john')
    assert.throws(() => limit.take('jane'))
  })

  test('never allows more requests than the burst and the rate, for any arrival times', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 500 }), { maxLength: 200 }),
        (perSecond, gaps) => {
          let now = 0
          let taken = 0
          const limit = new RateLimit({ perSecond, now: () => now })
          for (const gap of gaps) {
            now += gap
            try {
              limit.take('x')
              taken++
            } catch {}
          }
          assert.ok(taken <= perSecond + (now / 1000) * perSecond + 1)
        },
      ),
    )
  })

  test('returns 429 with Retry-After and the limit when a caller exceeds the rate limit', async () => {
    await using hub = await testHub({ rateLimit: 1 })
    const caller = await hub.as('viewer')
    const ask = () =>
      hub.request({
        method: 'GET',
        path: '/authorization/v1/rights',
        headers: { authorization: `Bearer ${caller.token}` },
      })
    const answers = await Promise.all(Array.from({ length: 30 }, ask))
    const refused = answers.find(({ status }) => status === 429)
    assert.ok(refused !== undefined)
    assert.equal((refused.body as ProblemDocument).code, 'too_many_requests')
    assert.match(refused.headers.get('retry-after') ?? '', /^\d+$/)
    assert.match(refused.headers.get('ratelimit-policy') ?? '', /q=1;w=1/)
    assert.match(refused.headers.get('ratelimit') ?? '', /r=0/)
    assert.ok(answers.some(({ status }) => status === 200))
  })

  test('does not store the proof of possession of a request that exceeds the rate limit', async () => {
    await using hub = await testHub({ rateLimit: 3 })
    const { token, key } = await enrolledGateway(hub, await hub.as('administrator'))
    const request = { method: 'GET', path: '/gatekeeper/v1/jobs' }
    const proofs = await Promise.all(Array.from({ length: 12 }, () => proofFor(hub, { ...request, token, key })))
    const stored = () =>
      hub.asOwner(async (owner) => (await owner.query('select count(*)::integer as n from used_proofs')).rows[0].n)
    const before = await stored()
    const answers = await Promise.all(
      proofs.map((dpop) => hub.request({ ...request, headers: { authorization: `Bearer ${token}`, dpop } })),
    )
    const served = answers.filter(({ status }) => status === 200).length
    assert.equal(answers.filter(({ status }) => status === 429).length, proofs.length - served)
    assert.ok(served < proofs.length)
    assert.equal((await stored()) - before, served)
  })
})
