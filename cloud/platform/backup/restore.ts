import { createHash, type Hash } from 'node:crypto'
import type { MigrationSource } from '../database/migrations.ts'
import { type Migration, readMigrations } from '../database/migrations.ts'
import { StartError } from '../start-error.ts'
import type { Owner } from '../tenants/tenants.ts'
import { broken, type Entry, readArchive } from './archive.ts'
import { type BackupEnd, type BackupHead, backupFormat, endName, headName } from './backup.ts'
import { allOrNothing, type BackupTable, findFilled, listApplied, listTables, writeRows } from './backup-store.ts'

/** A backup whose beginning was read. */
export type OpenBackup = { head: BackupHead; entries: AsyncIterator<Entry> }

export async function openBackup(source: AsyncIterable<Buffer>): Promise<OpenBackup> {
  const entries = readArchive(source)[Symbol.asyncIterator]()
  const first = await entries.next().catch((error: unknown) => {
    if (error instanceof StartError) throw notOne()
    throw error
  })
  if (first.done || first.value.name !== headName) throw notOne()
  const head: BackupHead = JSON.parse(first.value.content.toString())
  if (head.format !== backupFormat) throw notOne()
  return { head, entries }
}

function notOne(): StartError {
  return new StartError('This is not a backup of Millwright, or it is damaged.')
}

/** A backup of a newer version has tables that this one does not know. */
export async function requireKnown({ head }: OpenBackup, sources: readonly MigrationSource[]): Promise<Set<string>> {
  const known = new Map((await readMigrations(sources)).map((migration) => [idOf(migration), migration.checksum]))
  for (const applied of head.migrations) {
    const checksum = known.get(idOf(applied))
    if (checksum === applied.checksum) continue
    throw new StartError(
      `The backup was made by version ${head.product}, which is newer than this one (${idOf(applied)}): restore it with that version.`,
    )
  }
  return new Set(head.migrations.map(idOf))
}

function idOf({ module, name }: Pick<Migration, 'module' | 'name'>): string {
  return `${module}/${name}`
}

/** Nothing is ever overwritten. */
export async function requireEmpty(owner: Owner, wanted: ReadonlySet<string>): Promise<void> {
  const filled = await findFilled(owner)
  if (filled !== undefined) {
    throw new StartError(
      `The database is not empty (${filled} has rows): restore into a new home or an empty database. Nothing was changed.`,
    )
  }
  const further = (await listApplied(owner)).find((migration) => !wanted.has(idOf(migration)))
  if (further === undefined) return
  throw new StartError(
    `The database has tables of a later version (${idOf(further)}) than the backup: restore into a new home or an empty database.`,
  )
}

export type Restored = { tables: number; rows: number }

/** Fills empty tables, in one transaction that is kept only when everything was there and unchanged. */
export async function fillFrom({ head, entries }: OpenBackup, owner: Owner): Promise<Restored> {
  const here = new Map((await listTables(owner)).map((table) => [table.name, table]))
  const seen = new Map<string, Counted>()
  const reading = new Reading(entries)
  await allOrNothing(owner, async () => {
    for (const table of head.tables) {
      requireSame(table, here.get(table.name))
      const counted: Counted = { bytes: 0, hash: createHash('sha256') }
      seen.set(table.name, counted)
      await writeRows(owner, table, reading.partsOf(table.name, counted))
    }
    requireWhole(await reading.end(), seen)
  })
  const end = await reading.end()
  const rows = Object.values(end.tables).reduce((sum, table) => sum + table.rows, 0)
  return { tables: head.tables.length, rows }
}

function requireSame(table: BackupTable, here: BackupTable | undefined): void {
  const missing = table.columns.filter((column) => !here?.columns.includes(column))
  if (missing.length > 0) {
    throw new StartError(`There is no ${table.name}.${missing[0]} here: restore with the version that made the backup.`)
  }
}

type Counted = { bytes: number; hash: Hash }

/** The parts in their order; one that belongs to the next table waits for it. */
class Reading {
  readonly #entries: AsyncIterator<Entry>
  #next: Entry | undefined
  #end: BackupEnd | undefined

  constructor(entries: AsyncIterator<Entry>) {
    this.#entries = entries
  }

  async *partsOf(table: string, counted: Counted): AsyncGenerator<Buffer> {
    for (let part = await this.#peek(); part?.name.startsWith(`${table}/`); part = await this.#peek()) {
      this.#next = undefined
      counted.bytes += part.content.length
      counted.hash.update(part.content)
      yield part.content
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

function requireWhole({ tables }: BackupEnd, seen: ReadonlyMap<string, Counted>): void {
  for (const [name, { bytes, hash }] of seen) {
    const told = tables[name]
    if (told === undefined || told.bytes !== bytes || told.sha256 !== hash.digest('hex')) throw broken()
  }
}
