import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Connection } from './connection.ts'
import { lookupsPerBatch } from './lookup-batcher.ts'
import { Pool } from './pool.ts'

function connection(): Connection {
  return {
    client: { end: async () => {}, connection: { stream: new PassThrough() } } as unknown as Client,
    tenantId: undefined,
    holder: undefined,
    users: 1,
    lease: 0,
    broken: false,
    lostWorker: false,
    firstError: undefined,
  }
}

/**
 * Creates a pool. It opens a connection for each `true` and fails for each `false`. After the end of the list, it opens
 * connections.
 */
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

test('serves the next waiting request as soon as a lost connection can be replaced', async () => {
  const pool = poolThatOpens([true, false, true])
  const first = await pool.acquire(undefined)
  const waiting = Array.from({ length: 3 }, () => Promise.resolve(pool.acquire(undefined)))
  const outcomes = Promise.allSettled(
    waiting.map(async (waiter) => {
      pool.release(await waiter)
    }),
  )
  lose(pool, first)
  assert.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['rejected', 'fulfilled', 'fulfilled'],
  )
  assert.deepEqual([pool.inUse, pool.waiting], [0, 0])
  await pool.close()
})

test('fails all waiting requests immediately when the database is unreachable', async () => {
  const pool = poolThatOpens([true, false, false, false])
  const first = await pool.acquire(undefined)
  const waiting = Array.from({ length: 3 }, async () => pool.acquire(undefined))
  lose(pool, first)
  const outcomes = await Promise.allSettled(waiting)
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  await pool.close()
})

test('opens a connection for a waiting request after another attempt to open a connection failed', async () => {
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

test('waits at close for connections in use, and refuses waiting and new requests', async () => {
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

async function poolWith(idle: number): Promise<Pool> {
  const pool = poolThatOpens([], idle)
  for (const opened of await Promise.all(Array.from({ length: idle }, () => pool.acquire(undefined))))
    pool.release(opened)
  return pool
}

function isCorked({ client }: Connection): boolean {
  return client.connection.stream.writableCorked > 0
}

test('sends the lookups of one tenant in one event-loop turn on the same connection in one write', async () => {
  const pool = await poolWith(3)
  const lookup = async (tenantId: string) => pool.acquire(tenantId, { lookup: true })
  const [first, second, other, last] = [await lookup('a'), await lookup('a'), await lookup('b'), await lookup('a')]
  assert.equal(second, first)
  assert.equal(last, first)
  assert.notEqual(other, first)
  assert.equal(pool.inUse, 2)
  assert.ok(isCorked(first) && isCorked(other))
  await endOfTurn()
  assert.ok(!isCorked(first) && !isCorked(other))
  assert.notEqual(await lookup('a'), first)
  for (const used of [first, first, other]) pool.release(used)
  assert.equal(pool.inUse, 2)
  pool.release(first)
  assert.equal(pool.inUse, 1)
})

test('sends a full batch of lookups immediately, and uses another connection for the next lookup', async () => {
  const pool = await poolWith(2)
  const lookups = Array.from({ length: lookupsPerBatch + 1 }, () => pool.acquire('a', { lookup: true }) as Connection)
  const [first, last] = [lookups[0] as Connection, lookups.at(-1) as Connection]
  assert.equal(new Set(lookups).size, 2)
  assert.notEqual(last, first)
  await new Promise<void>((resolve) => process.nextTick(resolve))
  assert.deepEqual([isCorked(first), isCorked(last)], [false, true])
  await endOfTurn()
  assert.ok(!isCorked(last))
})

test('shares a connection only between lookups, and not after the connection was returned to the pool', async () => {
  const pool = await poolWith(2)
  const [first, read] = [await pool.acquire('a', { lookup: true }), await pool.acquire('a')]
  assert.notEqual(read, first)
  pool.release(first)
  assert.equal(await pool.acquire('b'), first)
  const next = pool.acquire('a', { lookup: true })
  assert.equal(pool.waiting, 1)
  pool.release(read)
  assert.equal(await next, read)
})

test('serves waiting tenants in turn, regardless of the number of their requests', async () => {
  const pool = await poolWith(1)
  const busy = await pool.acquire('a')
  busy.tenantId = 'a'
  const served: string[] = []
  const use = async (tenantId: string) => {
    const connection = await pool.acquire(tenantId)
    served.push(tenantId)
    connection.tenantId = tenantId
    pool.release(connection)
  }
  const uses = [...Array.from({ length: 30 }, () => 'a'), 'b', 'c', 'b'].map(use)
  pool.release(busy)
  await Promise.all(uses)
  assert.equal(served.slice(0, 6).join(''), 'abcaba', served.join(''))
})

test('limits one tenant to three quarters of the connections, and reserves the rest for other tenants', async () => {
  const pool = poolThatOpens([], 8)
  const flood = Array.from({ length: 20 }, async () => pool.acquire('a'))
  const held = await Promise.all(flood.slice(0, 6))
  assert.deepEqual([pool.inUse, pool.waiting], [6, 14])
  const other = await pool.acquire('b')
  const shared = await pool.acquire(undefined)
  assert.deepEqual([pool.inUse, pool.waiting], [8, 14])
  for (const connection of [other, shared]) pool.release(connection)
  assert.deepEqual([pool.inUse, pool.waiting], [6, 14])
  for (const connection of held) pool.release(connection)
  for (const waiter of flood.slice(6)) pool.release(await waiter)
  assert.deepEqual([pool.inUse, pool.waiting], [0, 0])
  await pool.close()
})

test('refuses the tenants of a worker that does not respond, and gives their connections to other tenants', async () => {
  const pool = poolThatOpens([], 2)
  const stuck = [await pool.acquire('lost'), await pool.acquire('lost')]
  const waiting = { lost: Promise.resolve(pool.acquire('lost')), other: Promise.resolve(pool.acquire('other')) }
  assert.deepEqual(pool.tenants, ['lost', 'other'])

  pool.refuse(new Set(['lost']))
  await assert.rejects(waiting.lost, { code: 'unavailable' })
  assert.throws(() => pool.acquire('lost'), { code: 'unavailable' })
  for (const used of stuck) {
    assert.ok(used.lostWorker && used.client.connection.stream.destroyed)
    pool.release(used)
  }
  const other = await waiting.other
  assert.ok(!other.lostWorker)

  pool.refuse(new Set())
  const lost = await pool.acquire('lost')
  for (const used of [other, lost]) pool.release(used)
  assert.equal(pool.inUse, 0)
  await pool.close()
})
