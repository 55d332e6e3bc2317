import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import { fieldProblem } from '../../../platform/field-problem.ts'
import { setPropertyValue } from '../assets/asset.ts'
import { Precondition } from '../assets/asset-tag.ts'
import { type Document, objectsOf } from '../assets/document.ts'
import { choose } from '../identity/identifier.ts'
import { cellPointer, fieldsOfCells, isStated } from './cell-fields.ts'
import type { Decision, WorkingAsset } from './change-set.ts'
import { acceptedItems, isRefused, refusalOf, refusedResult } from './item-result.ts'
import { ownersOf, type PutResult, putAsset } from './put.ts'
import type { DocumentRest, ImportItem, ImportPayload, PutItem, PutPayload, StoredIdentifier } from './write.ts'
import { type KindRules, mayRead, type Writing } from './writing.ts'

/** The rules of writes of the rows of an imported file. */
export const importRows: KindRules<ImportPayload> = {
  isAlone: false,

  needs({ items }) {
    const accepted = acceptedItems(items)
    return {
      keys: accepted.flatMap(({ identifiers }) => identifiers.map(({ key }) => key)),
      assetIds: accepted.flatMap(({ assetId }) => assetId ?? []),
      accessGroupIds: accepted.flatMap(({ accessGroupId }) => accessGroupId ?? []),
      allRelations: false,
    }
  },

  apply: applyRows,
}

export async function applyRows(
  writing: Writing,
  { items, defaultGroupId }: ImportPayload,
): Promise<(PutResult | ProblemDocument)[]> {
  const results: (PutResult | ProblemDocument)[] = []
  const payload: PutPayload = { items: [], source: { type: 'manual' }, strict: true, mayRelate: false, defaultGroupId }
  for (const item of items) {
    await writing.yieldTurn()
    if (isRefused(item)) {
      results.push(refusedResult(item, writing.id))
      continue
    }
    try {
      const { result, changes } = await applyRow(writing, item, payload)
      writing.batch.add(changes)
      results.push(result)
    } catch (error) {
      const { code, message, errors } = refusalOf(error)
      const faults = errors?.map((fault) => ({ ...fault, pointer: cellPointer(fault.pointer) }))
      const problem = new Problem(code, message, faults === undefined ? {} : { errors: faults })
      results.push(problem.toDocument({ traceId: writing.id }))
    }
  }
  return results
}

async function applyRow(writing: Writing, item: ImportItem, payload: PutPayload): Promise<Decision<PutResult>> {
  const { batch } = writing
  const named = namedAsset(writing, item)
  const match = named === undefined ? choose(ownersOf(writing, item.identifiers)).match : undefined
  const existing = named ?? (match === undefined ? undefined : batch.asset(match))
  if (existing === undefined && item.identifiers.length === 0) throw unknownAsset(item)
  const isNeeded = ({ key, identifier }: StoredIdentifier) =>
    existing === undefined || batch.ownerOf(key)?.assetId === existing.id || !isStated(existing.document, identifier)
  const put: PutItem = {
    asset: fieldsAfter(existing, item),
    identifiers: item.identifiers.filter(isNeeded),
    relations: [],
    ...(item.accessGroupId === undefined ? {} : { accessGroupId: item.accessGroupId }),
    ...(existing === undefined ? {} : { assetId: existing.id }),
    ...restOf(existing, item),
  }
  const decision = await putAsset(writing, { item: put, payload, precondition: new Precondition(undefined) })
  if (named === undefined) return decision
  return { ...decision, result: { ...decision.result, matchedBy: [{ id: named.id }] } }
}

/** Returns the asset that the row names by its id, if the sender can read it. */
function namedAsset({ batch, rights }: Writing, { assetId }: ImportItem): WorkingAsset | undefined {
  const asset = assetId === undefined ? undefined : batch.asset(assetId)
  return asset !== undefined && mayRead(rights, asset.accessGroupId) ? asset : undefined
}

function unknownAsset({ assetId }: ImportItem): Problem {
  const detail = `No asset has the ID ${assetId}, and the row has no other identifier. Enter a MAC address, or a serial number with its manufacturer`
  return fieldProblem('asset_not_found', '/id', detail)
}

const defaultType = 'Device'

function fieldsAfter(existing: WorkingAsset | undefined, { cells, asset = {} }: ImportItem): Record<string, unknown> {
  const fields = cells === undefined ? asset : fieldsOfCells(existing?.document ?? {}, cells)
  return existing === undefined ? { functional_object_type: defaultType, ...fields } : fields
}

function restOf(
  existing: WorkingAsset | undefined,
  { properties, states = [], responsible }: ImportItem,
): { rest?: DocumentRest } {
  if (properties.length === 0 && states.length === 0 && responsible === undefined) return {}
  const { custom_properties: before = [] } = existing?.document ?? {}
  const after = properties.reduce<Document>((document, value) => setPropertyValue(document, value), {
    custom_properties: before,
  })
  return {
    rest: {
      states,
      ...(responsible === undefined ? {} : { responsible }),
      properties: objectsOf(after.custom_properties) as { key: string; value: string }[],
    },
  }
}
