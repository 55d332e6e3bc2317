import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { v7 } from 'uuid'
import { changeAccess, insertAccessGroup, insertPrincipal } from '../access/store.ts'
import { type Site, testSite } from '../access/testing.ts'
import type { Database } from '../database/database.ts'
import { tableNames } from '../testing/statements.ts'
import { putDirectoryEntry, removeDirectoryEntries } from './store.ts'
import {
  createTenant,
  deleteTenant,
  findTenant,
  type Owner,
  provisionApplication,
  resumeTenant,
  suspendTenant,
  withdrawApplication,
} from './tenants.ts'

const limits = { timeout: 300_000 }

/** The number of tenants that are created, and of those that are deleted again. */
const count = { created: 10, deleted: 5 } as const
/** The changes that each writer makes, unless its tenant is deleted before. */
const changes = 25

type TenantScope = { tenantId: string; name: string }

/** The results of the writers of one tenant. */
type Written = { principals: string[]; groups: number; refusals: Problem[] }

/** Creates principals with directory entries, like a request that creates a service account. */
async function createPrincipals(database: Database, tenant: TenantScope, written: Written): Promise<void> {
  let previous = ''
  for (let i = 0; i < changes; i++) {
    const principalId = v7()
    try {
      await database.transaction(tenant, async (tx) => {
        await changeAccess(tx)
        await insertPrincipal(tx, { id: principalId, kind: 'server_user', name: principalId })
        assert.ok(await putDirectoryEntry(tx, { kind: 'client', key: principalId, principalId }))
        if (i % 5 === 4) await removeDirectoryEntries(tx, previous)
      })
      previous = principalId
      written.principals.push(principalId)
    } catch (error) {
      written.refusals.push(requireProblem(error))
    }
  }
}

/** Inserts rows without a change of access, like most requests. */
async function createGroups(database: Database, tenant: TenantScope, written: Written): Promise<void> {
  for (let i = 0; i < changes; i++) {
    try {
      await database.transaction(tenant, (tx) => insertAccessGroup(tx, v7()))
      written.groups++
    } catch (error) {
      written.refusals.push(requireProblem(error))
    }
  }
}

function requireProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  throw error
}

async function operate(owner: Owner, name: string): Promise<void> {
  for (let i = 0; i < 4; i++) {
    await suspendTenant(owner, name)
    await withdrawApplication(owner, name, 'ui')
    await resumeTenant(owner, name)
    await provisionApplication(owner, name, 'ui')
  }
}

/** Suspends and deletes a tenant in two commands at the same time. One of them deletes it. */
async function deleteTwice([first, second]: [Owner, Owner], name: string): Promise<void> {
  await suspendTenant(first, name)
  const results = await Promise.allSettled([deleteTenant(first, name), deleteTenant(second, name)])
  const refusals = results.flatMap((result) => (result.status === 'rejected' ? [requireProblem(result.reason)] : []))
  assert.deepEqual(
    refusals.map(({ code }) => code),
    ['not_found'],
  )
}

async function rowsOf(site: Site, tenantId: string): Promise<string[]> {
  const filled: string[] = []
  for (const table of await tableNames()) {
    const { rows: columns } = await site.owner.query(
      `select from pg_attribute where attrelid = to_regclass($1) and attname = 'tenant_id'`,
      [table],
    )
    if (columns.length === 0) continue
    const { rows } = await site.owner.query(`select from ${table} where tenant_id = $1 limit 1`, [tenantId])
    if (rows.length > 0) filled.push(table)
  }
  return filled
}

async function numberOf(site: Site, text: string, tenantId: string): Promise<number> {
  const { rows } = await site.owner.query<{ number: number }>(text, [tenantId])
  return Number(rows[0]?.number)
}

test('creates, suspends, resumes and deletes tenants during concurrent writes without an internal error or a lost write', {
  ...limits,
  ...onlyInLongRuns,
}, async () => {
  await using site = await testSite()
  const { database } = site.process()
  const other = site.process()
  const owners = await Promise.all(Array.from({ length: 4 }, () => site.anotherOwner()))
  const ownerAt = (i: number) => owners[i % owners.length] as Owner
  const tenants: (TenantScope & { written: Written })[] = []

  const create = async (owner: Owner, i: number) => {
    for (let at = i; at < count.created; at += owners.length) {
      const name = `t${v7()}`
      const { id } = await createTenant(owner, { name })
      tenants.push({ tenantId: id, name, written: { principals: [], groups: 0, refusals: [] } })
    }
  }
  await Promise.all(owners.map(create))
  assert.equal(tenants.length, count.created)
  const [deleted, kept] = [tenants.slice(0, count.deleted), tenants.slice(count.deleted)]

  const writers = tenants.flatMap(({ written, ...tenant }) => [
    createPrincipals(database, tenant, written),
    createPrincipals(other.database, tenant, written),
    createGroups(other.database, tenant, written),
  ])
  const commands = async () => {
    await Promise.all([
      (async () => {
        for (const { name } of kept) await operate(ownerAt(0), name)
      })(),
      (async () => {
        for (const { name } of deleted) await deleteTwice([ownerAt(1), ownerAt(2)], name)
      })(),
      (async () => {
        const extra: string[] = []
        for (let i = 0; i < count.created; i++) {
          extra.push((await createTenant(ownerAt(3), { name: `t${v7()}` })).name)
        }
        for (const name of extra) {
          await suspendTenant(ownerAt(3), name)
          await deleteTenant(ownerAt(3), name)
        }
      })(),
    ])
  }
  await Promise.all([commands(), ...writers])

  for (const { tenantId, name, written } of deleted) {
    assert.equal(await findTenant(site.owner, name), undefined)
    assert.deepEqual(await rowsOf(site, tenantId), [])
    // A write is overloaded if it waits too long for the lock of the command that deletes its tenant.
    const unexpected = written.refusals.filter(({ code }) => code !== 'not_found' && code !== 'overloaded')
    assert.deepEqual(unexpected, [])
  }
  for (const { tenantId, name, written } of kept) {
    assert.deepEqual(written.refusals, [])
    assert.equal((await findTenant(site.owner, name))?.state, 'active')
    const versions = 'select version as number from access_versions where tenant_id = $1'
    assert.equal(await numberOf(site, versions, tenantId), 1 + 2 * changes)
    const principals = 'select count(*) as number from principals where tenant_id = $1'
    assert.equal(await numberOf(site, principals, tenantId), written.principals.length)
    const groups = 'select count(*) as number from access_groups where tenant_id = $1'
    assert.equal(await numberOf(site, groups, tenantId), 1 + written.groups)
    const entries = 'select count(*) as number from directory where tenant_id = $1'
    assert.equal(await numberOf(site, entries, tenantId), written.principals.length - 2 * Math.floor(changes / 5))
    await suspendTenant(site.owner, name)
    await deleteTenant(site.owner, name)
  }
})

test('a deletion waits for the open transactions of its tenant, and later writes find no tenant', limits, async () => {
  await using site = await testSite()
  const { database } = site.process()
  const owner = await site.anotherOwner()
  const name = `t${v7()}`
  const { id: tenantId } = await createTenant(owner, { name })
  await suspendTenant(owner, name)
  const [inserted, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]

  const write = database.transaction({ tenantId }, async (tx) => {
    await insertAccessGroup(tx, 'during')
    inserted.resolve()
    await finish.promise
    return insertAccessGroup(tx, 'later')
  })
  await inserted.promise
  let isDeleted = false
  const deletion = deleteTenant(owner, name).then(() => {
    isDeleted = true
  })
  assert.ok(await findTenant(site.owner, name))
  assert.equal(isDeleted, false)
  finish.resolve()

  assert.equal((await write)?.name, 'later')
  await deletion
  assert.deepEqual(await rowsOf(site, tenantId), [])
  const late = database.transaction({ tenantId }, (tx) => insertAccessGroup(tx, 'late'))
  await assert.rejects(late, { code: 'not_found' })
  await assert.rejects(
    database.transaction({ tenantId }, (tx) => changeAccess(tx)),
    { code: 'not_found' },
  )
})
