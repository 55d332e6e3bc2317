import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Client } from 'pg'
import { sharedTables } from '../architecture.ts'
import { openClient } from './platform/database/connection.ts'
import { type TestCaller, type TestHub, type TestTenant, testHub } from './platform/testing/hub.ts'
import { tableNames, tenantTables } from './platform/testing/statements.ts'
import { useEverything } from './platform/testing/usage.ts'

/**
 * Generated tests: no tenant can read or change rows of another tenant. They cover every table and every operation,
 * including future ones.
 */

describe('tenant isolation', () => {
  let hub: TestHub
  let other: TestTenant
  let stranger: TestCaller
  let made: { operation: string; path: string; method: string }[]
  /** A connection as the application's role. */
  let intruder: Client
  /** The tenant of the statements of the intruder. */
  let bound: string

  before(async () => {
    hub = await testHub()
    other = await hub.anotherTenant()
    stranger = await hub.as('administrator', { tenant: other })
    made = await useEverything(hub)
    intruder = await openClient(hub.database.app)
    bound = other.tenantId
  })

  after(async () => {
    await intruder.end()
    await hub[Symbol.asyncDispose]()
  })

  test('has rows in every tenant table, so that the isolation tests have data', async () => {
    const missing: string[] = []
    for (const table of await tenantTables()) if ((await rowsOf(table)).length === 0) missing.push(table)
    assert.deepEqual(missing, [])
    assert.ok((await tableNames()).length > 10)
  })

  test('prevents reading a row of another tenant in any table', async () => {
    for (const table of await tenantTables()) {
      assert.equal(await attempt(`select 1 from ${table} where tenant_id = '${hub.tenant.tenantId}'`), 0, table)
    }
  })

  test('prevents changing, deleting or adding a row of another tenant in any table', async () => {
    for (const table of [...(await tenantTables()), ...sharedTables]) {
      const keys = await columnsOf(table)
      const tenant = keys.includes('tenant_id') ? 'tenant_id' : 'id'
      const where = keys.includes(tenant) ? `where ${tenant} = '${hub.tenant.tenantId}'` : ''
      for (const column of keys) {
        assert.equal(await attempt(`update ${table} set ${column} = ${column} ${where}`), 0, `${table}.${column}`)
      }
      assert.equal(await attempt(`delete from ${table} ${where}`), 0, table)
      const rows = await rowsOf(table)
      for (const row of rows.slice(0, 1)) {
        const insert = `insert into ${table} select * from jsonb_populate_record(null::${table}, $1::jsonb) returning 1`
        assert.equal(await attempt(insert, [JSON.stringify(row)]), 0, table)
      }
    }
  })

  test('returns no rows on a connection without a tenant', async () => {
    bound = ''
    for (const table of await tenantTables()) assert.equal(await attempt(`select 1 from ${table}`), 0, table)
    bound = other.tenantId
  })

  test('returns 404 for every resource of another tenant, and omits it from lists', async () => {
    assert.ok(made.length > 5)
    for (const { operation, method, path } of made) {
      const answer = await hub.request({
        method,
        path,
        headers: { authorization: `Bearer ${stranger.token}`, 'content-type': 'application/json' },
        ...(method === 'PATCH' ? { body: '{"data":{"name":"taken-over","disabled":true}}' } : {}),
      })
      assert.ok([400, 404].includes(answer.status), `${operation} answered ${answer.status}`)
      assert.doesNotMatch(answer.text, new RegExp(hub.tenant.tenantId))
    }
    const mine = new Set(made.map(({ path }) => path.split('/').at(-1)))
    const lists = [
      await stranger.identity.listUsers({}),
      await stranger.identity.listServerUsers({}),
      await stranger.authorization.listAccessGroups({}),
      await stranger.authorization.listGrants({}),
      await stranger.audit.listEntries({}),
    ]
    for (const list of lists) for (const { id } of list.data) assert.ok(!mine.has(id))
  })

  async function rowsOf(table: string): Promise<object[]> {
    return hub.asOwner(async (owner) => {
      const where = (await columnsOf(table)).includes('tenant_id') ? `where tenant_id = '${hub.tenant.tenantId}'` : ''
      return (await owner.query(`select to_jsonb(t) as row from ${table} t ${where} limit 5`)).rows.map(
        ({ row }) => row,
      )
    })
  }

  async function columnsOf(table: string): Promise<string[]> {
    return hub.asOwner(async (owner) => {
      const tables = await owner.query(
        `select attname as name from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
        [table],
      )
      return tables.rows.map(({ name }) => name)
    })
  }

  /** Runs a statement and returns the number of affected rows. Returns 0 if the database refuses the statement. */
  async function attempt(text: string, values: unknown[] = []): Promise<number> {
    await intruder.query('begin')
    try {
      if (hub.database.server.citus) await intruder.query(`set local citus.propagate_set_commands = 'local'`)
      await intruder.query(`set local app.tenant = '${bound}'`)
      return (await intruder.query(text, values)).rowCount ?? 0
    } catch (error) {
      assert.match(
        String((error as { code?: string }).code),
        /^(42501|23|55000|428C9|42P10)/,
        `${text}: ${(error as Error).message}`,
      )
      return 0
    } finally {
      await intruder.query('rollback')
    }
  }
})
