import { audit } from '@millwright/api/audit.ts'
import type { ExportRequest } from '@millwright/api/exports.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { Context } from '../../platform/service.ts'
import { assetModelContent } from './asset-models.ts'
import { assetReader } from './asset-reader.ts'
import { assetColumns, relationsFor } from './asset-table.ts'
import { graphContent } from './graph-content.ts'
import { type ExportRun, jsonDocument, lines, type ReadPage } from './page-reader.ts'
import { tableFile } from './table-file.ts'
import { type Column, columnsOf, type Table } from './table-rows.ts'
import type { TableFormat } from './table-thread.ts'

/** The content of exports, as text or bytes in parts. */

type Content = AsyncIterable<string | Uint8Array>

export async function* exportContent(context: Context, run: ExportRun): AsyncGenerator<string | Uint8Array> {
  yield* await contentOf(context, run)
}

async function contentOf(context: Context, run: ExportRun): Promise<Content> {
  const { what, format } = run.request
  if (what === 'graph') return graphContent(context, run)
  switch (format) {
    case 'xlsx':
    case 'csv':
      return tableContent(context, { run, what, format })
    case 'ndjson':
      return lines(run, readerOf(context, run.request))
    case 'json':
      return jsonDocument(run, readerOf(context, run.request))
    default:
      return assetModelContent(context, run)
  }
}

/** Returns the function that reads a page of the content. */
function readerOf(context: Context, request: ExportRequest): ReadPage {
  const { peers } = context
  switch (request.what) {
    case 'relations':
      return (caller, position) =>
        peers(inventory, caller).exportRelations({ body: { data: { ...relationSelection(request), ...position } } })
    case 'hierarchy': {
      const { hierarchyId } = request
      return (caller, { cursor }) =>
        peers(hierarchy, caller).exportTree({
          body: { data: { ...(hierarchyId && { hierarchyId }), ...(cursor && { cursor }) } },
        })
    }
    case 'audit':
      return (caller, { limit: _, ...position }) =>
        peers(audit, caller).exportSection({ body: { data: { ...request.entries, ...position } } })
    default:
      return assetReader(context, request)
  }
}

/** The names of the sheets. */
const sheetNames = { assets: 'Assets', relations: 'Relations', hierarchy: 'Hierarchy', audit: 'Audit' } as const

type TableOptions = { run: ExportRun; what: Table['what']; format: TableFormat }

async function tableContent(context: Context, { run, what, format }: TableOptions): Promise<Content> {
  const { request } = run
  const name = sheetNames[what]
  if (what !== 'assets') {
    const table = { what, name, columns: chosenColumns(what, request), hasRelations: false }
    return tableFile(context, { run, read: readerOf(context, request), table, format })
  }
  const columns = await assetColumns(context, await run.caller(), request)
  const relations = relationsFor(columns)
  const table = { what, name, columns, hasRelations: relations !== undefined }
  return tableFile(context, { run, read: assetReader(context, request, relations), table, format })
}

function relationSelection({ filter, caseInsensitive, sort }: ExportRequest) {
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(caseInsensitive === undefined ? {} : { caseInsensitive }),
    ...(sort === undefined ? {} : { sort }),
  }
}

/** Returns the requested columns of elements that are not assets, or all columns. */
function chosenColumns(what: keyof typeof columnsOf, { columns: names }: ExportRequest): Column[] {
  const columns = Object.entries(columnsOf[what]).map(([target, { heading }]) => ({ target, heading }))
  if (names === undefined) return columns
  return names.map((name, index) => {
    const column = columns.find(({ target }) => target === name)
    if (column !== undefined) return column
    const known = columns.map(({ target }) => target).join(', ')
    throw fieldProblem('invalid_body', `/data/columns/${index}`, `${what} have no column ${name}. Use ${known}`)
  })
}

/** Checks the filter, the columns and the named objects of a request before its export is accepted. */
export async function checkSelection(context: Context, caller: Caller, request: ExportRequest): Promise<void> {
  const { what } = request
  try {
    if (what === 'assets' && request.columns !== undefined) await assetColumns(context, caller, request)
    if (what === 'relations' || what === 'hierarchy' || what === 'audit') chosenColumns(what, request)
    const position = { limit: 1, count: false }
    if (request.assetId !== undefined)
      await context.peers(inventory, caller).readAsset({ params: { id: request.assetId }, query: { fields: 'id' } })
    if (what === 'assets' || what === 'graph') await assetReader(context, request)(caller, position)
    if (what === 'relations')
      await context
        .peers(inventory, caller)
        .exportRelations({ body: { data: { ...relationSelection(request), ...position } } })
    if (request.hierarchyId !== undefined)
      await context.peers(hierarchy, caller).readHierarchy({ params: { id: request.hierarchyId } })
  } catch (error) {
    throw withPointer(error, request)
  }
}

/** Adds the pointer to the field of the body to a problem of the selection. */
function withPointer(error: unknown, { filter, sort }: ExportRequest): unknown {
  if (!(error instanceof Problem) || error.errors !== undefined) return error
  const { code, message } = error
  const isOfFilter = code === 'invalid_filter' || code === 'unknown_property'
  const field =
    isOfFilter && filter !== undefined ? 'filter' : code === 'sort_on_array' && sort !== undefined ? 'sort' : undefined
  if (field === undefined) return error
  return new Problem(code, message, { errors: [{ pointer: `/data/${field}`, code, detail: message }], cause: error })
}
