import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairSemaphore } from './fair-semaphore.ts'

const refusal = 'too much'

test('serves waiting tenants in turn, each in the order of its requests', async () => {
  const semaphore = new FairSemaphore({ capacity: 1, waitingPerTenant: 10, refusal })
  const leave = await semaphore.enter('a')
  const served: string[] = []
  const use = (tenantId: string) => semaphore.run(tenantId, async () => void served.push(tenantId))
  const uses = ['a', 'a', 'a', 'b', 'c', 'b'].map(use)
  leave()
  await Promise.all(uses)
  assert.equal(served.join(''), 'abcaba')
})

test('leaves capacity to other tenants when one tenant uses its share', async () => {
  const semaphore = new FairSemaphore({ capacity: 4, perTenant: 2, waitingPerTenant: 1, refusal })
  const [first] = [await semaphore.enter('a'), await semaphore.enter('a')]
  const waiting = semaphore.enter('a')
  await assert.rejects(semaphore.enter('a'), { code: 'overloaded', status: 503 })
  const other = await semaphore.enter('b', 2)
  first()
  const last = await waiting
  for (const leave of [other, last]) leave()
})

test('runs work that is heavier than the capacity alone', async () => {
  const semaphore = new FairSemaphore({ capacity: 4, waitingPerTenant: 10, refusal })
  const light = await semaphore.enter('a')
  const order: string[] = []
  const heavy = semaphore.run('b', async () => void order.push('heavy'), 9)
  await new Promise(setImmediate)
  order.push('light')
  light()
  await heavy
  assert.deepEqual(order, ['light', 'heavy'])
})
