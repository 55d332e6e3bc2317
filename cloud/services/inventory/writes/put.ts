import { platformIdentifiers } from '@millwright/api/inventory/identity.ts'
import { Problem, type ProblemDocument } from '@millwright/api/problem.ts'
import { may } from '../../../platform/access/rights.ts'
import { newId } from '../../../platform/database/id.ts'
import { isSame } from '../assets/asset.ts'
import { Precondition } from '../assets/asset-tag.ts'
import { suspicionsOf } from '../identity/duplicate.ts'
import { choose, type Identity, isReservedIdentifier } from '../identity/identifier.ts'
import { isReserved } from '../relations/relation.ts'
import { contentAfter } from './asset-content.ts'
import type { Change, Decision, WorkingAsset } from './change-set.ts'
import { moveBelow } from './document-write.ts'
import { isOfGateway } from './gateway-scope.ts'
import { acceptedItems, isRefused, refusalOf, refusedResult } from './item-result.ts'
import type { AssetRelationInput, PutItem, PutPayload, StoredIdentifier } from './write.ts'
import {
  isFoundBySender,
  type KindRules,
  mayRead,
  mayWrite,
  requireGroup,
  type Writing,
  writeDenied,
} from './writing.ts'

/** Another asset that owns some of the identifiers that were sent. */
type Conflict = { assetId: string; by: Record<string, unknown>[] }

export type PutResult = {
  assetId: string
  outcome: 'created' | 'updated' | 'unchanged'
  matchedBy?: Record<string, unknown>[]
  conflicts?: Conflict[]
  relations: RelationResult[]
}

export type RelationResult = { predicate: string; outcome: 'created' | 'refreshed' | 'skipped'; reason?: string }

/** The rules of writes that create or update assets by their identifiers. */
export const putMany: KindRules<PutPayload> = {
  isAlone: false,

  needs({ items }) {
    const accepted = acceptedItems(items)
    return {
      keys: accepted.flatMap(({ identifiers, relations }) => [
        ...identifiers.map(({ key }) => key),
        ...relations.flatMap(({ related }) => related.map(({ key }) => key)),
      ]),
      assetIds: accepted.flatMap(({ assetId, rest }) =>
        [assetId, rest?.partOf?.assetId].filter((id) => typeof id === 'string'),
      ),
      accessGroupIds: accepted.flatMap(({ accessGroupId }) => accessGroupId ?? []),
      allRelations: false,
    }
  },

  apply: putAssets,
}

/** The rules of a write of one asset. Its result is an object instead of a list. */
export const put: KindRules<PutPayload> = {
  ...putMany,
  apply: async (writing, payload) => (await putAssets(writing, payload))[0],
}

/**
 * The rules of a write of one complete document. Such a write is applied alone, because the parent of the asset is read
 * from the stored relations.
 */
export const putWhole: KindRules<PutPayload> = {
  ...put,
  isAlone: true,
  needs: (payload) => ({ ...putMany.needs(payload), allRelations: true }),
}

/** Writes all assets first and then their relations, because a child may come before its parent in the list. */
async function putAssets(writing: Writing, payload: PutPayload): Promise<(PutResult | ProblemDocument)[]> {
  const results: (PutResult | ProblemDocument)[] = []
  const precondition = new Precondition(payload.ifMatch)
  for (const item of payload.items) {
    await writing.yieldTurn()
    results.push(
      isRefused(item) ? refusedResult(item, writing.id) : await putItem(writing, { item, payload, precondition }),
    )
  }
  for (const [index, item] of payload.items.entries()) {
    const result = results[index]
    if (isRefused(item) || result === undefined || !('assetId' in result)) continue
    await writing.yieldTurn()
    for (const relation of item.relations) writing.batch.add(relate(writing, { relation, result, payload }))
    if (isOfGateway(writing.sender)) {
      writing.batch.add(pendingChanges(writing, { item, result, payload }))
      writing.batch.add(resolvedChanges(writing, { item, result, payload }))
    }
  }
  return results
}

type PutOptions = { item: PutItem; payload: PutPayload; precondition: Precondition }

/** Adds the changes of one item to the batch. A refused item adds no changes except identity conflicts. */
async function putItem(writing: Writing, options: PutOptions): Promise<PutResult | ProblemDocument> {
  try {
    const { result, changes } = await putAsset(writing, options)
    const { partOf } = options.item.rest ?? {}
    const moved = partOf === undefined ? [] : await moveBelow(writing, result.assetId, partOf)
    writing.batch.add([...changes, ...moved])
    return result
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal instanceof IdentityTaken) writing.batch.add(identityConflict(writing, { error: refusal, ...options }))
    return refusal.toDocument({ traceId: writing.id })
  }
}

export async function putAsset(
  writing: Writing,
  { item, payload, precondition }: PutOptions,
): Promise<Decision<PutResult>> {
  const { batch, rights, sender, schemas } = writing
  const identity = choose(ownersOf(writing, item.identifiers))
  const targetId = item.assetId ?? identity.match
  const isAnother = targetId !== undefined && identity.match !== undefined && identity.match !== targetId
  if (isAnother || (payload.strict && identity.conflicts.length > 0)) {
    throw new Problem(
      'ambiguous_identity',
      'The identifiers belong to several assets. Remove the identifiers of the other assets, or merge the assets',
    )
  }
  const existing = targetId === undefined ? undefined : batch.asset(targetId)
  if (existing === undefined && item.assetId !== undefined)
    throw new Problem('asset_not_found', `Asset ${item.assetId} does not exist`)
  if (existing !== undefined && !mayOverwrite(writing, existing, { item, payload }))
    throw new IdentityTaken(existing.id, identifiersWith(item, identity.matchedBy))
  requireVersion(precondition, existing)
  const fresh = item.identifiers.filter(({ key }) => batch.ownerOf(key) === undefined)
  requireUnreserved(writing, { fresh, item, payload })
  if (item.accessGroupId !== undefined) requireGroup(writing, item.accessGroupId)
  const now = new Date().toISOString()
  const accessGroupId = groupAfter(writing, { item, existing, payload })
  if (accessGroupId !== existing?.accessGroupId && !mayWrite(rights, accessGroupId))
    throw await writeDenied(writing, accessGroupId)

  const { content, sources, overruled } = contentAfter(writing, { item, payload, existing, now })
  const faults = await schemas.faultsOf(writing.tx, content, {
    asSent: existing === undefined && item.rest === undefined,
  })
  if (faults.length > 0) {
    throw new Problem(
      'invalid_asset',
      `The resulting asset does not match its schema: ${faults[0]?.pointer} ${faults[0]?.detail}`,
      { errors: faults },
    )
  }
  const recognised = identity.matchedBy.length === 0 ? {} : { matchedBy: identifiersWith(item, identity.matchedBy) }
  const changes: Change[] = suspicionsOf(identity, { ...item, source: payload.source, time: now }).map(
    (suspicion): Change => ({ type: 'suspect duplicate', suspicion }),
  )
  if (existing !== undefined && batch.gatewayScope.isInConflict(existing.id, sender.principalId))
    changes.push({ type: 'resolve conflict', key: { assetId: existing.id, gatewayId: sender.principalId } })
  const conflicts = visibleConflicts(writing, item, identity)
  const decision = (assetId: string, outcome: PutResult['outcome']): Decision<PutResult> => {
    const result = { assetId, outcome, ...recognised, ...(conflicts.length === 0 ? {} : { conflicts }), relations: [] }
    return { result, changes }
  }
  const isUnmoved = existing?.accessGroupId === accessGroupId
  if (existing !== undefined && fresh.length === 0 && isUnmoved && isSame(existing.document, content)) {
    if (sources !== null && sources !== existing.sources)
      changes.push({ type: 'put sources', asset: { ...existing, sources } })
    return decision(existing.id, 'unchanged')
  }
  const asset: WorkingAsset = {
    id: existing?.id ?? newId(),
    accessGroupId,
    version: (existing?.version ?? 0) + 1,
    createdAt: existing?.createdAt ?? now,
    document: { ...content, last_modified_timestamp: now },
    sources,
    ...(existing === undefined && payload.discovery !== undefined ? { foundRunId: payload.discovery.runId } : {}),
  }
  changes.push({
    type: 'put asset',
    asset,
    cause: { actor: sender, source: payload.source, time: now, ...recognised, ...overruled },
  })
  for (const identifier of fresh) {
    const row = { ...identifier, assetId: asset.id, createdAt: now }
    changes.push({ type: 'add identifier', row, assetCreatedAt: asset.createdAt })
  }
  return decision(asset.id, existing === undefined ? 'created' : 'updated')
}

/** Returns the assets to which these identifiers belong. */
export function ownersOf({ batch }: Writing, identifiers: readonly { key: string; uncertainty: number }[]) {
  return identifiers.flatMap(({ key, uncertainty }) => {
    const owner = batch.ownerOf(key)
    return owner === undefined ? [] : [{ key, uncertainty, ...owner }]
  })
}

/** Compares the version of the asset with `If-Match`. A write with `If-Match` never creates an asset. */
function requireVersion(precondition: Precondition, existing: WorkingAsset | undefined): void {
  if (existing !== undefined) precondition.require(existing)
  else if (precondition.isGiven)
    throw new Problem('precondition_failed', 'If-Match requires an existing asset, but no asset has these identifiers')
}

/**
 * The problem of an item whose identifiers match an asset that the sender may not change. The problem document does not
 * name the asset.
 */
class IdentityTaken extends Problem {
  readonly assetId: string
  readonly identifiers: readonly Record<string, unknown>[]

  constructor(assetId: string, identifiers: readonly Record<string, unknown>[]) {
    super('identity_taken', 'An identifier belongs to an asset that the caller cannot change')
    this.assetId = assetId
    this.identifiers = identifiers
  }
}

type PutInput = { item: PutItem; payload: PutPayload }

/**
 * Returns whether a gateway reports one of its own links. In such a report, all identifiers are link identifiers that
 * begin with the id of the gateway.
 */
function isOwnLink({ sender }: Writing, { item, payload }: PutInput): boolean {
  if (!isOfGateway(sender) || payload.source.type !== 'assetlinkdiscovery') return false
  return item.identifiers.every(
    ({ type, name, value }) =>
      type === 'CustomIdentifier' &&
      name === platformIdentifiers.assetLink &&
      value.startsWith(`${sender.principalId}/`),
  )
}

/**
 * Refuses new reserved identifiers, except in writes of the platform and in link reports. Otherwise an asset could take the
 * place of a gateway or link that does not exist yet. An asset keeps the reserved identifiers that it already has.
 */
function requireUnreserved(
  writing: Writing,
  { fresh, ...input }: PutInput & { fresh: readonly StoredIdentifier[] },
): void {
  if (writing.sender.principalKind === 'system' || isOwnLink(writing, input)) return
  const reserved = fresh.find(({ identifier }) => isReservedIdentifier(identifier))
  if (reserved === undefined) return
  const detail = `${reserved.name} is reserved for the platform`
  throw new Problem('invalid_asset', `/asset_identifiers: the identifier name ${detail}`, {
    errors: [{ pointer: '/asset_identifiers', code: 'reserved', detail }],
  })
}

/**
 * Returns whether the sender may write an asset that its identifiers match. An asset link has a single identifier, which
 * contains the id of its gateway. The gateway that reports the link therefore owns the asset. A discovered device never
 * changes an asset that the platform manages.
 */
function mayOverwrite(writing: Writing, asset: WorkingAsset, input: PutInput): boolean {
  const isInWritableGroup = mayWrite(writing.rights, asset.accessGroupId)
  if (!isOfGateway(writing.sender)) return isInWritableGroup
  if (isOwnLink(writing, input)) return true
  const isManaged = writing.batch.gatewayScope.isManaged(asset.id)
  return !isManaged && (isInWritableGroup || isFoundBySender(writing, asset))
}

type Placement = PutInput & { existing: WorkingAsset | undefined }

/**
 * Returns the access group of the asset after the write. A gateway puts new assets into its own access group and never
 * moves an asset.
 */
function groupAfter({ batch, sender }: Writing, { item, existing, payload }: Placement): string {
  const gateway = isOfGateway(sender) ? batch.asset(sender.principalId) : undefined
  if (gateway !== undefined) return existing?.accessGroupId ?? gateway.accessGroupId
  return item.accessGroupId ?? existing?.accessGroupId ?? payload.defaultGroupId
}

/**
 * Returns the identity conflict of a refused item. Users who can read both the asset and the gateway see the conflict. They
 * can grant the gateway access or correct a wrong identifier.
 */
function identityConflict(
  { sender }: Writing,
  { error, item, payload }: PutInput & { error: IdentityTaken },
): Change[] {
  const { assetId, identifiers } = error
  const gatewayId = sender.principalId
  if (!isOfGateway(sender) || assetId === gatewayId) return []
  const { name } = item.asset
  const conflict = {
    assetId,
    gatewayId,
    jobId: payload.discovery?.jobId ?? null,
    runId: payload.discovery?.runId ?? null,
    deviceName: typeof name === 'string' ? name : null,
    identifiers,
    time: new Date().toISOString(),
  }
  return [{ type: 'record conflict', conflict }]
}

function identifiersWith({ identifiers }: PutItem, keys: readonly string[]): Record<string, unknown>[] {
  return identifiers.filter(({ key }) => keys.includes(key)).map(({ identifier }) => identifier)
}

/** Returns the conflicting assets that the sender can read. */
function visibleConflicts({ batch, rights }: Writing, item: PutItem, { conflicts }: Identity): Conflict[] {
  return conflicts.flatMap(({ assetId, by }) => {
    const asset = batch.asset(assetId)
    const isVisible = asset !== undefined && mayRead(rights, asset.accessGroupId)
    return isVisible ? [{ assetId, by: identifiersWith(item, by) }] : []
  })
}

type RelateOptions = { relation: AssetRelationInput; result: PutResult; payload: PutPayload }

/** Writes a relation of an item. A relation that cannot be written is skipped with a reason; the asset stays written. */
function relate(writing: Writing, { relation, result, payload }: RelateOptions): Change[] {
  const { batch, rights, sender } = writing
  const { predicate } = relation
  const skip = (reason: string): Change[] => {
    result.relations.push({ predicate, outcome: 'skipped', reason })
    return []
  }
  if (isReserved(predicate)) return skip('system_managed_predicate')
  if (!payload.mayRelate || !may({ rights }, 'glb_inventory_write_relation_data')) return skip('forbidden')
  const { match } = choose(ownersOf(writing, relation.related))
  const other = match === undefined ? undefined : batch.asset(match)
  const isFound = other !== undefined && isFoundBySender(writing, other)
  if (other === undefined || !(isFound || mayRead(rights, other.accessGroupId))) return skip('asset_not_found')
  if (!(isFound || mayWrite(rights, other.accessGroupId))) return skip('forbidden')
  const report: RelationResult = { predicate, outcome: 'refreshed' }
  result.relations.push(report)
  return relationChanges({ ...relation, assetId: result.assetId, otherId: other.id }).map((change) => ({
    ...change,
    relation: { ...change.relation, source: payload.source, author: sender },
    report,
  }))
}

type RelationEnds = Pick<AssetRelationInput, 'predicate' | 'role' | 'bidirectional'> & {
  assetId: string
  otherId: string
}

/** Returns a relation of an asset, in both directions if it is bidirectional. */
function relationChanges({ predicate, role, bidirectional, assetId, otherId }: RelationEnds) {
  const [subject, object] = role === 'object' ? [assetId, otherId] : [otherId, assetId]
  const triples =
    bidirectional && subject !== object
      ? [
          [subject, object],
          [object, subject],
        ]
      : [[subject, object]]
  return triples.map(([from = '', to = '']) => ({
    type: 'write relation' as const,
    relation: { subject: { type: 'asset' as const, id: from }, predicate, object: { type: 'asset' as const, id: to } },
  }))
}

/** The maximum number of identifiers for which the relations of one asset wait. */
const pendingPerAsset = 1_000

type ItemResult = { item: PutItem; result: PutResult; payload: PutPayload }

/**
 * Keeps the relations that a gateway reported to unknown devices, until the gateway reports these devices. They replace
 * the relations of an earlier report.
 */
function pendingChanges({ sender, batch }: Writing, { item, result, payload }: ItemResult): Change[] {
  const { assetId } = result
  const reportedAt = new Date().toISOString()
  const sourceValue = payload.source.value ?? null
  const byPredicate = Map.groupBy(
    item.relations.filter((relation) => !isReserved(relation.predicate)),
    ({ predicate }) => predicate,
  )
  return [...byPredicate].map(([predicate, relations]) => {
    const of = { assetId, gatewayId: sender.principalId, predicate }
    const pending = relations.flatMap(({ related, role, bidirectional }) => {
      const isKnown = related.some(({ key }) => batch.ownerOf(key) !== undefined)
      const keys = related.map(({ key }) => key)
      const [firstKey] = keys
      if (isKnown || firstKey === undefined) return []
      const row = { ...of, role: bidirectional ? ('both' as const) : role, firstKey, sourceValue, reportedAt }
      return keys.map((key) => ({ ...row, key }))
    })
    return { type: 'replace pending relations', of, relations: pending.slice(0, pendingPerAsset) }
  })
}

/** Writes the relations that the gateway reported to this device before it was known. */
function resolvedChanges(writing: Writing, { item, result, payload }: ItemResult): Change[] {
  const { batch, rights, sender } = writing
  if (!payload.mayRelate || !may({ rights }, 'glb_inventory_write_relation_data')) return []
  const own = item.identifiers.filter(({ key }) => batch.ownerOf(key)?.assetId === result.assetId)
  const waiting = own.flatMap(({ key }) => batch.pendingRelationsOf(key))
  return waiting.flatMap((relation): Change[] => {
    const asset = batch.asset(relation.assetId)
    const isOwn = relation.gatewayId === sender.principalId && relation.assetId !== result.assetId
    if (asset === undefined || !isOwn) return []
    if (!(isFoundBySender(writing, asset) || mayWrite(rights, asset.accessGroupId))) return []
    const source = {
      type: payload.source.type,
      ...(relation.sourceValue === null ? {} : { value: relation.sourceValue }),
    }
    const { assetId, predicate, role } = relation
    const direction =
      role === 'both' ? ({ role: 'object', bidirectional: true } as const) : { role, bidirectional: false }
    const ends = { assetId, otherId: result.assetId, predicate, ...direction }
    const written = relationChanges(ends).map((change) => ({
      ...change,
      relation: { ...change.relation, source, author: sender },
    }))
    return [{ type: 'resolve pending relation', relation }, ...written]
  })
}
