import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { v7 } from 'uuid'
import { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { emit } from '../events/events.ts'
import { createLog } from '../log.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { LeaseLost, type Task, type TaskKinds, Tasks } from './tasks.ts'
import type { WorkerOptions } from './worker.ts'

const minuteMs = 60_000

function later(ms: number): Date {
  return new Date(Date.now() + ms)
}

/** Creates tasks with kinds that the worker of the hub does not define, so that only the test runs them. */
function tasksOf(hub: TestHub, kinds: TaskKinds, options: Partial<WorkerOptions> = {}): Tasks {
  const { database, log } = hub.context
  const tasks = new Tasks({ database, log, debounceMs: 0, ...options })
  tasks.define(kinds)
  return tasks
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `not in time: ${condition}`)
    await sleep(5)
  }
}

async function subjects(hub: TestHub): Promise<string[]> {
  return hub.asOwner(async (owner) => {
    const { rows } = await owner.query<{ subject: string }>(
      'select subject from events where tenant_id = $1 order by id',
      [hub.tenant.tenantId],
    )
    return rows.map((row) => row.subject)
  })
}

async function expireLeases(hub: TestHub, kind: string): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query(`update jobs set lease_until = now() - interval '1 second' where tenant_id = $1 and kind = $2`, [
      hub.tenant.tenantId,
      kind,
    ]),
  )
}

test('runs a task after its transaction is committed, and never after a rollback', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const tasks = tasksOf(hub, { greet: { run: async (task) => void seen.push(task.payload) } })
  const { database } = hub.context

  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'greet', payload: { name: 'pump' } }))
  await assert.rejects(
    database.transaction(hub.tenant, async (tx) => {
      await tasks.enqueue(tx, { kind: 'greet', payload: { name: 'ghost' } })
      throw new Error('changed my mind')
    }),
  )

  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 0)
  assert.deepEqual(seen, [{ name: 'pump' }])
})

test('moves a waiting task to the earlier time and replaces its payload when the task is enqueued again', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const tasks = tasksOf(hub, { scan: { run: async (task) => void seen.push([task.key, task.payload]) } })
  const { database } = hub.context
  const state = (payload: string, runAt?: Date) =>
    database.transaction(hub.tenant, (tx) =>
      tasks.enqueue(tx, { kind: 'scan', key: 'line-1', payload, ...(runAt && { runAt }) }),
    )

  const first = await state('old', later(minuteMs))
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 0)
  assert.equal(await state('new'), first)
  assert.equal(await state('newest', later(2 * minuteMs)), first)

  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.deepEqual(seen, [['line-1', 'newest']])
})

test('keeps the last of several tasks with the same key, and all tasks without a key', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const tasks = tasksOf(hub, { scan: { run: async (task) => void seen.push(task.payload) } })
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await tasks.enqueueAll(tx, [
      { kind: 'scan', key: 'same', payload: 1 },
      { kind: 'scan', key: 'same', payload: 2 },
    ])
    await tasks.enqueueAll(tx, [
      { kind: 'scan', payload: 3 },
      { kind: 'scan', payload: 3 },
    ])
  })
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 3)
  assert.deepEqual(seen.toSorted(), [2, 3, 3])
})

test('runs a task again after its current run when the task is enqueued during that run', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const runs: string[] = []
  const kinds: TaskKinds = {
    scan: {
      async run(task) {
        runs.push(`begin ${task.payload}`)
        if (task.payload === 'first') {
          await database.transaction(task, (tx) =>
            tasks.enqueue(tx, { kind: 'scan', key: 'line-1', payload: 'second' }),
          )
          assert.equal(await other.runDue(task.tenantId), 0, 'another process must not run it beside')
        }
        runs.push(`end ${task.payload}`)
      },
    },
  }
  const tasks = tasksOf(hub, kinds)
  const other = tasksOf(hub, kinds)
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'scan', key: 'line-1', payload: 'first' }))
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 2)
  assert.deepEqual(runs, ['begin first', 'end first', 'begin second', 'end second'])
})

test('retries a failed task with growing pauses, then stores it as failed with its last error', async () => {
  await using hub = await testHub()
  const attempts: number[] = []
  const tasks = tasksOf(hub, {
    fragile: {
      maxAttempts: 3,
      retryMs: (attempt) => attempt * minuteMs,
      run: async ({ attempt }) => {
        attempts.push(attempt)
        throw new Error(`attempt ${attempt} went wrong`)
      },
    },
  })
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const id = await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'fragile' }))

  assert.equal(await tasks.runDue(tenantId), 1)
  assert.equal(await tasks.runDue(tenantId), 0, 'it waits before the second attempt')
  assert.equal(await tasks.runDue(tenantId, { at: later(1.5 * minuteMs) }), 1)
  assert.equal(await tasks.runDue(tenantId, { at: later(1.5 * minuteMs) }), 0, 'and longer before the third')
  assert.equal(await tasks.runDue(tenantId, { at: later(10 * minuteMs) }), 1)
  assert.equal(await tasks.runDue(tenantId, { at: later(1e9) }), 0)

  assert.deepEqual(attempts, [1, 2, 3])
  const [failed] = await database.read(hub.tenant, (handle) => tasks.list(handle, { kind: 'fragile', state: 'failed' }))
  assert.equal(failed?.id, id)
  assert.equal(failed?.lastError, 'attempt 3 went wrong')

  assert.equal(await database.transaction(hub.tenant, (tx) => tasks.retry(tx, id)), true)
  assert.equal(await tasks.runDue(tenantId), 1)
  assert.deepEqual(attempts, [1, 2, 3, 1])
})

test('does not count an attempt that fails because of an outage of the database server', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const attempts: number[] = []
  const states = ['53100', '53200', '53300', '25006', '58030', '57P03']
  const tasks = tasksOf(hub, {
    patient: {
      maxAttempts: 2,
      run: async ({ attempt, tenantId }) => {
        const code = states[attempts.length]
        attempts.push(attempt)
        if (code === undefined) return
        const raise = statement(`do $$ begin raise exception 'injected' using errcode = '${code}'; end $$`)
        await database.transaction({ tenantId }, (tx) => tx.reference.run(raise))
      },
    },
  })
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'patient' }))
  assert.equal(await tasks.runDue(hub.tenant.tenantId, { at: later(minuteMs) }), states.length + 1)
  assert.deepEqual(
    attempts,
    [...states, 'done'].map(() => 1),
    'each run is the first attempt',
  )
  assert.deepEqual(await database.read(hub.tenant, (handle) => tasks.list(handle, { kind: 'patient' })), [])
})

test('rolls back the transaction of a worker that lost the lease of its task', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const effect = (task: Task, who: string) =>
    database.transaction(task, async (tx) => {
      await emit(tx, { type: 'test', subject: who, data: {} })
      await task.complete(tx)
    })
  const quick = tasksOf(hub, { pay: { run: (task) => effect(task, 'quick') } })
  let slowError: unknown
  const slow = tasksOf(hub, {
    pay: {
      async run(task) {
        await expireLeases(hub, 'pay')
        assert.equal(await quick.runDue(task.tenantId), 1)
        slowError = await effect(task, 'slow').catch((error) => error)
        throw slowError
      },
    },
  })
  await database.transaction(hub.tenant, (tx) => slow.enqueue(tx, { kind: 'pay' }))
  assert.equal(await slow.runDue(hub.tenant.tenantId), 1)

  assert.ok(slowError instanceof LeaseLost)
  assert.deepEqual(await subjects(hub), ['quick'])
  assert.equal(slow.stats().lost, 1)
})

test('does not run a task again after its handler completed it, even if the handler fails later', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const tasks = tasksOf(hub, {
    pay: {
      async run(task) {
        await database.transaction(task, async (tx) => {
          await emit(tx, { type: 'test', subject: 'paid', data: {} })
          await task.complete(tx)
        })
        throw new Error('after the fact')
      },
    },
    again: {
      async run(task) {
        await database
          .transaction(task, async (tx) => {
            await task.complete(tx)
            throw new Error('rolled back')
          })
          .catch(() => {})
      },
    },
  })
  await database.transaction(hub.tenant, (tx) => tasks.enqueueAll(tx, [{ kind: 'pay' }, { kind: 'again' }]))
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 2)
  assert.equal(await tasks.runDue(hub.tenant.tenantId, { at: later(1e9) }), 0)
  assert.deepEqual(await subjects(hub), ['paid'])
  assert.equal(tasks.stats().done, 2)
})

test('runs each of two hundred tasks exactly once in several processes', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const kinds: TaskKinds = {
    count: {
      run: (task) =>
        database.transaction(task, async (tx) => {
          await emit(tx, { type: 'test', subject: String(task.payload), data: {} })
          await task.complete(tx)
        }),
    },
  }
  const processes = [1, 2, 3].map(() => tasksOf(hub, kinds, { sweepMs: 50 }))
  const payloads = Array.from({ length: 200 }, (_, index) => index)
  await database.transaction(hub.tenant, (tx) =>
    new Tasks({ database, log: hub.context.log }).enqueueAll(
      tx,
      payloads.map((payload) => ({ kind: 'count', payload })),
    ),
  )
  for (const tasks of processes) tasks.start()
  await until(async () => processes.reduce((sum, tasks) => sum + tasks.stats().done, 0) >= 200)
  await Promise.all(processes.map((tasks) => tasks.stop()))

  const done = (await subjects(hub)).map(Number)
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    payloads,
  )
})

test('renews the lease of a task while the task runs', async () => {
  await using hub = await testHub()
  const leaseUntil = async () =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query<{ at: string }>(
        `select lease_until as at from jobs where tenant_id = $1 and kind = 'long'`,
        [hub.tenant.tenantId],
      )
      return rows[0]?.at ?? ''
    })
  const tasks = tasksOf(hub, {
    long: {
      // The lease is long enough for a slow machine, which would lose a shorter one.
      leaseMs: 3_000,
      async run({ signal }) {
        const first = await leaseUntil()
        await until(async () => (await leaseUntil()) > first)
        assert.equal(signal.aborted, false)
      },
    },
  })
  await hub.context.database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'long' }))
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.equal(tasks.stats().done, 1)
})

test('aborts the signal of a task handler when the lease of the task is lost', async () => {
  await using hub = await testHub()
  const tasks = tasksOf(hub, {
    long: {
      leaseMs: 300,
      async run({ signal }) {
        await hub.asOwner((owner) =>
          owner.query(
            `update jobs set lease_id = $2, lease_until = now() + interval '1 hour' where tenant_id = $1 and kind = 'long'`,
            [hub.tenant.tenantId, v7()],
          ),
        )
        await until(() => signal.aborted)
        signal.throwIfAborted()
      },
    },
  })
  await hub.context.database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'long' }))
  await tasks.runDue(hub.tenant.tenantId)
  assert.equal(tasks.stats().lost, 1)
})

test('runs the task of a dead worker again, up to the limit of attempts', async () => {
  await using hub = await testHub()
  const attempts: number[] = []
  const tasks = tasksOf(hub, {
    deadly: { maxAttempts: 2, run: async ({ attempt }) => void attempts.push(attempt) },
  })
  const die = (attempt: number) =>
    hub.asOwner((owner) =>
      owner.query(
        `insert into jobs (tenant_id, id, kind, key, state, run_at, attempts, lease_id, lease_until)
         values ($1, $2, 'deadly', $3, 'running', now(), $4, $2, now() - interval '1 second')`,
        [hub.tenant.tenantId, v7(), `died-${attempt}`, attempt],
      ),
    )
  await die(1)
  await die(2)
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 2)
  assert.deepEqual(attempts, [2])
  const failed = await hub.context.database.read(hub.tenant, (handle) => tasks.list(handle, { kind: 'deadly' }))
  assert.deepEqual(
    failed.map(({ key, state, lastError }) => ({ key, state, lastError })),
    [{ key: 'died-2', state: 'failed', lastError: 'The worker stopped during the last attempt' }],
  )
})

test('gives the task of a dead worker the lease of its own kind, not the longest lease', async () => {
  await using hub = await testHub()
  const leases: number[] = []
  const tasks = tasksOf(hub, {
    long: { leaseMs: 600_000, run: async () => {} },
    short: {
      leaseMs: 5_000,
      run: () =>
        hub.asOwner(async (owner) => {
          const { rows } = await owner.query<{ seconds: number }>(
            `select extract(epoch from lease_until - now())::float8 as seconds from jobs
             where tenant_id = $1 and kind = 'short'`,
            [hub.tenant.tenantId],
          )
          leases.push(...rows.map(({ seconds }) => seconds))
        }),
    },
  })
  await hub.asOwner((owner) =>
    owner.query(
      `insert into jobs (tenant_id, id, kind, key, state, run_at, attempts, lease_id, lease_until)
       values ($1, $2, 'short', '', 'running', now(), 1, $2, now() - interval '1 second')`,
      [hub.tenant.tenantId, v7()],
    ),
  )
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.deepEqual(
    leases.map((seconds) => seconds <= 5),
    [true],
  )
})

test('runs a periodic task for every tenant, and once for several signals', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const runs: string[] = []
  const tasks = tasksOf(hub, {
    tidy: { periodic: { everyMs: minuteMs, wakeOn: 'dirt' }, run: async (task) => void runs.push(task.tenantId) },
  })
  const { database } = hub.context
  await tasks.runDue(hub.tenant.tenantId)
  await tasks.runDue(other.tenantId)
  assert.deepEqual(runs, [hub.tenant.tenantId, other.tenantId], 'once at the start')

  for (let i = 0; i < 5; i++) await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 0)
  assert.equal(await tasks.runDue(other.tenantId), 0)
  assert.equal(await tasks.runDue(other.tenantId, { at: later(1.1 * minuteMs) }), 1, 'and every so often')
})

test('a running task sees the next signal, and whether it may delay other tasks', async () => {
  await using hub = await testHub()
  const seen: boolean[] = []
  const busy = Promise.withResolvers<void>()
  const tasks = tasksOf(hub, {
    tidy: {
      periodic: { everyMs: minuteMs, wakeOn: 'dirt' },
      async run({ mayDelayOthers, nextWake }) {
        // The signal causes a second run.
        if (seen.length > 0) return
        const woken = nextWake()
        seen.push(mayDelayOthers())
        tasks.wake(hub.tenant.tenantId, 'sweep')
        await until(mayDelayOthers)
        await hub.context.database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
        await woken
        busy.resolve()
      },
    },
    sweep: { periodic: { everyMs: minuteMs }, run: () => busy.promise },
  })
  tasks.start()
  await until(() => tasks.stats().done >= 2)
  assert.equal(seen[0], false)
  await tasks.stop()
})

test('waits for the minimum pause of a periodic task, even if the tenant has other due tasks', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const done: string[] = []
  const tasks = tasksOf(hub, {
    tidy: {
      periodic: { everyMs: 10 * minuteMs, wakeOn: 'dirt', minPauseMs: minuteMs },
      run: async () => void done.push('tidy'),
    },
    greet: { run: async () => void done.push('greet') },
  })
  tasks.start()
  await until(() => done.length === 1)
  for (let round = 0; round < 3; round++) {
    await database.transaction(hub.tenant, async (tx) => {
      tx.signal('dirt')
      await tasks.enqueue(tx, { kind: 'greet' })
    })
    await until(() => done.length === 2 + round)
  }
  await tasks.stop()
  assert.deepEqual(done, ['tidy', 'greet', 'greet', 'greet'])
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1, 'who asks for everything that is due does not wait')
  assert.equal(done.at(-1), 'tidy')
})

test('runs a periodic task once after its pause for all signals during the pause', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  let dirt = 0
  const seen: number[] = []
  const tasks = tasksOf(
    hub,
    {
      tidy: {
        periodic: { everyMs: 10 * minuteMs, wakeOn: 'dirt', minPauseMs: 2_000 },
        run: async () => void seen.push(dirt),
      },
    },
    { sweepMs: 10 * minuteMs },
  )
  tasks.start()
  await until(() => seen.length === 1)
  for (dirt = 1; dirt < 10; dirt++) await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  await until(() => seen.at(-1) === 10)
  await tasks.stop()
  assert.ok(seen.length < 10, `${seen.length} runs`)
})

test('retries a periodic task without limit, and runs it early when it is woken', async () => {
  await using hub = await testHub()
  let fail = true
  const tasks = tasksOf(hub, {
    tidy: {
      periodic: { everyMs: minuteMs },
      maxAttempts: 1,
      run: async () => {
        if (fail) throw new Error('not today')
      },
    },
  })
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 0)
  fail = false
  tasks.wake(hub.tenant.tenantId, 'tidy')
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 1)
  assert.deepEqual({ ...tasks.stats(), checks: 0 }, { ...tasks.stats(), checks: 0, retried: 1, done: 1, failed: 0 })
})

test('runs a schedule once per due time with several processes, and once for all missed times', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const seen: unknown[] = []
  const kinds: TaskKinds = { scan: { run: async (task) => void seen.push([task.key, task.payload]) } }
  const [one, two] = [tasksOf(hub, kinds), tasksOf(hub, kinds)]
  await database.transaction(hub.tenant, (tx) =>
    one.schedule(tx, { kind: 'scan', key: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', payload: 'all' }),
  )
  const [schedule] = await database.read(hub.tenant, (handle) => one.listSchedules(handle, 'scan'))
  assert.equal(schedule?.nextRuns.length, 5)
  const first = new Date(schedule?.nextRuns[0] ?? '')

  assert.equal(await one.runDue(tenantId), 0)
  const both = await Promise.all([one, two].map((tasks) => tasks.runDue(tenantId, { at: first })))
  assert.equal((both[0] ?? 0) + (both[1] ?? 0), 1)
  const daysLater = new Date(first.getTime() + 5 * 24 * 60 * minuteMs)
  assert.equal(await one.runDue(tenantId, { at: daysLater }), 1, 'five nights were missed')
  assert.equal(await two.runDue(tenantId, { at: daysLater }), 0)
  assert.deepEqual(seen, Array(2).fill(['nightly', 'all']))
})

test('pauses, resumes, replaces and removes a schedule', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const tasks = tasksOf(hub, { scan: { run: async () => {} } })
  const name = { kind: 'scan', key: 'nightly' }
  const change = <Result>(work: (tx: Parameters<typeof tasks.unschedule>[0]) => Promise<Result>) =>
    database.transaction(hub.tenant, work)
  await change((tx) => tasks.schedule(tx, { ...name, cron: '@daily' }))

  assert.equal(await change((tx) => tasks.pause(tx, { ...name, paused: true })), true)
  const tomorrow = later(25 * 60 * minuteMs)
  assert.equal(await tasks.runDue(tenantId, { at: tomorrow }), 0)
  const [paused] = await database.read(hub.tenant, (handle) => tasks.listSchedules(handle))
  assert.deepEqual([paused?.paused, paused?.nextRuns], [true, []])

  await change((tx) => tasks.pause(tx, { ...name, paused: false }))
  assert.equal(await tasks.runDue(tenantId, { at: tomorrow }), 1)
  const halfAYearAway = `0 0 1 ${((new Date().getMonth() + 6) % 12) + 1} *`
  await change((tx) => tasks.schedule(tx, { ...name, cron: halfAYearAway }))
  assert.equal(await tasks.runDue(tenantId, { at: tomorrow }), 0)
  assert.equal(await change((tx) => tasks.unschedule(tx, name)), true)
  assert.equal(await change((tx) => tasks.unschedule(tx, name)), false)
  assert.equal(await change((tx) => tasks.pause(tx, { ...name, paused: true })), false)
})

test('runs committed tasks after the worker starts, and finishes running tasks when it stops', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const seen: unknown[] = []
  const tasks = tasksOf(hub, {
    slow: {
      async run(task) {
        begun.resolve()
        await finish.promise
        seen.push(task.payload)
      },
    },
  })
  tasks.start()
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'slow', payload: 'first' }))
  await begun.promise
  const stopped = tasks.stop()
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'slow', payload: 'second' }))
  finish.resolve()
  await stopped
  assert.deepEqual(seen, ['first'])
  assert.equal(tasks.stats().running, 0)
})

test('does not claim a task that a check finds after the worker has stopped', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const ran: unknown[] = []
  for (let turns = 0; turns < 50; turns++) {
    const kind = `note-${turns}`
    const tasks = tasksOf(hub, { [kind]: { run: async () => void ran.push(kind) } })
    tasks.start()
    // The first check of the worker is at another point in each round.
    for (let turn = 0; turn < turns; turn++) await setImmediate()
    const stopped = tasks.stop()
    await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind }))
    await stopped
  }
  assert.deepEqual(ran, [])
})

test('aborts a task run that does not end within the grace period, without counting the attempt', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const begun = Promise.withResolvers<void>()
  const kinds = (attempts: number[], wait: boolean): TaskKinds => ({
    endless: {
      async run({ attempt, signal }) {
        attempts.push(attempt)
        begun.resolve()
        if (wait) await sleep(1e6, undefined, { signal })
      },
    },
  })
  const attempts: number[] = []
  const tasks = tasksOf(hub, kinds(attempts, true), { graceMs: 100 })
  tasks.start()
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'endless' }))
  await begun.promise
  await tasks.stop()
  await until(() => tasks.stats().running === 0)

  assert.equal(await tasksOf(hub, kinds(attempts, false)).runDue(hub.tenant.tenantId), 1)
  assert.deepEqual(attempts, [1, 1])
})

test('pauses between polls for tasks while the database is unreachable, and stops without delay', async () => {
  const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nowhere' }
  const server = { binding: 'session', pooled: false, citus: false, version: 18 } as const
  const database = new Database({ address, server, connections: 2 })
  const tasks = new Tasks({ database, log: createLog({ level: 'silent' }), debounceMs: 0 })
  tasks.define({ tidy: { periodic: { everyMs: minuteMs }, run: async () => {} } })
  const tenants = Array.from({ length: 100 }, () => v7())
  tasks.start()
  for (const tenantId of tenants) tasks.wake(tenantId, 'tidy')
  await until(() => tasks.stats().checks > 0)
  for (let turn = 0; turn < 1_000; turn++) await setImmediate()
  assert.ok(tasks.stats().checks < 10, `${tasks.stats().checks} looks`)
  await tasks.stop()
  await database.close()
})

test('runs a woken task before the due tasks that the check of all tenants found', async () => {
  await using hub = await testHub()
  for (let count = 0; count < 40; count++) await hub.anotherTenant()
  const others: string[] = []
  const woken: string[] = []
  const slow = async ({ tenantId }: Task) => {
    await sleep(30)
    others.push(tenantId)
  }
  const tasks = tasksOf(hub, {
    'tidy-1': { periodic: { everyMs: minuteMs }, run: slow },
    'tidy-2': { periodic: { everyMs: minuteMs }, run: slow },
    'tidy-3': { periodic: { everyMs: minuteMs }, run: slow },
    urgent: { periodic: { everyMs: minuteMs }, run: async ({ tenantId }) => void woken.push(tenantId) },
  })
  assert.equal(await tasks.runDue(hub.tenant.tenantId), 4)
  tasks.start()
  // The check has found more due tasks than it can run.
  await until(() => others.length > 20)
  const before = others.length
  tasks.wake(hub.tenant.tenantId, 'urgent')
  await until(() => woken.filter((tenantId) => tenantId === hub.tenant.tenantId).length === 2)
  assert.ok(others.length - before < 20, `${others.length - before} tasks of other tenants ran first`)
  // Tenants that wait for a place are not checked after each run.
  const { checks, done } = tasks.stats()
  assert.ok(checks < 3 * done, `${checks} checks for ${done} tasks`)
  await tasks.stop()
})

test('runs a woken task whose place became free during the check of its tenant', async () => {
  await using hub = await testHub()
  const { tenantId: other } = await hub.anotherTenant()
  const { tenantId } = hub.tenant
  const gate = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  let isGated = false
  const reads: string[] = []
  // Delays the reads of one tenant, so that a run of the other tenant ends during its check.
  const database = new Proxy(hub.context.database, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'read') return value.bind(target)
      return async (scope: { tenantId: string }, work: Parameters<Database['read']>[1]) => {
        const result = await target.read(scope, work)
        if (isGated && scope.tenantId === tenantId) {
          reads.push(tenantId)
          await gate.promise
        }
        return result
      }
    },
  })
  const runs: string[] = []
  const tasks = tasksOf(
    hub,
    {
      hold: { periodic: { everyMs: minuteMs }, run: () => (isGated ? end.promise : Promise.resolve()) },
      tidy: { periodic: { everyMs: minuteMs }, run: async (task) => void runs.push(task.tenantId) },
      note: { run: async () => {} },
    },
    { database, periodicConcurrency: 1, sweepMs: 60 * minuteMs },
  )
  for (const id of [tenantId, other]) assert.equal(await tasks.runDue(id), 2)
  tasks.start()
  await until(() => tasks.stats().sweeps === 1 && tasks.stats().queuedTenants === 0)
  isGated = true
  tasks.wake(other, 'hold')
  await until(() => tasks.stats().running === 1)
  await hub.context.database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'note' }))
  await until(() => reads.length === 1)
  tasks.wake(tenantId, 'tidy')
  end.resolve()
  await until(() => tasks.stats().running === 0)
  gate.resolve()
  await until(() => runs.filter((id) => id === tenantId).length === 2)
  await tasks.stop()
})

test('throws when a task kind is defined twice, or when a task that is not periodic is woken', async () => {
  await using hub = await testHub()
  const tasks = tasksOf(hub, { scan: { run: async () => {} } })
  assert.throws(() => tasks.define({ scan: { run: async () => {} } }), /defined twice/)
  assert.throws(() => tasks.wake(hub.tenant.tenantId, 'scan'), /not a periodic task/)
})

test('claims woken tasks without a search for due tasks, and searches when the pause of a task ends', async () => {
  await using hub = await testHub()
  let often = 0
  let woken = 0
  const tasks = tasksOf(
    hub,
    {
      often: { periodic: { everyMs: 300 }, run: async () => void often++ },
      tidy: { periodic: { everyMs: minuteMs }, run: async () => void woken++ },
    },
    { sweepMs: 60 * minuteMs },
  )
  const { tenantId } = hub.tenant
  await tasks.runDue(tenantId)
  tasks.start()
  for (let turn = 2; turn < 30; turn++) {
    tasks.wake(tenantId, 'tidy')
    await until(() => woken === turn)
  }
  await until(() => often > 3)
  const { searches, checks } = tasks.stats()
  // A search that comes a little early is repeated.
  assert.ok(searches <= 2 * (often + 1), `${searches} searches for ${often} runs after a pause`)
  assert.ok(checks >= 28, `${checks} checks`)
  await tasks.stop()
})

test('a task that is woken while it runs in another process runs again without a sweep', async () => {
  await using hub = await testHub()
  const { tenantId } = hub.tenant
  const gate = Promise.withResolvers<void>()
  let runs = 0
  let isGated = false
  const run = () => {
    runs++
    return isGated ? gate.promise : Promise.resolve()
  }
  const kinds: TaskKinds = { tidy: { periodic: { everyMs: 60 * minuteMs }, leaseMs: 60 * minuteMs, run } }
  const processes = [1, 2].map(() => tasksOf(hub, kinds, { sweepMs: 60 * minuteMs }))
  const [first = assert.fail(), second = assert.fail()] = processes
  for (const tasks of processes) {
    await tasks.runDue(tenantId)
    tasks.start()
  }
  await until(() => processes.every((tasks) => tasks.stats().sweeps === 1 && tasks.stats().queuedTenants === 0))
  isGated = true
  const before = runs
  first.wake(tenantId, 'tidy')
  await until(() => first.stats().running === 1)
  const { checks } = second.stats()
  second.wake(tenantId, 'tidy')
  await until(() => second.stats().checks > checks + 1)
  gate.resolve()
  await until(() => runs === before + 2)
  await Promise.all(processes.map((tasks) => tasks.stop()))
})

test('searches for due tasks in the next check after a search that failed', async () => {
  await using hub = await testHub()
  let mustFail = false
  const database = new Proxy(hub.context.database, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      if (name !== 'read') return value.bind(target)
      return (scope: { tenantId: string }, work: Parameters<Database['read']>[1]) => {
        if (!mustFail || scope.tenantId !== hub.tenant.tenantId) return target.read(scope, work)
        mustFail = false
        return Promise.reject(new Error('The search fails'))
      }
    },
  })
  const notes: string[] = []
  const tasks = tasksOf(
    hub,
    {
      tidy: { periodic: { everyMs: 60 * minuteMs }, run: async () => {} },
      note: { run: async ({ id }) => void notes.push(id) },
    },
    { database, sweepMs: 60 * minuteMs },
  )
  await tasks.runDue(hub.tenant.tenantId)
  tasks.start()
  await until(() => tasks.stats().sweeps === 1 && tasks.stats().queuedTenants === 0)
  mustFail = true
  await hub.context.database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'note' }))
  await until(() => !mustFail)
  tasks.wake(hub.tenant.tenantId, 'tidy')
  await until(() => notes.length === 1)
  await tasks.stop()
})
