import { Problem } from '@millwright/api/problem.ts'
import { permissionDenied } from '../../platform/access/permission-denied.ts'
import { may } from '../../platform/access/rights.ts'
import { type Applying, mayRead, mayWrite, writeDenied } from './applying.ts'
import { setPropertyValues, setState, stateValueOf } from './asset.ts'
import { lockRelationsFrom } from './merge-store.ts'
import type { PutRest } from './payload.ts'
import type { WorkingAsset } from './workspace.ts'

/** What is written along with an asset by who writes it as a whole. */
export function withRest(document: Record<string, unknown>, rest: PutRest, now: string): Record<string, unknown> {
  const changed = rest.states.filter(({ state, value }) => stateValueOf(document, state) !== value)
  const stated = changed.reduce((before, { state, value }) => setState(before, { state, value, now }), document)
  const named = rest.responsible === undefined ? stated : { ...stated, responsible: rest.responsible }
  return rest.properties === undefined ? named : setPropertyValues(named, rest.properties)
}

type PartOf = NonNullable<PutRest['partOf']>

/** Makes an asset part of one other at most, in one of the ways that count as that. */
export async function setPartOf(
  { tx, workspace, rights, operation }: Applying,
  assetId: string,
  { assetId: wholeId, predicates }: PartOf,
): Promise<void> {
  const whole = wholeId === null ? undefined : visibleWhole({ workspace, rights }, wholeId)
  const stated = await lockRelationsFrom(tx, { subjectId: assetId, predicates })
  const before = stated.filter(({ objectType }) => objectType === 'asset')
  const others = before.filter(({ objectId }) => objectId !== wholeId)
  const isNew = whole !== undefined && others.length === before.length
  if (!isNew && others.length === 0) return
  const needed = ['glb_inventory_write_relation_data', 'glb_inventory_read_relation_data'] as const
  const missing = needed.slice(0, others.length === 0 ? 1 : 2).find((permission) => !may({ rights }, permission))
  if (missing !== undefined) throw permissionDenied({ permission: missing })
  const change = { actor: operation, source: { type: 'manual' }, time: new Date().toISOString() }
  workspace.end(
    others.map(({ id }) => id),
    change,
  )
  if (!isNew) return
  if (!mayWrite(rights, whole.accessGroupId)) throw await writeDenied({ tx, rights }, whole.accessGroupId)
  const predicate = others[0]?.predicate ?? predicates[0] ?? ''
  const [subject, object] = [assetId, whole.id].map((id) => ({ type: 'asset' as const, id }))
  if (subject === undefined || object === undefined) return
  workspace.restate([{ subject, predicate, object, source: { type: 'manual' } }], change)
}

/** Also where nothing would change: who may not see an asset does not learn what is part of it. */
function visibleWhole({ workspace, rights }: Pick<Applying, 'workspace' | 'rights'>, id: string): WorkingAsset {
  const whole = workspace.asset(id)
  if (whole !== undefined && mayRead(rights, whole.accessGroupId)) return whole
  const detail = `There is no asset ${id}`
  const errors = [{ pointer: '/data/partOf/asset', code: 'asset_not_found', detail }]
  throw new Problem('asset_not_found', detail, { errors })
}
