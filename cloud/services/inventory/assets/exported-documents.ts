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

type ExportedDocuments = { documents: string[][]; nodeIds?: readonly string[] }

/**
 * Returns the JSON text of each asset in parts: its document with its identifiers. If relations are requested, the text
 * contains them too, and `nodeIds` has the ids of their nodes.
 */
export async function exportedDocuments(
  handle: Handle,
  caller: Caller,
  { rows, relations }: ExportedRows,
): Promise<ExportedDocuments> {
  const ids = rows.map(({ id }) => id)
  const [identifiers, edges] = await Promise.all([
    identifierTexts(handle, ids),
    relations === undefined ? undefined : edgeTexts(handle, caller, { ids, relations }),
  ])
  const documents = rows.map(({ id, accessGroup, document }) => {
    const start = `{"id":"${id}","access_group":${JSON.stringify(accessGroup)},"asset_identifiers":[`
    const parts = [start, identifiers.get(id) ?? '', '],', document.slice(1)]
    return edges === undefined ? parts : ['{"document":', ...parts, `,"relations":[${edges.texts.get(id) ?? ''}]}`]
  })
  return { documents, ...(edges && { nodeIds: [...edges.nodeIds] }) }
}

type EdgesOfPage = { ids: readonly string[]; relations: SelectedRelations }
type EdgeTexts = { texts: Map<string, string>; nodeIds: Set<string> }

/**
 * Returns the relations of assets as JSON texts of `ExportedEdge`, separated by commas, by the id of the asset, and the ids
 * of their nodes. Relations to assets that the caller cannot read are left out.
 */
async function edgeTexts(handle: Handle, caller: Caller, { ids, relations }: EdgesOfPage): Promise<EdgeTexts> {
  const texts = new Map<string, string>()
  const nodeIds = new Set<string>()
  if (ids.length === 0) return { texts, nodeIds }
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
    if (type === 'node') nodeIds.add(id)
    if (name !== undefined) add(subjectId, { predicate, direction: 'outgoing', type, id, name })
  }
  for (const { subjectType: type, subjectId: id, predicate, objectId } of incoming) {
    const name = nameOf(type, id)
    if (type === 'node') nodeIds.add(id)
    if (name !== undefined && id !== objectId) add(objectId, { predicate, direction: 'incoming', type, id, name })
  }
  return { texts, nodeIds }
}

/** Prints a relation. A template is faster than `JSON.stringify`, and ids and types need no escapes. */
function edgeText({ predicate, direction, type, id, name }: ExportedEdge): string {
  const texts = `"predicate":${JSON.stringify(predicate)},"name":${JSON.stringify(name)}`
  return `{"type":"${type}","id":"${id}","direction":"${direction}",${texts}}`
}
