import { access, open, rename, rm, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { takeBackup } from '@millwright/cloud/platform/backup/backup.ts'
import { recordBackup } from '@millwright/cloud/platform/backup/last-backup.ts'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import { artefactFolderOf, readCloudConfiguration } from '@millwright/cloud/settings.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { formatBytes } from '../output/text.ts'
import { withOwnerConnection } from './database-owner.ts'

/**
 * The compression level. Level 4 takes a third of the time of the default level, and the file is only slightly larger.
 */
const compression = { level: 4 }

export function addCommands(backup: Command, terminal: Terminal): void {
  backup
    .argument('<file>', 'file to write; - is standard output')
    .option('--force', 'overwrite an existing file')
    .addHelpText(
      'after',
      `
Writes a consistent snapshot of all tables to one file (a compressed tar). The platform can be running or stopped. The
database is the embedded one, or your own (DATABASE_URL). The backup contains the contents of artefacts in the home. It does
not contain contents in an S3-compatible store (MILLWRIGHT_ARTEFACT_STORE): back up the bucket separately.

THE BACKUP DOES NOT CONTAIN THE MASTER KEY. Secrets in the backup are encrypted, as they are in the database. A backup
cannot be restored without the master key (master.key in the home, or the value of MILLWRIGHT_MASTER_KEY). Store a copy of
the key in another place than the backup: a person with both can read all secrets.

The backup also does not contain first-run.json, logs, and the home of a gateway, because they can be created again.

Example, every night:
  millwright backup /backup/millwright-$(date +%F).tar.gz`,
    )
    .action((file: string, { force }: { force?: boolean }) => write(terminal, file, force === true))
}

async function write(terminal: Terminal, file: string, force: boolean): Promise<void> {
  if (file === '-') {
    if (process.stdout.isTTY)
      throw usageError('A backup cannot be written to a terminal.', 'redirect it to a file or a pipe')
    return take(terminal, process.stdout)
  }
  if (!force && (await exists(file)))
    throw usageError(`${file} already exists.`, 'choose another name, or pass --force')
  const draft = `${file}.partial`
  try {
    // The file is opened before the database is read, so that an unwritable path fails immediately.
    const handle = await open(draft, 'w', 0o600)
    await take(terminal, handle.createWriteStream({ flush: true }))
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== undefined || code === 'ENOSPC')
      throw new CommandError(`${file} cannot be written (${code}).`, {
        next: 'choose a writable folder with free space',
      })
    throw error
  }
  const { size } = await stat(file)
  await terminal.print(`${file}, ${formatBytes(size)}. It does not contain the master key: back up the key separately.`)
}

async function take(terminal: Terminal, to: Writable): Promise<void> {
  const configuration = readCloudConfiguration({ ...terminal.environment })
  await withOwnerConnection(terminal.environment, (owner) => {
    const bytes = takeBackup(owner, {
      product: productVersion,
      folder: artefactFolderOf(configuration, configuration.home),
      onProgress: ({ table, rows }) => terminal.progress(`${table}: ${rows} rows`),
    })
    return pipeline(Readable.from(bytes, { objectMode: false }), createGzip(compression), to)
  })
  // The backup is complete even if its time cannot be stored, for example because the home belongs to another user.
  await recordBackup(resolve(configuration.home), new Date()).catch((error: NodeJS.ErrnoException) =>
    terminal.note(`The time of the backup could not be stored in the home (${error.code}).`),
  )
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
