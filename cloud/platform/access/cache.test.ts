import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { permissionNames } from '@millwright/api/permission.ts'
import { v7 } from 'uuid'
import type { Database } from '../database/database.ts'
import { suspendTenant } from '../tenants/tenants.ts'
import { changeAccess, insertGrant, insertRole, updatePrincipal, updateRole } from './store.ts'
import { givenUser, revoke, testSite, until } from './testing.ts'

const limits = { timeout: 300_000 }

function countStatements(database: Database): { lookups: number } {
  const counted = { lookups: 0 }
  database.observe(({ text }) => {
    if (text.includes('from principals p')) counted.lookups++
  })
  return counted
}

/**
 * Stops the clock. The caches of these tests do not poll, so they would not use their entries after five seconds, which a
 * busy machine can need for a test.
 */
function stopClock(t: TestContext): void {
  const nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
}

test('returns cached permissions of a principal without a database statement', limits, async (t) => {
  stopClock(t)
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')
  const counted = countStatements(database)

  const first = await access.of(site.tenant.id, user.id)
  const second = await access.of(site.tenant.id, user.id)

  assert.equal(first, second)
  assert.equal(counted.lookups, 1)
  assert.deepEqual(
    first?.held.map(({ role, accessGroupId }) => [role, accessGroupId]),
    [['viewer', null]],
  )
})

test('runs one database statement for concurrent lookups of the same principal', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')
  const counted = countStatements(database)

  const results = await Promise.all(Array.from({ length: 50 }, () => access.of(site.tenant.id, user.id)))

  assert.equal(new Set(results).size, 1)
  assert.equal(counted.lookups, 1)
})

test('returns changed permissions at the next lookup in the process that changed them', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')
  assert.equal((await access.of(site.tenant.id, user.id))?.held.length, 1)

  await revoke(database, site.scope, user.grantId)

  assert.equal((await access.of(site.tenant.id, user.id))?.held.length, 0)
})

test('returns changed permissions in another process after one poll, without a notification', limits, async (t) => {
  stopClock(t)
  await using site = await testSite()
  const [here, there] = [site.process(), site.process()]
  const user = await givenUser(here.database, site.scope, 'viewer')
  await there.access.of(site.tenant.id, user.id)
  await revoke(here.database, site.scope, user.grantId)
  assert.equal((await there.access.of(site.tenant.id, user.id))?.held.length, 1)

  await there.access.poll()

  assert.equal((await there.access.of(site.tenant.id, user.id))?.held.length, 0)
})

test('polls for changed permissions on a timer', limits, async () => {
  await using site = await testSite()
  const [here, there] = [site.process(), site.process({ pollMs: 50 })]
  const user = await givenUser(here.database, site.scope, 'viewer')
  await there.access.of(site.tenant.id, user.id)

  await revoke(here.database, site.scope, user.grantId)

  await until(async () => (await there.access.of(site.tenant.id, user.id))?.held.length === 0)
})

test(
  'returns changed permissions in another process after a notification, also after a lost connection',
  limits,
  async (t) => {
    stopClock(t)
    await using site = await testSite()
    const [here, there] = [site.process(), site.process({ listen: true })]
    const counted = countStatements(there.database)
    const isHeard = async () => {
      const user = await givenUser(here.database, site.scope, 'viewer')
      await there.access.of(site.tenant.id, user.id)
      const before = counted.lookups
      await there.access.of(site.tenant.id, user.id)
      assert.equal(counted.lookups, before)
      await revoke(here.database, site.scope, user.grantId)
      await site.owner.query('select')
      return (await there.access.of(site.tenant.id, user.id))?.held.length === 0
    }
    const cut = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
               where query = 'listen access' and datname = current_database() and usename = current_user`
    const application = await site.anotherApplication()

    // The listener needs some time to connect. If a change takes effect without a poll, the listener is connected.
    await until(isHeard)
    assert.notEqual((await application.query(cut)).rows.length, 0)
    await until(isHeard)
  },
)

test(
  'keeps permissions that were cached after a change, even if the notification of that change arrives late',
  limits,
  async (t) => {
    stopClock(t)
    await using site = await testSite()
    const { database, access } = site.process({ listen: true })
    const other = site.process({ listen: true })
    const user = await givenUser(database, site.scope, 'viewer')
    const first = await access.of(site.tenant.id, user.id)
    let probe = user
    // A change before the listener is connected has no effect, so the test changes the permissions several times.
    await until(async () => {
      probe = await givenUser(other.database, site.scope, 'viewer')
      return (await access.of(site.tenant.id, user.id)) !== first
    })
    const fresh = await access.of(site.tenant.id, user.id)

    await site.owner.query(`select pg_notify('access', $1)`, [`${site.tenant.id} ${fresh?.version}`])
    await until(async () => (await other.access.of(site.tenant.id, probe.id)) !== undefined)

    assert.equal(await access.of(site.tenant.id, user.id), fresh)
  },
)

test('does not use cached permissions when polls have failed for five seconds', limits, async (t) => {
  let nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')
  await access.of(site.tenant.id, user.id)
  const counted = countStatements(database)

  nowMs += 5_001
  await access.of(site.tenant.id, user.id)
  await access.of(site.tenant.id, user.id)
  assert.equal(counted.lookups, 2)

  await access.poll()
  await access.of(site.tenant.id, user.id)
  assert.equal(counted.lookups, 2)
})

test('refuses access instead of using old cached permissions while the database is unreachable', limits, async (t) => {
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')
  await access.of(site.tenant.id, user.id)
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 5_001)
  await database.close()

  await assert.rejects(access.of(site.tenant.id, user.id), { code: 'unavailable' })
})

test('limits the number of cached principals and keeps the recently used ones', limits, async (t) => {
  stopClock(t)
  await using site = await testSite()
  const { database, access } = site.process({ entryLimit: 2 })
  const users = [
    await givenUser(database, site.scope, 'viewer'),
    await givenUser(database, site.scope, 'viewer'),
    await givenUser(database, site.scope, 'viewer'),
  ]
  const [a = '', b = '', c = ''] = users.map(({ id }) => id)
  await access.of(site.tenant.id, a)
  await access.of(site.tenant.id, b)
  await access.of(site.tenant.id, a)
  await access.of(site.tenant.id, c)
  const counted = countStatements(database)

  await access.of(site.tenant.id, a)
  await access.of(site.tenant.id, c)
  assert.equal(counted.lookups, 0)
  await access.of(site.tenant.id, b)
  assert.equal(counted.lookups, 1)
})

test('returns the same permissions in all processes after concurrent changes', limits, async () => {
  await using site = await testSite()
  const processes = [site.process({ pollMs: 20 }), site.process({ pollMs: 20, listen: true }), site.process()]
  const { database } = processes[0] as (typeof processes)[number]
  const user = await givenUser(database, site.scope, 'viewer')
  const roles = ['operator', 'supervisor', 'credential_manager']

  await Promise.all(
    processes.map(async (process, i) => {
      const principalId = user.id
      for (let turn = 0; turn < 15; turn++) {
        const grant = await process.database.transaction(site.scope, async (tx) => {
          await changeAccess(tx)
          return (await insertGrant(tx, { principalId, role: roles[i] ?? '' })).grant
        })
        const seen = await process.access.of(site.tenant.id, principalId)
        assert.ok(seen?.held.some(({ role }) => role === roles[i]))
        await revoke(process.database, site.scope, grant.id)
      }
    }),
  )

  for (const { access } of processes) {
    await access.poll()
    const roles = (await access.of(site.tenant.id, user.id))?.held.map(({ role }) => role)
    assert.deepEqual(roles, ['viewer'])
  }
})

test('returns the changed permissions of a role for the holders of the role', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  await database.transaction(site.scope, (tx) =>
    insertRole(tx, { name: 'auditor', title: '', permissions: ['glb_audit_read'] }),
  )
  const user = await givenUser(database, site.scope, 'auditor')
  assert.deepEqual([...((await access.of(site.tenant.id, user.id))?.rights.everywhere ?? [])], ['glb_audit_read'])

  await database.transaction(site.scope, async (tx) => {
    await changeAccess(tx)
    await updateRole(tx, 'auditor', { permissions: ['glb_jobs_read'] })
  })

  assert.deepEqual([...((await access.of(site.tenant.id, user.id))?.rights.everywhere ?? [])], ['glb_jobs_read'])
})

test(
  'removes revoked roles, and all roles of a disabled principal, from the permissions of a token',
  limits,
  async () => {
    await using site = await testSite()
    const { database, access } = site.process()
    const user = await givenUser(database, site.scope, 'administrator')
    await database.transaction(site.scope, async (tx) => {
      await changeAccess(tx)
      await insertGrant(tx, { principalId: user.id, role: 'viewer' })
    })
    const held = await access.of(site.tenant.id, user.id)
    assert.ok(held)
    assert.equal(access.effective(held, { roles: ['viewer', 'administrator'] }).everywhere.size, permissionNames.length)
    assert.equal(access.effective(held, { roles: ['viewer', 'supervisor'] }).everywhere.has('glb_access_manage'), false)
    assert.equal(access.effective(held, { roles: ['viewer'] }), access.effective(held, { roles: ['viewer'] }))
    assert.equal(access.effective(held, { roles: [] }).everywhere.size, 0)

    await database.transaction(site.scope, async (tx) => {
      await changeAccess(tx)
      await updatePrincipal(tx, user.id, { disabled: true })
    })

    const disabled = await access.of(site.tenant.id, user.id)
    assert.ok(disabled?.principal.disabled)
    assert.equal(disabled.rights.everywhere.size, 0)
    assert.equal(access.effective(disabled, { roles: ['administrator'] }).everywhere.size, 0)
  },
)

test('returns no permissions for a principal that does not exist or belongs to another tenant', limits, async () => {
  await using site = await testSite()
  const { database, access } = site.process()
  const user = await givenUser(database, site.scope, 'viewer')

  assert.equal(await access.of(v7(), user.id), undefined)
  assert.equal(await access.of(site.tenant.id, v7()), undefined)
})

test('returns a suspended tenant as suspended in every process, by notification or by polling', limits, async () => {
  await using site = await testSite()
  const [polling, listening] = [site.process({ pollMs: 20 }), site.process({ listen: true })]
  for (const { access } of [polling, listening]) {
    assert.equal((await access.tenants.byId(site.tenant.id))?.state, 'active')
  }

  await until(async () => {
    await suspendTenant(site.owner, site.tenant.name)
    const seen = await Promise.all([polling, listening].map(({ access }) => access.tenants.byId(site.tenant.id)))
    return seen.every((tenant) => tenant?.state === 'suspended')
  })
})
