import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { timePlus } from '../../../platform/database/statement.ts'
import { type TestHub, testHub } from '../../../platform/testing/hub.ts'
import { authorizePath, Browser, freezeClock, person, rightPassword, wrongPassword } from '../testing.ts'
import { Guard } from './guard.ts'

test(
  'limits wrong passwords per account across addresses and processes, without a permanent lock',
  onlyInLongRuns,
  async (t) => {
    freezeClock(t)
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
    // The limit does not apply in a network where the user has signed in before.
    assert.equal((await guess(jane.signInName, rightPassword, '10.30.0.1')).status, 303)
    // The test ends the wait in the database. It does not move the clock of this process, because the clock also orders the
    // ids of later tests.
    await hub.asOwner((owner) =>
      owner.query(
        `update sign_in_failures set last_at = ${timePlus('last_at', "interval '-61 seconds'")} where tenant_id = $1`,
        [hub.tenant.tenantId],
      ),
    )
    assert.equal((await guess(jane.signInName, rightPassword)).status, 303)
    await assertAllRecorded(hub, jane.id)
  },
)

async function assertAllRecorded(hub: TestHub, id: string): Promise<void> {
  const admin = await hub.as('administrator')
  const { data } = await admin.audit.listEntries({ query: { action: 'identity.signIn', outcome: 'denied' } })
  assert.equal(data.filter(({ principal }) => principal === id).length, 11)
  assert.equal(
    data.filter(({ principal, principalName }) => principal === null && principalName === 'unknown').length,
    11,
  )
}

test('does not count a password that was not checked, and stores failures under a short hash of the account', async () => {
  await using hub = await testHub()
  const guard = new Guard(hub.contextOf('identity'))
  const { tenantId } = hub.tenant
  const attempt = { subject: 'user jane.doe', address: '10.40.0.1' }
  const signIn = { attempt, action: 'identity.signIn', requestId: 'request', tenantId }
  const overloaded = new Problem('overloaded', 'Too many concurrent sign-ins')
  for (let count = 0; count < 12; count++)
    await assert.rejects(
      guard.checkPassword(signIn, () => Promise.reject(overloaded)),
      { code: 'overloaded' },
    )
  const outcome = { isCorrect: false, tenantId, principal: undefined }
  assert.deepEqual(await guard.checkPassword(signIn, async () => outcome), outcome)
  const { rows } = await hub.asOwner((owner) =>
    owner.query('select failures, length(account) as bytes from sign_in_failures where tenant_id = $1', [tenantId]),
  )
  assert.deepEqual(rows, [{ failures: 1, bytes: 2 }])
})
