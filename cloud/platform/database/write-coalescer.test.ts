import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import fc from 'fast-check'
import { type CoalescedWrite, WriteCoalescer } from './write-coalescer.ts'

type Batch = { tenantId: string; writes: readonly CoalescedWrite<number, number>[]; end: () => void }

/** Creates a coalescer whose batches end when the test calls `end`. */
function coalescerWith(limits: Omit<ConstructorParameters<typeof WriteCoalescer<number, number>>[0], 'commit'>) {
  const batches: Batch[] = []
  const coalescer = new WriteCoalescer<number, number>({
    ...limits,
    async commit(tenantId, writes) {
      const { promise, resolve } = Promise.withResolvers<void>()
      batches.push({ tenantId, writes, end: resolve })
      await promise
      for (const { item, resolve } of writes) resolve(item * 10)
    },
  })
  const items = () => batches.map(({ writes }) => writes.map(({ item }) => item))
  return { coalescer, batches, items }
}

test('commits a single write immediately, and groups the writes that arrive meanwhile into the next batch', async () => {
  const { coalescer, batches, items } = coalescerWith({ maxItems: 3, maxBatches: 1, maxWaiting: 10 })
  const answers = Promise.all([1, 2, 3, 4, 5].map((item) => coalescer.submit('a', item)))
  assert.deepEqual(items(), [[1]])
  for (let ended = 0; ended < 3; ended++) {
    batches[ended]?.end()
    await new Promise(setImmediate)
  }
  assert.deepEqual(items(), [[1], [2, 3, 4], [5]])
  assert.deepEqual(await answers, [10, 20, 30, 40, 50])
})

test('limits the weight of a batch, and commits a write above the limit alone', async () => {
  const { coalescer, batches, items } = coalescerWith({
    maxItems: 10,
    maxBatches: 1,
    maxWaiting: 10,
    maxWeight: 10,
    weigh: (item) => item,
  })
  const answers = Promise.all([1, 4, 6, 1, 30, 2, 3].map((item) => coalescer.submit('a', item)))
  for (let ended = 0; ended < 5; ended++) {
    batches[ended]?.end()
    await new Promise(setImmediate)
  }
  assert.deepEqual(items(), [[1], [4, 6], [1], [30], [2, 3]])
  assert.deepEqual(await answers, [10, 40, 60, 10, 300, 20, 30])
})

test('does not group writes of different tenants', () => {
  const { coalescer, batches } = coalescerWith({ maxItems: 3, maxBatches: 1, maxWaiting: 10 })
  void coalescer.submit('a', 1)
  void coalescer.submit('b', 2)
  assert.deepEqual(
    batches.map(({ tenantId }) => tenantId),
    ['a', 'b'],
  )
})

test('rejects a write with `overloaded` when too many writes wait', async () => {
  const { coalescer, batches } = coalescerWith({ maxItems: 1, maxBatches: 1, maxWaiting: 2 })
  const answers = [1, 2, 3].map((item) => coalescer.submit('a', item))
  await assert.rejects(coalescer.submit('a', 4), (error) => error instanceof Problem && error.code === 'overloaded')
  for (let ended = 0; ended < 3; ended++) {
    batches[ended]?.end()
    await answers[ended]
    await new Promise(setImmediate)
  }
})

test('rejects the writes of a failed batch that have no result yet, and runs the next batch', async () => {
  let batch = 0
  const coalescer = new WriteCoalescer<number, string>({
    maxItems: 10,
    maxBatches: 1,
    maxWaiting: 10,
    async commit(_tenantId, writes) {
      writes[0]?.resolve('first')
      if (++batch === 2) throw new Error('out of order')
      for (const { resolve } of writes) resolve('other')
    },
  })
  const settled = await Promise.allSettled([1, 2, 3].map((item) => coalescer.submit('a', item)))
  assert.deepEqual(
    settled.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
    ['first', 'first', 'Error: out of order'],
  )
  assert.equal(await coalescer.submit('a', 4), 'first')
})

test('commits each write once and in order, within the limits of batch size and concurrency', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constant('submit' as const), fc.nat(5)), { maxLength: 60 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, maxItems, maxBatches) => {
        const { coalescer, batches, items } = coalescerWith({ maxItems, maxBatches, maxWaiting: 1_000 })
        const answers: Promise<number>[] = []
        const open = new Set<Batch>()
        const check = () => {
          for (const batch of batches.slice(seen)) open.add(batch)
          seen = batches.length
          assert.ok(open.size <= maxBatches)
        }
        let seen = 0
        const end = async (batch: Batch | undefined) => {
          if (batch === undefined) return
          open.delete(batch)
          batch.end()
          await new Promise(setImmediate)
          check()
        }
        for (const step of steps) {
          if (step === 'submit') answers.push(coalescer.submit('a', answers.length))
          else await end([...open][step % Math.max(1, open.size)])
          check()
        }
        while (open.size > 0) await end([...open][0])
        assert.deepEqual(
          items().flat(),
          answers.map((_, index) => index),
        )
        assert.ok(items().every(({ length }) => length > 0 && length <= maxItems))
        assert.deepEqual(
          await Promise.all(answers),
          answers.map((_, index) => index * 10),
        )
      },
    ),
  ))
