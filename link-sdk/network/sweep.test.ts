import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sweep } from './sweep.ts'

const open = () => new AbortController().signal
const turnOfEventLoop = () => new Promise((resolve) => setImmediate(resolve))

function* numbers(count: number): Generator<number> {
  for (let item = 0; item < count; item += 1) yield item
}

test('sweep yields all results, works on the given number of items at once, and counts completed items', async () => {
  let active = 0
  let most = 0
  const completed: number[] = []
  const results = await Array.fromAsync(
    sweep(numbers(20), {
      parallel: 3,
      signal: open(),
      onDone: (count) => completed.push(count),
      work: async function* (item) {
        active += 1
        most = Math.max(most, active)
        await turnOfEventLoop()
        if (item % 2 === 0) yield item
        yield item
        active -= 1
      },
    }),
  )
  assert.equal(results.length, 30)
  assert.deepEqual(new Set(results), new Set(numbers(20)))
  assert.equal(most, 3)
  assert.deepEqual(completed, [...numbers(21)].slice(1))
})

test('sweep yields a result before slower items are complete', async () => {
  const slow = Promise.withResolvers<void>()
  const results = sweep([1, 2], {
    parallel: 2,
    signal: open(),
    work: async function* (item) {
      if (item === 1) await slow.promise
      yield item
    },
  })
  assert.equal((await results.next()).value, 2)
  slow.resolve()
  assert.equal((await results.next()).value, 1)
  assert.equal((await results.next()).done, true)
})

test('sweep ends immediately when its signal is aborted, also while all work waits', async () => {
  const controller = new AbortController()
  const results = sweep([1], {
    parallel: 1,
    signal: controller.signal,
    work: async function* () {
      await new Promise(() => undefined)
      yield 1
    },
  })
  const next = results.next()
  controller.abort(new Error('canceled'))
  await assert.rejects(next, /canceled/)
})

test('sweep ends with the error of its work, and aborts the other work', async () => {
  const aborted: number[] = []
  const results = sweep(numbers(10), {
    parallel: 2,
    signal: open(),
    work: async function* (item, signal) {
      if (item === 0) signal.addEventListener('abort', () => aborted.push(item))
      if (item === 0) await new Promise(() => undefined)
      await turnOfEventLoop()
      if (item === 3) throw new Error('no route')
      yield item
    },
  })
  await assert.rejects(Array.fromAsync(results), /no route/)
  assert.deepEqual(aborted, [0])
})

test('sweep takes no further items when the caller stops reading', async () => {
  let started = 0
  const results = sweep(numbers(1_000), {
    parallel: 4,
    signal: open(),
    work: async function* (item, signal) {
      started += 1
      await turnOfEventLoop()
      if (!signal.aborted) yield item
    },
  })
  for await (const _ of results) break
  const before = started
  for (let turn = 0; turn < 5; turn += 1) await turnOfEventLoop()
  assert.equal(started, before)
})

test('sweep does not collect more results than the caller reads', async () => {
  let started = 0
  const results = sweep(numbers(10_000), {
    parallel: 8,
    signal: open(),
    work: async function* (item) {
      started += 1
      yield item
    },
  })
  await results.next()
  for (let turn = 0; turn < 50; turn += 1) await turnOfEventLoop()
  assert.ok(started < 1_100, `${started}`)
  let read = 1
  for await (const _ of results) read += 1
  assert.equal(read, 10_000)
})
