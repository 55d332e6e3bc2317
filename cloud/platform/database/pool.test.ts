import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from 'pg'
import { type Connection, Pool } from './pool.ts'

function connection(): Connection {
  return {
    client: { end: async () => {} } as unknown as Client,
    tenantId: undefined,
    users: 1,
    lease: 0,
    broken: false,
  }
}

/** Opens as told: a connection for `true`, a refusal for `false`, and connections once it is told nothing more. */
function poolThatOpens(turns: boolean[], size = 1): Pool {
  const open = async () => {
    if (turns.shift() === false) throw new Error('refused')
    return connection()
  }
  return new Pool({ open, size, waitMs: 60_000 })
}

function lose(pool: Pool, lost: Connection): void {
  lost.broken = true
  pool.release(lost)
}

test('when a lost connection cannot be replaced, who waits next is served as soon as one can', async () => {
  const pool = poolThatOpens([true, false, true])
  const first = await pool.acquire(undefined)
  const waiting = Array.from({ length: 3 }, () => Promise.resolve(pool.acquire(undefined)))
  const told = Promise.allSettled(
    waiting.map(async (waiter) => {
      pool.release(await waiter)
    }),
  )
  lose(pool, first)
  assert.deepEqual(
    (await told).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual([pool.inUse, pool.waiting], [0, 0])
  await pool.close()
})

test('when the database is gone, everybody who waits is told at once', async () => {
  const pool = poolThatOpens([true, false, false, false])
  const first = await pool.acquire(undefined)
  const waiting = Array.from({ length: 3 }, async () => pool.acquire(undefined))
  lose(pool, first)
  const told = await Promise.allSettled(waiting)
  assert.deepEqual(
    told.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  await pool.close()
})

test('room that a failed opening leaves goes to who waits', async () => {
  const opening = Promise.withResolvers<Connection>()
  let turn = 0
  const pool = new Pool({ open: async () => (turn++ === 0 ? opening.promise : connection()), size: 1, waitMs: 60_000 })
  const first = Promise.resolve(pool.acquire(undefined))
  const second = Promise.resolve(pool.acquire(undefined))
  opening.reject(new Error('refused'))
  await assert.rejects(first, /refused/)
  pool.release(await second)
  await pool.close()
})

test('closing waits for what is in use, refuses who waits and whoever comes later', async () => {
  const pool = poolThatOpens([true])
  const used = await pool.acquire(undefined)
  const waiting = Promise.resolve(pool.acquire(undefined))
  const closed = pool.close()
  await assert.rejects(waiting, /shutting down/)
  assert.throws(() => pool.acquire(undefined), /shutting down/)
  pool.release(used)
  await closed
  assert.equal(pool.inUse, 0)
})
