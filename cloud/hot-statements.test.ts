import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { v7 } from 'uuid'
import { openClient } from './platform/database/connection.ts'
import { type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'
import { tenantTables } from './platform/testing/statements.ts'
import { askForToken } from './services/identity/testing.ts'

/**
 * Row-level security lets only leakproof operators reach an index, so a statement that is fast for the owner may read
 * the whole table for the application. Here every statement of the hot paths is explained as the application, under its
 * policy, on tables with many rows.
 */

type Plan = {
  'Node Type': string
  'Relation Name'?: string
  'Rows Removed by Filter'?: number
  'Actual Rows'?: number
  Plans?: Plan[]
}

const many = 20_000
/** More than this many rows looked at and thrown away means that an index was not used as it should be. */
const wasted = 500

describe('every hot statement uses an index', () => {
  let hub: TestHub
  let admin: TestCaller
  let ids: { group: string; user: string; grant: string; entry: string; clientId: string; clientSecret: string }

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    ids = await fill()
  })

  after(() => hub[Symbol.asyncDispose]())

  const paths: Record<string, () => Promise<unknown>> = {
    'looking up a principal and its rights': () =>
      hub.as('viewer').then((caller) => caller.authorization.readOwnRights({})),
    'reading one access group': () => admin.authorization.readAccessGroup({ params: { id: ids.group } }),
    'listing access groups by name': () => admin.authorization.listAccessGroups({ query: { name: 'group-7' } }),
    'reading one user': () => admin.identity.readUser({ params: { id: ids.user } }),
    'finding a user by name': () => admin.identity.listUsers({ query: { name: 'user-7' } }),
    'reading one grant': () => admin.authorization.readGrant({ params: { id: ids.grant } }),
    'listing the grants of a principal': () => admin.authorization.listGrants({ query: { principal: ids.user } }),
    'explaining a right': () =>
      admin.authorization.check({ query: { permission: 'inventory_read_asset_data', principal: ids.user } }),
    'issuing a token to a program': () =>
      askForToken(hub, { grant_type: 'client_credentials', client_id: ids.clientId, client_secret: ids.clientSecret }),
    'reading one audit entry': () => admin.audit.readEntry({ params: { id: ids.entry } }),
    'creating an access group': () => admin.authorization.createAccessGroup({ body: { data: { name: v7() } } }),
    'granting and revoking': async () => {
      const { data } = await admin.authorization.createGrant({
        body: { data: { principal: ids.user, role: 'operator', accessGroup: ids.group } },
      })
      await admin.authorization.deleteGrant({ params: { id: data.id } })
    },
    'answering a repeated request': () =>
      admin.authorization.createAccessGroup({
        body: { data: { name: 'again' } },
        headers: { 'idempotency-key': 'again' },
      }),
    'background work: sealing, relaying, looking for what is due': () => hub.settle(),
  }

  for (const [what, work] of Object.entries(paths)) {
    test(what, async () => {
      const sent = await hub.statements(work)
      assert.ok(sent.length > 0, 'nothing was looked at')
      for (const { text, values } of sent) {
        const wrong = await explain(text, values)
        assert.deepEqual(wrong, [], text)
      }
    })
  }

  /** What is wrong with the plan, if anything. */
  async function explain(text: string, values: readonly unknown[]): Promise<string[]> {
    const tables = await tenantTables()
    const client = await openClient(hub.database.app)
    try {
      await client.query('begin')
      if (hub.database.server.citus) await client.query(`set local citus.propagate_set_commands = 'local'`)
      await client.query(`set local app.tenant = '${hub.tenant.tenantId}'`)
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, [...values])
      return faults(rows[0]['QUERY PLAN'][0].Plan as Plan, tables)
    } catch (error) {
      // A write that was sent before cannot be sent again as it was; its plan was seen when it was explained first.
      if (/^23/.test((error as { code?: string }).code ?? '')) return []
      throw error
    } finally {
      await client.query('rollback')
      await client.end()
    }
  }

  function faults(plan: Plan, tables: ReadonlySet<string>): string[] {
    const table = plan['Relation Name'] ?? ''
    const scanned = (plan['Rows Removed by Filter'] ?? 0) + (plan['Actual Rows'] ?? 0)
    const own =
      tables.has(table) && plan['Node Type'] === 'Seq Scan' && scanned > wasted
        ? [`reads all of ${table}`]
        : (plan['Rows Removed by Filter'] ?? 0) > wasted
          ? [`throws away ${plan['Rows Removed by Filter']} rows of ${table}`]
          : []
    return [...own, ...(plan.Plans ?? []).flatMap((inner) => faults(inner, tables))]
  }

  /** A tenant with many of everything, beside a neighbour with as many. */
  async function fill() {
    const neighbour = await hub.anotherTenant()
    const made = await admin.identity.createServerUser({ body: { data: { name: 'historian' } } })
    const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'the group' } } })
    await hub.settle()
    return hub.asOwner(async (owner) => {
      for (const tenantId of [neighbour.tenantId, hub.tenant.tenantId]) {
        await owner.query(
          `insert into principals (tenant_id, id, kind, name)
           select $1, gen_random_uuid(), 'user', 'user-' || n from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into access_groups (tenant_id, id, name) select $1, gen_random_uuid(), 'group-' || n from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into grants (tenant_id, id, principal_id, role)
           select $1, gen_random_uuid(), id, 'viewer' from principals where tenant_id = $1 and kind = 'user' on conflict do nothing`,
          [tenantId],
        )
        await owner.query(
          `insert into events (tenant_id, id, position, type, subject, data)
           select $1, gen_random_uuid(), 1000000 + n, 't', 's', '{}' from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into audit_entries (tenant_id, id, time, action, outcome, principal_name, principal_kind, sequence, hash)
           select $1, gen_random_uuid(), now(), 'a', 'done', 'x', 'user', 1000000 + n, '' from generate_series(1, $2::int) n`,
          [tenantId, many],
        )
        await owner.query(
          `insert into idempotent_requests (tenant_id, principal_id, key, fingerprint, status)
           select $1, gen_random_uuid(), 'k', '', 200 from generate_series(1, $2::int)`,
          [tenantId, many],
        )
      }
      await owner.query('analyze')
      const one = async (text: string) =>
        (await owner.query<{ id: string }>(text, [hub.tenant.tenantId])).rows[0]?.id ?? ''
      return {
        group: group.id,
        user: await one(`select id from principals where tenant_id = $1 and name = 'user-7'`),
        grant: await one('select id from grants where tenant_id = $1 limit 1'),
        entry: await one('select id from audit_entries where tenant_id = $1 limit 1'),
        clientId: made.data.clientId,
        clientSecret: made.data.clientSecret,
      }
    })
  }
})
