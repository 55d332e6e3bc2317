import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { v7 } from 'uuid'
import { Database } from '../database/database.ts'
import { statement } from '../database/statement.ts'
import { emit } from '../events/events.ts'
import { createLog } from '../log.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { type Job, type JobKinds, Jobs, LeaseLost } from './jobs.ts'

const minuteMs = 60_000

function later(ms: number): Date {
  return new Date(Date.now() + ms)
}

/** Jobs of a test: kinds that the hub's own worker does not know, so nobody else runs them. */
function jobsOf(hub: TestHub, kinds: JobKinds, options: { sweepMs?: number; graceMs?: number } = {}): Jobs {
  const { database, log } = hub.context
  const jobs = new Jobs({ database, log, debounceMs: 0, ...options })
  jobs.define(kinds)
  return jobs
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

test('a job runs once its transaction is committed, and never when it is rolled back', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const jobs = jobsOf(hub, { greet: { run: async (job) => void seen.push(job.payload) } })
  const { database } = hub.context

  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'greet', payload: { name: 'pump' } }))
  await assert.rejects(
    database.transaction(hub.tenant, async (tx) => {
      await jobs.enqueue(tx, { kind: 'greet', payload: { name: 'ghost' } })
      throw new Error('changed my mind')
    }),
  )

  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 0)
  assert.deepEqual(seen, [{ name: 'pump' }])
})

test('stating a waiting job again brings it forward and replaces its payload', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const jobs = jobsOf(hub, { scan: { run: async (job) => void seen.push([job.key, job.payload]) } })
  const { database } = hub.context
  const state = (payload: string, runAt?: Date) =>
    database.transaction(hub.tenant, (tx) =>
      jobs.enqueue(tx, { kind: 'scan', key: 'line-1', payload, ...(runAt && { runAt }) }),
    )

  const first = await state('old', later(minuteMs))
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 0)
  assert.equal(await state('new'), first)
  assert.equal(await state('newest', later(2 * minuteMs)), first)

  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.deepEqual(seen, [['line-1', 'newest']])
})

test('of several jobs with one key in one statement the last counts; without keys all do', async () => {
  await using hub = await testHub()
  const seen: unknown[] = []
  const jobs = jobsOf(hub, { scan: { run: async (job) => void seen.push(job.payload) } })
  await hub.context.database.transaction(hub.tenant, async (tx) => {
    await jobs.enqueueAll(tx, [
      { kind: 'scan', key: 'same', payload: 1 },
      { kind: 'scan', key: 'same', payload: 2 },
    ])
    await jobs.enqueueAll(tx, [
      { kind: 'scan', payload: 3 },
      { kind: 'scan', payload: 3 },
    ])
  })
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 3)
  assert.deepEqual(seen.toSorted(), [2, 3, 3])
})

test('what is stated while the same job runs waits for its end and then runs', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const runs: string[] = []
  const kinds: JobKinds = {
    scan: {
      async run(job) {
        runs.push(`begin ${job.payload}`)
        if (job.payload === 'first') {
          await database.transaction(job, (tx) => jobs.enqueue(tx, { kind: 'scan', key: 'line-1', payload: 'second' }))
          assert.equal(await other.runDue(job.tenantId), 0, 'another process must not run it beside')
        }
        runs.push(`end ${job.payload}`)
      },
    },
  }
  const jobs = jobsOf(hub, kinds)
  const other = jobsOf(hub, kinds)
  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'scan', key: 'line-1', payload: 'first' }))
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 2)
  assert.deepEqual(runs, ['begin first', 'end first', 'begin second', 'end second'])
})

test('a job that fails is tried again later and later, then stays as failed with its last error', async () => {
  await using hub = await testHub()
  const attempts: number[] = []
  const jobs = jobsOf(hub, {
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
  const id = await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'fragile' }))

  assert.equal(await jobs.runDue(tenantId), 1)
  assert.equal(await jobs.runDue(tenantId), 0, 'it waits before the second attempt')
  assert.equal(await jobs.runDue(tenantId, { at: later(1.5 * minuteMs) }), 1)
  assert.equal(await jobs.runDue(tenantId, { at: later(1.5 * minuteMs) }), 0, 'and longer before the third')
  assert.equal(await jobs.runDue(tenantId, { at: later(10 * minuteMs) }), 1)
  assert.equal(await jobs.runDue(tenantId, { at: later(1e9) }), 0)

  assert.deepEqual(attempts, [1, 2, 3])
  const [failed] = await database.read(hub.tenant, (handle) => jobs.list(handle, { kind: 'fragile', state: 'failed' }))
  assert.equal(failed?.id, id)
  assert.equal(failed?.lastError, 'attempt 3 went wrong')

  assert.equal(await database.transaction(hub.tenant, (tx) => jobs.retry(tx, id)), true)
  assert.equal(await jobs.runDue(tenantId), 1)
  assert.deepEqual(attempts, [1, 2, 3, 1])
})

test('a job that fails because of the state of the database server loses no attempt', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const attempts: number[] = []
  const states = ['53100', '53200', '53300', '25006', '58030', '57P03']
  const jobs = jobsOf(hub, {
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
  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'patient' }))
  assert.equal(await jobs.runDue(hub.tenant.tenantId, { at: later(minuteMs) }), states.length + 1)
  assert.deepEqual(
    attempts,
    [...states, 'done'].map(() => 1),
    'each run is the first attempt',
  )
  assert.deepEqual(await database.read(hub.tenant, (handle) => jobs.list(handle, { kind: 'patient' })), [])
})

test('the effect of a worker that lost its lease is rolled back', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const effect = (job: Job, who: string) =>
    database.transaction(job, async (tx) => {
      await emit(tx, { type: 'test', subject: who, data: {} })
      await job.complete(tx)
    })
  const quick = jobsOf(hub, { pay: { run: (job) => effect(job, 'quick') } })
  let slowError: unknown
  const slow = jobsOf(hub, {
    pay: {
      async run(job) {
        await expireLeases(hub, 'pay')
        assert.equal(await quick.runDue(job.tenantId), 1)
        slowError = await effect(job, 'slow').catch((error) => error)
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

test('a job that was completed with its effect is not run again, whatever happens afterwards', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const jobs = jobsOf(hub, {
    pay: {
      async run(job) {
        await database.transaction(job, async (tx) => {
          await emit(tx, { type: 'test', subject: 'paid', data: {} })
          await job.complete(tx)
        })
        throw new Error('after the fact')
      },
    },
    again: {
      async run(job) {
        await database
          .transaction(job, async (tx) => {
            await job.complete(tx)
            throw new Error('rolled back')
          })
          .catch(() => {})
      },
    },
  })
  await database.transaction(hub.tenant, (tx) => jobs.enqueueAll(tx, [{ kind: 'pay' }, { kind: 'again' }]))
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 2)
  assert.equal(await jobs.runDue(hub.tenant.tenantId, { at: later(1e9) }), 0)
  assert.deepEqual(await subjects(hub), ['paid'])
  assert.equal(jobs.stats().done, 2)
})

test('several processes run each of two hundred jobs exactly once', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const kinds: JobKinds = {
    count: {
      run: (job) =>
        database.transaction(job, async (tx) => {
          await emit(tx, { type: 'test', subject: String(job.payload), data: {} })
          await job.complete(tx)
        }),
    },
  }
  const processes = [1, 2, 3].map(() => jobsOf(hub, kinds, { sweepMs: 50 }))
  const payloads = Array.from({ length: 200 }, (_, index) => index)
  await database.transaction(hub.tenant, (tx) =>
    new Jobs({ database, log: hub.context.log }).enqueueAll(
      tx,
      payloads.map((payload) => ({ kind: 'count', payload })),
    ),
  )
  for (const jobs of processes) jobs.start()
  await until(async () => processes.reduce((sum, jobs) => sum + jobs.stats().done, 0) >= 200)
  await Promise.all(processes.map((jobs) => jobs.stop()))

  const done = (await subjects(hub)).map(Number)
  assert.deepEqual(
    done.toSorted((a, b) => a - b),
    payloads,
  )
})

test('a lease is renewed for as long as its job runs', async () => {
  await using hub = await testHub()
  const leaseUntil = async () =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query<{ at: string }>(
        `select lease_until as at from jobs where tenant_id = $1 and kind = 'long'`,
        [hub.tenant.tenantId],
      )
      return rows[0]?.at ?? ''
    })
  const jobs = jobsOf(hub, {
    long: {
      // Long enough for a machine that stands still for a while, which would lose it.
      leaseMs: 3_000,
      async run({ signal }) {
        const first = await leaseUntil()
        await until(async () => (await leaseUntil()) > first)
        assert.equal(signal.aborted, false)
      },
    },
  })
  await hub.context.database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'long' }))
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.equal(jobs.stats().done, 1)
})

test('a handler learns by its signal that its lease was taken away', async () => {
  await using hub = await testHub()
  const jobs = jobsOf(hub, {
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
  await hub.context.database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'long' }))
  await jobs.runDue(hub.tenant.tenantId)
  assert.equal(jobs.stats().lost, 1)
})

test('the job of a worker that died is offered again, but not for ever', async () => {
  await using hub = await testHub()
  const attempts: number[] = []
  const jobs = jobsOf(hub, {
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
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 2)
  assert.deepEqual(attempts, [2])
  const failed = await hub.context.database.read(hub.tenant, (handle) => jobs.list(handle, { kind: 'deadly' }))
  assert.deepEqual(
    failed.map(({ key, state, lastError }) => ({ key, state, lastError })),
    [{ key: 'died-2', state: 'failed', lastError: 'The worker died while it ran' }],
  )
})

test('every tenant has its standing jobs; many signals are one run', async () => {
  await using hub = await testHub()
  const other = await hub.anotherTenant()
  const runs: string[] = []
  const jobs = jobsOf(hub, {
    tidy: { standing: { everyMs: minuteMs, wakeOn: 'dirt' }, run: async (job) => void runs.push(job.tenantId) },
  })
  const { database } = hub.context
  await jobs.runDue(hub.tenant.tenantId)
  await jobs.runDue(other.tenantId)
  assert.deepEqual(runs, [hub.tenant.tenantId, other.tenantId], 'once at the start')

  for (let i = 0; i < 5; i++) await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 0)
  assert.equal(await jobs.runDue(other.tenantId), 0)
  assert.equal(await jobs.runDue(other.tenantId, { at: later(1.1 * minuteMs) }), 1, 'and every so often')
})

test('a standing job that rests between its runs is not taken before, whatever else the tenant has to do', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const done: string[] = []
  const jobs = jobsOf(hub, {
    tidy: {
      standing: { everyMs: 10 * minuteMs, wakeOn: 'dirt', restMs: minuteMs },
      run: async () => void done.push('tidy'),
    },
    greet: { run: async () => void done.push('greet') },
  })
  jobs.start()
  await until(() => done.length === 1)
  for (let round = 0; round < 3; round++) {
    await database.transaction(hub.tenant, async (tx) => {
      tx.signal('dirt')
      await jobs.enqueue(tx, { kind: 'greet' })
    })
    await until(() => done.length === 2 + round)
  }
  await jobs.stop()
  assert.deepEqual(done, ['tidy', 'greet', 'greet', 'greet'])
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1, 'who asks for everything that is due does not wait')
  assert.equal(done.at(-1), 'tidy')
})

test('what was signalled during a rest is done after it, by one run', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  let dirt = 0
  const seen: number[] = []
  const jobs = jobsOf(
    hub,
    {
      tidy: {
        standing: { everyMs: 10 * minuteMs, wakeOn: 'dirt', restMs: 200 },
        run: async () => void seen.push(dirt),
      },
    },
    { sweepMs: 10 * minuteMs },
  )
  jobs.start()
  await until(() => seen.length === 1)
  for (dirt = 1; dirt < 10; dirt++) await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  await database.transaction(hub.tenant, async (tx) => tx.signal('dirt'))
  await until(() => seen.at(-1) === 10)
  await jobs.stop()
  assert.ok(seen.length < 10, `${seen.length} runs`)
})

test('a standing job never gives up, and a wake reaches it while it waits for its next attempt', async () => {
  await using hub = await testHub()
  let fail = true
  const jobs = jobsOf(hub, {
    tidy: {
      standing: { everyMs: minuteMs },
      maxAttempts: 1,
      run: async () => {
        if (fail) throw new Error('not today')
      },
    },
  })
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 0)
  fail = false
  jobs.wake(hub.tenant.tenantId, 'tidy')
  assert.equal(await jobs.runDue(hub.tenant.tenantId), 1)
  assert.deepEqual({ ...jobs.stats(), looks: 0 }, { ...jobs.stats(), looks: 0, retried: 1, done: 1, failed: 0 })
})

test('a schedule makes one run per time, whoever looks first, and one for all it missed', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const seen: unknown[] = []
  const kinds: JobKinds = { scan: { run: async (job) => void seen.push([job.key, job.payload]) } }
  const [one, two] = [jobsOf(hub, kinds), jobsOf(hub, kinds)]
  await database.transaction(hub.tenant, (tx) =>
    one.schedule(tx, { kind: 'scan', key: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', payload: 'all' }),
  )
  const [schedule] = await database.read(hub.tenant, (handle) => one.listSchedules(handle, 'scan'))
  assert.equal(schedule?.nextRuns.length, 5)
  const first = new Date(schedule?.nextRuns[0] ?? '')

  assert.equal(await one.runDue(tenantId), 0)
  const both = await Promise.all([one, two].map((jobs) => jobs.runDue(tenantId, { at: first })))
  assert.equal((both[0] ?? 0) + (both[1] ?? 0), 1)
  const daysLater = new Date(first.getTime() + 5 * 24 * 60 * minuteMs)
  assert.equal(await one.runDue(tenantId, { at: daysLater }), 1, 'five nights were missed')
  assert.equal(await two.runDue(tenantId, { at: daysLater }), 0)
  assert.deepEqual(seen, Array(2).fill(['nightly', 'all']))
})

test('a schedule can be paused, resumed, replaced and removed', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const { tenantId } = hub.tenant
  const jobs = jobsOf(hub, { scan: { run: async () => {} } })
  const name = { kind: 'scan', key: 'nightly' }
  const change = <Result>(work: (tx: Parameters<typeof jobs.unschedule>[0]) => Promise<Result>) =>
    database.transaction(hub.tenant, work)
  await change((tx) => jobs.schedule(tx, { ...name, cron: '@daily' }))

  assert.equal(await change((tx) => jobs.pause(tx, { ...name, paused: true })), true)
  const tomorrow = later(25 * 60 * minuteMs)
  assert.equal(await jobs.runDue(tenantId, { at: tomorrow }), 0)
  const [paused] = await database.read(hub.tenant, (handle) => jobs.listSchedules(handle))
  assert.deepEqual([paused?.paused, paused?.nextRuns], [true, []])

  await change((tx) => jobs.pause(tx, { ...name, paused: false }))
  assert.equal(await jobs.runDue(tenantId, { at: tomorrow }), 1)
  const halfAYearAway = `0 0 1 ${((new Date().getMonth() + 6) % 12) + 1} *`
  await change((tx) => jobs.schedule(tx, { ...name, cron: halfAYearAway }))
  assert.equal(await jobs.runDue(tenantId, { at: tomorrow }), 0)
  assert.equal(await change((tx) => jobs.unschedule(tx, name)), true)
  assert.equal(await change((tx) => jobs.unschedule(tx, name)), false)
  assert.equal(await change((tx) => jobs.pause(tx, { ...name, paused: true })), false)
})

test('a started worker takes up what is committed, and a stopped one finishes what runs', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const begun = Promise.withResolvers<void>()
  const finish = Promise.withResolvers<void>()
  const seen: unknown[] = []
  const jobs = jobsOf(hub, {
    slow: {
      async run(job) {
        begun.resolve()
        await finish.promise
        seen.push(job.payload)
      },
    },
  })
  jobs.start()
  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'slow', payload: 'first' }))
  await begun.promise
  const stopped = jobs.stop()
  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'slow', payload: 'second' }))
  finish.resolve()
  await stopped
  assert.deepEqual(seen, ['first'])
  assert.equal(jobs.stats().running, 0)
})

test('what does not end in time is asked to stop and loses no attempt', async () => {
  await using hub = await testHub()
  const { database } = hub.context
  const begun = Promise.withResolvers<void>()
  const kinds = (attempts: number[], wait: boolean): JobKinds => ({
    endless: {
      async run({ attempt, signal }) {
        attempts.push(attempt)
        begun.resolve()
        if (wait) await sleep(1e6, undefined, { signal })
      },
    },
  })
  const attempts: number[] = []
  const jobs = jobsOf(hub, kinds(attempts, true), { graceMs: 100 })
  jobs.start()
  await database.transaction(hub.tenant, (tx) => jobs.enqueue(tx, { kind: 'endless' }))
  await begun.promise
  await jobs.stop()
  await until(() => jobs.stats().running === 0)

  assert.equal(await jobsOf(hub, kinds(attempts, false)).runDue(hub.tenant.tenantId), 1)
  assert.deepEqual(attempts, [1, 1])
})

test('a database that is gone is not asked in a circle, and does not hold up the end', async () => {
  const address = { host: '127.0.0.1', port: 1, user: 'nobody', database: 'nowhere' }
  const server = { binding: 'session', pooled: false, citus: false, version: 18 } as const
  const database = new Database({ address, server, connections: 2 })
  const jobs = new Jobs({ database, log: createLog({ level: 'silent' }), debounceMs: 0 })
  jobs.define({ tidy: { standing: { everyMs: minuteMs }, run: async () => {} } })
  const tenants = Array.from({ length: 100 }, () => v7())
  jobs.start()
  for (const tenantId of tenants) jobs.wake(tenantId, 'tidy')
  await until(() => jobs.stats().looks > 0)
  for (let turn = 0; turn < 1_000; turn++) await setImmediate()
  assert.ok(jobs.stats().looks < 10, `${jobs.stats().looks} looks`)
  await jobs.stop()
  await database.close()
})

test('a kind that is defined twice and a wake of what does not stand are mistakes', async () => {
  await using hub = await testHub()
  const jobs = jobsOf(hub, { scan: { run: async () => {} } })
  assert.throws(() => jobs.define({ scan: { run: async () => {} } }), /defined twice/)
  assert.throws(() => jobs.wake(hub.tenant.tenantId, 'scan'), /no standing job/)
})
