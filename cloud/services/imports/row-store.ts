import { importLimits, type RowError, type RowOutcome } from '@millwright/api/imports.ts'
import type { Handle, Transaction } from '../../platform/database/database.ts'
import { jsonText } from '../../platform/database/json.ts'
import { rowset } from '../../platform/database/rowset.ts'
import { statement } from '../../platform/database/statement.ts'

/** Statements on the rows of imported files and their results. */

/** The content of a row: the cells of a table, or a document. */
export type RowContent = string[] | Record<string, unknown>

export type StoredRow = {
  row: number
  content: RowContent
  outcome: RowOutcome | null
  assetId: string | null
  matchedBy: Record<string, unknown>[] | null
  errors: RowError[] | null
}

/** A row in a list. A long document is shortened to a text. */
export type ListedRow = Omit<StoredRow, 'content'> & { content: RowContent | string }

const columns = 'row, content, outcome, asset_id as "assetId", matched_by as "matchedBy", errors'
const names = 'row, content, outcome, "assetId", "matchedBy", errors'

type InsertedRow = { import_id: string; row: number; content: string; characters: number; keys: string }
const inserted = rowset<InsertedRow>({
  import_id: 'uuid',
  row: 'integer',
  content: 'json',
  characters: 'integer',
  keys: 'text',
})
const insertStatement = statement<{ characters: number }>(
  `insert into import_rows (tenant_id, import_id, row, content, characters, keys)
   select $1, r.import_id, r.row, r.content, r.characters,
     case when r.keys = '' then '{}' else string_to_array(r.keys, E'\\n') end
   from ${inserted.rows} on conflict do nothing returning characters`,
)

export type NewRow = { row: number; content: RowContent; keys: readonly string[] }

/** Stores rows that are not stored yet. Returns their number and their size. */
export async function insertRows(tx: Transaction, importId: string, rows: readonly NewRow[]) {
  const values = rows.map(({ row, content, keys }) => {
    const text = jsonText(content)
    const lines = keys.map((key) => key.replaceAll('\n', ' ')).join('\n')
    return { import_id: importId, row, content: text, characters: text.length, keys: lines }
  })
  const added = await tx.rows(insertStatement, ...inserted.values(values))
  return { count: added.length, characters: added.reduce((sum, { characters }) => sum + characters, 0) }
}

type NamedRow = { import_id: string; name: string; row: number }
const named = rowset<NamedRow>({ import_id: 'uuid', name: 'text', row: 'integer' })
const nameStatement = statement(
  `insert into import_row_names (tenant_id, import_id, name, row)
   select $1, r.import_id, r.name, r.row from ${named.rows} on conflict do nothing`,
)

/** Stores the texts by which rows of the same file can be named as a parent. */
export async function insertNames(
  tx: Transaction,
  importId: string,
  names: readonly { name: string; row: number }[],
): Promise<void> {
  if (names.length > 0)
    await tx.run(nameStatement, ...named.values(names.map((entry) => ({ import_id: importId, ...entry }))))
}

const lastStatement = statement<{ row: number | null; count: number }>(
  `select max(row) as row, count(*) as count from import_rows where tenant_id = $1 and import_id = $2`,
)

/** Returns the number of the last stored row. It is 0 if there is none. */
export async function lastRow(handle: Handle, importId: string): Promise<number> {
  return (await handle.row(lastStatement, importId))?.row ?? 0
}

const duplicateStatement = statement<{ row: number }>(
  `with own as (select r.row, k.key, min(r.row) over (partition by k.key) as first
     from import_rows r, unnest(r.keys) as k (key) where r.tenant_id = $1 and r.import_id = $2),
   repeated as (select row, json_build_array(json_build_object(
       'column', null, 'code', 'duplicate_row', 'detail', 'Row ' || min(first)
         || ' describes the same asset: it has the same identifier. Remove one of the rows')) as errors
     from own where first < row group by row)
   update import_rows r set outcome = 'failed', errors = d.errors
   from repeated d where r.tenant_id = $1 and r.import_id = $2 and r.row = d.row returning r.row`,
)

/** Sets rows to failed if an earlier row has the same identifier. Returns their number. */
export async function failDuplicates(tx: Transaction, importId: string): Promise<number> {
  return (await tx.rows(duplicateStatement, importId)).length
}

/** A portion of rows is limited in characters too, so that large rows do not fill the memory. It has at least one row. */
export type RowPortion = { after: number; limit: number; characters: number }

/** Returns the statement for the next rows. */
function portionStatement(condition: string) {
  return statement<StoredRow>(
    `select ${names} from (
       select ${columns}, characters, sum(characters) over (order by row) as total from import_rows
       where tenant_id = $1 and import_id = $2 and row > $3 and ${condition} order by row limit $4) r
     where total <= $5 or total = characters order by row`,
  )
}

const nextStatement = portionStatement('outcome is null')

/** Returns the next rows without a result. */
export function nextRows(handle: Handle, importId: string, portion: RowPortion): Promise<StoredRow[]> {
  return handle.rows(nextStatement, importId, ...valuesOf(portion))
}

function valuesOf({ after, limit, characters }: RowPortion): number[] {
  return [after, limit, characters]
}

const writtenStatement = portionStatement(`outcome <> 'failed'`)

/** Returns the next rows whose assets were written. */
export function nextWrittenRows(handle: Handle, importId: string, portion: RowPortion): Promise<StoredRow[]> {
  return handle.rows(writtenStatement, importId, ...valuesOf(portion))
}

const someStatement = statement<StoredRow>(
  `select ${columns} from import_rows where tenant_id = $1 and import_id = $2 and row = any($3::integer[]) order by row`,
)

export function findRows(handle: Handle, importId: string, rows: readonly number[]): Promise<StoredRow[]> {
  return handle.rows(someStatement, importId, rows)
}

const namesStatement = statement<{ name: string; row: number; assetId: string | null; outcome: RowOutcome | null }>(
  `select n.name, n.row, r.asset_id as "assetId", r.outcome from import_row_names n
   join import_rows r on r.tenant_id = $1 and r.import_id = n.import_id and r.row = n.row
   where n.tenant_id = $1 and n.import_id = $2 and n.name = any($3::text[])`,
)

/** Returns the rows of the file with these names, with their results. */
export function findNamedRows(handle: Handle, importId: string, names: readonly string[]) {
  return handle.rows(namesStatement, importId, names)
}

export type RowResult = {
  row: number
  outcome: RowOutcome
  assetId?: string | undefined
  matchedBy?: readonly Record<string, unknown>[] | undefined
  errors?: readonly RowError[] | undefined
}

type ResultRow = {
  import_id: string
  row: number
  outcome: string
  asset_id: string | null
  matched_by: string | null
  errors: string | null
}
const results = rowset<ResultRow>({
  import_id: 'uuid',
  row: 'integer',
  outcome: 'text',
  asset_id: 'uuid',
  matched_by: 'json',
  errors: 'json',
})
const resultStatement = statement(
  `update import_rows i set outcome = r.outcome, asset_id = r.asset_id, matched_by = r.matched_by, errors = r.errors
   from ${results.rows} where i.tenant_id = $1 and i.import_id = r.import_id and i.row = r.row`,
)

/** Stores the results of rows. */
export async function setResults(tx: Transaction, importId: string, all: readonly RowResult[]): Promise<void> {
  if (all.length === 0) return
  const rows = all.map(({ row, outcome, assetId, matchedBy, errors }) => ({
    import_id: importId,
    row,
    outcome,
    asset_id: assetId ?? null,
    matched_by: matchedBy === undefined ? null : jsonText(matchedBy),
    errors: errors === undefined ? null : jsonText(errors),
  }))
  await tx.run(resultStatement, ...results.values(rows))
}

const resetStatement = statement(
  `update import_rows set outcome = null, asset_id = null, matched_by = null, errors = null
   where tenant_id = $1 and import_id = $2 and outcome is not null
     and (errors is null or errors -> 0 ->> 'code' is distinct from 'duplicate_row')`,
)
const duplicatesStatement = statement<{ count: number }>(
  `select count(*) as count from import_rows where tenant_id = $1 and import_id = $2 and outcome = 'failed'`,
)

/** Removes the results of a dry run. Rows that repeat an earlier row stay failed. Returns their number. */
export async function resetResults(tx: Transaction, importId: string): Promise<number> {
  await tx.run(resetStatement, importId)
  return (await tx.row(duplicatesStatement, importId))?.count ?? 0
}

/** The content of a row with shortened cells. A shortened document is a text. */
const shownContent = `case
    when characters <= $7 then content
    when json_typeof(content) = 'array' then (
      select json_agg(case when length(c.text) > $7 then left(c.text, $7 - 1) || '…' else c.text end order by c.place)
      from json_array_elements_text(content) with ordinality as c (text, place))
    when characters <= $8 then content
    else to_json(left(content::text, $8 - 1) || '…') end`
const listStatement = statement<ListedRow>(
  `select row, ${shownContent} as content, outcome, asset_id as "assetId", matched_by as "matchedBy", errors
   from import_rows where tenant_id = $1 and import_id = $2 and row > $3 and outcome is not null
     and ($4::text is null or outcome = $4) order by row limit $5 offset $6`,
)
const countStatement = statement<{ total: number }>(
  `select count(*) as total from import_rows
   where tenant_id = $1 and import_id = $2 and outcome is not null and ($3::text is null or outcome = $3)`,
)

type RowPage = { after: number; outcome: RowOutcome | undefined; limit: number; offset: number }

/** Returns the rows with a result, in the order of the file. Long cells and documents are shortened. */
export async function listRows(handle: Handle, importId: string, { after, outcome, limit, offset }: RowPage) {
  const { shownCharacters, shownDocumentCharacters } = importLimits
  const page = [after, outcome ?? null, limit, offset, shownCharacters, shownDocumentCharacters]
  const rows = await handle.rows(listStatement, importId, ...page)
  return { rows, total: (await handle.row(countStatement, importId, outcome ?? null))?.total ?? 0 }
}

const allStatement = portionStatement('true')

/** Returns the next rows of the file, with and without results. */
export function nextOfAllRows(handle: Handle, importId: string, portion: RowPortion): Promise<StoredRow[]> {
  return handle.rows(allStatement, importId, ...valuesOf(portion))
}

const deleteStatement = statement(`delete from import_rows where tenant_id = $1 and import_id = $2`)
const deleteNamesStatement = statement(`delete from import_row_names where tenant_id = $1 and import_id = $2`)

export async function deleteRows(tx: Transaction, importId: string): Promise<void> {
  await tx.run(deleteStatement, importId)
  await tx.run(deleteNamesStatement, importId)
}
