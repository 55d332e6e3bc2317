import type { ExportedEdge } from '@millwright/api/inventory/export-pages.ts'
import type { Entity } from '@millwright/api/inventory/inventory.ts'
import type { Caller } from '../../../platform/access/caller.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { edgesOfAssets, readableNames } from '../relations/relation-store.ts'
import { readableGroups } from '../visibility.ts'
import { identifierTexts } from './asset-store.ts'
import type { ShownAsset } from './list-store.ts'

type SelectedRelations = { predicates: readonly string[]; incoming: boolean }
type ExportedRows = { rows: readonly ShownAsset[]; relations?: SelectedRelations }

/** Returns the JSON text of each asset in parts: its document with its identifiers, and its relations if requested. */
export async function exportedDocuments(
  handle: Handle,
  caller: Caller,
  { rows, relations }: ExportedRows,
): Promise<string[][]> {
  const ids = rows.map(({ id }) => id)
  const [identifiers, edges] = await Promise.all([
    identifierTexts(handle, ids),
    relations === undefined ? undefined : edgeTexts(handle, caller, { ids, relations }),
  ])
  return rows.map(({ id, accessGroup, document }) => {
    const start = `{"id":"${id}","access_group":${JSON.stringify(accessGroup)},"asset_identifiers":[`
    const parts = [start, identifiers.get(id) ?? '', '],', document.slice(1)]
    return edges === undefined ? parts : ['{"document":', ...parts, `,"relations":[${edges.get(id) ?? ''}]}`]
  })
}

type EdgesOfPage = { ids: readonly string[]; relations: SelectedRelations }

/**
 * Returns the relations of assets as JSON texts of `ExportedEdge`, separated by commas, by the id of the asset. Relations
 * to assets that the caller cannot read are left out.
 */
async function edgeTexts(
  handle: Handle,
  caller: Caller,
  { ids, relations }: EdgesOfPage,
): Promise<Map<string, string>> {
  const texts = new Map<string, string>()
  if (ids.length === 0) return texts
  const { outgoing, incoming } = await edgesOfAssets(handle, { ids, ...relations })
  const others = new Set<string>()
  for (const { objectType, objectId } of outgoing) if (objectType === 'asset') others.add(objectId)
  for (const { subjectType, subjectId } of incoming) if (subjectType === 'asset') others.add(subjectId)
  const names = await readableNames(handle, [...others], readableGroups(caller))
  const add = (assetId: string, edge: ExportedEdge) => {
    const earlier = texts.get(assetId)
    const text = edgeText(edge)
    texts.set(assetId, earlier === undefined ? text : `${earlier},${text}`)
  }
  const nameOf = (type: Entity['type'], id: string) => (type === 'node' ? null : names.get(id))
  for (const { subjectId, predicate, objectType: type, objectId: id } of outgoing) {
    const name = nameOf(type, id)
    if (name !== undefined) add(subjectId, { predicate, direction: 'outgoing', type, id, name })
  }
  for (const { subjectType: type, subjectId: id, predicate, objectId } of incoming) {
    const name = nameOf(type, id)
    if (name !== undefined && id !== objectId) add(objectId, { predicate, direction: 'incoming', type, id, name })
  }
  return texts
}

/** Prints a relation. A template is faster than `JSON.stringify`, and ids and types need no escapes. */
function edgeText({ predicate, direction, type, id, name }: ExportedEdge): string {
  const texts = `"predicate":${JSON.stringify(predicate)},"name":${JSON.stringify(name)}`
  return `{"type":"${type}","id":"${id}","direction":"${direction}",${texts}}`
}
