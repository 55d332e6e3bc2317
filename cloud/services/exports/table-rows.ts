import { type AssetRecord, cellReader, cellText, parentPredicates } from '@millwright/api/asset-columns.ts'
import { assignmentPredicate } from '@millwright/api/assignment-predicate.ts'
import {
  auditColumns,
  cellsOf,
  type ExportColumns,
  extraAssetColumns,
  nodeColumns,
  relationColumns,
} from '@millwright/api/export-columns.ts'
import type { ExportedAsset } from '@millwright/api/inventory/export-pages.ts'

/** The rows of tables. This code runs in the thread of an export, so it imports only small files. */

export type Column = { heading: string; target: string }

/** A table: the kind of its elements, and the columns of the export. */
export type Table = {
  what: 'assets' | 'relations' | 'hierarchy' | 'audit'
  /** The name of the sheet. */
  name: string
  columns: readonly Column[]
  /** Whether each element is an `ExportedAsset`. Otherwise an asset is a document. */
  hasRelations: boolean
}

/** The path of a node, as text. */
export type NodePath = { hierarchyId: string; text: string }

/** Returns the cells of an element of a page. `paths` has the paths of the nodes of the page. */
export type ReadRow = (element: unknown, paths: ReadonlyMap<string, NodePath>) => string[]

/** The columns of tables whose elements are not assets. */
export const columnsOf = { relations: relationColumns, hierarchy: nodeColumns, audit: auditColumns } as const

export function rowReader({ what, columns, hasRelations }: Table): ReadRow {
  if (what !== 'assets') {
    const known = columnsOf[what] as ExportColumns<unknown>
    const chosen = columns.flatMap(({ target }) => known[target] ?? [])
    return (element) => cellsOf(chosen, element)
  }
  const readers = columns.map(({ target }) => assetCellReader(target))
  return (element, paths) => {
    const asset = (hasRelations ? element : { document: element, relations: [] }) as ExportedAsset
    const record = recordOf(asset, paths)
    return readers.map((read) => read(record))
  }
}

function assetCellReader(target: string): (record: AssetRecord) => string {
  const extra = extraAssetColumns[target]
  return extra === undefined ? cellReader(target) : ({ document }) => cellText(extra.read(document))
}

const predicatesOfParents: readonly string[] = parentPredicates

function recordOf({ document, relations }: ExportedAsset, paths: ReadonlyMap<string, NodePath>): AssetRecord {
  const record = { document, identifiers: (document.asset_identifiers ?? []) as AssetRecord['identifiers'] }
  if (relations.length === 0) return record
  const parent = relations.find(({ predicate, type }) => predicatesOfParents.includes(predicate) && type === 'asset')
  return {
    ...record,
    hierarchyPaths: pathsOf(relations, paths),
    ...(parent === undefined ? {} : { parent: { id: parent.id, name: parent.name } }),
  }
}

/** Returns the paths of an asset, one per hierarchy, in order. With two nodes in one hierarchy, the newer one applies. */
function pathsOf(relations: ExportedAsset['relations'], paths: ReadonlyMap<string, NodePath>): string[] {
  const found = new Map<string, string>()
  for (const { predicate, type, id } of relations) {
    const path = predicate === assignmentPredicate && type === 'node' ? paths.get(id) : undefined
    if (path !== undefined) found.set(path.hierarchyId, path.text)
  }
  return [...found.values()].toSorted()
}
