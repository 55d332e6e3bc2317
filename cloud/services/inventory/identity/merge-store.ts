import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { jsonText } from '../../../platform/database/json.ts'
import { statement } from '../../../platform/database/statement.ts'
import type { FieldSources } from '../assets/field-sources.ts'
import type { RelationRow } from '../relations/relation.ts'
import { columnsOf } from '../relations/relation-store.ts'
import { type Groups, wasReadableAt } from '../visibility.ts'

/** A merge of `otherId` into `assetId`, with all data that is needed to undo it. */
export type MergeRow = {
  id: string
  assetId: string
  otherId: string
  mergedAt: string
  principalId: string
  principalName: string
  otherName: string | null
  otherAccessGroupId: string
  otherVersion: number
  otherCreatedAt: string
  otherDocument: Record<string, unknown>
  keys: string[]
  /** The ids of the relations of the asset `otherId` that the asset `assetId` also had. */
  united: string[]
  documentBefore: Record<string, unknown>
  documentAfter: Record<string, unknown>
  /** The reports of links about both assets. Null for merges from a version that stored no reports. */
  sources: MergedReports | null
}

/** The reports about the asset before and after the merge, and about the other asset. Null if no link has reported it. */
export type MergedReports = Record<'before' | 'other' | 'after', FieldSources | null>

const insertStatement = statement(
  `insert into asset_merges (tenant_id, id, asset_id, other_id, merged_at, principal_id, principal_name, other_name,
                             other_access_group_id, other_version, other_created_at, other_document, keys,
                             united, document_before, document_after, sources)
   select $1, id, "assetId", "otherId", "mergedAt", "principalId", "principalName", "otherName", "otherAccessGroupId",
          "otherVersion", "otherCreatedAt", "otherDocument", keys, united, "documentBefore", "documentAfter",
          sources
   from json_to_recordset($2::json) as r (id uuid, "assetId" uuid, "otherId" uuid, "mergedAt" timestamptz,
     "principalId" uuid, "principalName" text, "otherName" text, "otherAccessGroupId" uuid, "otherVersion" bigint,
     "otherCreatedAt" timestamptz, "otherDocument" json, keys json, united json, "documentBefore" json, "documentAfter" json,
     sources json)
   returning id`,
)

export async function insertMerges(tx: Transaction, merges: readonly MergeRow[]): Promise<void> {
  if (merges.length > 0) await tx.run(insertStatement, jsonText(merges))
}

const undoneStatement = statement(
  `update asset_merges m set undone_at = u.time from json_to_recordset($2::json) as u (id uuid, time timestamptz)
   where m.tenant_id = $1 and m.id = u.id`,
)

export async function markUndone(tx: Transaction, undone: readonly { id: string; time: string }[]): Promise<void> {
  if (undone.length > 0) await tx.run(undoneStatement, jsonText(undone))
}

export type StoredMerge = MergeRow & { undoneAt: string | null }

const oneStatement = statement<StoredMerge>(
  `select id, asset_id as "assetId", other_id as "otherId", merged_at as "mergedAt", principal_id as "principalId",
          principal_name as "principalName", other_name as "otherName", other_access_group_id as "otherAccessGroupId",
          other_version as "otherVersion", other_created_at as "otherCreatedAt", other_document as "otherDocument", keys, united,
          document_before as "documentBefore", document_after as "documentAfter", sources, undone_at as "undoneAt"
   from asset_merges where tenant_id = $1 and asset_id = $2 and id = $3`,
)

/** Returns the merge with this id if it is a merge into this asset. */
export function findMerge(
  handle: Handle,
  { assetId, mergeId }: { assetId: string; mergeId: string },
): Promise<StoredMerge | undefined> {
  return handle.row(oneStatement, assetId, mergeId)
}

const lockStatement = statement<StoredMerge>(`${oneStatement.text} for update`)

/**
 * Returns a merge into this asset and locks it. While it is locked, retention cannot delete the merge or the relations that
 * ended with it.
 */
export function lockMerge(
  tx: Transaction,
  { assetId, mergeId }: { assetId: string; mergeId: string },
): Promise<StoredMerge | undefined> {
  return tx.row(lockStatement, assetId, mergeId)
}

export type ListedMerge = {
  id: string
  assetId: string
  otherId: string
  otherName: string | null
  identifiers: number
  principalName: string
  mergedAt: string
  undoneAt: string | null
}

const where = `tenant_id = $1 and asset_id = $2 and ($3::uuid[] is null or other_access_group_id = any($3))
  and ${wasReadableAt('$2', '$3', 'merged_at')}`
const pageStatement = statement<ListedMerge>(
  `select id, asset_id as "assetId", other_id as "otherId", other_name as "otherName",
          json_array_length(keys) as identifiers, principal_name as "principalName", merged_at as "mergedAt",
          undone_at as "undoneAt"
   from asset_merges where ${where} order by merged_at desc, id limit $4 offset $5`,
)
const countStatement = statement<{ total: number }>(`select count(*) as total from asset_merges where ${where}`)

type ListOptions = { assetId: string; groups: Groups; limit: number; offset: number }

/**
 * Returns the merges into an asset, latest first. The asset must have been readable at the time of the merge, and the
 * merged asset must have been in one of these groups.
 */
export async function listMerges(handle: Handle, { assetId, groups, limit, offset }: ListOptions) {
  const rows = await handle.rows(pageStatement, assetId, groups, limit, offset)
  return { rows, total: (await handle.row(countStatement, assetId, groups))?.total ?? 0 }
}

export type KeyedIdentifier = { key: string; identifier: Record<string, unknown> }

const identifiersStatement = statement<KeyedIdentifier>(
  `select key, identifier from asset_identifiers where tenant_id = $1 and asset_id = $2 order by uncertainty, key`,
)

export function identifiersWithKeys(handle: Handle, assetId: string): Promise<KeyedIdentifier[]> {
  return handle.rows(identifiersStatement, assetId)
}

const moveStatement = statement(
  `update asset_identifiers i set asset_id = m."to" from json_to_recordset($2::json) as m (key text, "to" uuid)
   where i.tenant_id = $1 and i.key = m.key`,
)

export async function moveIdentifiers(tx: Transaction, moves: readonly { key: string; to: string }[]): Promise<void> {
  if (moves.length > 0) await tx.run(moveStatement, jsonText(moves.map(({ key, to }) => ({ key, to }))))
}

const relationsFromStatement = statement<RelationRow>(
  `select ${columnsOf('r')} from relations r
   where r.tenant_id = $1 and r.subject_id = any($2::uuid[]) and r.predicate = any($3) and r.subject_type = 'asset'
   order by r.id for update`,
)

/** Locks the relations that have one of these assets as subject and one of these predicates. */
export function lockRelationsFrom(
  tx: Transaction,
  { subjectIds, predicates }: { subjectIds: readonly string[]; predicates: readonly string[] },
): Promise<RelationRow[]> {
  return tx.rows(relationsFromStatement, subjectIds, predicates)
}

const endedStatement = statement<RelationRow>(
  `select ${columnsOf('e')} from ended_relations e
   where e.tenant_id = $1 and e.ended_at = $3
     and ((e.subject_id = $2 and e.subject_type = 'asset') or (e.object_id = $2 and e.object_type = 'asset'))
   order by e.id`,
)

/** Returns those relations of an asset that ended at the time `at`. */
export function relationsEndedAt(
  handle: Handle,
  { assetId, at }: { assetId: string; at: string },
): Promise<RelationRow[]> {
  return handle.rows(endedStatement, assetId, at)
}
