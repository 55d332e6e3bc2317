import type { ChangeCause } from '@millwright/api/inventory/changes.ts'
import { jsonText } from '../../../platform/database/json.ts'
import type { EventRecord } from '../../../platform/events/events.ts'
import type { HistoryRow, IdentifierRow } from '../assets/asset-store.ts'
import type { OverruledField } from '../assets/field-sources.ts'
import { deletedFields, fieldChanges } from '../history/field-changes.ts'
import type { Suspicion } from '../identity/duplicate-store.ts'
import type { ConflictKey, IdentityConflict } from '../identity/identity-conflict-store.ts'
import type { MergeRow } from '../identity/merge-store.ts'
import type { PendingRelation, ReportedPredicate } from '../relations/pending-relation-store.ts'
import type { AuthoredRelation } from '../relations/relation.ts'

/** The state of an asset while a batch is applied. */
export type WorkingAsset = {
  id: string
  accessGroupId: string
  version: number
  createdAt: string
  document: Record<string, unknown>
  /** The JSON text of `FieldSources`. It is parsed only by writes that need it. */
  sources: string | null
  /** The discovery run that creates the asset. Only new assets have it. */
  foundRunId?: string
}

/** The principal that changes an asset, and the operation in which it does so. */
export type Actor = { principalId: string; principalName: string; cause?: ChangeCause | undefined }

/** The actor, time and source of a change. */
export type Cause = {
  actor: Actor
  source: { type: string; value?: string | undefined }
  time: string
  /** The identifiers by which the write found the asset. */
  matchedBy?: readonly Record<string, unknown>[]
  /** The values of a finding that were not used, because a more specific or newer source wins. */
  overruled?: readonly OverruledField[]
}

/** An identifier and its new owner. */
export type IdentifierMove = { key: string; identifier: Record<string, unknown>; to: string }

/** A relation to write. `report` gets the outcome. `time` is the time of creation; the default is now. */
export type RelationChange = { relation: AuthoredRelation; report?: { outcome: string }; time?: string }

/** One change that a write makes. */
export type Change =
  | { type: 'put asset'; asset: WorkingAsset; cause: Cause }
  | { type: 'put sources'; asset: WorkingAsset & { sources: string } }
  | { type: 'delete asset'; asset: WorkingAsset; cause: Cause }
  | { type: 'add identifier'; row: IdentifierRow; assetCreatedAt: string }
  | ({ type: 'move identifier' } & IdentifierMove)
  | ({ type: 'write relation' } & RelationChange)
  | { type: 'replace pending relations'; of: ReportedPredicate; relations: readonly PendingRelation[] }
  | { type: 'resolve pending relation'; relation: PendingRelation }
  | { type: 'end relations'; ids: readonly string[]; cause: Cause }
  | { type: 'suspect duplicate'; suspicion: Suspicion }
  | { type: 'record conflict'; conflict: IdentityConflict }
  | { type: 'resolve conflict'; key: ConflictKey }
  | { type: 'merge'; merge: MergeRow }
  | { type: 'undo merge'; id: string; time: string }

/** The result of a write or of one item, and its changes. A write that fails changes nothing. */
export type Decision<Result> = { result: Result; changes: readonly Change[] }

/** Everything that a batch of writes changes, by table. `save` writes it. */
export type ChangeSet = {
  /** The last state of each asset that was created or changed. */
  readonly assets: Map<string, WorkingAsset>
  /** The reports about assets that are not changed otherwise, by asset. */
  readonly sources: Map<string, string>
  readonly deleted: Map<string, Cause>
  /** The change in the number of assets, by access group. */
  readonly counts: Map<string, number>
  readonly identifiers: IdentifierRow[]
  readonly identifierMoves: IdentifierMove[]
  readonly history: HistoryRow[]
  readonly events: EventRecord[]
  readonly relations: RelationChange[]
  readonly reportedPredicates: ReportedPredicate[]
  /** Relations to devices that are not in the inventory. */
  readonly pendingRelations: PendingRelation[]
  /** Pending relations that the batch writes. */
  readonly resolvedRelations: PendingRelation[]
  readonly endedRelations: { ids: readonly string[]; cause: Cause }[]
  readonly suspicions: Suspicion[]
  readonly identityConflicts: IdentityConflict[]
  readonly resolvedConflicts: ConflictKey[]
  readonly merges: MergeRow[]
  readonly undoneMerges: { id: string; time: string }[]
}

export function emptyChangeSet(): ChangeSet {
  return {
    assets: new Map(),
    sources: new Map(),
    deleted: new Map(),
    counts: new Map(),
    identifiers: [],
    identifierMoves: [],
    history: [],
    events: [],
    relations: [],
    reportedPredicates: [],
    pendingRelations: [],
    resolvedRelations: [],
    endedRelations: [],
    suspicions: [],
    identityConflicts: [],
    resolvedConflicts: [],
    merges: [],
    undoneMerges: [],
  }
}

/** Adds a change to the change set. `before` is the state of the asset in the batch before this change. */
export function addChange(set: ChangeSet, change: Change, before: WorkingAsset | undefined): void {
  switch (change.type) {
    case 'put asset':
      putAsset(set, { asset: change.asset, before, cause: change.cause })
      break
    case 'put sources': {
      const { asset } = change
      // If the batch writes the asset anyway, the reports are part of its row.
      if (set.assets.has(asset.id)) set.assets.set(asset.id, asset)
      else set.sources.set(asset.id, asset.sources)
      break
    }
    case 'delete asset': {
      const { asset, cause } = change
      set.assets.delete(asset.id)
      set.sources.delete(asset.id)
      set.deleted.set(asset.id, cause)
      count(set, asset.accessGroupId, -1)
      recordChange(set, { asset: { ...asset, version: asset.version + 1 }, before: asset, change: 'deleted', cause })
      break
    }
    case 'add identifier':
      set.identifiers.push(change.row)
      break
    case 'move identifier':
      set.identifierMoves.push(change)
      break
    case 'write relation':
      set.relations.push(change)
      break
    case 'replace pending relations':
      set.reportedPredicates.push(change.of)
      set.pendingRelations.push(...change.relations)
      break
    case 'resolve pending relation':
      set.resolvedRelations.push(change.relation)
      break
    case 'end relations':
      set.endedRelations.push(change)
      break
    case 'suspect duplicate':
      set.suspicions.push(change.suspicion)
      break
    case 'record conflict':
      set.identityConflicts.push(change.conflict)
      break
    case 'resolve conflict':
      set.resolvedConflicts.push(change.key)
      break
    case 'merge':
      set.merges.push(change.merge)
      break
    case 'undo merge':
      set.undoneMerges.push(change)
      break
  }
}

type PutAsset = { asset: WorkingAsset; before: WorkingAsset | undefined; cause: Cause }

function putAsset(set: ChangeSet, { asset, before, cause }: PutAsset): void {
  set.assets.set(asset.id, asset)
  set.sources.delete(asset.id)
  set.deleted.delete(asset.id)
  count(set, asset.accessGroupId, 1)
  if (before !== undefined) count(set, before.accessGroupId, -1)
  recordChange(set, { asset, before, change: before === undefined ? 'created' : 'updated', cause })
  if (before === undefined || before.accessGroupId === asset.accessGroupId) return
  // Callers who can read only the old access group learn that the asset left it, and nothing else.
  const data = { id: asset.id, accessGroupId: before.accessGroupId, version: asset.version }
  set.events.push({ type: 'inventory.asset.left', subject: `asset/${asset.id}`, data })
}

function count({ counts }: ChangeSet, accessGroupId: string, change: number): void {
  counts.set(accessGroupId, (counts.get(accessGroupId) ?? 0) + change)
}

type Recorded = PutAsset & { change: 'created' | 'updated' | 'deleted' }

/** Adds one version to the history and one event. */
function recordChange({ history, events }: ChangeSet, { asset, before, change, cause }: Recorded): void {
  const { actor, source, time, matchedBy, overruled } = cause
  history.push({
    assetId: asset.id,
    version: asset.version,
    time,
    change,
    accessGroupId: asset.accessGroupId,
    principalId: actor.principalId,
    principalName: actor.principalName,
    sourceType: source.type,
    sourceValue: source.value ?? null,
    document: change === 'deleted' ? null : jsonText(asset.document),
    matchedBy: matchedBy === undefined ? null : jsonText(matchedBy),
    overruled: overruled === undefined ? null : jsonText(overruled),
    changes:
      before === undefined
        ? null
        : jsonText(change === 'deleted' ? deletedFields(before) : fieldChanges(before, asset)),
    causeKind: actor.cause?.kind ?? null,
    causeId: actor.cause?.id ?? null,
    causeName: actor.cause?.name ?? null,
  })
  const { name, functional_object_type: type } = asset.document
  events.push({
    type: `inventory.asset.${change}`,
    subject: `asset/${asset.id}`,
    data: {
      id: asset.id,
      accessGroupId: asset.accessGroupId,
      version: asset.version,
      name: name ?? null,
      type,
      source,
    },
  })
}
