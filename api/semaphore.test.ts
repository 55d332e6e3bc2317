import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Semaphore } from './semaphore.ts'

const refusal = 'too much'

test('serves waiting keys in round-robin order, and the requests of one key in order of arrival', async () => {
  const semaphore = new Semaphore({ capacity: 1, waitingPerKey: 10, refusal })
  const leave = await semaphore.enter('a')
  const served: string[] = []
  const use = (key: string) => semaphore.run(key, async () => void served.push(key))
  const uses = ['a', 'a', 'a', 'b', 'c', 'b'].map(use)
  leave()
  await Promise.all(uses)
  assert.equal(served.join(''), 'abcaba')
})

test('leaves capacity for other keys when one key has reached its limit', async () => {
  const semaphore = new Semaphore({ capacity: 4, perKey: 2, waitingPerKey: 1, refusal })
  const [first] = [await semaphore.enter('a'), await semaphore.enter('a')]
  const waiting = semaphore.enter('a')
  await assert.rejects(semaphore.enter('a'), { code: 'overloaded', status: 503 })
  const other = await semaphore.enter('b', 2)
  first()
  const last = await waiting
  for (const leave of [other, last]) leave()
})

test('runs work that exceeds the capacity only when no other work is running', async () => {
  const semaphore = new Semaphore({ capacity: 4, waitingPerKey: 10, refusal })
  const light = await semaphore.enter('a')
  const order: string[] = []
  const heavy = semaphore.run('b', async () => void order.push('heavy'), 9)
  await new Promise(setImmediate)
  order.push('light')
  light()
  await heavy
  assert.deepEqual(order, ['light', 'heavy'])
})

test('limits concurrent work to the capacity, and refuses work when the queue of a key is full', async () => {
  const semaphore = new Semaphore({ capacity: 2, waitingPerKey: 3, refusal })
  const gate = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++running)
    await gate.promise
    running--
  }
  const five = Array.from({ length: 5 }, () => semaphore.run('a', work))
  await assert.rejects(semaphore.run('a', work), { code: 'overloaded' })
  gate.resolve()
  await Promise.all(five)
  assert.equal(most, 2)
})

test('starts the next waiting work after other work has failed', async () => {
  const semaphore = new Semaphore({ capacity: 1, waitingPerKey: 1, refusal })
  const failing = semaphore.run('a', () => Promise.reject(new Error('broken')))
  const next = semaphore.run('a', async () => 'done')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'done')
  assert.equal(await semaphore.run('a', async () => 'again'), 'again')
})

test('queues any amount of work by default, and limits each key when the total capacity is unlimited', async () => {
  const scans = new Semaphore({ capacity: Number.POSITIVE_INFINITY, perKey: 1 })
  const running = new Set<string>()
  let most = 0
  const scan = (link: string) =>
    scans.run(link, async () => {
      assert.ok(!running.has(link))
      running.add(link)
      most = Math.max(most, running.size)
      await new Promise(setImmediate)
      running.delete(link)
    })
  await Promise.all(Array.from({ length: 300 }, (_, index) => scan(`link ${index % 3}`)))
  assert.equal(most, 3)
})
