import { Problem } from '@millwright/api/problem.ts'
import { permissionDenied } from '../../../platform/access/permission-denied.ts'
import { may } from '../../../platform/access/rights.ts'
import { setPropertyValues, setState, stateValueOf } from '../assets/asset.ts'
import { lockRelationsFrom } from '../identity/merge-store.ts'
import type { Change, WorkingAsset } from './change-set.ts'
import type { DocumentRest } from './write.ts'
import { mayRead, mayWrite, type Writing, writeDenied } from './writing.ts'

/** Returns the document with the states, the responsible person and the property values of `rest`. */
export function withRest(document: Record<string, unknown>, rest: DocumentRest, now: string): Record<string, unknown> {
  const changed = rest.states.filter(({ state, value }) => stateValueOf(document, state) !== value)
  const stated = changed.reduce((before, { state, value }) => setState(before, { state, value, now }), document)
  const named = rest.responsible === undefined ? stated : { ...stated, responsible: rest.responsible }
  return rest.properties === undefined ? named : setPropertyValues(named, rest.properties)
}

type PartOf = NonNullable<DocumentRest['partOf']>

/**
 * Makes an asset part of one parent, or of no parent. A new relation gets the predicate of the relation that it
 * replaces, or else the first of `predicates`.
 */
export async function moveBelow(
  writing: Writing,
  assetId: string,
  { assetId: parentId, predicates }: PartOf,
): Promise<Change[]> {
  const { tx, rights, sender } = writing
  const parent = parentId === null ? undefined : visibleParent(writing, parentId)
  const stored = await lockRelationsFrom(tx, { subjectIds: [assetId], predicates })
  const before = stored.filter(({ objectType }) => objectType === 'asset')
  const others = before.filter(({ objectId }) => objectId !== parentId)
  const isNew = parent !== undefined && others.length === before.length
  if (!isNew && others.length === 0) return []
  const needed = ['glb_inventory_write_relation_data', 'glb_inventory_read_relation_data'] as const
  const missing = needed.slice(0, others.length === 0 ? 1 : 2).find((permission) => !may({ rights }, permission))
  if (missing !== undefined) throw permissionDenied({ permission: missing })
  const cause = { actor: sender, source: { type: 'manual' }, time: new Date().toISOString() }
  const end: Change = { type: 'end relations', ids: others.map(({ id }) => id), cause }
  if (!isNew) return [end]
  if (!mayWrite(rights, parent.accessGroupId)) throw await writeDenied(writing, parent.accessGroupId)
  const relation = {
    subject: { type: 'asset', id: assetId },
    predicate: others[0]?.predicate ?? predicates[0] ?? '',
    object: { type: 'asset', id: parent.id },
    source: { type: 'manual' },
    author: sender,
  } as const
  return [end, { type: 'write relation', relation, time: cause.time }]
}

/**
 * Returns the parent, which the caller must be able to read. This is required even if nothing would change. Otherwise a
 * caller could find out which assets are parts of a hidden parent.
 */
function visibleParent({ batch, rights }: Writing, id: string): WorkingAsset {
  const parent = batch.asset(id)
  if (parent !== undefined && mayRead(rights, parent.accessGroupId)) return parent
  const detail = `Asset ${id} does not exist`
  const errors = [{ pointer: '/data/partOf/asset', code: 'asset_not_found', detail }]
  throw new Problem('asset_not_found', detail, { errors })
}
