import { audit } from '@millwright/api/audit.ts'
import {
  auditColumns,
  cellsOf,
  type ExportColumns,
  nodeColumns,
  relationColumns,
} from '@millwright/api/export-columns.ts'
import type { ExportRequest } from '@millwright/api/exports.ts'
import { hierarchy } from '@millwright/api/hierarchy.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { writeCsv } from '../../platform/files/csv.ts'
import { writeXlsx, type XlsxTable } from '../../platform/files/xlsx-writer.ts'
import type { Context } from '../../platform/service.ts'
import { assetModelContent } from './asset-models.ts'
import { assetReader } from './asset-reader.ts'
import { assetColumns, assetTable, relationsFor } from './asset-table.ts'
import { graphContent } from './graph-content.ts'
import { invalidField } from './invalid-field.ts'
import { type ExportRun, elementPages, jsonDocument, lines, type ReadPage } from './page-reader.ts'

/** The content of exports, as text or bytes in parts. */

type Content = AsyncIterable<string | Uint8Array>
type Source = { read: ReadPage; table: () => Promise<XlsxTable> | XlsxTable }

export async function* exportContent(context: Context, run: ExportRun): AsyncGenerator<string | Uint8Array> {
  yield* await contentOf(context, run)
}

async function contentOf(context: Context, run: ExportRun): Promise<Content> {
  const { what, format } = run.request
  if (what === 'graph') return graphContent(context, run)
  const { read, table } = sourceOf(context, run)
  switch (format) {
    case 'xlsx':
      return writeXlsx(await table())
    case 'csv':
      return writeCsv(await table())
    case 'ndjson':
      return lines(run, read)
    case 'json':
      return jsonDocument(run, read)
    default:
      return assetModelContent(context, run)
  }
}

function sourceOf(context: Context, run: ExportRun): Source {
  const { peers } = context
  const { request } = run
  switch (request.what) {
    case 'relations': {
      const read: ReadPage = (caller, position) =>
        peers(inventory, caller).exportRelations({ body: { data: { ...relationSelection(request), ...position } } })
      return { read, table: () => tableOf(run, { name: 'Relations', columns: relationColumns, read }) }
    }
    case 'hierarchy': {
      const { hierarchyId } = request
      const read: ReadPage = (caller, { cursor }) =>
        peers(hierarchy, caller).exportTree({
          body: { data: { ...(hierarchyId && { hierarchyId }), ...(cursor && { cursor }) } },
        })
      return { read, table: () => tableOf(run, { name: 'Hierarchy', columns: nodeColumns, read }) }
    }
    case 'audit': {
      const read: ReadPage = (caller, { limit: _, ...position }) =>
        peers(audit, caller).exportSection({ body: { data: { ...request.entries, ...position } } })
      return { read, table: () => tableOf(run, { name: 'Audit', columns: auditColumns, read }) }
    }
    default: {
      const read = assetReader(context, request)
      return {
        read,
        async table() {
          const columns = await assetColumns(context, await run.caller(), request)
          const relations = relationsFor(columns)
          return assetTable(context, { run, columns, read: assetReader(context, request, relations) })
        },
      }
    }
  }
}

function relationSelection({ filter, caseInsensitive, sort }: ExportRequest) {
  return {
    ...(filter === undefined ? {} : { filter }),
    ...(caseInsensitive === undefined ? {} : { caseInsensitive }),
    ...(sort === undefined ? {} : { sort }),
  }
}

type TableSource<Element> = { name: string; columns: ExportColumns<Element>; read: ReadPage }

/** Returns the table of elements that are not assets, with the requested columns or all columns. */
function tableOf<Element>(run: ExportRun, { name, columns, read }: TableSource<Element>): XlsxTable {
  const chosen = chosenColumns(columns, run.request)
  async function* pages() {
    for await (const { elements } of elementPages<Element>(run, read))
      yield elements.map((element) => cellsOf(chosen, element))
  }
  return { name, headings: chosen.map(({ heading }) => heading), pages: pages() }
}

function chosenColumns<Element>(columns: ExportColumns<Element>, { what, columns: names }: ExportRequest) {
  if (names === undefined) return Object.values(columns)
  return names.map((name, index) => {
    const column = Object.hasOwn(columns, name) ? columns[name] : undefined
    if (column !== undefined) return column
    const known = Object.keys(columns).join(', ')
    throw invalidField(`/data/columns/${index}`, `${what} have no column ${name}. Use ${known}`)
  })
}

/** Checks the filter, the columns and the named objects of a request before its export is accepted. */
export async function checkSelection(context: Context, caller: Caller, request: ExportRequest): Promise<void> {
  const { what } = request
  try {
    if (what === 'assets' && request.columns !== undefined) await assetColumns(context, caller, request)
    if (what === 'relations') chosenColumns(relationColumns, request)
    if (what === 'hierarchy') chosenColumns(nodeColumns, request)
    if (what === 'audit') chosenColumns(auditColumns, request)
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
