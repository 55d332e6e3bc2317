import { type FieldError, Problem } from '@millwright/api/problem.ts'
import { v7 } from 'uuid'
import { keepAccessGroups } from '../../platform/access/store.ts'
import { idsAt } from '../../platform/database/id.ts'
import { type ApplierParts, type Applying, mayWrite, writeDenied } from './applying.ts'
import { createdDocument, writeShape } from './asset.ts'
import { findGroups } from './asset-store.ts'
import { Precondition } from './asset-tag.ts'
import { mergedDocument, partedRelations, revertedDocument, takenRelations, turnedRelations } from './merge.ts'
import * as store from './merge-store.ts'
import type { MergePayload, SplitPayload, UndoPayload } from './payload.ts'
import type { RelationRow } from './relation.ts'
import { lockRelationsOf, lockStated } from './relation-store.ts'
import type { Change, WorkingAsset } from './workspace.ts'

/** The other asset becomes part of this one and is no more. */
export async function applyMerge(parts: ApplierParts, applying: Applying, payload: MergePayload): Promise<unknown> {
  const { tx, workspace, operation } = applying
  const asset = writableAsset(applying, payload.assetId)
  const other = writableAsset(applying, payload.otherId)
  new Precondition(payload.ifMatch).require(asset)
  const document = mergedDocument(asset.document, other.document, payload.prefer)
  await requireValid(parts, applying, document)
  const identifiers = await store.identifiersWithKeys(tx, other.id)
  const ends = { assetId: asset.id, otherId: other.id }
  const relations = await movableRelations(parts, applying, other)
  const current = await lockStated(tx, turnedRelations(relations, ends))
  const { restate, united } = takenRelations({ ...ends, relations, current })
  const time = new Date().toISOString()

  workspace.put(next(asset, document, time), changeBy(operation, { time, type: 'merge', value: other.id }))
  for (const identifier of identifiers) workspace.move({ ...identifier, to: asset.id })
  workspace.restate(restate, { actor: operation, time })
  workspace.remove(other, changeBy(operation, { time, type: 'merge', value: asset.id }))
  // Made of the time of the merge: by it the merge is forgotten together with the relations that ended then.
  const [mergeId = ''] = idsAt(Date.parse(time), 1)
  workspace.merged({
    id: mergeId,
    ...ends,
    mergedAt: time,
    principalId: operation.principalId,
    principalName: operation.principalName,
    otherName: typeof other.document.name === 'string' ? other.document.name : null,
    otherAccessGroupId: other.accessGroupId,
    otherVersion: other.version,
    otherCreatedAt: other.createdAt,
    otherDocument: other.document,
    keys: identifiers.map(({ key }) => key),
    united,
    documentBefore: asset.document,
    documentAfter: document,
  })
  const counts = { identifiers: identifiers.length, relations: restate.length }
  return { assetId: asset.id, outcome: 'merged', mergeId, otherId: other.id, ...counts }
}

/** The other asset is there again, with those of its things that are still here. */
export async function applyUndo(parts: ApplierParts, applying: Applying, payload: UndoPayload): Promise<unknown> {
  const { tx, workspace, operation, rights } = applying
  const asset = writableAsset(applying, payload.assetId)
  new Precondition(payload.ifMatch).require(asset)
  const merge = await store.lockMerge(tx, payload)
  if (merge === undefined) throw new Problem('not_found', 'There is no such merge into this asset')
  requireUndoable(merge)
  const { otherId, mergedAt, united } = merge
  const own = await store.identifiersWithKeys(tx, asset.id)
  const identifiers = own.filter(({ key }) => merge.keys.includes(key))
  if (merge.keys.length > 0 && identifiers.length === 0) throw nothingCame()
  if (identifiers.length > 0 && identifiers.length === own.length) throw nothingLeft()
  // Its group may have been deleted since, for it was not in it any more.
  const [group = asset.accessGroupId] = await keepAccessGroups(tx, [merge.otherAccessGroupId])
  if (!mayWrite(rights, group)) throw await writeDenied(applying, group)
  const document = revertedDocument(asset.document, { before: merge.documentBefore, after: merge.documentAfter })
  await requireValid(parts, applying, document)

  const ends = { assetId: asset.id, otherId }
  const ended = await store.relationsEndedAt(tx, { assetId: otherId, at: mergedAt })
  const current = await lockStated(tx, turnedRelations(ended, ends))
  const there = await findGroups(tx, assetEnds(ended))
  const isThere = (id: string) => there.has(id)
  const { end, restate } = partedRelations({ ...ends, ended, united, current, isThere })
  const time = new Date().toISOString()
  const change = changeBy(operation, { time, type: 'merge_undone', value: otherId })
  workspace.put(next(asset, document, time), change)
  workspace.put(
    {
      id: otherId,
      accessGroupId: group,
      // Its deletion was a version too.
      version: merge.otherVersion + 2,
      createdAt: merge.otherCreatedAt,
      document: { ...merge.otherDocument, last_modified_timestamp: time },
    },
    changeBy(operation, { time, type: 'merge_undone', value: asset.id }),
  )
  for (const identifier of identifiers) workspace.move({ ...identifier, to: otherId })
  workspace.end(end, change)
  workspace.restate(restate, change)
  workspace.undoMerge(merge.id, time)
  const counts = { identifiers: identifiers.length, relations: restate.length }
  return { assetId: asset.id, outcome: 'undone', mergeId: merge.id, otherId, ...counts }
}

/** Some identifiers become an asset of their own, of the same type and in the same access group. Relations stay. */
export async function applySplit(parts: ApplierParts, applying: Applying, payload: SplitPayload): Promise<unknown> {
  const { tx, workspace, operation } = applying
  const asset = writableAsset(applying, payload.assetId)
  new Precondition(payload.ifMatch).require(asset)
  const own = await store.identifiersWithKeys(tx, asset.id)
  const leaving = own.filter(({ key }) => payload.keys.includes(key))
  requireOwn(payload.keys, leaving)
  if (leaving.length === own.length) throw nothingLeft()
  const time = new Date().toISOString()
  const document = await splitDocument(parts, applying, { asset, name: payload.name, time })
  const id = v7()
  workspace.put(next(asset, asset.document, time), changeBy(operation, { time, type: 'split', value: id }))
  workspace.put(
    { id, accessGroupId: asset.accessGroupId, version: 1, createdAt: time, document },
    changeBy(operation, { time, type: 'split', value: asset.id }),
  )
  for (const identifier of leaving) workspace.move({ ...identifier, to: id })
  return { assetId: asset.id, outcome: 'split', createdAssetId: id, identifiers: leaving.length }
}

type Splitting = { asset: WorkingAsset; name: string | undefined; time: string }

/** Nobody knows which fields are whose, so only the kind of thing is taken over, unless its schema wants more. */
async function splitDocument({ schemas }: ApplierParts, { tx, operation }: Applying, { asset, name, time }: Splitting) {
  const whole = writeShape(asset.document)
  const { functional_object_type, functional_object_schema_url } = whole
  const named = { name: name ?? whole.name }
  const made = { responsible: operation.principalName, now: time }
  const bare = createdDocument({ functional_object_type, functional_object_schema_url, ...named }, made)
  const faults = await schemas.faultsOf(tx, bare)
  return faults.length === 0 ? bare : createdDocument({ ...whole, ...named }, made)
}

function writableAsset({ workspace, rights }: Applying, id: string): WorkingAsset {
  const asset = workspace.asset(id)
  if (asset !== undefined && mayWrite(rights, asset.accessGroupId)) return asset
  throw new Problem('asset_not_found', `There is no asset ${id}`)
}

/** All relations of an asset that goes: they move at once, so that its merge can be undone at once. */
async function movableRelations({ relationsMerged: most }: ApplierParts, { tx }: Applying, { id }: WorkingAsset) {
  const relations = await lockRelationsOf(tx, id, most + 1)
  if (relations.length <= most) return relations
  const detail = `The asset ${id} has more than ${most} relations, which is as many as can move to another asset`
  throw new Problem('too_many_relations', `${detail}. Merge the other way round, so that it is the one that stays`)
}

async function requireValid({ schemas }: ApplierParts, { tx }: Applying, document: Record<string, unknown>) {
  const errors: FieldError[] = await schemas.faultsOf(tx, document)
  if (errors.length === 0) return
  const told = `${errors[0]?.pointer} ${errors[0]?.detail}`
  throw new Problem('invalid_asset', `The resulting asset does not fit its schema: ${told}`, { errors })
}

export function requireUndoable({ undoneAt }: { undoneAt: string | null }): void {
  if (undoneAt !== null) throw new Problem('conflict', `The merge was undone at ${undoneAt}`)
}

function requireOwn(keys: readonly string[], own: readonly { key: string }[]): void {
  const known = new Set(own.map(({ key }) => key))
  const errors = keys.flatMap((key, index): FieldError[] =>
    known.has(key)
      ? []
      : [{ pointer: `/data/identifiers/${index}`, code: 'conflict', detail: 'is not an identifier of this asset' }],
  )
  if (errors[0] !== undefined) throw new Problem('conflict', `${errors[0].pointer} ${errors[0].detail}`, { errors })
}

function nothingLeft(): Problem {
  return new Problem('conflict', 'At least one identifier must stay: without any, nothing would be left of the asset')
}

function nothingCame(): Problem {
  return new Problem('conflict', 'None of the identifiers that came over is an identifier of this asset any more')
}

function next(asset: WorkingAsset, document: Record<string, unknown>, time: string): WorkingAsset {
  return { ...asset, version: asset.version + 1, document: { ...document, last_modified_timestamp: time } }
}

function changeBy(
  actor: Change['actor'],
  { time, type, value }: { time: string; type: string; value: string },
): Change {
  return { actor, source: { type, value }, time }
}

function assetEnds(relations: readonly RelationRow[]): string[] {
  const ends = relations.flatMap(({ subjectType, subjectId, objectType, objectId }) => [
    ...(subjectType === 'asset' ? [subjectId] : []),
    ...(objectType === 'asset' ? [objectId] : []),
  ])
  return [...new Set(ends)]
}
