import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import { openMasterKeys } from '@millwright/cloud/master-key-places.ts'
import { broken } from '@millwright/cloud/platform/backup/archive.ts'
import { emptyTables } from '@millwright/cloud/platform/backup/backup-store.ts'
import {
  fillFrom,
  type OpenBackup,
  openBackup,
  type Restored,
  requireEmpty,
  requireKnownMigrations,
} from '@millwright/cloud/platform/backup/restore.ts'
import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import type { MasterKeys } from '@millwright/cloud/platform/secrets/master-keys.ts'
import { migrationSources, prepareDatabase } from '@millwright/cloud/prepare.ts'
import { type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { makeHome } from '@millwright/cloud/start.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { reachEngine } from './database-owner.ts'

export function addCommands(restore: Command, terminal: Terminal): void {
  restore
    .argument('<file>', 'a backup; - is standard input')
    .addHelpText(
      'after',
      `
Into a home without a database, or into an empty database of your own (DATABASE_URL); nothing is ever overwritten. The
master key that the backup was made under has to be there first: as master.key in the home, or in MILLWRIGHT_MASTER_KEY.
A backup of an older version is brought forward; one of a newer version is refused. Everything comes back, or nothing.

Example:
  mkdir -m 711 /srv/millwright && cp /safe/master.key /srv/millwright/
  MILLWRIGHT_HOME=/srv/millwright millwright restore /backup/millwright-2026-01-31.tar.gz
  MILLWRIGHT_HOME=/srv/millwright millwright up`,
    )
    .action((file: string) => bringBack(terminal, file))
}

async function bringBack(terminal: Terminal, file: string): Promise<void> {
  const configuration = readCloudConfiguration({ ...terminal.environment })
  const backup = await openBackup(contentOf(file))
  const migrations = await requireKnownMigrations(backup, migrationSources)
  const home = await makeHome(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  requireMasterKey(masterKeys, home)
  const { createdTimestamp, product } = backup.head
  terminal.progress(`Restoring a backup of ${createdTimestamp}`)
  const { tables, rows } = await fill(backup, { configuration, home, masterKeys, migrations })
  await terminal.print(
    `${rows} rows in ${tables} tables are back as they were at ${createdTimestamp} (version ${product}). Start it: millwright up`,
  )
}

async function* contentOf(file: string): AsyncGenerator<Buffer> {
  const unreadable = ({ code }: NodeJS.ErrnoException) => usageError(`${file} cannot be read (${code}).`)
  const raw: NodeJS.ReadableStream =
    file === '-'
      ? process.stdin
      : (
          await open(file).catch((error) => {
            throw unreadable(error)
          })
        ).createReadStream()
  const plain = createGunzip()
  raw.on('error', (error: Error) => plain.destroy(error))
  try {
    yield* raw.pipe(plain)
  } catch (error) {
    // What the machine says about the file has the name of its call; what the content is not has none.
    throw (error as NodeJS.ErrnoException).syscall === undefined ? broken() : unreadable(error as NodeJS.ErrnoException)
  }
}

/** A new key would be made at the start, and what is sealed in the backup could never be opened again. */
function requireMasterKey({ place, ids }: MasterKeys, home: string): void {
  if (place === 'Vault' || ids.length > 0) return
  throw new CommandError('The master key that the backup was made under is not here.', {
    next: `put it into ${join(home, 'master.key')}, or set MILLWRIGHT_MASTER_KEY; it is not in the backup`,
  })
}

type Filling = {
  configuration: CloudConfiguration
  home: string
  masterKeys: MasterKeys
  migrations: ReadonlySet<string>
}

async function fill(backup: OpenBackup, { configuration, home, masterKeys, migrations }: Filling): Promise<Restored> {
  const engine = await reachEngine(configuration.databaseUrl, home)
  let restored: Restored | undefined
  try {
    await requireEmptyAt(engine.address, migrations)
    await prepareDatabase({
      owner: engine.address,
      app: configuration.databaseAppUrl === undefined ? undefined : { url: configuration.databaseAppUrl },
      binding: configuration.tenantBinding,
      masterKeys,
      filling: {
        migrations,
        fill: async (owner) => {
          restored = await fillFrom(backup, owner)
        },
      },
    })
    return restored ?? { tables: 0, rows: 0 }
  } catch (error) {
    // What came in and turned out to be of no use, with another master key for one, goes again.
    if (restored !== undefined) await emptied(engine.address)
    throw error
  } finally {
    await engine.stop()
  }
}

type Address = Parameters<typeof openClient>[0]

async function requireEmptyAt(address: Address, migrations: ReadonlySet<string>): Promise<void> {
  const owner = await openClient(address)
  try {
    await requireEmpty(owner, migrations)
  } finally {
    await owner.end()
  }
}

async function emptied(address: Address): Promise<void> {
  const owner = await openClient(address)
  try {
    await emptyTables(owner)
  } finally {
    await owner.end()
  }
}
