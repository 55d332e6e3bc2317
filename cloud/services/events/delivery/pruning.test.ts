import assert from 'node:assert/strict'
import { test } from 'node:test'
import { idsAt, newId } from '../../../platform/database/id.ts'
import { testHub } from '../../../platform/testing/hub.ts'
import { createWebhook, until } from './testing.ts'

const dayMs = 24 * 60 * 60 * 1_000

test('deletes old deliveries and the log of deleted webhooks, and keeps events that wait for a retry', async () => {
  await using hub = await testHub({ ownProcesses: true, outboundAllow: ['127.0.0.1'] })
  const admin = await hub.as('administrator')
  const id = await createWebhook(admin, 'http://127.0.0.1:9/', { active: false })
  const { tenantId } = hub.tenant
  const add = (subscriptionId: string, row: { days: number; state: string; isDead?: boolean }) =>
    hub.asOwner((owner) =>
      owner.query(
        `insert into event_deliveries (tenant_id, id, subscription_id, event_id, position, type, subject, state,
           is_dead_letter, message_id, attempt_count, attempts, created_at)
         values ($1, $2, $3, $4, 1, 'test.thing.changed', 'thing/1', $5, $6, '', 1, '[]', now())`,
        [tenantId, idsAt(Date.now() - row.days * dayMs, 1)[0], subscriptionId, newId(), row.state, row.isDead ?? false],
      ),
    )
  await add(id, { days: 8, state: 'succeeded' })
  await add(id, { days: 8, state: 'skipped' })
  await add(id, { days: 6, state: 'succeeded' })
  await add(id, { days: 20, state: 'failed' })
  await add(id, { days: 29, state: 'failed', isDead: true })
  await add(id, { days: 31, state: 'failed', isDead: true })
  for (let row = 0; row < 3; row++) await add(newId(), { days: row, state: 'waiting' })

  const remaining = () =>
    hub.asOwner(async (owner) => {
      const { rows } = await owner.query<{ state: string }>(
        'select state, is_dead_letter, subscription_id = $2 as own from event_deliveries where tenant_id = $1 order by id',
        [tenantId, id],
      )
      return rows
    })
  await hub.contextOf('events').tasks.runDue(tenantId, { at: new Date(Date.now() + 120_000) })
  await until(async () => (await remaining()).length === 3, 'the old rows are deleted')
  assert.deepEqual(await remaining(), [
    { state: 'failed', is_dead_letter: true, own: true },
    { state: 'failed', is_dead_letter: false, own: true },
    { state: 'succeeded', is_dead_letter: false, own: true },
  ])
})
