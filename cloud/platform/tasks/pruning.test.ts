import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v7 } from 'uuid'
import { lowestIdAt } from '../database/id.ts'
import { testHub } from '../testing/hub.ts'
import { pruningTasks } from './pruning.ts'
import { Tasks } from './tasks.ts'

const dayMs = 24 * 3_600_000

test('deletes responses stored for an Idempotency-Key after a day, and failed tasks after 30 days', async () => {
  await using hub = await testHub()
  const { database, log } = hub.context
  const { tenantId } = hub.tenant
  const rows = (text: string, values: unknown[] = []) =>
    hub.asOwner(async (owner) => (await owner.query(text, [tenantId, ...values])).rows)
  for (const [key, age] of [
    ['old', '25 hours'],
    ['new', '23 hours'],
  ]) {
    await rows(
      `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status, created_at)
       values ($1, $2, $3, '', 200, now() - $4::interval)`,
      [v7(), key, age],
    )
  }
  for (const [key, days] of [
    ['ancient', 31],
    ['recent', 29],
  ] as const) {
    await rows(
      `insert into jobs (tenant_id, id, kind, key, state, run_at) values ($1, $2, 'unknown', $3, 'failed', now())`,
      [lowestIdAt(Date.now() - days * dayMs), key],
    )
  }

  const tasks = new Tasks({ database, log })
  tasks.define(pruningTasks({ database }))
  await tasks.runDue(tenantId)

  assert.deepEqual(await rows('select key from idempotent_requests where tenant_id = $1'), [{ key: 'new' }])
  assert.deepEqual(await rows(`select key from jobs where tenant_id = $1 and state = 'failed'`), [{ key: 'recent' }])
})
