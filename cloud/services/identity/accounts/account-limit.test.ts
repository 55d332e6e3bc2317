import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, Browser, person, rightPassword, standStill, wrongPassword } from '../testing.ts'
import { Guard } from './guard.ts'

test('wrong passwords of one account are limited over all addresses and processes, but never for good', async (t) => {
  standStill(t)
  await using hub = await testHub()
  await using elsewhere = await hub.sibling()
  const jane = await person(hub, 'jane.doe')
  const browsers = await Promise.all(
    [hub, elsewhere].map(async (process) => {
      const browser = new Browser(process)
      return { browser, page: await browser.open(authorizePath(process)) }
    }),
  )
  let addresses = 0
  const guess = async (name: string, password: string, from = `10.20.${addresses++}.1`) => {
    const { browser, page } = browsers[addresses % 2] as (typeof browsers)[number]
    return browser.submit(page, { name, password, from })
  }
  assert.equal((await guess(jane.signInName, rightPassword, '10.30.0.1')).status, 303)

  for (const name of [jane.signInName, `no.such.person@${hub.tenant.name}`]) {
    const statuses: number[] = []
    for (let count = 0; count < 11; count++) statuses.push((await guess(name, wrongPassword)).status)
    assert.deepEqual(statuses, Array(11).fill(401), name)
    for (let count = 0; count < 3; count++) {
      const limited = await guess(name, rightPassword)
      assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '1'], name)
    }
  }
  // A network where the person has signed in before is exempt.
  assert.equal((await guess(jane.signInName, rightPassword, '10.30.0.1')).status, 303)
  // The wait is over. The clock of this process stays: ids of later tests would be ahead of their time.
  await hub.asOwner((owner) =>
    owner.query(`update sign_in_failures set last_at = last_at - interval '61 seconds' where tenant_id = $1`, [
      hub.tenant.tenantId,
    ]),
  )
  assert.equal((await guess(jane.signInName, rightPassword)).status, 303)
  await assertAllRecorded(hub, jane.id)
})

async function assertAllRecorded(hub: TestHub, id: string): Promise<void> {
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.signIn', outcome: 'denied' } })
  assert.equal(data.filter(({ principal }) => principal === id).length, 11)
  assert.equal(
    data.filter(({ principal, principalName }) => principal === null && principalName === 'unknown').length,
    11,
  )
}

test('a password that was not checked does not count as wrong, and accounts share a limited number of counters', async () => {
  await using hub = await testHub()
  const guard = new Guard(hub.contextOf('identity'))
  const { tenantId } = hub.tenant
  const attempt = { subject: 'user jane.doe', address: '10.40.0.1' }
  const what = { attempt, action: 'identity.signIn', requestId: 'request', tenantId }
  const overloaded = new Problem('overloaded', 'Too many people sign in right now')
  for (let count = 0; count < 12; count++)
    await assert.rejects(
      guard.checkPassword(what, () => Promise.reject(overloaded)),
      { code: 'overloaded' },
    )
  const outcome = { right: false, tenantId, principal: undefined }
  assert.deepEqual(await guard.checkPassword(what, async () => outcome), outcome)
  const { rows } = await hub.asOwner((owner) =>
    owner.query('select failures, length(account) as bytes from sign_in_failures where tenant_id = $1', [tenantId]),
  )
  assert.deepEqual(rows, [{ failures: 1, bytes: 2 }])
})
