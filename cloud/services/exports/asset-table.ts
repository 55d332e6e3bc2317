import {
  type AssetRecord,
  assetColumnsOf,
  assetHeadings,
  cellReader,
  cellText,
  idTarget,
  parentPredicates,
} from '@millwright/api/asset-columns.ts'
import { extraAssetColumns } from '@millwright/api/export-columns.ts'
import type { ExportRequest } from '@millwright/api/exports.ts'
import { assignmentPredicate, hierarchy, hierarchyLimits } from '@millwright/api/hierarchy.ts'
import { joinPath } from '@millwright/api/hierarchy-path.ts'
import type { ExportedAsset } from '@millwright/api/inventory/export-pages.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { may } from '../../platform/access/rights.ts'
import { customProperties } from '../../platform/custom-properties.ts'
import { createYield } from '../../platform/event-loop.ts'
import type { XlsxTable } from '../../platform/files/xlsx-writer.ts'
import type { Context } from '../../platform/service.ts'
import { invalidField } from './invalid-field.ts'
import { type ExportRun, elementPages, type ReadPage } from './page-reader.ts'

/** The table of assets. Its columns are those of an import, so that an exported file can be imported again. */

type Column = { heading: string; target: string }

/** Returns the columns of an export: those that the request names, or all columns of an import and the id. */
export async function assetColumns(
  context: Pick<Context, 'peers'>,
  caller: Caller,
  { columns }: ExportRequest,
): Promise<Column[]> {
  const own = [
    ...assetColumnsOf(await customProperties(context, caller)),
    { heading: assetHeadings.id, target: idTarget },
  ]
  if (columns === undefined) return own
  const extra = Object.entries(extraAssetColumns).map(([target, { heading }]) => ({ target, heading }))
  const known = new Map([...own, ...extra].map((column) => [column.target, column]))
  return columns.map((target, index) => {
    const column = known.get(target)
    if (column !== undefined) return column
    const names = [...known.keys()].join(', ')
    throw invalidField(`/data/columns/${index}`, `Assets have no column ${target}. Use ${names}`)
  })
}

/** Returns the relations that the columns need. Without them, the inventory does not read relations. */
export function relationsFor(columns: readonly Column[]) {
  const has = (target: string) => columns.some((column) => column.target === target)
  const predicates = [
    ...(has('parent') ? parentPredicates : []),
    ...(has('hierarchy_path') ? [assignmentPredicate] : []),
  ]
  return predicates.length === 0 ? undefined : { predicates, incoming: false }
}

type AssetTableOptions = {
  run: ExportRun
  columns: readonly Column[]
  /** Reads a page of assets. Each element is an `ExportedAsset` if the columns need relations, or else a document. */
  read: ReadPage
}

export function assetTable(context: Context, { run, columns, read }: AssetTableOptions): XlsxTable {
  return {
    name: 'Assets',
    headings: columns.map(({ heading }) => heading),
    pages: assetRows(context, { run, columns, read }),
  }
}

async function* assetRows(
  context: Context,
  { run, columns, read }: AssetTableOptions,
): AsyncGenerator<readonly string[][]> {
  const paths = new NodePaths(context)
  const hasRelations = relationsFor(columns) !== undefined
  const readers = columns.map(({ target }) => readerOf(target))
  for await (const page of elementPages<ExportedAsset | ExportedAsset['document']>(run, read)) {
    const assets = hasRelations
      ? (page.elements as ExportedAsset[])
      : page.elements.map((document) => ({ document, relations: [] }) as ExportedAsset)
    await paths.read(page.caller, assets.flatMap(nodeIdsOf))
    const yieldTurn = createYield(page.caller.tenantId)
    const rows: string[][] = []
    for (const asset of assets) {
      const record = recordOf(asset, paths)
      rows.push(readers.map((readCell) => readCell(record)))
      const turn = yieldTurn()
      if (turn !== undefined) await turn
    }
    yield rows
  }
}

function readerOf(target: string): (record: AssetRecord) => string {
  const extra = extraAssetColumns[target]
  return extra === undefined ? cellReader(target) : ({ document }) => cellText(extra.read(document))
}

function nodeIdsOf({ relations }: ExportedAsset): string[] {
  return relations
    .filter(({ predicate, type }) => predicate === assignmentPredicate && type === 'node')
    .map(({ id }) => id)
}

const predicatesOfParents: readonly string[] = parentPredicates

function recordOf(asset: ExportedAsset, paths: NodePaths): AssetRecord {
  const { document, relations } = asset
  const record = { document, identifiers: (document.asset_identifiers ?? []) as AssetRecord['identifiers'] }
  if (relations.length === 0) return record
  const parent = relations.find(({ predicate, type }) => predicatesOfParents.includes(predicate) && type === 'asset')
  return {
    ...record,
    hierarchyPaths: paths.of(nodeIdsOf(asset)),
    ...(parent === undefined ? {} : { parent: { id: parent.id, name: parent.name } }),
  }
}

/** The number of paths that a run keeps in memory. */
const mostPaths = 20_000

/** `NodePaths` reads the paths of nodes in the name of a caller. A caller that cannot read hierarchies gets no paths. */
class NodePaths {
  readonly #context: Context
  readonly #paths = new Map<string, { hierarchyId: string; text: string } | null>()

  constructor(context: Context) {
    this.#context = context
  }

  /** Reads the paths of nodes that are not known yet. */
  async read(caller: Caller, nodeIds: readonly string[]): Promise<void> {
    if (!may(caller, 'glb_hierarchy_read')) return this.#paths.clear()
    if (this.#paths.size > mostPaths) this.#paths.clear()
    const unknown = [...new Set(nodeIds)].filter((id) => !this.#paths.has(id))
    for (let start = 0; start < unknown.length; start += hierarchyLimits.nodesPerBatch) {
      const ids = unknown.slice(start, start + hierarchyLimits.nodesPerBatch)
      const { data } = await this.#context
        .peers(hierarchy, caller)
        .describeNodePaths({ body: { data: { nodeIds: ids } } })
      for (const id of ids) this.#paths.set(id, null)
      for (const { nodeId, hierarchyId, names } of data) this.#paths.set(nodeId, { hierarchyId, text: joinPath(names) })
    }
  }

  /** Returns the paths of an asset, one per hierarchy, in order. With two nodes in one hierarchy, the newer one applies. */
  of(nodeIds: readonly string[]): string[] {
    const paths = new Map<string, string>()
    for (const id of nodeIds) {
      const path = this.#paths.get(id)
      if (path !== null && path !== undefined) paths.set(path.hierarchyId, path.text)
    }
    return [...paths.values()].toSorted()
  }
}
