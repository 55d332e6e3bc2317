import { assetColumnsOf, assetHeadings, idTarget, parentPredicates } from '@millwright/api/asset-columns.ts'
import { assignmentPredicate } from '@millwright/api/assignment-predicate.ts'
import { extraAssetColumns } from '@millwright/api/export-columns.ts'
import type { ExportRequest } from '@millwright/api/exports.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { customProperties } from '../../platform/custom-properties.ts'
import { fieldProblem } from '../../platform/field-problem.ts'
import type { Context } from '../../platform/service.ts'
import type { PageRelations } from './asset-reader.ts'
import type { Column } from './table-rows.ts'

/** The table of assets. Its columns are those of an import, so that an exported file can be imported again. */

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
    throw fieldProblem('invalid_body', `/data/columns/${index}`, `Assets have no column ${target}. Use ${names}`)
  })
}

/** Returns the relations that the columns need. Without them, the inventory does not read relations. */
export function relationsFor(columns: readonly Column[]): PageRelations | undefined {
  const has = (target: string) => columns.some((column) => column.target === target)
  const predicates = [
    ...(has('parent') ? parentPredicates : []),
    ...(has('hierarchy_path') ? [assignmentPredicate] : []),
  ]
  return predicates.length === 0 ? undefined : { predicates, incoming: false }
}
