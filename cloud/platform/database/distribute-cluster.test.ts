import assert from 'node:assert/strict'
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type { Client } from 'pg'
import { migrationSources, placeRules as rules } from '../../prepare.ts'
import { MasterKeys } from '../secrets/master-keys.ts'
import { openSecrets } from '../secrets/opening.ts'
import { testHub } from '../testing/hub.ts'
import { testMasterKey } from '../testing/server.ts'
import { ensureApplicationRole, setPassword } from './application-role.ts'
import { listTables } from './cluster.ts'
import { openClient } from './connection.ts'
import { checkDistribution, distribute } from './distribute.ts'
import { findFaults } from './distribution-check.ts'
import { migrate } from './migrations.ts'

const url = process.env.MILLWRIGHT_TEST_DATABASE_URL
const cluster = url !== undefined && (await isCluster(url))
const schema = `distribute_${randomBytes(6).toString('hex')}`
const appRole = `${schema}_app`
const assetsPerTenant = 1_000
const tenants = [randomUUID(), randomUUID(), randomUUID()]

// The tests use a separate schema in the given database. Each test continues with the tables of the test before.
describe('a schema on a Citus cluster', { skip: !cluster && 'needs the database of a cluster' }, () => {
  let rowsBefore: Map<string, number>

  before(async () => {
    await using hub = await testHub()
    await hub.asOwner((owner) => owner.query(`create schema ${schema}`))
    await asOwner(async (owner) => {
      await ensureApplicationRole(owner, appRole)
      await setPassword(owner, { name: appRole, password: appRole })
      await owner.query(`grant usage on schema ${schema} to ${appRole}`)
      await migrate(owner, { sources: migrationSources, appRole, rules })
      await fill(owner)
      rowsBefore = await countRows(owner)
    })
  })

  after(async () => {
    await asOwner(async (owner) => {
      // A transaction that drops all tables needs more locks than a server has by default.
      const tables = await listTables(owner)
      while (tables.length > 0) {
        const names = tables.splice(0, 10).map(({ name }) => name)
        await owner.query(`drop table ${names.join(', ')} cascade`)
      }
      await owner.query(`drop schema ${schema} cascade`)
      await owner.query(`drop role ${appRole}`)
    })
  })

  test('is distributed with its rows although the command is interrupted repeatedly', async () => {
    let interruptions = 0
    while (!(await distributeUntil(randomInt(500, 8_000)))) interruptions += 1
    assert.ok(interruptions > 0)
    await asOwner(async (owner) => {
      assert.deepEqual(await findFaults(owner, { rules, appRole }), [])
      assert.deepEqual(await countRows(owner), rowsBefore)
      assert.deepEqual(
        (await listTables(owner)).filter(({ leftover }) => leftover),
        [],
      )
    })
  })

  test('is not changed by a second run', async () => {
    await asOwner(async (owner) => {
      assert.deepEqual(await distribute(owner, { rules, appRole }), { distributed: [], reference: [] })
    })
  })

  test('gets its first keys after it was distributed', async () => {
    const masterKeys = await MasterKeys.open({ file: '', environmentKeys: [testMasterKey], transit: undefined })
    await asOwner(async (owner) => {
      await openSecrets(owner, masterKeys)
      const { rows } = await owner.query('select version from platform_keys')
      assert.deepEqual(rows, [{ version: 1 }])
      await owner.query('delete from platform_keys')
      await owner.query('delete from master_keys')
    })
  })

  test('is distributed again after Citus has converted its tables to local tables', async () => {
    await asOwner(async (owner) => {
      await owner.query(`select undistribute_table('credential_uses', cascade_via_foreign_keys => true)`)
      await owner.query(`select create_reference_table('master_keys')`)
      assert.ok((await listTables(owner)).some(({ place }) => place === 'local'))
      await distribute(owner, { rules, appRole })
      assert.deepEqual(await findFaults(owner, { rules, appRole }), [])
      assert.deepEqual(await countRows(owner), rowsBefore)
    })
  })

  test('gets a table back that is distributed in another way', async () => {
    await asOwner(async (owner) => {
      const other = { ...rules, referenceTables: [...rules.referenceTables, 'access_versions'] }
      assert.deepEqual(await distribute(owner, { rules: other, appRole }), {
        distributed: [],
        reference: ['access_versions'],
      })
      assert.deepEqual(await distribute(owner, { rules, appRole }), { distributed: ['access_versions'], reference: [] })
      assert.deepEqual(await countRows(owner), rowsBefore)
    })
  })

  test('gets its tenants back on the coordinator, and references their distributed rows', async () => {
    await asOwner(async (owner) => {
      await owner.query(`select create_reference_table('tenants')`)
      for (const table of ['access_versions', 'assets', 'roles']) {
        await owner.query(`alter table ${table} drop constraint if exists ${table}_tenant_id_fkey`)
        await owner.query(
          `alter table ${table} add constraint ${table}_tenant_id_fkey foreign key (tenant_id) references tenants (id)`,
        )
      }
      await distribute(owner, { rules, appRole })
      assert.deepEqual(await findFaults(owner, { rules, appRole }), [])
      assert.deepEqual(await countRows(owner), rowsBefore)
      const needs = new Map((await listTables(owner)).map((table) => [table.name, table.needs]))
      assert.deepEqual(needs.get('access_versions'), [])
      assert.deepEqual(needs.get('roles'), ['access_versions'])
      const orphan = owner.query(`insert into roles (tenant_id, name, permissions) values ($1, '', '{}')`, [
        randomUUID(),
      ])
      await assert.rejects(orphan, /violates foreign key constraint "roles_tenant_id_fkey/)
    })
  })

  test('reports a shard without its policy, and grants missing privileges again', async () => {
    await asOwner(async (owner) => {
      await onShards(owner, 'master_keys', `revoke all (id) on %s from ${appRole}`)
      assert.deepEqual(
        (await findFaults(owner, { rules, appRole })).map(({ table, part }) => `${table} ${part}`),
        ['master_keys privileges'],
      )
      await checkDistribution(owner, { rules, appRole })
      await onShards(owner, 'grants', 'drop policy tenant on %s')
      await assert.rejects(checkDistribution(owner, { rules, appRole }), /grants: shards have other policies/)
      const own = `tenant_id = nullif(current_setting('app.tenant', true), '')::uuid`
      await onShards(owner, 'grants', `create policy tenant on %s using (${own}) with check (${own})`)
      await checkDistribution(owner, { rules, appRole })
    })
  })

  test('is upgraded by migrations with new tables, columns, indexes, keys, policies, grants and rows', async () => {
    await using folder = await migrationsFolder({
      '0001-table.sql': `
        create table extra_notes (
          tenant_id uuid not null references tenants (id), id uuid not null, asset_id uuid not null, note text,
          primary key (tenant_id, id),
          constraint extra_notes_asset foreign key (tenant_id, asset_id) references assets (tenant_id, id));
        create index extra_notes_by_asset on extra_notes (tenant_id, asset_id); -- a comment; with a semicolon
        grant select, insert, update (note) on extra_notes to :app_role;
        insert into extra_notes (tenant_id, id, asset_id, note) select tenant_id, id, id, ';' from assets;`,
      '0002-changes.sql': `
        create table extra_kinds (
          tenant_id uuid not null references tenants (id), kind text not null, primary key (tenant_id, kind));
        alter table extra_kinds enable row level security;
        create policy lookup on extra_kinds for select
          using (tenant_id = nullif(current_setting('app.tenant', true), '')::uuid);
        grant select, insert on extra_kinds to :app_role;
        alter table extra_notes add column kind text not null default 'none';
        insert into extra_kinds (tenant_id, kind) select distinct tenant_id, kind from extra_notes;
        alter table extra_notes add constraint extra_notes_kind
          foreign key (tenant_id, kind) references extra_kinds (tenant_id, kind);
        alter table assets add column extra_rank bigint;
        update assets set extra_rank = length(name);
        alter table assets add constraint assets_extra_rank check (extra_rank >= 0);
        create index assets_by_extra_rank on assets (tenant_id, extra_rank, id);
        alter table extra_notes drop column note;`,
    })
    await asOwner(async (owner) => {
      const { applied } = await migrate(owner, { sources: [...migrationSources, folder.source], appRole, rules })
      assert.deepEqual(applied, ['extra/0001-table', 'extra/0002-changes'])
      assert.deepEqual(await findFaults(owner, { rules, appRole }), [])
      const { rows } = await owner.query<{ notes: string; ranks: string }>(
        'select (select count(*) from extra_notes) as notes, (select count(extra_rank) from assets) as ranks',
      )
      assert.deepEqual(
        rows.map(({ notes, ranks }) => [Number(notes), Number(ranks)]),
        [[3_000, 3_000]],
      )
    })
    const app = await openClient(appAddress(), { options: `-c search_path=${schema}` })
    try {
      assert.equal((await app.query('select from extra_notes')).rowCount, 0)
      await app.query('begin')
      await app.query(`set local citus.propagate_set_commands = 'local'`)
      await app.query(`set local app.tenant = '${tenants[0]}'`)
      assert.equal((await app.query('select from extra_notes')).rowCount, assetsPerTenant)
      await assert.rejects(app.query(`insert into extra_kinds values ('${tenants[0]}', 'a')`), /row-level security/)
    } finally {
      await app.end()
    }
  })

  test('is not changed by a migration that fails on its last command', async () => {
    await using folder = await migrationsFolder({
      '0003-fails.sql': `
        create table extra_half (tenant_id uuid not null references tenants (id), id uuid, primary key (tenant_id, id));
        alter table assets add column extra_half text;
        alter table assets add constraint assets_half check (extra_rank < 0)`,
    })
    await asOwner(async (owner) => {
      const source = { ...folder.source, module: 'half' }
      // Otherwise the migrations of the test before would be from a newer version.
      await owner.query(`delete from migrations where module = 'extra'`)
      const failing = migrate(owner, { sources: [...migrationSources, source], appRole, rules })
      await assert.rejects(failing, /half\/0003-fails failed/)
      assert.ok(!(await listTables(owner)).some(({ name }) => name === 'extra_half'))
      assert.deepEqual(await findFaults(owner, { rules, appRole }), [])
    })
  })
})

async function isCluster(address: string): Promise<boolean> {
  const owner = await openClient({ url: address })
  const { rows } = await owner.query(`select from pg_extension where extname = 'citus'`)
  await owner.end()
  return rows.length > 0
}

function appAddress() {
  const { hostname, port, pathname } = new URL(url ?? '')
  return { host: hostname, port: Number(port), database: pathname.slice(1), user: appRole, password: appRole }
}

/** Opens a connection with few shards per table, because creating many shards takes long. */
function openOwner(): Promise<Client> {
  return openClient({ url: url ?? '' }, { options: `-c search_path=${schema} -c citus.shard_count=4` })
}

async function asOwner(work: (owner: Client) => Promise<void>): Promise<void> {
  const owner = await openOwner()
  try {
    await work(owner)
  } finally {
    await owner.end()
  }
}

/**
 * Runs `distribute` and interrupts it after some time. Half of the interruptions end the session on the server, the
 * others end the connection of the client. Returns true if the command ended before.
 */
async function distributeUntil(ms: number): Promise<boolean> {
  const owner = await openOwner()
  const { rows } = await owner.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new AbortController()
  const run = distribute(owner, { rules, appRole })
    .then(() => true)
    .finally(() => ended.abort())
  const interrupt = setTimeout(ms, undefined, { signal: ended.signal }).then(
    async () => {
      if (ms % 2 === 0) owner.connection.stream.destroy()
      else await asOwner((other) => other.query('select pg_terminate_backend($1::int)', [rows[0]?.pid]).then(() => {}))
    },
    () => {},
  )
  try {
    return await run.catch((error: Error) => {
      assert.match(error.message, /terminat|closed|ECONNRESET|not queryable/)
      return false
    })
  } finally {
    await interrupt
    await owner.end().catch(() => {})
  }
}

/** Creates tenants with an access group, assets and identifiers. */
async function fill(owner: Client): Promise<void> {
  for (const [index, tenant] of tenants.entries()) {
    await owner.query('insert into tenants (id, name) values ($1, $2)', [tenant, `tenant ${index}`])
    await owner.query('insert into access_versions (tenant_id) values ($1)', [tenant])
    await owner.query(
      `insert into assets (tenant_id, id, access_group_id, type, schema_url, document, name, management_state,
                           reachability_state, responsible, created_at, modified_at)
       select $1, gen_random_uuid(), $1, 'Device', '', '{}', 'asset ' || n, 'regarded', 'unknown', '', now(), now()
       from generate_series(1, $2::int) n`,
      [tenant, assetsPerTenant],
    )
    await owner.query(
      `insert into asset_identifiers (tenant_id, key, asset_id, uncertainty, type, value, identifier, created_at)
       select tenant_id, name, id, 0, 'name', name, '{}', now() from assets where tenant_id = $1`,
      [tenant],
    )
  }
}

async function countRows(owner: Client): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const { name } of await listTables(owner)) {
    const { rows } = await owner.query<{ count: string }>(`select count(*) as count from ${name}`)
    counts.set(name, Number(rows[0]?.count))
  }
  return counts
}

async function onShards(owner: Client, table: string, command: string): Promise<void> {
  const { rows } = await owner.query<{ success: boolean; result: string }>(
    'select success, result from run_command_on_placements($1, $2)',
    [table, command],
  )
  for (const { success, result } of rows) assert.ok(success, result)
}

async function migrationsFolder(files: Record<string, string>) {
  const path = await mkdtemp(join(tmpdir(), 'millwright-migrations-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  return {
    source: { module: 'extra', folder: pathToFileURL(`${path}/`) },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}
