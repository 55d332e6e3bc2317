import { Type } from 'typebox'
import { media } from '../contract.ts'
import { closed, data } from '../envelope.ts'
import { nodeSelection } from './node-assignments.ts'
import type { Entity, Relation } from './relations.ts'
import { type AssetDocument, caseInsensitive, filterText, freeText, inventoryLimits } from './shapes.ts'

/**
 * Operations with which the export service reads assets and relations in the name of a user. A page is text with one JSON
 * value per line: first `ExportPageMeta`, then the elements. An asset has its identifiers in `asset_identifiers`, as in a
 * write. The export service writes most lines unchanged, so they are not parsed.
 */

/** The first line of a page. A page of assets with relations has the ids of the nodes of its relations in `nodeIds`. */
export type ExportPageMeta = { elements: number; total?: number; nextCursor?: string; nodeIds?: readonly string[] }

/**
 * An asset on a page, with those of its relations that the request selects: first the outgoing ones, then the incoming ones,
 * oldest first.
 */
export type ExportedAsset = { document: AssetDocument; relations: ExportedEdge[] }

/** A relation of an asset on a page: its predicate, its direction, and its other end with its name. The name of a node is null. */
export type ExportedEdge = Entity & {
  predicate: string
  direction: 'outgoing' | 'incoming'
  name: string | null
}

/** A relation on a page, with the names of its ends. The name of a node is null. */
export type ExportedRelation = Relation & { subjectName: string | null; objectName: string | null }

const exportPage = {
  cursor: Type.Optional(Type.String({ maxLength: 1024 })),
  limit: Type.Integer({ minimum: 1, maximum: inventoryLimits.exportPage }),
  count: Type.Boolean({ description: 'Whether the first line contains the total' }),
  filter: Type.Optional(filterText),
  caseInsensitive,
  sort: Type.Optional(Type.String({ maxLength: 1024 })),
}

const lines = { 200: media('application/x-ndjson') }
const filterErrors = ['invalid_filter', 'unknown_property', 'sort_on_array', 'invalid_cursor'] as const

export const exportPageOperations = {
  exportAssets: {
    method: 'POST',
    path: '/export-pages/assets',
    summary: 'A page of readable assets, as in their list',
    access: 'on-behalf',
    readOnly: true,
    body: data(
      closed({
        ...exportPage,
        relationsFilter: Type.Optional(filterText),
        depth: Type.Optional(Type.Integer({ minimum: 1, maximum: inventoryLimits.graphDepth })),
        q: freeText,
        ...nodeSelection,
        relations: Type.Optional(
          closed(
            {
              predicates: Type.Array(Type.String(), { minItems: 1, maxItems: 16 }),
              incoming: Type.Boolean({ description: 'Whether the relations to the asset are included too' }),
            },
            { description: 'Makes each line an `ExportedAsset`: the asset and its relations with these predicates' },
          ),
        ),
      }),
    ),
    answers: lines,
    errors: [...filterErrors, 'graph_too_large', 'node_not_found', 'hierarchy_not_found'],
  },
  exportRelations: {
    method: 'POST',
    path: '/export-pages/relations',
    summary: 'A page of relations between readable assets, and of readable assets to nodes',
    access: 'on-behalf',
    readOnly: true,
    body: data(closed(exportPage)),
    answers: lines,
    errors: filterErrors,
  },
} as const
