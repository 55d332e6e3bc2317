import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { migrationSources } from '../../prepare.ts'
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
      hub.asOwner((owner) => migrate(owner, { sources, appRole: appRoleOf(hub) })),
    )
    assert.deepEqual((await Promise.all(runs)).flat(), ['extra/0001-a'])
  })

  test('protects every table with a tenant column by a row-level security policy', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({
      '0001-a.sql':
        'create table kept_apart (tenant_id uuid, id uuid, primary key (tenant_id, id)); grant select, insert on kept_apart to :app_role',
    })
    await hub.asOwner(async (owner) => {
      await migrate(owner, { sources: [...migrationSources, folder.source], appRole: appRoleOf(hub) })
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
        migrate(owner, { sources: [...migrationSources, folder.source], appRole: appRoleOf(hub) }),
        /extra\/0001-a failed/,
      )
      assert.equal((await owner.query(`select from pg_class where relname = 'half'`)).rowCount, 0)
    })
  })

  test('refuses to start when an applied migration was changed or is from a newer version', async () => {
    await using hub = await testHub({ own: true })
    await using folder = await migrationsFolder({ '0001-a.sql': 'create table later (tenant_id uuid)' })
    const sources = [...migrationSources, folder.source]
    await hub.asOwner(async (owner) => {
      await migrate(owner, { sources, appRole: appRoleOf(hub) })
      await writeFile(new URL('0001-a.sql', folder.source.folder), 'create table later (tenant_id uuid, more text)')
      await assert.rejects(migrate(owner, { sources, appRole: appRoleOf(hub) }), /was changed after it was applied/)
      await assert.rejects(migrate(owner, { sources: migrationSources, appRole: appRoleOf(hub) }), /newer version/)
    })
  })
})

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
