import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTurns } from './turns.ts'

test('so many run at once, so many wait, and the rest is told to come back', async () => {
  const inTurn = createTurns({ atOnce: 2, waiting: 3, refusal: 'Too many' })
  const gate = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  const work = async () => {
    most = Math.max(most, ++running)
    await gate.promise
    running--
  }
  const five = Array.from({ length: 5 }, () => inTurn(work))
  await assert.rejects(inTurn(work), { code: 'overloaded' })
  gate.resolve()
  await Promise.all(five)
  assert.equal(most, 2)
})

test('work that fails makes room for the next', async () => {
  const inTurn = createTurns({ atOnce: 1, waiting: 1, refusal: 'Too many' })
  const failing = inTurn(() => Promise.reject(new Error('broken')))
  const next = inTurn(async () => 'done')
  await assert.rejects(failing, /broken/)
  assert.equal(await next, 'done')
  assert.equal(await inTurn(async () => 'again'), 'again')
})
