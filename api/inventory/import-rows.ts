import { type Static, Type } from 'typebox'
import { closed, data, Uuid } from '../envelope.ts'
import { Accepted, Document, inventoryLimits, oneOf } from './shapes.ts'

/** The operations with which the import service writes the rows of a file in the name of a user. */

/** A row: the cells of its columns by field (see `asset-columns.ts`), or a complete document. */
const ImportedRow = closed({
  cells: Type.Optional(Type.Record(Type.String(), Type.String())),
  document: Type.Optional(Document),
})
export type ImportedRow = Static<typeof ImportedRow>

const rows = Type.Array(ImportedRow, { minItems: 1, maxItems: inventoryLimits.batch })

const FieldFault = closed({ pointer: Type.String(), code: Type.String(), detail: Type.String() })

/** What a row does. A row that fails has the members of a problem. */
const RowDecision = closed({
  outcome: Type.Optional(oneOf(['created', 'updated', 'unchanged'] as const)),
  assetId: Type.Optional(Uuid),
  matchedBy: Type.Optional(Type.Array(Document)),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
  errors: Type.Optional(Type.Array(FieldFault)),
})
export type RowDecision = Static<typeof RowDecision>

const Placement = closed({ assetId: Uuid, parentId: Uuid })

const PlacementResult = closed({
  outcome: oneOf(['updated', 'unchanged', 'failed'] as const),
  code: Type.Optional(Type.String()),
  detail: Type.Optional(Type.String()),
})
export type PlacementResult = Static<typeof PlacementResult>

export const importRowOperations = {
  importRows: {
    method: 'POST',
    path: '/assets/import-rows',
    summary: 'Write the rows of a file, with one status and one result per row',
    description: 'A repeated request with the same `writeId` has no further effect.',
    access: 'on-behalf',
    bodyBytes: inventoryLimits.batchBytes,
    body: data(
      closed({
        writeId: Uuid,
        rows,
        import: Type.Optional(closed({ id: Uuid, name: Type.String({ maxLength: 1_024 }) })),
      }),
    ),
    answers: { 202: Accepted },
  },
  previewRows: {
    method: 'POST',
    path: '/assets/import-rows/preview',
    summary: 'Decide what the rows of a file would change, without a change',
    access: 'on-behalf',
    readOnly: true,
    bodyBytes: inventoryLimits.batchBytes,
    body: data(closed({ rows })),
    answers: { 200: data(Type.Array(RowDecision)) },
  },
  placeBelowParents: {
    method: 'POST',
    path: '/assets/parents',
    summary: 'Make assets parts of their parents, with one result each',
    description:
      'An asset that is already part of its parent is unchanged. Otherwise its relations to other parents end.',
    access: 'on-behalf',
    body: data(
      closed({
        placements: Type.Array(Placement, { minItems: 1, maxItems: inventoryLimits.batch }),
        dryRun: Type.Boolean(),
      }),
    ),
    answers: { 200: data(Type.Array(PlacementResult)) },
  },
} as const
