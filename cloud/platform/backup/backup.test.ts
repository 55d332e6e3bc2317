import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { migrationSources, prepareDatabase } from '../../prepare.ts'
import { type Address, openClient } from '../database/connection.ts'
import { type TestCaller, type TestHub, testHub } from '../testing/hub.ts'
import { keysFor } from '../testing/server.ts'
import { type Entry, readArchive, writeArchive } from './archive.ts'
import { type BackupHead, takeBackup } from './backup.ts'
import { listTables } from './backup-store.ts'
import { fillFrom, openBackup, requireEmpty, requireKnownMigrations } from './restore.ts'

type Owner = Awaited<ReturnType<typeof openClient>>

let hub: TestHub
let admin: TestCaller
const made: string[] = []
const emptyFolder = join(tmpdir(), `millwright-no-artefacts-${randomBytes(6).toString('hex')}`)

before(async () => {
  hub = await testHub({ own: true })
  admin = await hub.as('administrator')
  for (let from = 0; from < 300; from += 100) await createAssets(from, 100)
})

after(async () => {
  await hub.asOwner(async (owner) => {
    for (const name of made) {
      await owner.query(`drop database if exists ${name} with (force)`)
      await owner.query(`drop role if exists ${name}_app`)
    }
  })
  await hub[Symbol.asyncDispose]()
})

async function createAssets(from: number, count: number): Promise<void> {
  const assets = Array.from({ length: count }, (_, index) => ({
    functional_object_type: 'Device',
    name: `Device ${from + index}\ttab, \\ and\nline`,
    asset_identifiers: [{ asset_identifier_type: 'CustomIdentifier', name: 'number', value: String(from + index) }],
  }))
  await admin.inventory.createAssets({ body: { data: { assets } }, query: {}, headers: { prefer: 'wait=30' } })
}

/** Creates an empty database on the same server. */
async function emptyDatabase(): Promise<Address> {
  const name = `restored_${randomBytes(6).toString('hex')}`
  made.push(name)
  await hub.asOwner((owner) => owner.query(`create database ${name}`))
  const { owner } = hub.database
  if ('url' in owner) return { url: owner.url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`) }
  return { ...owner, database: name }
}

async function asOwnerOf<Result>(address: Address, work: (owner: Owner) => Promise<Result>): Promise<Result> {
  const owner = await openClient(address)
  try {
    return await work(owner)
  } finally {
    await owner.end()
  }
}

const backedUp = (folder = emptyFolder) =>
  hub.asOwner(async (owner) => Buffer.concat(await Array.fromAsync(takeBackup(owner, { product: '0.0.0', folder }))))

async function* source(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += 50_000) yield bytes.subarray(from, from + 50_000)
}

async function restore(bytes: Buffer, address: Address, folder = emptyFolder): Promise<void> {
  const backup = await openBackup(source(bytes))
  const migrations = await requireKnownMigrations(backup, migrationSources)
  await asOwnerOf(address, (owner) => requireEmpty(owner, migrations))
  await prepareDatabase({
    owner: address,
    app: undefined,
    binding: 'auto',
    masterKeys: (await keysFor(hub.database.owner)).masterKeys,
    filling: { migrations, fill: async (owner) => void (await fillFrom(backup, owner, folder)) },
  })
}

/** Returns a hash of the content of each table. */
async function contentOf(address: Address): Promise<Record<string, string>> {
  return asOwnerOf(address, async (owner) => {
    const found: Record<string, string> = {}
    for (const { name, columns } of await listTables(owner)) {
      // This table is skipped, because the application has a separate login in every database.
      if (name === 'platform_secrets') continue
      const list = columns.map((column) => `"${column}"`).join(', ')
      const { rows } = await owner.query<{ hash: string }>(
        `select count(*) || ' ' || coalesce(md5(string_agg(r::text, '|' order by r::text collate "C")), '') as hash
         from (select ${list} from ${name}) as r`,
      )
      found[name] = rows[0]?.hash ?? ''
    }
    return found
  })
}

async function changed(bytes: Buffer, change: (entry: Entry) => Entry | undefined): Promise<Buffer> {
  const entries = await Array.fromAsync(readArchive(source(bytes)))
  const kept = entries.flatMap((entry) => change(entry) ?? [])
  return Buffer.concat(
    await Array.fromAsync(
      writeArchive(
        (async function* () {
          yield* kept
        })(),
      ),
    ),
  )
}

/** A migration that does not change any row. */
const dropsNothing = 'events/0002-fast-writes'

describe('backup and restore', () => {
  test('restores every row of every table, and the policies and grants of the application role', async () => {
    await hub.settle()
    const bytes = await backedUp()
    const address = await emptyDatabase()
    await restore(bytes, address)
    const restored = await contentOf(address)
    assert.deepEqual(restored, await contentOf(hub.database.owner))
    assert.ok(Object.keys(restored).length > 30)
    await asOwnerOf(address, async (owner) => {
      const { rows } = await owner.query(
        `select from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id'
         where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and not c.relrowsecurity`,
      )
      assert.deepEqual(rows, [])
    })
    await assert.rejects(restore(bytes, address), /The database is not empty \(\w+ has rows\)/)
  })

  test('restores the contents of artefacts, and deletes them if the restore fails', onlyInLongRuns, async () => {
    const content = randomBytes(9_000_000)
    const { sha256, size } = { sha256: createHash('sha256').update(content).digest('hex'), size: content.length }
    const { data: artefact } = await admin.updates.createArtefact({
      body: {
        data: {
          name: 'Firmware',
          manufacturer: 'Example',
          products: ['P'],
          version: '1',
          kind: 'firmware',
          sha256,
          size,
        },
      },
    })
    const body = { mediaType: 'application/octet-stream', content: new Uint8Array(content) }
    await admin.updates.putContent({ params: { id: artefact.id }, body })
    const bytes = await backedUp(hub.contextOf('updates').settings.artefacts.folder)
    const folder = await mkdtemp(join(tmpdir(), 'millwright-restored-'))
    try {
      const tampered = await changed(bytes, (entry) =>
        entry.name.startsWith('files/') ? { ...entry, content: Buffer.alloc(entry.content.length) } : entry,
      )
      const address = await emptyDatabase()
      await assert.rejects(restore(tampered, address, folder), /damaged or incomplete/)
      const outside = await changed(bytes, (entry) =>
        entry.name.startsWith('files/') ? { ...entry, name: 'files/../../x/0000001.part' } : entry,
      )
      await assert.rejects(restore(outside, await emptyDatabase(), folder), /damaged or incomplete/)
      const missing = await changed(bytes, (entry) => (entry.name.startsWith('files/') ? undefined : entry))
      await assert.rejects(restore(missing, await emptyDatabase(), folder), /damaged or incomplete/)
      const files = async () =>
        (await readdir(folder, { recursive: true, withFileTypes: true })).filter(
          (f) => f.isFile() && f.parentPath.includes(hub.tenant.tenantId),
        )
      assert.deepEqual(await files(), [])
      await restore(bytes, await emptyDatabase(), folder)
      const [file, ...others] = await files()
      assert.ok(file !== undefined && others.length === 0)
      assert.deepEqual(await readFile(join(file.parentPath, file.name)), content)
      await assert.rejects(restore(bytes, await emptyDatabase(), folder), /exists already/)
      assert.equal((await files()).length, 1)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  test('backs up a single point in time while other processes write', onlyInLongRuns, async () => {
    let goesOn = true
    const writing = (async () => {
      for (let from = 1_000; goesOn; from += 20) await createAssets(from, 20)
    })()
    const bytes = await backedUp()
    goesOn = false
    await writing
    const address = await emptyDatabase()
    await restore(bytes, address)
    await asOwnerOf(address, async (owner) => {
      const { rows } = await owner.query<Record<string, number>>(
        `select (select count(*)::integer from assets) as assets,
                (select coalesce(sum(assets), 0)::integer from asset_counts) as counted,
                (select count(distinct asset_id)::integer from asset_history) as told,
                (select count(*)::integer from assets a
                 where not exists (select from asset_identifiers i where i.tenant_id = a.tenant_id and i.asset_id = a.id)) as unknown`,
      )
      const [found] = rows
      assert.ok((found?.assets ?? 0) >= 300)
      assert.deepEqual([found?.counted, found?.told, found?.unknown], [found?.assets, found?.assets, 0])
    })
  })

  test('restores nothing from a backup that is changed, truncated or of a newer version', async () => {
    const bytes = await backedUp()
    const address = await emptyDatabase()
    const tampered = await changed(bytes, (entry) =>
      entry.name.startsWith('tenants/')
        ? { ...entry, content: Buffer.from(entry.content.toString().replace(hub.tenant.name, 'another')) }
        : entry,
    )
    await assert.rejects(restore(tampered, address), /damaged or incomplete/)
    const missing = await changed(bytes, (entry) => (entry.name.startsWith('assets/') ? undefined : entry))
    await assert.rejects(restore(missing, address), /damaged or incomplete|violates foreign key/)
    await assert.rejects(restore(bytes.subarray(0, bytes.length / 2), address), /damaged or incomplete/)
    await assert.rejects(restore(Buffer.from('nothing of ours'), address), /not a backup of Millwright/)
    const newer = await changed(bytes, (entry) => {
      if (entry.name !== 'head.json') return entry
      const head: BackupHead = JSON.parse(entry.content.toString())
      head.migrations.push({ module: 'inventory', name: '9999-later', checksum: '' })
      return { ...entry, content: Buffer.from(JSON.stringify(head)) }
    })
    await assert.rejects(
      restore(newer, address),
      /newer than this version of Millwright \(unknown migration inventory\/9999-later\)/,
    )
    await restore(bytes, address)
    assert.ok(Number((await contentOf(address)).assets?.split(' ')[0]) >= 300)
  })

  test('migrates the data of a backup of an older version at restore', async () => {
    const bytes = await backedUp()
    const older = await changed(bytes, (entry) => {
      if (entry.name !== 'head.json') return entry
      const head: BackupHead = JSON.parse(entry.content.toString())
      head.migrations = head.migrations.filter(({ module, name }) => `${module}/${name}` !== dropsNothing)
      return { ...entry, content: Buffer.from(JSON.stringify(head)) }
    })
    const address = await emptyDatabase()
    await restore(older, address)
    const applied = await asOwnerOf(address, async (owner) => {
      const { rows } = await owner.query('select from migrations')
      return rows.length
    })
    const here = await hub.asOwner(async (owner) => (await owner.query('select from migrations')).rows.length)
    assert.equal(applied, here)
  })
})
