import { createHash, type Hash } from 'node:crypto'
import type { MigrationSource } from '../database/migrations.ts'
import { type Migration, readMigrations } from '../database/migrations.ts'
import { StartError } from '../start-error.ts'
import type { Owner } from '../tenants/tenants.ts'
import { broken, type Entry, readArchive } from './archive.ts'
import { type BackupEnd, type BackupHead, backupFormat, endName, headName } from './backup.ts'
import { type BackupTable, findFilled, inOneTransaction, listApplied, listTables, writeRows } from './backup-store.ts'
import { ContentFileWriter, isFilePart } from './content-files.ts'

/** A backup whose first entry has been read. */
export type OpenBackup = { head: BackupHead; entries: AsyncIterator<Entry> }

export async function openBackup(source: AsyncIterable<Buffer>): Promise<OpenBackup> {
  const entries = readArchive(source)[Symbol.asyncIterator]()
  const first = await entries.next().catch((error: unknown) => {
    if (error instanceof StartError) throw notABackup()
    throw error
  })
  if (first.done || first.value.name !== headName) throw notABackup()
  const head: BackupHead = JSON.parse(first.value.content.toString())
  if (head.format !== backupFormat) throw notABackup()
  return { head, entries }
}

function notABackup(): StartError {
  return new StartError('This is not a backup of Millwright, or it is damaged.')
}

/** Throws if the backup comes from a newer version, because it can contain tables that this version does not know. */
export async function requireKnownMigrations(
  { head }: OpenBackup,
  sources: readonly MigrationSource[],
): Promise<Set<string>> {
  const checksums = new Map((await readMigrations(sources)).map((migration) => [idOf(migration), migration.checksum]))
  for (const applied of head.migrations) {
    const checksum = checksums.get(idOf(applied))
    if (checksum === applied.checksum) continue
    throw new StartError(
      `The backup was created by version ${head.product}, which is newer than this version of Millwright (unknown migration ${idOf(applied)}): restore the backup with that version.`,
    )
  }
  return new Set(head.migrations.map(idOf))
}

function idOf({ module, name }: Pick<Migration, 'module' | 'name'>): string {
  return `${module}/${name}`
}

/** Throws if the database contains data, because a restore never overwrites data. */
export async function requireEmpty(owner: Owner, migrations: ReadonlySet<string>): Promise<void> {
  const filled = await findFilled(owner)
  if (filled !== undefined) {
    throw new StartError(
      `The database is not empty (${filled} has rows): restore into a new home or an empty database. Nothing was changed.`,
    )
  }
  const further = (await listApplied(owner)).find((migration) => !migrations.has(idOf(migration)))
  if (further === undefined) return
  throw new StartError(
    `The database has tables of a later version (${idOf(further)}) than the backup: restore into a new home or an empty database.`,
  )
}

export type Restored = {
  tables: number
  rows: number
  files: number
  /** Deletes the restored files, if a later step fails. */
  undoFiles(): Promise<void>
}

/**
 * Fills empty tables in one transaction, and writes the contents of artefacts to a folder. The transaction is committed only
 * if the backup is complete and unchanged.
 */
export async function fillFrom({ head, entries }: OpenBackup, owner: Owner, folder: string): Promise<Restored> {
  const files = new ContentFileWriter(folder)
  try {
    return await fill({ head, entries }, owner, files)
  } catch (error) {
    await files.undo()
    throw error
  }
}

async function fill({ head, entries }: OpenBackup, owner: Owner, files: ContentFileWriter): Promise<Restored> {
  const here = new Map((await listTables(owner)).map((table) => [table.name, table]))
  const seen = new Map<string, Checksum>()
  const reading = new PartReader(entries)
  await inOneTransaction(owner, async () => {
    for (const table of head.tables) {
      requireSame(table, here.get(table.name))
      const counted: Checksum = { bytes: 0, hash: createHash('sha256') }
      seen.set(table.name, counted)
      await writeRows(owner, table, reading.partsOf(table.name, counted))
    }
    const written = new Map<string, Checksum>()
    for await (const { name: part, content } of reading.fileParts()) {
      const name = await files.write(part, content)
      const counted = written.get(name) ?? { bytes: 0, hash: createHash('sha256') }
      written.set(name, counted)
      counted.bytes += content.length
      counted.hash.update(content)
    }
    const end = await reading.end()
    requireComplete(end.tables, seen)
    requireComplete(end.files ?? {}, written)
    if (written.size !== Object.keys(end.files ?? {}).length) throw broken()
  })
  const end = await reading.end()
  const rows = Object.values(end.tables).reduce((sum, table) => sum + table.rows, 0)
  const count = Object.keys(end.files ?? {}).length
  return { tables: head.tables.length, rows, files: count, undoFiles: () => files.undo() }
}

function requireSame(table: BackupTable, here: BackupTable | undefined): void {
  const missing = table.columns.filter((column) => !here?.columns.includes(column))
  if (missing.length > 0) {
    throw new StartError(
      `The column ${table.name}.${missing[0]} does not exist in this database: restore the backup with the version that created it.`,
    )
  }
}

type Checksum = { bytes: number; hash: Hash }

/** `PartReader` reads the parts of a backup in order. It buffers the first part of the next table. */
class PartReader {
  readonly #entries: AsyncIterator<Entry>
  #next: Entry | undefined
  #end: BackupEnd | undefined

  constructor(entries: AsyncIterator<Entry>) {
    this.#entries = entries
  }

  async *partsOf(table: string, counted: Checksum): AsyncGenerator<Buffer> {
    for (let part = await this.#peek(); part?.name.startsWith(`${table}/`); part = await this.#peek()) {
      this.#next = undefined
      counted.bytes += part.content.length
      counted.hash.update(part.content)
      yield part.content
    }
  }

  /** Returns the parts of the files, which follow the tables. */
  async *fileParts(): AsyncGenerator<Entry> {
    for (let part = await this.#peek(); part !== undefined && isFilePart(part.name); part = await this.#peek()) {
      this.#next = undefined
      yield part
    }
  }

  async end(): Promise<BackupEnd> {
    if (this.#end !== undefined) return this.#end
    const last = await this.#peek()
    if (last?.name !== endName) throw broken()
    this.#end = JSON.parse(last.content.toString()) as BackupEnd
    return this.#end
  }

  async #peek(): Promise<Entry | undefined> {
    if (this.#next !== undefined) return this.#next
    const { done, value } = await this.#entries.next()
    this.#next = done ? undefined : value
    return this.#next
  }
}

type ExpectedChecksums = Readonly<Record<string, { bytes: number; sha256: string }>>

function requireComplete(all: ExpectedChecksums, seen: ReadonlyMap<string, Checksum>): void {
  for (const [name, { bytes, hash }] of seen) {
    const expected = all[name]
    if (expected === undefined || expected.bytes !== bytes || expected.sha256 !== hash.digest('hex')) throw broken()
  }
}
