import type { ExportedRelation } from '@millwright/api/inventory/export-pages.ts'
import type { Entity } from '@millwright/api/inventory/inventory.ts'
import type { Handle } from '../../../platform/database/database.ts'
import type { Groups } from '../visibility.ts'
import { type RelationRow, showRelation } from './relation.ts'
import { readableNames } from './relation-store.ts'

/** Returns the relations whose ends are readable assets or nodes, with the names of their ends. */
export async function exportedRelations(
  handle: Handle,
  rows: readonly RelationRow[],
  groups: Groups,
): Promise<ExportedRelation[]> {
  const ids = new Set(rows.flatMap(({ subjectId, objectId }) => [subjectId, objectId]))
  const names = await readableNames(handle, [...ids], groups)
  const isReadable = ({ type, id }: Entity) => type === 'node' || names.has(id)
  return rows
    .map((row) => ({
      ...showRelation(row),
      subjectName: names.get(row.subjectId) ?? null,
      objectName: names.get(row.objectId) ?? null,
    }))
    .filter(({ subject, object }) => isReadable(subject) && isReadable(object))
}
