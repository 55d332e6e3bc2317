import assert from 'node:assert/strict'
import { test } from 'node:test'
import { builtInRoles } from '@millwright/api/permission.ts'
import { requireAdministrator, requireOutranks } from './escalation.ts'
import { type Rights, rightsOf } from './rights.ts'
import { changeAccess, deletePrincipal, insertAccessGroup, insertGrant, updatePrincipal } from './store.ts'
import { givenUser, revoke, testSite } from './testing.ts'

const limits = { timeout: 300_000 }

function holding(role: keyof typeof builtInRoles, accessGroupId: string | null = null): { rights: Rights } {
  return { rights: rightsOf([{ accessGroupId, permissions: builtInRoles[role].permissions }]) }
}

test(
  'does not let a caller change a principal with more permissions, even if that principal is disabled',
  limits,
  async () => {
    await using site = await testSite()
    const { database } = site.process()
    const { id } = await givenUser(database, site.scope, 'supervisor')
    const outranks = (caller: { rights: Rights }) =>
      database.read(site.scope, (handle) => requireOutranks(handle, caller, id))

    await outranks(holding('administrator'))
    await outranks(holding('supervisor'))
    await assert.rejects(outranks(holding('operator')), { code: 'would_escalate', message: /remote_access_connect/ })
    await database.transaction(site.scope, async (tx) => {
      await changeAccess(tx)
      await updatePrincipal(tx, id, { disabled: true })
    })
    await assert.rejects(outranks(holding('operator')), { code: 'would_escalate' })
  },
)

test(
  "lets a caller change a principal when the caller also holds the principal's permissions in its group",
  limits,
  async () => {
    await using site = await testSite()
    const { database } = site.process()
    const { id, grantId } = await givenUser(database, site.scope, 'viewer')
    await revoke(database, site.scope, grantId)
    const group = await database.transaction(site.scope, async (tx) => {
      await changeAccess(tx)
      const made = await insertAccessGroup(tx, 'line-1')
      await insertGrant(tx, { principalId: id, role: 'viewer', accessGroupId: made?.id })
      return made?.id ?? ''
    })
    const outranks = (caller: { rights: Rights }) =>
      database.read(site.scope, (handle) => requireOutranks(handle, caller, id))

    await outranks(holding('viewer', group))
    await outranks(holding('viewer'))
    await assert.rejects(outranks(holding('viewer', 'line-2')), { code: 'would_escalate' })
  },
)

test('keeps one administrator when all are disabled or deleted concurrently', limits, async () => {
  await using site = await testSite()
  const processes = [site.process(), site.process()]
  const [first] = processes
  const admins: string[] = []
  for (let i = 0; i < 6; i++) {
    admins.push((await givenUser((first as (typeof processes)[number]).database, site.scope, 'administrator')).id)
  }

  const results = await Promise.allSettled(
    admins.map((id, i) =>
      processes[i % 2]?.database.transaction(site.scope, async (tx) => {
        await changeAccess(tx)
        if (i < 3) await updatePrincipal(tx, id, { disabled: true })
        else await deletePrincipal(tx, id)
        await requireAdministrator(tx)
      }),
    ),
  )

  const refusals = results.filter((result) => result.status === 'rejected')
  assert.deepEqual(
    refusals.map(({ reason }) => reason.code),
    ['last_administrator'],
  )
})
