import type { ExportRequest } from '@millwright/api/exports.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import type { Context } from '../../platform/service.ts'
import type { ReadPage } from './page-reader.ts'

/** The relations of assets that a page contains. */
export type PageRelations = { predicates: string[]; incoming: boolean }

/**
 * Returns a function that reads a page of the selected assets. With `relations`, each element is an `ExportedAsset`, and
 * otherwise a document.
 */
export function assetReader(
  { peers }: Pick<Context, 'peers'>,
  request: ExportRequest,
  relations?: PageRelations,
): ReadPage {
  const selection = { ...assetSelection(request), ...(relations && { relations }) }
  return (caller, position) => peers(inventory, caller).exportAssets({ body: { data: { ...selection, ...position } } })
}

function assetSelection(request: ExportRequest) {
  const { what, format: _, columns: __, entries: ___, hierarchyId: ____, assetId, depth, ...selection } = request
  const own = assetId === undefined ? undefined : `id eq '${assetId}'`
  const filter = [own, selection.filter && `(${selection.filter})`].filter(Boolean).join(' and ')
  return {
    ...selection,
    ...(filter === '' ? {} : { filter }),
    // The depth of a graph is not that of the relations filter.
    ...(depth === undefined || what === 'graph' ? {} : { depth }),
  }
}
