import { platformIdentifiers } from '@millwright/api/inventory-identity.ts'
import { Problem } from '@millwright/api/problem.ts'
import { may } from '../../platform/access/rights.ts'
import { newId } from '../../platform/database/id.ts'
import {
  type ApplierParts,
  type Applying,
  isFoundBySender,
  mayRead,
  mayWrite,
  requireAsset,
  requireGroup,
  writeDenied,
} from './applying.ts'
import { createdDocument, isSame, mergeAsset, setState, stateValueOf } from './asset.ts'
import { Precondition } from './asset-tag.ts'
import { suspicionsOf } from './duplicate.ts'
import { isOfGateway } from './gateway-scope.ts'
import { choose, type Identity, isReservedIdentifier } from './identifier.ts'
import type { DeletePayload, PutItem, PutPayload, StoredIdentifier, WantedRelation } from './payload.ts'
import { isRefused, refusalOf, refusedResult } from './refused-item.ts'
import { isReserved } from './relation.ts'
import { setPartOf, withRest } from './whole.ts'
import type { WorkingAsset } from './workspace.ts'

/** Another asset, and which of the identifiers that were sent are its own. */
type Conflict = { assetId: string; by: Record<string, unknown>[] }

export type PutResult = {
  assetId: string
  outcome: 'created' | 'updated' | 'unchanged'
  matchedBy?: Record<string, unknown>[]
  conflicts?: Conflict[]
  relations: RelationResult[]
}

export type RelationResult = { predicate: string; outcome: 'created' | 'refreshed' | 'skipped'; reason?: string }

/** All assets first, then their relations: a child may come before its parent. */
export async function applyPut(parts: ApplierParts, applying: Applying, payload: PutPayload): Promise<unknown[]> {
  const results: unknown[] = []
  const precondition = new Precondition(payload.ifMatch)
  for (const item of payload.items) {
    await applying.yieldTurn()
    if (isRefused(item)) {
      results.push(refusedResult(item, applying.operation.id))
      continue
    }
    const mark = applying.workspace.mark()
    try {
      const result = await putOne(parts, applying, { item, payload, precondition })
      if (item.rest?.partOf !== undefined) await setPartOf(applying, result.assetId, item.rest.partOf)
      results.push(result)
    } catch (error) {
      const refusal = refusalOf(error)
      applying.workspace.undoTo(mark)
      if (refusal instanceof IdentityTaken) recordConflict(applying, { error: refusal, item, payload })
      results.push(refusal.toDocument({ traceId: applying.operation.id }))
    }
  }
  payload.items.forEach((item, index) => {
    const result = results[index] as PutResult
    if (!isRefused(item) && 'assetId' in result)
      for (const relation of item.relations) relateOne(applying, { relation, result, payload })
  })
  return results
}

type One = { item: PutItem; payload: PutPayload; precondition: Precondition }

async function putOne(parts: ApplierParts, applying: Applying, one: One): Promise<PutResult> {
  const { item, payload, precondition } = one
  const { workspace, rights, operation } = applying
  const owners = item.identifiers.flatMap(({ key, uncertainty }) => {
    const owner = workspace.ownerOf(key)
    return owner === undefined ? [] : [{ key, uncertainty, ...owner }]
  })
  const decision = choose(owners)
  const meant = item.assetId ?? decision.match
  const isAnother = meant !== undefined && decision.match !== undefined && decision.match !== meant
  if (isAnother || (payload.strict && decision.conflicts.length > 0)) {
    throw new Problem(
      'ambiguous_identity',
      'The identifiers belong to several assets: say which one is meant, or merge them',
    )
  }
  const known = meant === undefined ? undefined : workspace.asset(meant)
  if (known === undefined && item.assetId !== undefined)
    throw new Problem('asset_not_found', `There is no asset ${item.assetId}`)
  if (known !== undefined && !mayOverwrite(applying, known, { item, payload }))
    throw new IdentityTaken(known.id, described(item, decision.matchedBy))
  requireSeen(precondition, known)
  const fresh = item.identifiers.filter(({ key }) => workspace.ownerOf(key) === undefined)
  requireUnreserved(applying, { fresh, item, payload })
  if (item.accessGroupId !== undefined) requireGroup(applying, item.accessGroupId)
  const now = new Date().toISOString()
  const accessGroupId = groupAfter(applying, { item, known, payload })
  if (accessGroupId !== known?.accessGroupId && !mayWrite(rights, accessGroupId))
    throw await writeDenied(applying, accessGroupId)

  const own =
    known === undefined
      ? createdDocument(item.asset, { responsible: operation.principalName, now })
      : mergeAsset(known.document, item.asset)
  const written = item.rest === undefined ? own : withRest(own, item.rest, now)
  const content = payload.source.type === 'discovery' ? reached(written, now) : written
  const faults = await parts.schemas.faultsOf(applying.tx, content, {
    asSent: known === undefined && item.rest === undefined,
  })
  if (faults.length > 0) {
    throw new Problem(
      'invalid_asset',
      `The resulting asset does not fit its schema: ${faults[0]?.pointer} ${faults[0]?.detail}`,
      { errors: faults },
    )
  }
  for (const suspicion of suspicionsOf(decision, { ...item, source: payload.source, time: now }))
    workspace.suspect(suspicion)
  const recognised = decision.matchedBy.length === 0 ? {} : { matchedBy: described(item, decision.matchedBy) }
  const change = { actor: operation, source: payload.source, time: now, ...recognised }
  if (known !== undefined && workspace.gatewayScope.isInConflict(known.id, operation.principalId))
    workspace.resolveIdentityConflict({ assetId: known.id, gatewayId: operation.principalId })
  const conflicts = conflictsTold(applying, item, decision)
  const result = (asset: WorkingAsset, outcome: PutResult['outcome']): PutResult => ({
    assetId: asset.id,
    outcome,
    ...recognised,
    ...(conflicts.length === 0 ? {} : { conflicts }),
    relations: [],
  })
  if (
    known !== undefined &&
    fresh.length === 0 &&
    known.accessGroupId === accessGroupId &&
    isSame(known.document, content)
  ) {
    return result(known, 'unchanged')
  }
  const asset: WorkingAsset = {
    id: known?.id ?? newId(),
    accessGroupId,
    version: (known?.version ?? 0) + 1,
    createdAt: known?.createdAt ?? now,
    document: { ...content, last_modified_timestamp: now },
  }
  workspace.put(asset, change)
  for (const identifier of fresh)
    workspace.identify({ ...identifier, assetId: asset.id, createdAt: now }, asset.createdAt)
  return result(asset, known === undefined ? 'created' : 'updated')
}

/** Who says which version it has seen does not mean to create anything. */
function requireSeen(precondition: Precondition, known: WorkingAsset | undefined): void {
  if (known !== undefined) precondition.require(known)
  else if (precondition.isGiven) throw new Problem('precondition_failed', 'No asset has these identifiers any more')
}

/** The identifiers match an asset that the sender may not change. The problem document does not name the asset. */
class IdentityTaken extends Problem {
  readonly assetId: string
  readonly identifiers: readonly Record<string, unknown>[]

  constructor(assetId: string, identifiers: readonly Record<string, unknown>[]) {
    super('identity_taken', 'An identifier belongs to an asset that the sender may not change')
    this.assetId = assetId
    this.identifiers = identifiers
  }
}

type Sent = { item: PutItem; payload: PutPayload }

/**
 * Whether a gateway reports one of its own links: all identifiers are link identifiers, and these begin with the id of the
 * gateway.
 */
function isOwnLink({ operation }: Applying, { item, payload }: Sent): boolean {
  if (!isOfGateway(operation) || payload.source.type !== 'assetlinkdiscovery') return false
  return item.identifiers.every(
    ({ type, name, value }) =>
      type === 'CustomIdentifier' &&
      name === platformIdentifiers.assetLink &&
      value.startsWith(`${operation.principalId}/`),
  )
}

/**
 * Only the platform and link reports give an asset an identifier that is reserved for the platform. Otherwise an asset could
 * take the place of a gateway or link that does not exist yet. An asset keeps the reserved identifiers that it has.
 */
function requireUnreserved(
  applying: Applying,
  { fresh, ...sent }: Sent & { fresh: readonly StoredIdentifier[] },
): void {
  if (applying.operation.principalKind === 'system' || isOwnLink(applying, sent)) return
  const reserved = fresh.find(({ identifier }) => isReservedIdentifier(identifier))
  if (reserved === undefined) return
  const detail = `${reserved.name} is reserved for the platform`
  throw new Problem('invalid_asset', `/asset_identifiers: the identifier name ${detail}`, {
    errors: [{ pointer: '/asset_identifiers', code: 'reserved', detail }],
  })
}

/**
 * Whether the sender may write an asset that its identifiers match. The only identifier of an asset link contains the id
 * of its gateway, so the gateway that reports the link owns the asset. A discovered device never changes an asset that the
 * platform manages.
 */
function mayOverwrite(applying: Applying, asset: WorkingAsset, sent: Sent): boolean {
  const isInWritableGroup = mayWrite(applying.rights, asset.accessGroupId)
  if (!isOfGateway(applying.operation)) return isInWritableGroup
  if (isOwnLink(applying, sent)) return true
  const isManaged = applying.workspace.gatewayScope.isManaged(asset.id)
  return !isManaged && (isInWritableGroup || isFoundBySender(applying, asset))
}

type Placing = { item: PutItem; known: WorkingAsset | undefined; payload: PutPayload }

/** A gateway puts new assets into its own access group and never moves an asset. */
function groupAfter({ workspace, operation }: Applying, { item, known, payload }: Placing): string {
  const gateway = isOfGateway(operation) ? workspace.asset(operation.principalId) : undefined
  if (gateway !== undefined) return known?.accessGroupId ?? gateway.accessGroupId
  return item.accessGroupId ?? known?.accessGroupId ?? payload.defaultGroupId
}

type Refused = { error: IdentityTaken; item: PutItem; payload: PutPayload }

/** For people who can read both the asset and the gateway: they can grant the gateway access, or find a wrong identifier. */
function recordConflict({ workspace, operation }: Applying, { error, item, payload }: Refused): void {
  const { assetId, identifiers } = error
  const gatewayId = operation.principalId
  if (!isOfGateway(operation) || assetId === gatewayId) return
  const { name } = item.asset
  workspace.recordIdentityConflict({
    assetId,
    gatewayId,
    jobId: payload.discovery?.jobId ?? null,
    runId: payload.discovery?.runId ?? null,
    deviceName: typeof name === 'string' ? name : null,
    identifiers,
    time: new Date().toISOString(),
  })
}

function described({ identifiers }: PutItem, keys: readonly string[]): Record<string, unknown>[] {
  return identifiers.filter(({ key }) => keys.includes(key)).map(({ identifier }) => identifier)
}

/** Who the others are is told only as far as the caller may see them. */
function conflictsTold({ workspace, rights }: Applying, item: PutItem, { conflicts }: Identity): Conflict[] {
  return conflicts.flatMap(({ assetId, by }) => {
    const asset = workspace.asset(assetId)
    const isVisible = asset !== undefined && mayRead(rights, asset.accessGroupId)
    return isVisible ? [{ assetId, by: described(item, by) }] : []
  })
}

type Relating = { relation: WantedRelation; result: PutResult; payload: PutPayload }

/** An entry that cannot be followed is skipped with a reason; the asset is written all the same. */
function relateOne(applying: Applying, { relation, result, payload }: Relating): void {
  const { workspace, rights, operation } = applying
  const { predicate } = relation
  const skip = (reason: string) => result.relations.push({ predicate, outcome: 'skipped', reason })
  if (isReserved(predicate)) return void skip('system_managed_predicate')
  if (!payload.mayRelate || !may({ rights }, 'glb_inventory_write_relation_data')) return void skip('forbidden')
  const owners = relation.related.flatMap(({ key, uncertainty }) => {
    const owner = workspace.ownerOf(key)
    return owner === undefined ? [] : [{ key, uncertainty, ...owner }]
  })
  const { match } = choose(owners)
  const other = match === undefined ? undefined : workspace.asset(match)
  const isFound = other !== undefined && isFoundBySender(applying, other)
  if (other === undefined || !(isFound || mayRead(rights, other.accessGroupId))) return void skip('asset_not_found')
  if (!(isFound || mayWrite(rights, other.accessGroupId))) return void skip('forbidden')
  const report: RelationResult = { predicate, outcome: 'refreshed' }
  result.relations.push(report)
  const [subject, object] = relation.role === 'object' ? [result.assetId, other.id] : [other.id, result.assetId]
  const stated = { predicate, source: payload.source, author: operation }
  workspace.relate({ subject, object, ...stated }, report)
  if (relation.bidirectional && subject !== object)
    workspace.relate({ subject: object, object: subject, ...stated }, report)
}

export async function applyDelete(applying: Applying, { ids, ifMatch }: DeletePayload): Promise<unknown[]> {
  const precondition = new Precondition(ifMatch)
  const results: unknown[] = []
  for (const [index, assetId] of ids.entries()) {
    try {
      results.push(await deleteOne(applying, { assetId, precondition, pointer: `/data/ids/${index}` }))
    } catch (error) {
      results.push(refusalOf(error).toDocument({ traceId: applying.operation.id }))
    }
  }
  return results
}

type Deleted = { assetId: string; precondition: Precondition; pointer: string }

async function deleteOne(applying: Applying, { assetId, precondition, pointer }: Deleted) {
  const { workspace, operation } = applying
  const asset = await requireAsset(applying, assetId, pointer)
  precondition.require(asset)
  workspace.remove(asset, { actor: operation, source: { type: 'manual' }, time: new Date().toISOString() })
  return { assetId, outcome: 'deleted' }
}

export type { DeletePayload, PutPayload }

/** Who found it has reached it. */
function reached(document: ReturnType<typeof mergeAsset>, now: string) {
  if (stateValueOf(document, 'reachability_state') === 'reached') return document
  return setState(document, { state: 'reachability_state', value: 'reached', now })
}
