import { inventoryLimits } from '@millwright/api/inventory-shapes.ts'
import { type FieldError, Problem, problemFrom } from '@millwright/api/problem.ts'
import { type Document, isObject } from '../../platform/plain-object.ts'
import { fromV1, parentPredicates, type Told } from './asset.ts'
import { changedProperties, changedStates, type StateName } from './change.ts'
import type { Inventory, Shown } from './reading.ts'

/** Writes are accepted and applied later: here they are waited for. */
const headers = { prefer: `wait=${inventoryLimits.statusWaitSeconds}` }

/** Creates or updates the asset that has these identifiers. */
export async function putAsset(
  peer: Inventory,
  asset: Document,
  { strict = false } = {},
): Promise<{ id: string; isNew: boolean }> {
  const result = await applied(peer.createAsset({ query: { strict }, body: { data: { asset } }, headers }))
  const { assetId, outcome } = result as { assetId: string; outcome: string }
  return { id: assetId, isNew: outcome === 'created' }
}

export async function deleteAsset(peer: Inventory, id: string): Promise<void> {
  await applied(peer.deleteAssets({ body: { data: { ids: [id] } }, headers })).catch((error: unknown) => {
    if (!(error instanceof Problem) || error.code !== 'asset_not_found') throw error
    throw new Problem('not_found', 'There is no such asset')
  })
}

/** What a document says besides the asset itself: its states, who is responsible, properties, what it is part of. */
export async function writeRest(
  peer: Inventory,
  id: string,
  { before, after, isWhole }: { before: Shown | undefined; after: Told /** Unsaid is gone. */; isWhole: boolean },
): Promise<void> {
  const was = fromV1(before?.document ?? {})
  for (const { name, value } of changedStates(was.asset, after.asset)) await setState(peer, id, { name, value })
  const { responsible } = after.asset
  if (typeof responsible === 'string' && responsible !== was.asset.responsible) {
    await applied(peer.setResponsible({ params: { id }, body: { data: { responsible } }, headers }))
  }
  if (isWhole || after.asset.custom_properties !== undefined) await setProperties(peer, id, { was, after })
  if (after.parentId === was.parentId || (after.parentId === undefined && !isWhole)) return
  await setParent(peer, id, { before, parentId: after.parentId })
}

async function setProperties(peer: Inventory, id: string, { was, after }: { was: Told; after: Told }): Promise<void> {
  const { set, removed } = changedProperties(was.asset, after.asset)
  if (set.length > 0) {
    const data = set.map(({ key, value }) => ({ asset_id: id, key, value }))
    await applied(peer.setPropertyValues({ body: { data }, headers }))
  }
  if (removed.length > 0) {
    const data = removed.map((key) => ({ asset_id: id, key }))
    await applied(peer.deletePropertyValues({ body: { data }, headers }))
  }
}

/** The state is one that its name allows: that is looked at before. */
function setState(peer: Inventory, id: string, { name, value }: { name: StateName; value: string }): Promise<unknown> {
  const input = { params: { id }, body: { data: { state_value: value as never } }, headers }
  switch (name) {
    case 'management_state':
      return applied(peer.setManagementState(input))
    case 'reachability_state':
      return applied(peer.setReachabilityState(input))
    case 'trust_state':
      return applied(peer.setTrustState(input))
  }
}

/** An asset of version 1 is part of one other at most. */
async function setParent(
  peer: Inventory,
  id: string,
  { before, parentId }: { before: Shown | undefined; parentId: string | undefined },
): Promise<void> {
  const old = (before?.relations ?? []).filter(
    ({ subject, predicate }) => subject.id === id && parentPredicates.includes(predicate),
  )
  if (parentId !== undefined) {
    const predicate = old[0]?.predicate ?? 'is_part_of'
    const object = { type: 'asset', id: parentId } as const
    await peer.createRelation({ body: { data: { subject: { type: 'asset', id }, predicate, object } } })
  }
  const ids = old.filter(({ object }) => object.id !== parentId).map((relation) => relation.id)
  if (ids.length > 0) await peer.deleteRelations({ body: { data: { ids } } })
}

type Accepted = { data: { statusId: string; state?: string; detail?: Record<string, unknown> } }

/** The result of a write once it is applied; throws what was wrong with it, in terms of version 1. */
async function applied(accepting: Promise<Accepted>): Promise<unknown> {
  const { data } = await accepting.catch((error: unknown) => {
    throw error instanceof Problem ? toldInV1(error) : error
  })
  if (data.state === undefined) {
    const detail = `It is accepted but not applied yet; GET /inventory/v2/status/${data.statusId} tells when it is`
    throw new Problem('unavailable', detail, { retryAfter: 2 })
  }
  const results = [data.detail?.result].flat()
  const refused = results.find((result) => isObject(result) && 'code' in result)
  if (refused !== undefined) throw toldInV1(problemFrom(refused, 500))
  return results[0]
}

/** Faults point into the body of version 2. */
function toldInV1(problem: Problem): Problem {
  if (problem.errors === undefined) return problem
  const errors = problem.errors.map((error): FieldError => ({ ...error, pointer: withoutEnvelope(error.pointer) }))
  const told = errors.slice(0, 3).map(({ pointer, detail }) => `${pointer} ${detail}`)
  return new Problem(problem.code, told.join('; '), { errors, headers: problem.headers })
}

function withoutEnvelope(pointer: string): string {
  return pointer.replace(/^\/data\/asset(?=\/|$)/, '')
}
