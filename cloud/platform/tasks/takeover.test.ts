import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 } from 'uuid'
import { statement } from '../database/statement.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { takeoverMs } from './task.ts'
import { type TaskKinds, Tasks } from './tasks.ts'

const tenantCount = 60

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 120_000
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `not in time: ${what}`)
    await sleep(5)
  }
}

/** Creates tenants. Returns the ids of all tenants of the hub. */
async function createTenants(hub: TestHub): Promise<string[]> {
  const ids = [hub.tenant.tenantId]
  for (let number = 0; number < tenantCount; number++) ids.push((await hub.anotherTenant()).tenantId)
  return ids
}

const anyLeft = statement(`select id from jobs where tenant_id = $1 and kind = 'left' limit 1`)
const deleteLeft = statement(`delete from jobs where tenant_id = $1 and kind = 'left'`)

test('takes over tasks, periodic work and expired leases of all tenants after the end of a process, without a sweep', async () => {
  await using hub = await testHub({ own: true })
  const { database, log } = hub.context
  const tenants = await createTenants(hub)
  const ran: string[] = []
  let running = 0
  let mostRunning = 0
  const record = async (name: string) => {
    running += 1
    mostRunning = Math.max(mostRunning, running)
    await sleep(1)
    ran.push(name)
    running -= 1
  }
  const kinds: TaskKinds = {
    scan: { run: async ({ tenantId, key }) => record(`${key} ${tenantId}`) },
    relay: {
      // Without a takeover, this worker checks for pending work after four seconds at the earliest.
      periodic: { everyMs: takeoverMs, pending: anyLeft },
      run: async ({ tenantId }) => {
        await database.transaction({ tenantId }, (tx) => tx.run(deleteLeft))
        await record(`relay ${tenantId}`)
      },
    },
  }
  const tasks = new Tasks({ database, log, debounceMs: 0, sweepMs: 600_000 })
  tasks.define(kinds)
  tasks.start()
  await until('the worker has checked all tenants', () => {
    const { checks, queuedTenants } = tasks.stats()
    return checks >= tenants.length && queuedTenants === 0
  })
  // Another process committed this work, and ended before it started the work.
  await hub.asOwner(async (owner) => {
    const insert = `insert into jobs (tenant_id, id, kind, key, run_at, state, lease_id, lease_until)
                    values ($1, $2, $3, $4, now(), $5, $6, now() + interval '1 second')`
    for (const tenantId of tenants) {
      await owner.query(insert, [tenantId, v7(), 'scan', 'waiting', 'waiting', null])
      await owner.query(insert, [tenantId, v7(), 'scan', 'leased', 'running', v7()])
      await owner.query(insert, [tenantId, v7(), 'left', '', 'waiting', null])
    }
  })
  assert.deepEqual(ran, [])
  tasks.takeOver()
  const expected = tenants.flatMap((id) => [`waiting ${id}`, `leased ${id}`, `relay ${id}`])
  await until('all work is done', () => ran.length >= expected.length)
  assert.deepEqual(ran.toSorted(), expected.toSorted())
  // Four ordinary and two periodic tasks can run at the same time.
  assert.ok(mostRunning <= 6, `${mostRunning} tasks ran at the same time`)
  await tasks.stop()
})

test('a process that stops makes the other processes take over its work', async () => {
  await using hub = await testHub({ ownProcesses: true })
  const { tasks, sharedCounts } = hub.context
  {
    await using sibling = await hub.sibling()
    const limit = sibling.context.sharedCounts.join('takeover', { onChange: () => {} })
    let isHeard = false
    sharedCounts.join('takeover', {
      onChange: () => {
        isHeard = true
      },
    })
    // Both processes receive notifications when a count of one process arrives at the other one.
    await until('the processes are connected', () => {
      limit.add('key', 1)
      return isHeard
    })
    assert.equal(tasks.stats().takeovers, 0)
  }
  await until('the process takes over', () => tasks.stats().takeovers > 0)
})

test('many notifications of ended processes cause one takeover per second', async () => {
  await using hub = await testHub({ own: true })
  const { database, log } = hub.context
  const tasks = new Tasks({ database, log, debounceMs: 0, sweepMs: 600_000 })
  tasks.start()
  const startedAt = performance.now()
  for (let number = 0; number < 10_000; number++) tasks.takeOver()
  await until('the process takes over', () => tasks.stats().takeovers > 0)
  tasks.takeOver()
  await until('the process takes over again', () => tasks.stats().takeovers > 1)
  assert.ok(performance.now() - startedAt >= 1_000)
  assert.equal(tasks.stats().takeovers, 2)
  tasks.takeOver()
  await tasks.stop()
  tasks.start()
  tasks.takeOver()
  await until('the process takes over after its next start', () => tasks.stats().takeovers > 2)
  await tasks.stop()
})
