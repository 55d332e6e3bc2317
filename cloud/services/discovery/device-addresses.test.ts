import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../platform/database/id.ts'
import { testHub } from '../../platform/testing/hub.ts'

test('deletes addresses at which no device was found for 400 days', async () => {
  await using hub = await testHub()
  const { tenantId } = hub.tenant
  const insert = (address: string, days: number) =>
    hub.asOwner((owner) =>
      owner.query(`insert into device_addresses values ($1, $2, $3, 'link', $4, $5, $5)`, [
        tenantId,
        newId(),
        newId(),
        address,
        new Date(Date.now() - days * 86_400_000),
      ]),
    )
  await insert('10.0.0.1', 401)
  await insert('10.0.0.2', 399)
  await hub.contextOf('discovery').tasks.runDue(tenantId, { at: new Date(Date.now() + 2 * 86_400_000) })
  const { rows } = await hub.asOwner((owner) =>
    owner.query('select address from device_addresses where tenant_id = $1', [tenantId]),
  )
  assert.deepEqual(rows, [{ address: '10.0.0.2' }])
})
