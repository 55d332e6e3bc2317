import { access, open, rename, rm, stat } from 'node:fs/promises'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { takeBackup } from '@millwright/cloud/platform/backup/backup.ts'
import { productVersion } from '@millwright/cloud/version.ts'
import type { Command } from 'commander'
import { CommandError, usageError } from '../output/error-report.ts'
import type { Terminal } from '../output/terminal.ts'
import { sized } from '../output/text.ts'
import { asPlainOwner } from './database-owner.ts'

/** Most of what a better level would save is saved at this one, in a third of the time. */
const compression = { level: 4 }

export function addCommands(backup: Command, terminal: Terminal): void {
  backup
    .argument('<file>', 'the file to write; - is standard output')
    .option('--force', 'overwrite an existing file')
    .addHelpText(
      'after',
      `
All tables of one moment, in one file (a compressed tar), while the platform runs or without one, from the embedded
database or from your own (DATABASE_URL).

THE MASTER KEY IS NOT IN IT. Secrets are in the backup as they are in the database: sealed. Without the master key
(master.key in the home, or what MILLWRIGHT_MASTER_KEY holds) a backup cannot be restored. Keep the key too, and keep it
elsewhere: whoever has both has everything.

Not in it either, because it can be made again: first-run.json, logs, and the home of a gateway.

Example, every night:
  millwright backup /backup/millwright-$(date +%F).tar.gz`,
    )
    .action((file: string, { force }: { force?: boolean }) => write(terminal, file, force === true))
}

async function write(terminal: Terminal, file: string, force: boolean): Promise<void> {
  if (file === '-') {
    if (process.stdout.isTTY) throw usageError('A backup is not for a screen.', 'send it into a file or a pipe')
    return take(terminal, process.stdout)
  }
  if (!force && (await exists(file))) throw usageError(`${file} is there already.`, 'give another name, or --force')
  const draft = `${file}.partial`
  try {
    // Opened before anything is read, so that a place that cannot be written to is told at once.
    const handle = await open(draft, 'w', 0o600)
    await take(terminal, handle.createWriteStream({ flush: true }))
    await rename(draft, file)
  } catch (error) {
    await rm(draft, { force: true })
    const { code, path } = error as NodeJS.ErrnoException
    if (path !== undefined || code === 'ENOSPC')
      throw new CommandError(`${file} cannot be written (${code}).`, { next: 'choose a place with room that is yours' })
    throw error
  }
  const { size } = await stat(file)
  await terminal.print(`${file}, ${sized(size)}. The master key is not in it: keep it too, elsewhere.`)
}

async function take(terminal: Terminal, to: Writable): Promise<void> {
  await asPlainOwner(terminal.environment, (owner) => {
    const bytes = takeBackup(owner, {
      product: productVersion,
      onProgress: ({ table, rows }) => terminal.progress(`${table}: ${rows} rows`),
    })
    return pipeline(Readable.from(bytes, { objectMode: false }), createGzip(compression), to)
  })
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  )
}
