import { createHash, type Hash } from 'node:crypto'
import type { Owner } from '../tenants/tenants.ts'
import { type Entry, writeArchive } from './archive.ts'
import {
  type AppliedMigration,
  type BackupTable,
  beginSnapshot,
  endSnapshot,
  listApplied,
  listTables,
  readRows,
  versionOf,
} from './backup-store.ts'
import { partName, readContentFiles } from './content-files.ts'

export const backupFormat = 'millwright-backup-1'

/**
 * The first entry of a backup. It contains the data that decides whether the backup can be restored in this
 * installation.
 */
export type BackupHead = {
  format: typeof backupFormat
  product: string
  createdTimestamp: string
  postgres: string
  migrations: AppliedMigration[]
  tables: BackupTable[]
}

/** The last entry of a backup. It contains the data that shows whether the backup is complete. */
export type BackupEnd = {
  tables: Record<string, { rows: number; bytes: number; sha256: string }>
  /** The files with the contents of artefacts, by name. Backups of older versions have none. */
  files?: Record<string, { bytes: number; sha256: string }>
}

export const headName = 'head.json'
export const endName = 'end.json'

/** The approximate size in bytes of one part, which is an entry with rows of a table. */
const partBytes = 1024 * 1024

type Options = {
  product: string
  /** The folder with the contents of artefacts. */
  folder: string
  onProgress?: (done: { table: string; rows: number; bytes: number }) => void
}

/**
 * Streams a consistent backup of the whole database, and of the files with the contents of artefacts. Other processes can
 * write meanwhile. The contents do not change. A content that is deleted meanwhile can be missing.
 */
export async function* takeBackup(owner: Owner, options: Options): AsyncGenerator<Buffer> {
  await beginSnapshot(owner)
  try {
    yield* writeArchive(entries(owner, options))
  } finally {
    await endSnapshot(owner)
  }
}

async function* entries(owner: Owner, { product, folder, onProgress = () => {} }: Options): AsyncGenerator<Entry> {
  const head: BackupHead = {
    format: backupFormat,
    product,
    createdTimestamp: new Date().toISOString(),
    postgres: await versionOf(owner),
    migrations: await listApplied(owner),
    tables: await listTables(owner),
  }
  yield entry(headName, head)
  const end: BackupEnd = { tables: {} }
  for (const table of head.tables) {
    const counted = { rows: 0, bytes: 0, hash: createHash('sha256') }
    let number = 0
    for await (const { rows, content } of parts(readRows(owner, table))) {
      counted.rows += rows
      counted.bytes += content.length
      counted.hash.update(content)
      number += 1
      yield { name: `${table.name}/${String(number).padStart(7, '0')}.copy`, content }
      onProgress({ table: table.name, rows: counted.rows, bytes: counted.bytes })
    }
    end.tables[table.name] = { rows: counted.rows, bytes: counted.bytes, sha256: counted.hash.digest('hex') }
  }
  const files: NonNullable<BackupEnd['files']> = {}
  const counting = new Map<string, { bytes: number; hash: Hash }>()
  for await (const { name, part, content } of readContentFiles(folder)) {
    const counted = counting.get(name) ?? { bytes: 0, hash: createHash('sha256') }
    counting.set(name, counted)
    counted.bytes += content.length
    counted.hash.update(content)
    yield { name: partName(name, part), content }
    onProgress({ table: 'artefacts', rows: counting.size, bytes: counted.bytes })
  }
  for (const [name, { bytes, hash }] of counting) files[name] = { bytes, sha256: hash.digest('hex') }
  yield entry(endName, { ...end, files })
}

function entry(name: string, value: object): Entry {
  return { name, content: Buffer.from(`${JSON.stringify(value, undefined, 1)}\n`) }
}

async function* parts(source: AsyncIterable<Buffer[]>): AsyncGenerator<{ rows: number; content: Buffer }> {
  let held: Buffer[] = []
  let bytes = 0
  for await (const rows of source) {
    for (const row of rows) {
      held.push(row)
      bytes += row.length
      if (bytes < partBytes) continue
      yield { rows: held.length, content: Buffer.concat(held) }
      held = []
      bytes = 0
    }
  }
  if (held.length > 0) yield { rows: held.length, content: Buffer.concat(held) }
}
