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
import { artefactSettings, type CloudConfiguration, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import { createHome } from '@millwright/cloud/start.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { connectDatabaseServer } from './database-owner.ts'

export function addCommands(restore: Command, terminal: Terminal): void {
  restore
    .argument('<file>', 'backup file; - is standard input')
    .addHelpText(
      'after',
      `
Restores to a home without a database, or to your own empty database (DATABASE_URL). The contents of artefacts are restored
to the folder artefacts in the home, or to MILLWRIGHT_ARTEFACT_FOLDER. The command never overwrites data. The
master key of the backup must be present before: as master.key in the home, or in MILLWRIGHT_MASTER_KEY. A backup of an
older version is migrated. A backup of a newer version is rejected. If the restore fails, the database stays empty.

Example:
  mkdir -m 711 /srv/millwright && cp /safe/master.key /srv/millwright/
  MILLWRIGHT_HOME=/srv/millwright millwright restore /backup/millwright-2026-01-31.tar.gz
  MILLWRIGHT_HOME=/srv/millwright millwright up`,
    )
    .action((file: string) => restoreFrom(terminal, file))
}

async function restoreFrom(terminal: Terminal, file: string): Promise<void> {
  const configuration = readCloudConfiguration({ ...terminal.environment })
  const backup = await openBackup(contentOf(file))
  const migrations = await requireKnownMigrations(backup, migrationSources)
  const home = await createHome(configuration.home)
  const masterKeys = await openMasterKeys(configuration, home)
  requireMasterKey(masterKeys, home)
  const { createdTimestamp, product } = backup.head
  terminal.progress(`Restoring a backup of ${createdTimestamp}`)
  const { tables, rows, files } = await fill(backup, { configuration, home, masterKeys, migrations })
  await terminal.print(
    `Restored ${rows} rows in ${tables} tables and ${files} contents of artefacts, as of ${createdTimestamp} (version ${product}). Start the platform: millwright up`,
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
    // A file system error has the property `syscall`; a decompression error does not have it.
    throw (error as NodeJS.ErrnoException).syscall === undefined ? broken() : unreadable(error as NodeJS.ErrnoException)
  }
}

/**
 * Throws when the master key is missing. Otherwise the next start would create a new key, which cannot decrypt the
 * secrets of the backup.
 */
function requireMasterKey({ place, ids }: MasterKeys, home: string): void {
  if (place === 'Vault' || ids.length > 0) return
  throw new CommandError('The master key of the backup is missing.', {
    next: `copy the key to ${join(home, 'master.key')}, or set MILLWRIGHT_MASTER_KEY; the backup does not contain the key`,
  })
}

type RestoreTarget = {
  configuration: CloudConfiguration
  home: string
  masterKeys: MasterKeys
  migrations: ReadonlySet<string>
}

async function fill(
  backup: OpenBackup,
  { configuration, home, masterKeys, migrations }: RestoreTarget,
): Promise<Restored> {
  const engine = await connectDatabaseServer(configuration.databaseUrl, home)
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
          restored = await fillFrom(backup, owner, artefactSettings(configuration, home).folder)
        },
      },
    })
    return restored ?? { tables: 0, rows: 0, files: 0, undoFiles: async () => {} }
  } catch (error) {
    // Deletes the restored rows, because a later step failed, for example with a wrong master key.
    if (restored !== undefined) {
      await clearTables(engine.address)
      await restored.undoFiles()
    }
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

async function clearTables(address: Address): Promise<void> {
  const owner = await openClient(address)
  try {
    await emptyTables(owner)
  } finally {
    await owner.end()
  }
}
