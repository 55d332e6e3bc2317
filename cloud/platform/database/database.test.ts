import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { endSessions } from '../testing/blocked-sessions.ts'
import { type TestHub, type TestTenant, testHub } from '../testing/hub.ts'
import type { Binding, Server } from './binding.ts'
import { openClient } from './connection.ts'
import { Database, type Transaction, violatedConstraint } from './database.ts'
import { statement } from './statement.ts'

const insertGroup = statement('insert into access_groups (tenant_id, id, name) values ($1, $2, $3)')
const renameGroup = statement('update access_groups set name = $3 where tenant_id = $1 and id = $2')
const names = statement<{ name: string }>('select name from access_groups where tenant_id = $1 order by name')
const bound = statement<{ tenant: string | null; asked: string }>(
  `select current_setting('app.tenant', true) as tenant, $1 as asked`,
)
const mixed = statement<{ tenant: string; nothing: null; count: number; list: string[]; json: object; raw: string }>(
  `select $1::text as tenant, null as nothing, 3::bigint as count, array['a'] as list,
          '{"a": 1}'::json as json, '{"a": 1}'::json as "raw:text"`,
)
const backend = statement<{ pid: number; asked: string }>('select pg_backend_pid() as pid, $1 as asked')
const broken = statement('select 1 / (length($1) - length($1))')
const slow = statement('select pg_sleep(5), $1')
const measured = statement<{ length: number; asked: string }>('select length($2::text) as length, $1 as asked')
const much = 'x'.repeat(4_000_000)

/** Returns the server with a binding. On a cluster, the workers receive the tenant only with the binding `transaction`. */
function serverWith({ database: { server } }: TestHub, binding: Binding): Server {
  return { ...server, binding: server.citus ? 'transaction' : binding }
}

for (const binding of ['session', 'transaction'] satisfies Binding[]) {
  describe(`database with the tenant set per ${binding}`, () => {
    let hub: TestHub
    let database: Database
    let a: TestTenant
    let b: TestTenant

    before(async () => {
      hub = await testHub()
      a = hub.tenant
      b = await hub.anotherTenant()
      database = open(binding, 3)
    })

    after(async () => {
      await database.close()
      await hub[Symbol.asyncDispose]()
    })

    function open(how: Binding, connections: number, waitMs = 10_000): Database {
      return new Database({ address: hub.database.app, server: serverWith(hub, how), connections, waitMs })
    }

    test('returns only the rows of the requested tenant on any connection', async () => {
      await add(a, 'only in a')
      await add(b, 'only in b')
      const looks = Array.from({ length: 60 }, (_, i) => {
        const tenant = i % 2 === 0 ? a : b
        return database
          .read(tenant, (handle) => handle.rows(names))
          .then((rows) => {
            assert.deepEqual(
              rows.map(({ name }) => name),
              ['default', tenant === a ? 'only in a' : 'only in b'],
            )
          })
      })
      await Promise.all(looks)
    })

    test('sets the tenant of the connection inside a transaction', async () => {
      for (const tenant of [a, b, a]) {
        const seen = await database.transaction(tenant, (tx) => tx.row(bound))
        assert.deepEqual(seen, { tenant: tenant.tenantId, asked: tenant.tenantId })
      }
    })

    test('keeps the tenant of a connection after a transaction on it was rolled back', async () => {
      await assert.rejects(database.transaction(b, (tx) => tx.run(broken)))
      const seen = await Promise.all(
        Array.from({ length: 9 }, (_, i) => database.read(i % 2 ? a : b, (handle) => handle.row(bound))),
      )
      for (const row of seen) assert.equal(row?.tenant, row?.asked)
    })

    test('rolls back a transaction and notifies no listener when its callback throws', async () => {
      const commits: unknown[] = []
      database.onCommit((commit) => commits.push(commit))
      const failed = database.transaction(a, async (tx) => {
        await tx.run(insertGroup, v7(), 'never')
        tx.signal('topic')
        throw new Problem('conflict', 'on purpose')
      })
      await assert.rejects(failed, /on purpose/)
      assert.ok(!(await list(a)).includes('never'))
      assert.deepEqual(commits, [])
    })

    test('does not commit a transaction whose callback ignored a failed statement', async () => {
      const failed = database.transaction(a, async (tx) => {
        await tx.run(insertGroup, v7(), 'half')
        await tx.run(broken).catch(() => {})
      })
      await assert.rejects(failed, /ignored a failed statement/)
      assert.ok(!(await list(a)).includes('half'))
    })

    test('notifies listeners of the signalled topics after the commit', async () => {
      const commits: string[] = []
      database.onCommit(({ tenantId, topics }) => commits.push(`${tenantId} ${[...topics]}`))
      await database.transaction(a, async (tx) => tx.signal('audit'))
      assert.deepEqual(commits, [`${a.tenantId} audit`])
    })

    test('repeats a transaction after a deadlock', async () => {
      const [one, two] = [await add(a, 'one'), await add(a, 'two')]
      const gate = barrier(2)
      let runs = 0
      const swap = (first: string, second: string) =>
        database.transaction(a, async (tx) => {
          runs++
          await tx.run(renameGroup, first, `${first}`)
          await gate()
          await tx.run(renameGroup, second, `${second}`)
        })
      await Promise.all([swap(one, two), swap(two, one)])
      assert.ok(runs > 2)
    })

    test('fails with `overloaded` when a transaction repeatedly ends in a deadlock', async () => {
      let runs = 0
      const losing = database.transaction(a, async () => {
        runs++
        throw Object.assign(new Error('deadlock detected'), { code: '40P01' })
      })
      await assert.rejects(losing, { code: 'overloaded' })
      assert.ok(runs > 2)
    })

    test('fails with `overloaded` when no connection becomes free in time, and recovers', async () => {
      const small = open(binding, 1, 200)
      const { promise, resolve } = Promise.withResolvers<void>()
      const holding = small.transaction(a, () => promise)
      await assert.rejects(
        small.read(a, (handle) => handle.rows(names)),
        { code: 'overloaded' },
      )
      resolve()
      await holding
      assert.ok((await small.read(a, (handle) => handle.rows(names))).length > 0)
      await small.close()
    })

    test('replaces lost database connections', async () => {
      const mine = open(binding, 2)
      const before = await mine.read(a, (handle) => handle.row(backend))
      await endSessions(hub.database, [before?.pid])
      const seen: (number | undefined)[] = []
      while (seen.length < 3) {
        await mine
          .read(a, (handle) => handle.row(backend))
          .then(
            (row) => seen.push(row?.pid),
            (error) => assert.equal(error.code, 'unavailable'),
          )
      }
      assert.ok(!seen.includes(before?.pid))
      await mine.close()
    })

    test('sends the parts of a pipeline in order, without waiting for the results of earlier parts', async () => {
      const sent = async () => {
        const order: string[] = []
        await database.transaction(a, (tx) =>
          tx.pipeline(
            ['first', 'second'].map((name) => async () => {
              order.push(`${name} sent`)
              await tx.row(bound)
              order.push(`${name} done`)
            }),
          ),
        )
        return order
      }
      // On a busy machine, the first result can arrive before the second part is sent.
      let order = await sent()
      for (let attempt = 0; attempt < 50 && order[1] !== 'second sent'; attempt++) order = await sent()
      assert.deepEqual(order, ['first sent', 'second sent', 'first done', 'second done'])
    })

    test('sends large parts of a pipeline one after the other, until a part fails', async () => {
      const lengths: unknown[] = []
      const send = (tx: Transaction) => async () => lengths.push((await tx.row(measured, much))?.length)
      await database.transaction(a, (tx) => tx.pipeline([send(tx), send(tx), send(tx)]))
      assert.deepEqual(lengths, [much.length, much.length, much.length])

      let isSent = false
      const last = async () => {
        isSent = true
      }
      // The buffers of the operating system can contain two parts. The server must read the third part to continue.
      const large = (tx: Transaction) => Array.from({ length: 4 }, () => send(tx))
      const failed = database.transaction(a, (tx) => tx.pipeline([() => tx.run(broken), ...large(tx), last]))
      await assert.rejects(failed, /division by zero/)
      assert.equal(isSent, false)
    })

    test('fails instead of waiting when the connection to the server is lost during a pipeline', async () => {
      const mine = open(binding, 1)
      const lost = mine.transaction(a, async (tx) => {
        const { pid } = (await tx.row(backend)) ?? {}
        const pipeline = tx.pipeline([() => tx.run(slow), () => tx.row(measured, much), () => tx.row(bound)])
        await Promise.all([pipeline, endSessions(hub.database, [pid])])
      })
      await assert.rejects(lost)
      await mine.close()
    })

    test('waits at close until all connections are returned', async () => {
      const mine = open(binding, 2)
      const work = mine.transaction(a, (tx) => tx.row(bound))
      await Promise.all([work, mine.close()])
      assert.equal(mine.inUse, 0)
      await assert.rejects(
        mine.read(a, (handle) => handle.rows(names)),
        { code: 'unavailable' },
      )
    })

    test('refuses a tenant id that is not a UUID', async () => {
      await assert.rejects(database.read({ tenantId: "x'; drop table tenants; --" }, (handle) => handle.rows(names)))
    })

    async function add(tenant: TestTenant, name: string): Promise<string> {
      const id = v7()
      await database.transaction(tenant, (tx) => tx.run(insertGroup, id, name))
      return id
    }

    async function list(tenant: TestTenant): Promise<string[]> {
      return (await database.read(tenant, (handle) => handle.rows(names))).map(({ name }) => name)
    }
  })
}

test('names the violated key also for an error of a shard, which contains the name only in its message', () => {
  const unique = 'duplicate key value violates unique constraint "hierarchies_name_103358"'
  const foreign =
    'update or delete on table "access_groups_102008" violates foreign key constraint "assets_access_group_102041" on table "assets_102041"'
  assert.equal(violatedConstraint({ code: '23505', message: unique }), 'hierarchies_name')
  assert.equal(violatedConstraint({ code: '23503', message: foreign }), 'assets_access_group')
  assert.equal(violatedConstraint({ code: '23505', message: unique, constraint: 'roles_name' }), 'roles_name')
  assert.equal(violatedConstraint({ code: '23514', message: 'violates check constraint "a_102008"' }), undefined)
})

test('prefers an idle connection that was last used for the same tenant', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const server = { ...hub.database.server, binding: 'session' } as const
  const database = new Database({ address: hub.database.app, server, connections: 4 })
  const pidOf = async (tenant: TestTenant) => (await database.read(tenant, (handle) => handle.row(backend)))?.pid
  const both = await Promise.all([pidOf(hub.tenant), pidOf(other)])
  for (let round = 0; round < 5; round++) {
    assert.equal(await pidOf(hub.tenant), both[0])
    assert.equal(await pidOf(other), both[1])
  }
  await database.close()
})

test('cancels a statement that exceeds the time limit', async () => {
  await using hub = await testHub()
  const client = await openClient(hub.database.app)
  await client.query('set statement_timeout = 50')
  await assert.rejects(client.query(slow.text, ['x']), { code: '57014' })
  await client.end()
})

/** Returns a function that waits until `count` callers have called it. */
function barrier(count: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let waiting = 0
  return () => {
    if (++waiting >= count) resolve()
    return promise
  }
}

test('reports a server that does not respond as unavailable and closes the connection', async () => {
  await using hub = await testHub()
  const { app, server } = hub.database
  await using database = new Database({ address: app, server, connections: 1, responseMs: 500 })
  await assert.rejects(
    database.transaction(hub.tenant, (tx) => tx.run(slow)),
    (error: Problem) => error.code === 'unavailable' && error.cause !== undefined,
  )
  assert.equal(database.inUse, 0)
})

test('refuses a statement on a transaction handle after its callback has ended', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  let stray: (() => Promise<unknown>) | undefined
  await database.transaction(hub.tenant, async (tx) => {
    stray = () => tx.rows(names)
  })
  await assert.rejects(async () => stray?.(), /after the end of its transaction/)
})

test('closes despite a connection that is still in use, and closes that connection when it is returned', async () => {
  await using hub = await testHub()
  const database = new Database({ address: hub.database.app, server: hub.database.server, connections: 2, waitMs: 100 })
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const forgotten = database.transaction(hub.tenant, () => {
    begun.resolve()
    return promise
  })
  await begun.promise
  await database.close()
  assert.equal(database.inUse, 1)
  resolve()
  await forgotten
  assert.equal(database.inUse, 0)
})

test('shares connections between lookups without mixing tenants, and fails each lookup separately', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const server = { ...hub.database.server, binding: 'session' } as const
  const database = new Database({ address: hub.database.app, server, connections: 2 })
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const holding = [1, 2].map(() => database.transaction(hub.tenant, () => gate))
  const looks = Array.from({ length: 40 }, (_, i) => {
    const tenant = i % 5 === 0 ? other : hub.tenant
    if (i % 7 === 0)
      return assert.rejects(
        database.lookup(tenant, (handle) => handle.run(broken)),
        { code: '22012' },
      )
    const look =
      i % 3 === 0
        ? database.read(tenant, (handle) => handle.row(bound))
        : database.lookup(tenant, (handle) => handle.row(bound))
    return look.then((row) => assert.deepEqual(row, { tenant: tenant.tenantId, asked: tenant.tenantId }))
  })
  open()
  await Promise.all([...holding, ...looks])
  assert.equal(database.inUse, 0)
  await database.close()
})

test('returns the same result with and without a column description from the server', async () => {
  await using hub = await testHub()
  const database = new Database({ address: hub.database.app, server: serverWith(hub, 'session'), connections: 1 })
  const id = v7()
  for (let turn = 0; turn < 3; turn++) {
    await database.transaction(hub.tenant, async (tx) => {
      assert.equal(await tx.run(renameGroup, id, 'nobody'), 0)
      assert.deepEqual(await tx.row(mixed), {
        tenant: hub.tenant.tenantId,
        nothing: null,
        count: 3,
        list: ['a'],
        json: { a: 1 },
        raw: '{"a": 1}',
      })
    })
    await assert.rejects(
      database.read(hub.tenant, (handle) => handle.row(broken)),
      { code: '22012' },
    )
    const { length } = await database.read(hub.tenant, (handle) => handle.rows(names))
    assert.equal(length, 1)
  }
  await database.close()
})

test('runs an enclosing transaction of one tenant while another tenant requests many', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  await using database = new Database({ address: hub.database.app, server: hub.database.server, connections: 8 })
  const ended = Promise.withResolvers<void>()
  const flood = Array.from({ length: 20 }, () => database.enclosing(hub.tenant, () => ended.promise))
  assert.equal(await database.enclosing(other, async () => 'served'), 'served')
  ended.resolve()
  await Promise.all(flood)
})
