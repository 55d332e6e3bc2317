import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { migrationSources, placeRules as rules } from '../../prepare.ts'
import { until } from '../postgres/testing.ts'
import { testHub } from '../testing/hub.ts'
import { openClient } from './connection.ts'
import { migrate } from './migrations.ts'

const options = { skip: process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'needs a database of its own' }

describe('migrations', options, () => {
  test('runs each migration once, in order, when many processes start at the same time', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({ '0001-a.sql': 'create table made_once (tenant_id uuid primary key)' })
    const sources = [...migrationSources, folder.source]
    const runs = Array.from({ length: 4 }, () =>
      hub.asOwner((owner) => migrate(owner, { sources, appRole: appRoleOf(hub), rules })),
    )
    assert.deepEqual(
      (await Promise.all(runs)).flatMap(({ applied }) => applied),
      ['extra/0001-a'],
    )
  })

  test('does not wait for a transaction that has read the table of migrations, as a backup does', async () => {
    await using hub = await testHub({ own: true })
    await hub.asOwner(async (reader) => {
      await reader.query('begin')
      await reader.query('select from migrations')
      await hub.asOwner(async (owner) => {
        await owner.query(`set lock_timeout = '10s'`)
        await migrate(owner, { sources: migrationSources, appRole: appRoleOf(hub), rules })
      })
      await reader.query('rollback')
    })
  })

  test('protects every table with a tenant column by a row-level security policy', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({
      '0001-a.sql':
        'create table kept_apart (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select, insert on kept_apart to :app_role',
    })
    await hub.asOwner(async (owner) => {
      await migrate(owner, { sources: [...migrationSources, folder.source], appRole: appRoleOf(hub), rules })
      await owner.query('insert into kept_apart values ($1, $1)', [hub.tenant.tenantId])
    })
    const app = await openClient(hub.database.app)
    assert.equal((await app.query('select from kept_apart')).rowCount, 0)
    await app.query(`set app.tenant = '${hub.tenant.tenantId}'`)
    assert.equal((await app.query('select from kept_apart')).rowCount, 1)
    await app.end()
  })

  test('rolls back a migration that fails', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({ '0001-a.sql': 'create table half (tenant_id uuid); select 1 / 0' })
    await hub.asOwner(async (owner) => {
      await assert.rejects(
        migrate(owner, { sources: [...migrationSources, folder.source], appRole: appRoleOf(hub), rules }),
        /extra\/0001-a failed/,
      )
      assert.equal((await owner.query(`select from pg_class where relname = 'half'`)).rowCount, 0)
    })
  })

  test(
    'tries again while a long transaction holds a table, and does not block requests in the meantime',
    onlyInLongRuns,
    async () => {
      await using hub = await testHub({ own: true })
      await using folder = await migrationsFolder({ '0001-a.sql': 'alter table assets add column later text' })
      const migration = { sources: [...migrationSources, folder.source], appRole: appRoleOf(hub), rules }
      const caller = await hub.as('administrator')
      await hub.asOwner(async (backup) => {
        await backup.query('begin')
        await backup.query('lock table assets in access share mode')
        const refused = hub.asOwner((owner) => migrate(owner, { ...migration, lockLimitMs: 0 }))
        await assert.rejects(refused, /locks the tables of the migration extra\/0001-a: wait until it ends/)
        const waiting = hub.asOwner((owner) => migrate(owner, migration))
        await until(async () => (await backup.query(waitingForTable)).rowCount === 1)
        await caller.inventory.listAssets({})
        await backup.query('commit')
        assert.deepEqual((await waiting).applied, ['extra/0001-a'])
      })
    },
  )

  test('refuses to start when an applied migration was changed', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({ '0001-a.sql': 'create table later (tenant_id uuid)' })
    const sources = [...migrationSources, folder.source]
    await hub.asOwner(async (owner) => {
      await migrate(owner, { sources, appRole: appRoleOf(hub), rules })
      await writeFile(new URL('0001-a.sql', folder.source.folder), 'create table later (tenant_id uuid, more text)')
      await assert.rejects(
        migrate(owner, { sources, appRole: appRoleOf(hub), rules }),
        /was changed after it was applied/,
      )
    })
  })

  test('accepts the tables of a newer version only in a process that can run on them', async () => {
    const older = { sources: migrationSources, acceptNewer: true }
    for (const { text, refusal } of [
      { text: 'create table later (tenant_id uuid)', refusal: undefined },
      { text: '-- contract: 0.9.0\ncreate table later (tenant_id uuid)', refusal: undefined },
      { text: '-- contract: 99.0.0\ncreate table later (tenant_id uuid)', refusal: /start that version/ },
    ]) {
      await using hub = await testHub({ own: true })
      await using folder = await migrationsFolder({ '0001-a.sql': text })
      const appRole = appRoleOf(hub)
      await hub.asOwner(async (owner) => {
        await migrate(owner, { sources: [...migrationSources, folder.source], appRole, rules })
        const command = migrate(owner, { sources: migrationSources, appRole, rules })
        await assert.rejects(command, refusal ?? /newer version \(extra\/0001-a\): run this command with that version/)
        const start = migrate(owner, { ...older, appRole, rules })
        if (refusal !== undefined) return assert.rejects(start, refusal)
        assert.deepEqual(await start, { applied: [], hasNewer: true })
      })
    }
  })

  test('refuses the tables of a newer version that did not store its compatibility, or lacks a migration of this version', async () => {
    await using hub = await testHub({ own: true })
    await using newer = await migrationsFolder({ '0001-a.sql': 'create table later (tenant_id uuid)' })
    await using own = await migrationsFolder({ '0001-b.sql': 'create table missing (tenant_id uuid)' })
    const appRole = appRoleOf(hub)
    await hub.asOwner(async (owner) => {
      await migrate(owner, { sources: [...migrationSources, newer.source], appRole, rules })
      const sources = [...migrationSources, { ...own.source, module: 'own' }]
      await assert.rejects(
        migrate(owner, { sources, appRole, rules, acceptNewer: true }),
        /without the migration own\/0001-b/,
      )
      await owner.query(`update migrations set compatible_with = null where module = 'extra'`)
      const start = migrate(owner, { sources: migrationSources, appRole, rules, acceptNewer: true })
      await assert.rejects(start, /newer version \(extra\/0001-a\): start that version/)
    })
  })

  test('migrates tables of a version that did not store the compatibility of migrations', onlyInLongRuns, async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({ '0001-a.sql': 'create table later (tenant_id uuid)' })
    const appRole = appRoleOf(hub)
    await hub.asOwner(async (owner) => {
      await owner.query('alter table migrations drop column compatible_with')
      const { applied } = await migrate(owner, { sources: [...migrationSources, folder.source], appRole, rules })
      assert.deepEqual(applied, ['extra/0001-a'])
    })
  })
})

const waitingForTable = `select from pg_locks where not granted and relation = 'assets'::regclass limit 1`

function appRoleOf(hub: Awaited<ReturnType<typeof testHub>>): string {
  return 'user' in hub.database.app ? hub.database.app.user : ''
}

async function migrationsFolder(files: Record<string, string>) {
  const path = await mkdtemp(join(tmpdir(), 'millwright-migrations-'))
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  return {
    source: { module: 'extra', folder: pathToFileURL(`${path}/`) },
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  }
}
