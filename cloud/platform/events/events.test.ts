import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { v7 } from 'uuid'
import { Database, type Transaction } from '../database/database.ts'
import { timePlus } from '../database/statement.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { emit, emitAll, emitLast } from './events.ts'
import { extent, insert, list, nextOrdinal } from './store.ts'

function emitTest(tx: Transaction, subject: string): Promise<void> {
  return emit(tx, { type: 'test.thing.changed', subject, data: { subject } })
}

/** Opens a transaction that has written an event and waits for `commit`. */
async function open(hub: TestHub, subject: string, tenant = hub.tenant): Promise<{ commit(): Promise<void> }> {
  const said = Promise.withResolvers<void>()
  const go = Promise.withResolvers<void>()
  const done = hub.context.database.transaction(tenant, async (tx) => {
    await emitTest(tx, subject)
    said.resolve()
    await go.promise
  })
  await Promise.race([said.promise, done])
  return {
    commit() {
      go.resolve()
      return done
    },
  }
}

function read(hub: TestHub, after = 0, tenant = hub.tenant) {
  return hub.context.database.read(tenant, (handle) => list(handle, { after, limit: 10_000 }))
}

test('does not publish an event of a rolled back transaction', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  await assert.rejects(
    database.transaction(hub.tenant, async (tx) => {
      await emitTest(tx, 'ghost')
      throw new Error('no')
    }),
  )
  await database.transaction(hub.tenant, (tx) => emitTest(tx, 'real'))
  await hub.settle()
  assert.deepEqual(
    (await read(hub)).map(({ subject, position }) => ({ subject, position })),
    [{ subject: 'real', position: 1 }],
  )
})

test('returns every event to a reader that continues by position, even if a transaction commits late', async () => {
  await using hub = await testHub()
  const early = await open(hub, 'began first, committed last')
  const late = await open(hub, 'began last, committed first')
  await late.commit()
  await hub.settle()
  const first = await read(hub)
  await early.commit()
  await hub.settle()
  const second = await read(hub, first.at(-1)?.position)
  assert.deepEqual(
    [...first, ...second].map(({ position, subject }) => [position, subject]),
    [
      [1, 'began last, committed first'],
      [2, 'began first, committed last'],
    ],
  )
})

test('orders events of two hosts by their transactions, even if one clock is an hour fast', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const fast = (subject: string) =>
    database.transaction(hub.tenant, async (tx) => {
      const atMs = Date.now() + 3_600_000
      const time = new Date(atMs).toISOString()
      const ordinal = await nextOrdinal(tx)
      await insert(tx, { id: v7({ msecs: atMs }), time, type: 'test.thing.changed', subject, data: {}, ordinal })
    })
  const slow = (subject: string) => database.transaction(hub.tenant, (tx) => emitTest(tx, subject))
  await fast('created')
  await slow('deleted')
  await fast('created again')
  await slow('deleted again')
  await hub.settle()
  assert.deepEqual(
    (await read(hub)).map(({ subject }) => subject),
    ['created', 'deleted', 'created again', 'deleted again'],
  )
})

test('publishes each event once with positions without gaps, for any order of begin and commit', async () => {
  await using hub = await testHub()
  // One tenant gets six of the eight connections, and reading needs some of them.
  const most = 4
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat({ max: most - 1 }), fc.boolean()), { minLength: 1, maxLength: 12 }),
      async (steps) => {
        const tenant = await hub.anotherTenant()
        const opened = new Map<number, Awaited<ReturnType<typeof open>>>()
        const seen: string[] = []
        let position = 0
        let begun = 0
        const look = async () => {
          await hub.context.tasks.runDue(tenant.tenantId)
          for (const event of await read(hub, position, tenant)) {
            assert.equal(event.position, position + 1)
            position = event.position
            seen.push(event.subject)
          }
        }
        for (const [which, shouldLook] of steps) {
          const existing = opened.get(which)
          if (existing === undefined) opened.set(which, await open(hub, `${begun++}`, tenant))
          else {
            opened.delete(which)
            await existing.commit()
          }
          if (shouldLook) await look()
        }
        for (const rest of opened.values()) await rest.commit()
        await look()
        assert.deepEqual(seen.toSorted(), Array.from({ length: begun }, (_, index) => `${index}`).toSorted())
      },
    ),
    { numRuns: 12 },
  )
})

test('assigns each event one position in transaction order, with many writers and two relays', async () => {
  await using hub = await testHub()
  await using sibling = await hub.sibling()
  const processes = [hub, sibling]
  await Promise.all(
    Array.from({ length: 100 }, async (_, index) => {
      await (processes[index % 2] ?? hub).context.database.transaction(hub.tenant, async (tx) => {
        for (const step of ['a', 'b', 'c']) await emitTest(tx, `${index}${step}`)
      })
      if (index % 25 === 0) await (processes[(index / 25) % 2] ?? hub).settle()
    }),
  )
  await Promise.all(processes.map((process) => process.settle()))
  const events = await read(hub)
  assert.deepEqual(
    events.map((event) => event.position),
    Array.from({ length: 300 }, (_, index) => index + 1),
  )
  for (let index = 0; index < 100; index++) {
    const own = events.filter(({ subject }) => Number.parseInt(subject, 10) === index).map(({ subject }) => subject)
    assert.deepEqual(own, [`${index}a`, `${index}b`, `${index}c`])
  }
})

test('publishes the events of a process that ended before it published them', async () => {
  await using hub = await testHub()
  await hub.settle()
  const dying = new Database({ address: hub.database.app, server: hub.database.server, connections: 1 })
  await dying.transaction(hub.tenant, (tx) => emitTest(tx, 'last words'))
  await dying.close()
  await using next = await hub.sibling()
  await next.settle()
  assert.deepEqual(
    (await read(hub)).map(({ subject }) => subject),
    ['last words'],
  )
})

test('deletes events after thirty days and never reuses their positions', async () => {
  await using hub = await testHub()
  const { database, tasks } = hub.context
  await database.transaction(hub.tenant, async (tx) => {
    for (const subject of ['old', 'older', 'new']) await emitTest(tx, subject)
  })
  await hub.settle()
  const monthMs = 31 * 24 * 3_600_000
  await hub.asOwner((owner) =>
    owner.query(
      `update events set time = ${timePlus('time', "interval '-31 days'")},
              id = (lpad(to_hex($2::bigint + position), 12, '0') || substr(replace(id::text, '-', ''), 13))::uuid
       where tenant_id = $1 and subject <> 'new'`,
      [hub.tenant.tenantId, Date.now() - monthMs],
    ),
  )
  await tasks.runDue(hub.tenant.tenantId, { at: new Date(Date.now() + 2 * 3_600_000) })
  assert.deepEqual(
    (await read(hub)).map(({ subject, position }) => [subject, position]),
    [['new', 3]],
  )
  assert.deepEqual(await database.read(hub.tenant, extent), { oldest: 3, newest: 3 })
  await database.transaction(hub.tenant, (tx) => emitTest(tx, 'newer'))
  await hub.settle()
  assert.equal((await read(hub, 3))[0]?.position, 4)
})

test('assigns events of emitLast a position at commit, after all previously committed events', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const last = (subjects: string[]) =>
    database.transaction(hub.tenant, (tx) =>
      emitLast(
        tx,
        subjects.map((subject) => ({ type: 'test.thing.changed', subject, data: { subject } })),
      ),
    )
  const early = await open(hub, 'not committed yet')
  await database.transaction(hub.tenant, (tx) => emitTest(tx, 'committed, not placed yet'))
  await last(['first', 'second'])
  assert.deepEqual(
    (await read(hub)).map(({ position, subject }) => [position, subject]),
    [
      [1, 'committed, not placed yet'],
      [2, 'first'],
      [3, 'second'],
    ],
  )
  await early.commit()
  await last(['third'])
  await hub.settle()
  assert.deepEqual(
    (await read(hub, 3)).map(({ position, subject }) => [position, subject]),
    [
      [4, 'not committed yet'],
      [5, 'third'],
    ],
  )
})

test('assigns events of emitLast a position after many earlier events without a position', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const said = Array.from({ length: 700 }, (_, index) => ({ type: 'test', subject: `${index}`, data: {} }))
  await database.transaction(hub.tenant, (tx) => emitAll(tx, said))
  await database.transaction(hub.tenant, (tx) => emitLast(tx, [{ type: 'test', subject: 'last', data: {} }]))
  await hub.settle()
  const events = await read(hub)
  assert.deepEqual(
    events.map(({ position }) => position),
    Array.from({ length: 701 }, (_, index) => index + 1),
  )
  assert.equal(events.at(-1)?.subject, 'last')
})

test('replaces unstorable characters in stored events', async () => {
  await using hub = await testHub()
  await hub.context.database.transaction(hub.tenant, (tx) =>
    emit(tx, { type: 'test', subject: 'a\0', data: { id: v7(), text: '\0\ud800' } }),
  )
  await hub.settle()
  const [event] = await read(hub)
  assert.equal(event?.subject, 'a\ufffd')
  assert.equal(event?.data.text, '\ufffd\ufffd')
})
