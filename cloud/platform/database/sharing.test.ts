import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { type Sharer, Sharing } from './sharing.ts'

type Round = { tenantId: string; sharers: readonly Sharer<number, number>[]; end: () => void }

/** Rounds that end when the test says so. */
function sharing(limits: Omit<ConstructorParameters<typeof Sharing<number, number>>[0], 'work'>) {
  const rounds: Round[] = []
  const shared = new Sharing<number, number>({
    ...limits,
    async work(tenantId, sharers) {
      const { promise, resolve } = Promise.withResolvers<void>()
      rounds.push({ tenantId, sharers, end: resolve })
      await promise
      for (const { item, resolve } of sharers) resolve(item * 10)
    },
  })
  const items = () => rounds.map(({ sharers }) => sharers.map(({ item }) => item))
  return { shared, rounds, items }
}

test('one alone does not wait, and who comes meanwhile shares the next round', async () => {
  const { shared, rounds, items } = sharing({ most: 3, atOnce: 1, waiting: 10 })
  const answers = Promise.all([1, 2, 3, 4, 5].map((item) => shared.share('a', item)))
  assert.deepEqual(items(), [[1]])
  for (let ended = 0; ended < 3; ended++) {
    rounds[ended]?.end()
    await new Promise(setImmediate)
  }
  assert.deepEqual(items(), [[1], [2, 3, 4], [5]])
  assert.deepEqual(await answers, [10, 20, 30, 40, 50])
})

test('a round ends before it becomes too heavy, and what is too heavy for any goes alone', async () => {
  const { shared, rounds, items } = sharing({ most: 10, atOnce: 1, waiting: 10, heaviest: 10, weigh: (item) => item })
  const answers = Promise.all([1, 4, 6, 1, 30, 2, 3].map((item) => shared.share('a', item)))
  for (let ended = 0; ended < 5; ended++) {
    rounds[ended]?.end()
    await new Promise(setImmediate)
  }
  assert.deepEqual(items(), [[1], [4, 6], [1], [30], [2, 3]])
  assert.deepEqual(await answers, [10, 40, 60, 10, 300, 20, 30])
})

test('tenants share nothing', () => {
  const { shared, rounds } = sharing({ most: 3, atOnce: 1, waiting: 10 })
  void shared.share('a', 1)
  void shared.share('b', 2)
  assert.deepEqual(
    rounds.map(({ tenantId }) => tenantId),
    ['a', 'b'],
  )
})

test('who is one too many is told when to come again', async () => {
  const { shared, rounds } = sharing({ most: 1, atOnce: 1, waiting: 2 })
  const answers = [1, 2, 3].map((item) => shared.share('a', item))
  await assert.rejects(shared.share('a', 4), (error) => error instanceof Problem && error.code === 'overloaded')
  for (let ended = 0; ended < 3; ended++) {
    rounds[ended]?.end()
    await answers[ended]
    await new Promise(setImmediate)
  }
})

test('a round that fails fails for those who are not settled, and the next goes on', async () => {
  let round = 0
  const shared = new Sharing<number, string>({
    most: 10,
    atOnce: 1,
    waiting: 10,
    async work(_tenantId, sharers) {
      sharers[0]?.resolve('first')
      if (++round === 2) throw new Error('out of order')
      for (const { resolve } of sharers) resolve('other')
    },
  })
  const settled = await Promise.allSettled([1, 2, 3].map((item) => shared.share('a', item)))
  assert.deepEqual(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
    ['first', 'first', 'Error: out of order'],
  )
  assert.equal(await shared.share('a', 4), 'first')
})

test('whatever the order, everybody is in one round, in the order of coming, and never too many at once', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constant('come' as const), fc.nat(5)), { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, most, atOnce) => {
        const { shared, rounds, items } = sharing({ most, atOnce, waiting: 1_000 })
        const answers: Promise<number>[] = []
        const open = new Set<Round>()
        const look = () => {
          for (const round of rounds.slice(seen)) open.add(round)
          seen = rounds.length
          assert.ok(open.size <= atOnce)
        }
        let seen = 0
        const end = async (round: Round | undefined) => {
          if (round === undefined) return
          open.delete(round)
          round.end()
          await new Promise(setImmediate)
          look()
        }
        for (const step of steps) {
          if (step === 'come') answers.push(shared.share('a', answers.length))
          else await end([...open][step % Math.max(1, open.size)])
          look()
        }
        while (open.size > 0) await end([...open][0])
        assert.deepEqual(
          items().flat(),
          answers.map((_, index) => index),
        )
        assert.ok(items().every(({ length }) => length > 0 && length <= most))
        assert.deepEqual(
          await Promise.all(answers),
          answers.map((_, index) => index * 10),
        )
      },
    ),
  ))
