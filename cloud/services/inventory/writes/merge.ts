import { Problem } from '@millwright/api/problem.ts'
import { lockAccessGroups } from '../../../platform/access/store.ts'
import { idsAt } from '../../../platform/database/id.ts'
import { findGroups } from '../assets/asset-store.ts'
import { Precondition } from '../assets/asset-tag.ts'
import { type FieldSources, mergedSources, printSources, readSources } from '../assets/field-sources.ts'
import {
  mergedDocument,
  redirectedRelations,
  relationsAfterMerge,
  relationsAfterUndo,
  reverted,
  revertedDocument,
} from '../identity/merge-rules.ts'
import * as store from '../identity/merge-store.ts'
import type { RelationInput, RelationRow } from '../relations/relation.ts'
import { lockEqualRelations, lockRelationsOf } from '../relations/relation-store.ts'
import type { Actor, Cause, Change, Decision, WorkingAsset } from './change-set.ts'
import type { MergePayload, UndoMergePayload } from './write.ts'
import { type KindRules, mayWrite, type Writing, writeDenied } from './writing.ts'

/** Merges the asset `otherId` into the asset `assetId`, and deletes the asset `otherId`. */
export const merge: KindRules<MergePayload> = {
  isAlone: true,
  needs: ({ assetId, otherId }) => aloneNeeds(assetId, otherId),
  apply: async (writing, payload) => applied(writing, await mergeAssets(writing, payload)),
}

/**
 * Undoes a merge: restores the merged asset, with those of its identifiers and relations that the asset `assetId` still
 * has.
 */
export const undoMerge: KindRules<UndoMergePayload> = {
  isAlone: true,
  needs: ({ assetId }) => aloneNeeds(assetId),
  apply: async (writing, payload) => applied(writing, await undo(writing, payload)),
}

/** Returns the rows that a write needs if it moves identifiers and relations between assets. */
export function aloneNeeds(...assetIds: readonly string[]) {
  return { keys: [], assetIds, accessGroupIds: [], allRelations: true }
}

export function applied<Result>({ batch }: Writing, { result, changes }: Decision<Result>): Result {
  batch.add(changes)
  return result
}

async function mergeAssets(writing: Writing, payload: MergePayload): Promise<Decision<object>> {
  const { tx, sender } = writing
  const asset = requireWritable(writing, payload.assetId)
  const other = requireWritable(writing, payload.otherId)
  new Precondition(payload.ifMatch).require(asset)
  const document = mergedDocument(asset.document, other.document, payload.prefer)
  await requireValid(writing, document)
  const sources = sourcesAfterMerge(asset, other, { document, prefer: payload.prefer })
  const identifiers = await store.identifiersWithKeys(tx, other.id)
  const ends = { assetId: asset.id, otherId: other.id }
  const relations = await movableRelations(writing, other)
  const current = await lockEqualRelations(tx, redirectedRelations(relations, ends))
  const { create, united } = relationsAfterMerge({ ...ends, relations, current })
  const time = new Date().toISOString()
  // The id contains the time of the merge. Retention uses it to delete the merge together with the relations that ended at
  // that time.
  const [mergeId = ''] = idsAt(Date.parse(time), 1)
  const row = {
    id: mergeId,
    ...ends,
    mergedAt: time,
    principalId: sender.principalId,
    principalName: sender.principalName,
    otherName: typeof other.document.name === 'string' ? other.document.name : null,
    otherAccessGroupId: other.accessGroupId,
    otherVersion: other.version,
    otherCreatedAt: other.createdAt,
    otherDocument: other.document,
    keys: identifiers.map(({ key }) => key),
    united,
    documentBefore: asset.document,
    documentAfter: document,
    sources: { before: parsed(asset.sources), other: parsed(other.sources), after: parsed(sources) },
  }
  const cause = (value: string) => causeOf(sender, { time, type: 'merge', value })
  const counts = { identifiers: identifiers.length, relations: create.length }
  return {
    result: { assetId: asset.id, outcome: 'merged', mergeId, otherId: other.id, ...counts },
    changes: [
      { type: 'put asset', asset: { ...nextVersion(asset, document, time), sources }, cause: cause(other.id) },
      ...identifiers.map((identifier): Change => ({ type: 'move identifier', ...identifier, to: asset.id })),
      ...writeRelations(create, sender, time),
      { type: 'delete asset', asset: other, cause: cause(asset.id) },
      { type: 'merge', merge: row },
    ],
  }
}

async function undo(writing: Writing, payload: UndoMergePayload): Promise<Decision<object>> {
  const { tx, sender, rights } = writing
  const asset = requireWritable(writing, payload.assetId)
  new Precondition(payload.ifMatch).require(asset)
  const merged = await store.lockMerge(tx, payload)
  if (merged === undefined) throw new Problem('not_found', `Asset ${payload.assetId} has no merge ${payload.mergeId}`)
  requireUndoable(merged)
  const { otherId, mergedAt, united } = merged
  const own = await store.identifiersWithKeys(tx, asset.id)
  const identifiers = own.filter(({ key }) => merged.keys.includes(key))
  if (merged.keys.length > 0 && identifiers.length === 0) throw noIdentifierToRestore()
  if (identifiers.length > 0 && identifiers.length === own.length) throw noIdentifierLeft()
  // The access group may have been deleted since the merge, because it no longer contained the merged asset.
  const [group = asset.accessGroupId] = await lockAccessGroups(tx, [merged.otherAccessGroupId])
  if (!mayWrite(rights, group)) throw await writeDenied(writing, group)
  const document = revertedDocument(asset.document, { before: merged.documentBefore, after: merged.documentAfter })
  await requireValid(writing, document)

  const ends = { assetId: asset.id, otherId }
  const ended = await store.relationsEndedAt(tx, { assetId: otherId, at: mergedAt })
  const current = await lockEqualRelations(tx, redirectedRelations(ended, ends))
  const existing = await findGroups(tx, assetEnds(ended))
  const { end, create } = relationsAfterUndo({ ...ends, ended, united, current, exists: (id) => existing.has(id) })
  const time = new Date().toISOString()
  const cause = (value: string) => causeOf(sender, { time, type: 'merge_undone', value })
  const restored = {
    id: otherId,
    accessGroupId: group,
    // The deletion used the first version after `otherVersion`, so the restored asset has the second one.
    version: merged.otherVersion + 2,
    createdAt: merged.otherCreatedAt,
    document: { ...merged.otherDocument, last_modified_timestamp: time },
    sources: printed(merged.sources?.other),
  }
  const sources = merged.sources === null ? asset.sources : printed(revertedSources(asset, merged.sources))
  const counts = { identifiers: identifiers.length, relations: create.length }
  return {
    result: { assetId: asset.id, outcome: 'undone', mergeId: merged.id, otherId, ...counts },
    changes: [
      { type: 'put asset', asset: { ...nextVersion(asset, document, time), sources }, cause: cause(otherId) },
      { type: 'put asset', asset: restored, cause: cause(asset.id) },
      ...identifiers.map((identifier): Change => ({ type: 'move identifier', ...identifier, to: otherId })),
      { type: 'end relations', ids: end, cause: cause(otherId) },
      ...writeRelations(create, sender, time),
      { type: 'undo merge', id: merged.id, time },
    ],
  }
}

type MergeResult = { document: Record<string, unknown>; prefer: MergePayload['prefer'] }

/** Returns the reports of links about both assets. Null if no link has reported one of them. */
function sourcesAfterMerge(asset: WorkingAsset, other: WorkingAsset, { document, prefer }: MergeResult): string | null {
  if (asset.sources === null && other.sources === null) return null
  const [first, second] = prefer === 'this' ? [asset, other] : [other, asset]
  return printSources(mergedSources(readSources(first.sources), readSources(second.sources), document))
}

function revertedSources({ sources }: WorkingAsset, { before, after }: store.MergedReports): FieldSources | null {
  return reverted(parsed(sources), before, after) as FieldSources | null
}

function parsed(sources: string | null): FieldSources | null {
  return sources === null ? null : readSources(sources)
}

function printed(sources: FieldSources | null | undefined): string | null {
  return sources === null || sources === undefined ? null : printSources(sources)
}

function writeRelations(relations: readonly RelationInput[], author: Actor, time: string): Change[] {
  return relations.map((relation) => ({ type: 'write relation', relation: { ...relation, author }, time }))
}

export function requireWritable({ batch, rights }: Writing, id: string): WorkingAsset {
  const asset = batch.asset(id)
  if (asset !== undefined && mayWrite(rights, asset.accessGroupId)) return asset
  throw new Problem('asset_not_found', `Asset ${id} does not exist`)
}

/** Returns all relations of the merged asset. They move together, so that the merge can be undone completely. */
async function movableRelations({ tx, relationsMerged }: Writing, { id }: WorkingAsset) {
  const relations = await lockRelationsOf(tx, id, relationsMerged + 1)
  if (relations.length <= relationsMerged) return relations
  const detail = `Asset ${id} has more than ${relationsMerged} relations, which is the limit for a merge`
  throw new Problem('too_many_relations', `${detail}. Merge the other asset into this asset instead`)
}

async function requireValid({ schemas, tx }: Writing, document: Record<string, unknown>) {
  const errors = await schemas.faultsOf(tx, document)
  if (errors[0] === undefined) return
  const detail = `The resulting asset does not match its schema: ${errors[0].pointer} ${errors[0].detail}`
  throw new Problem('invalid_asset', detail, { errors })
}

export function requireUndoable({ undoneAt }: { undoneAt: string | null }): void {
  if (undoneAt !== null) throw new Problem('conflict', `The merge was already undone at ${undoneAt}`)
}

export function noIdentifierLeft(): Problem {
  return new Problem('conflict', 'At least one identifier must stay: an asset without identifiers cannot exist')
}

function noIdentifierToRestore(): Problem {
  return new Problem(
    'conflict',
    'The merge cannot be undone, because this asset has none of the identifiers that the merge added',
  )
}

export function nextVersion(asset: WorkingAsset, document: Record<string, unknown>, time: string): WorkingAsset {
  return { ...asset, version: asset.version + 1, document: { ...document, last_modified_timestamp: time } }
}

export function causeOf(actor: Actor, { time, ...source }: { time: string; type: string; value: string }): Cause {
  return { actor, source, time }
}

function assetEnds(relations: readonly RelationRow[]): string[] {
  const ends = relations.flatMap(({ subjectType, subjectId, objectType, objectId }) => [
    ...(subjectType === 'asset' ? [subjectId] : []),
    ...(objectType === 'asset' ? [objectId] : []),
  ])
  return [...new Set(ends)]
}
