import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { idsAt } from '../../../platform/database/id.ts'
import { jsonText, storableText } from '../../../platform/database/json.ts'
import { arrayOf, rowset } from '../../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import { type AssetSet, keyText, orderBy, type Ranges, type SortKey } from '../assets/listing.ts'
import { type Groups, isReadableRow, isReadable as readable } from '../visibility.ts'
import type { AuthoredRelation, RelationEnd, RelationInput, RelationRow } from './relation.ts'
import { countPredicates, nextChangeOrdinal } from './relation-count-store.ts'

export type Listed<Row> = { rows: Row[]; total: number }

/** A condition on `relations r` with its values. The parameters are numbered from `$2`; `$1` is the tenant. */
export type Condition = { sql: string; values: readonly unknown[] }

type Paging = { limit: number; offset: number }

/** Returns the SQL for the columns of a `RelationRow`. */
export function columnsOf(table: string): string {
  return `${table}.id, ${table}.subject_type as "subjectType", ${table}.subject_id as "subjectId", ${table}.predicate,
    ${table}.object_type as "objectType", ${table}.object_id as "objectId", ${table}.source_type as "sourceType",
    ${table}.source_value as "sourceValue", ${table}.created_at as "createdAt", ${table}.modified_at as "modifiedAt"`
}

/**
 * The advisory lock of a tenant for writes of relations. Row locks are not fair: new writers of relations can get the lock
 * of an asset before a deletion that waits for it, so that the deletion never gets the lock. Writers therefore hold this
 * advisory lock shared. A deletion takes it exclusively, which lets the current writers finish and makes new writers wait.
 */
const relationLock = `hashtextextended($1::text, 7245)`
const sharedLockStatement = statement(`select pg_advisory_xact_lock_shared(${relationLock})`)
const exclusiveLockStatement = statement(`select pg_advisory_xact_lock(${relationLock})`)

/** Makes other writers of relations wait until the end of the transaction. Call it before you lock assets. */
export async function blockRelationWrites(tx: Transaction): Promise<void> {
  await tx.run(exclusiveLockStatement)
}

const lockAssetsStatement = statement<{ id: string; accessGroupId: string }>(
  `select id, access_group_id as "accessGroupId" from assets
   where tenant_id = $1 and id = any($2::uuid[]) and ($3::uuid[] is null or access_group_id = any($3))
   order by id for key share`,
)

/**
 * Locks the assets that exist and are readable, and returns their access groups by id. A transaction that deletes one
 * of these assets waits until the end of this transaction, and then finds the relations that this transaction created.
 */
export async function lockAssets(
  tx: Transaction,
  ids: readonly string[],
  groups: Groups,
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const [, rows] = await Promise.all([tx.run(sharedLockStatement), tx.rows(lockAssetsStatement, ids, groups)])
  return groupsById(rows)
}

const lockFreeAssetsStatement = statement<{ id: string; accessGroupId: string }>(
  `select id, access_group_id as "accessGroupId" from assets
   where tenant_id = $1 and id = any($2::uuid[]) order by id for key share skip locked`,
)

/**
 * Locks the assets that exist, in any access group, and returns their access groups by id. It skips assets that another
 * transaction has locked, so it never waits.
 */
export async function lockFreeAssets(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const [, rows] = await Promise.all([tx.run(sharedLockStatement), tx.rows(lockFreeAssetsStatement, ids)])
  return groupsById(rows)
}

function groupsById(rows: readonly { id: string; accessGroupId: string }[]): Map<string, string> {
  return new Map(rows.map(({ id, accessGroupId }) => [id, accessGroupId]))
}

/** A relation with its author, if the author is known, and the ordinal of its creation. */
type CreatedRow = RelationRow & { createdById: string | null; createdByName: string | null; createdOrdinal: number }

/** The columns that identify a relation. */
const keyColumns = {
  subjectType: 'text',
  subjectId: 'uuid',
  predicate: 'text',
  objectType: 'text',
  objectId: 'uuid',
  sourceType: 'text',
} as const

function keyIn({ subject, predicate, object, source }: RelationInput): Pick<RelationRow, keyof typeof keyColumns> {
  return {
    subjectType: subject.type,
    subjectId: subject.id,
    predicate,
    objectType: object.type,
    objectId: object.id,
    sourceType: source.type,
  }
}

const keys = rowset<ReturnType<typeof keyIn>>(keyColumns)
const equalStatement = statement<RelationRow>(
  `select ${columnsOf('e')} from ${keys.rows}
   join relations e on e.tenant_id = $1 and e.subject_id = r."subjectId" and e.predicate = r.predicate
     and e.object_id = r."objectId" and e.source_type = r."sourceType" and e.subject_type = r."subjectType"
     and e.object_type = r."objectType"
   order by e.id for update of e`,
)

/** Locks the stored relations that equal one of the given relations, until the end of the transaction. */
export async function lockEqualRelations(tx: Transaction, relations: readonly RelationInput[]): Promise<RelationRow[]> {
  return relations.length === 0 ? [] : tx.rows(equalStatement, ...keys.values(relations.map(keyIn)))
}

const newRows = rowset<Omit<CreatedRow, 'modifiedAt'>>({
  id: 'uuid',
  ...keyColumns,
  sourceValue: 'text',
  createdAt: 'timestamptz',
  createdById: 'uuid',
  createdByName: 'text',
  createdOrdinal: 'bigint',
})
const putStatement = statement<RelationRow>(
  `insert into relations as s (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type,
                               source_value, created_at, modified_at, created_by_id, created_by_name,
                               created_ordinal)
   select $1, id, "subjectType", "subjectId", predicate, "objectType", "objectId", "sourceType", "sourceValue", "createdAt",
          "createdAt", "createdById", "createdByName", "createdOrdinal"
   from ${newRows.rows}
   on conflict (tenant_id, subject_id, predicate, object_id, source_type, subject_type, object_type) do update
   set modified_at = greatest(s.modified_at, excluded.modified_at),
       source_value = coalesce(excluded.source_value, s.source_value)
   returning ${columnsOf('s')}`,
)

export type PutRelation = { relation: RelationRow; outcome: 'created' | 'refreshed' }

/**
 * Upserts relations with one SQL statement. An existing relation keeps its id and its author and is refreshed: its
 * timestamp and its source change. The results are in the order of the input.
 */
export async function putRelations(
  tx: Transaction,
  relations: readonly AuthoredRelation[],
  now = new Date().toISOString(),
): Promise<PutRelation[]> {
  if (relations.length === 0) return []
  const unique = distinct(relations)
  const ids = idsAt(Date.parse(now), unique.size)
  const createdOrdinal = await nextChangeOrdinal(tx)
  // The rows are sorted by key, so that two transactions that write the same relations do not deadlock.
  const rows = [...unique]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, relation], index) => ({
      id: ids[index] ?? '',
      ...keyIn(relation),
      sourceValue: relation.source.value ?? null,
      createdAt: now,
      createdById: relation.author.principalId,
      createdByName: relation.author.principalName,
      createdOrdinal,
    }))
  const put = await tx.rows(putStatement, ...newRows.values(rows))
  const byKey = new Map(put.map((row) => [keyOfRow(row), row]))
  const newIds = new Set(ids)
  await countPredicates(
    tx,
    put.filter(({ id }) => newIds.has(id)),
    1,
  )
  return relations.map((relation) => {
    const input = storable(relation)
    const key = keyOf(input)
    const row = byKey.get(key)
    if (row === undefined) throw new TypeError(`The upsert did not return the relation ${key}`)
    // If the input contains two equal relations, the second one refreshes the first one. Each result has the source value
    // that was current after its own write, because one call writes concurrent requests of different callers.
    const outcome = newIds.delete(row.id) ? 'created' : 'refreshed'
    const sourceValue = input.source.value ?? (outcome === 'created' ? null : row.sourceValue)
    const result = sourceValue === row.sourceValue ? row : { ...row, sourceValue }
    byKey.set(key, result)
    return { relation: result, outcome }
  })
}

/**
 * Returns each relation once, by key. The author is that of the first equal relation. The source is that of the last equal
 * relation that has a value.
 */
function distinct(relations: readonly AuthoredRelation[]): Map<string, AuthoredRelation> {
  const unique = new Map<string, AuthoredRelation>()
  for (const { author, ...input } of relations) {
    const relation = storable(input)
    const key = keyOf(relation)
    const before = unique.get(key)
    if (before === undefined || relation.source.value !== undefined)
      unique.set(key, { ...relation, author: before?.author ?? author })
  }
  return unique
}

function storable({ subject, predicate, object, source }: RelationInput): RelationInput {
  const { type, value } = source
  return {
    subject,
    predicate: storableText(predicate),
    object,
    source: value === undefined ? { type } : { type, value: storableText(value) },
  }
}

function keyOf({ subject, predicate, object, source }: RelationInput): string {
  return `${subject.id}${object.id}${subject.type}${object.type}${source.type}/${predicate}`
}

function keyOfRow(row: RelationRow): string {
  return `${row.subjectId}${row.objectId}${row.subjectType}${row.objectType}${row.sourceType}/${row.predicate}`
}

const endedColumns = `${columnsOf('r')}, r.created_by_id as "createdById", r.created_by_name as "createdByName",
  r.created_ordinal as "createdOrdinal"`

const deleteByIdStatement = statement<CreatedRow>(
  `delete from relations r where r.tenant_id = $1 and r.id = any($2::uuid[]) returning ${endedColumns}`,
)

/** Ends relations by id and returns the relations that existed. */
export async function endRelations(tx: Transaction, ids: readonly string[], end: RelationEnd): Promise<RelationRow[]> {
  const ended = ids.length === 0 ? [] : await tx.rows(deleteByIdStatement, ids)
  await insertEnded(tx, ended, end)
  return ended
}

/**
 * Returns SQL that selects at most `$3` relations of assets and locks them until the end of the transaction. It leaves out
 * a relation that another transaction ends meanwhile. Each branch of the union reads its index only up to the limit.
 */
function lockedRelationsOf(columns: (table: string) => string): string {
  return `select * from (
       select ${columns('s')} from relations s
       where s.tenant_id = $1 and s.subject_id = any($2::uuid[]) and s.subject_type = 'asset' for update) as from_them
     union all
     select * from (
       select ${columns('o')} from relations o
       where o.tenant_id = $1 and o.object_id = any($2::uuid[]) and o.object_type = 'asset'
         and not (o.subject_id = any($2::uuid[]) and o.subject_type = 'asset') for update) as to_them
     limit $3`
}

const lockOfAssetsStatement = statement<RelationRow>(lockedRelationsOf(columnsOf))

/**
 * Locks at most `limit` relations of an asset. Lock the asset before the call, so that no other transaction can add
 * relations.
 */
export function lockRelationsOf(tx: Transaction, assetId: string, limit: number): Promise<RelationRow[]> {
  return tx.rows(lockOfAssetsStatement, [assetId], limit)
}

const deleteOfAssetsStatement = statement<CreatedRow>(
  `delete from relations r where r.tenant_id = $1 and r.id = any(array(${lockedRelationsOf((table) => `${table}.id`)}))
   returning ${endedColumns}`,
)

/**
 * Ends relations of assets, including relations from nodes, and returns them. Without `limit` it ends all relations. If it
 * returns fewer than `limit`, no relation is left. Lock or delete the assets before the call in the same transaction: this
 * waits for transactions that write relations of these assets.
 */
export async function endRelationsOf(
  tx: Transaction,
  assetIds: readonly string[],
  { limit, ...end }: RelationEnd & { limit?: number | undefined },
): Promise<RelationRow[]> {
  const ended = assetIds.length === 0 ? [] : await tx.rows(deleteOfAssetsStatement, assetIds, limit ?? null)
  await insertEnded(tx, ended, end)
  return ended
}

/**
 * Inserts ended relations. The host that ends a relation may have a slower clock than the host that created it, so the
 * statement never stores an end before the creation.
 */
const insertEndedStatement = statement(
  `insert into ended_relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type,
                                source_value, created_at, modified_at, created_by_id, created_by_name, ended_at,
                                principal_id, principal_name, created_ordinal, ended_ordinal)
   select $1, e.id, e."subjectType", e."subjectId", e.predicate, e."objectType", e."objectId", e."sourceType",
          e."sourceValue", e."createdAt", e."modifiedAt", e."createdById", e."createdByName",
          greatest($3::timestamptz, e."createdAt"), $4::uuid, $5, e."createdOrdinal", $6::bigint
   from json_to_recordset($2::json) as e (id uuid, "subjectType" text, "subjectId" uuid, predicate text,
     "objectType" text, "objectId" uuid, "sourceType" text, "sourceValue" text, "createdAt" timestamptz,
     "modifiedAt" timestamptz, "createdById" uuid, "createdByName" text, "createdOrdinal" bigint)
   returning id`,
)

async function insertEnded(tx: Transaction, ended: readonly CreatedRow[], end: RelationEnd): Promise<void> {
  if (ended.length === 0) return
  const ordinal = await nextChangeOrdinal(tx)
  await countPredicates(tx, ended, -1)
  const { principalId, principalName, at = new Date().toISOString() } = end
  await tx.run(insertEndedStatement, jsonText(ended), at, principalId, storableText(principalName), ordinal)
}

/** A relation of a list, with the values of its sort keys. */
export type ListedRelation = RelationRow & { place: (string | null)[] }

type Page = Paging & { ranges: Ranges; order: readonly SortKey[] }

/** Returns a page of the tenant's relations that match a condition. */
export function listRelations(
  handle: Handle,
  { sql, values }: Condition,
  { ranges, order, limit, offset }: Page,
): Promise<ListedRelation[]> {
  const next = values.length + ranges.values.length + 2
  const by = orderBy(order)
  const branches = ranges.conditions.map(
    (condition) =>
      `(select r.* from relations r where r.tenant_id = $1 and (${sql}) and ${condition} order by ${by} limit $${next})`,
  )
  return handle.rows(
    dynamicStatement<ListedRelation>(
      `select ${columnsOf('r')}, array[${order.map(keyText).join(', ')}] as place
       from (${branches.join(' union all ')}) as r order by ${by} limit $${next + 1} offset $${next + 2}`,
    ),
    ...values,
    ...ranges.values,
    offset + limit,
    limit,
    offset,
  )
}

/** The ends of a relation and its predicate. */
type Edge = Pick<RelationRow, 'subjectType' | 'subjectId' | 'predicate' | 'objectType' | 'objectId'>

/** Returns the statement for the relations of assets at one end, oldest first. */
function edgesAtEnd(side: Side) {
  return statement<Edge>(
    `select r.subject_type as "subjectType", r.subject_id as "subjectId", r.predicate, r.object_type as "objectType", r.object_id as "objectId" from relations r
     where r.tenant_id = $1 and r.${side}_type = 'asset' and r.${side}_id = any($2::uuid[])
       and r.predicate = any($3::text[])
     order by r.id`,
  )
}

const outgoingStatement = edgesAtEnd('subject')
const incomingStatement = edgesAtEnd('object')

type EdgesOfAssets = { ids: readonly string[]; predicates: readonly string[]; incoming: boolean }

/** Returns the outgoing and, with `incoming`, the incoming relations of assets with some predicates, oldest first. */
export async function edgesOfAssets(handle: Handle, { ids, predicates, incoming }: EdgesOfAssets) {
  const [outgoing, others] = await Promise.all([
    handle.rows(outgoingStatement, arrayOf('uuid', ids), predicates),
    incoming ? handle.rows(incomingStatement, arrayOf('uuid', ids), predicates) : [],
  ])
  return { outgoing, incoming: others }
}

const readableNamesStatement = statement<{ id: string; name: string | null }>(
  `select a.id, a.name from assets a
   where a.tenant_id = $1 and a.id = any($2::uuid[]) and ${isReadableRow('a', '$3')}`,
)

/** Returns the names of those of the assets that are readable, by id. */
export async function readableNames(
  handle: Handle,
  ids: readonly string[],
  groups: Groups,
): Promise<Map<string, string | null>> {
  const rows = ids.length === 0 ? [] : await handle.rows(readableNamesStatement, arrayOf('uuid', ids), groups)
  return new Map(rows.map(({ id, name }) => [id, name]))
}

export async function countRelations(handle: Handle, { sql, values }: Condition): Promise<number> {
  const counting = dynamicStatement<{ total: number }>(
    `select count(*) as total from relations r where r.tenant_id = $1 and (${sql})`,
  )
  return (await handle.row(counting, ...values))?.total ?? 0
}

/** Locks the oldest relations that match a condition and returns their ids. The order of ids is the order of creation. */
export async function lockOldest(tx: Transaction, { sql, values }: Condition, limit: number): Promise<string[]> {
  const oldest = dynamicStatement<{ id: string }>(
    `select r.id from relations r where r.tenant_id = $1 and (${sql}) order by r.id limit $${values.length + 2} for update`,
  )
  return (await tx.rows(oldest, ...values, limit)).map(({ id }) => id)
}

const relationsOfAsset = `(select ${columnsOf('r')}, r.object_type as type, r.object_id as other from relations r
    where r.tenant_id = $1 and r.subject_id = $2 and r.subject_type = 'asset'
    union all
    select ${columnsOf('r')}, r.subject_type, r.subject_id from relations r
    where r.tenant_id = $1 and r.object_id = $2 and r.object_type = 'asset'
      and not (r.subject_id = $2 and r.subject_type = 'asset')
  ) as o
  where o.type = 'node' or ${readable('o.other', '$3')}`

const ofAssetStatement = statement<RelationRow>(
  `select o.id, o."subjectType", o."subjectId", o.predicate, o."objectType", o."objectId", o."sourceType", o."sourceValue",
          o."createdAt", o."modifiedAt"
   from ${relationsOfAsset} order by o.id limit $4 offset $5`,
)
const countOfAssetStatement = statement<{ total: number }>(`select count(*) as total from ${relationsOfAsset}`)

/**
 * Returns the incoming and outgoing relations of an asset. The other end of each relation is a node or a readable
 * asset.
 */
export async function listRelationsOf(
  handle: Handle,
  { id, groups }: { id: string; groups: Groups },
  { limit, offset }: Paging,
): Promise<Listed<RelationRow>> {
  const rows = await handle.rows(ofAssetStatement, id, groups, limit, offset)
  if (rows.length < limit && (rows.length > 0 || offset === 0)) return { rows, total: offset + rows.length }
  return { rows, total: (await handle.row(countOfAssetStatement, id, groups))?.total ?? 0 }
}

const readableStatement = statement<{ id: string }>(
  `select a.id from assets a where a.tenant_id = $1 and a.id = $2 and ${isReadableRow('a', '$3')}`,
)

/** Returns whether an asset exists and is readable with these access groups. */
export async function isReadable(handle: Handle, { id, groups }: { id: string; groups: Groups }): Promise<boolean> {
  return (await handle.row(readableStatement, id, groups)) !== undefined
}

/** One end of a relation. */
export type Side = 'subject' | 'object'

/** One end of the relations that match a condition. */
export type Ends = { side: Side; sql: string }

/**
 * Returns the set of assets at these ends (see `AssetSet`). With a groups parameter, ignores relations whose other end
 * is an asset that is not readable with these groups.
 */
export function assetsAtEnds(ends: readonly Ends[], groupsParameter: string | undefined): AssetSet {
  const wheres = ends.map(({ side, sql }) => {
    const other = side === 'subject' ? 'object' : 'subject'
    const isVisible =
      groupsParameter === undefined
        ? ''
        : `and (r.${other}_type = 'node' or ${readable(`r.${other}_id`, groupsParameter)})`
    const where = `r.tenant_id = $1 and r.${side}_type = 'asset' and (${sql}) ${isVisible}`
    return { id: `r.${side}_id`, where }
  })
  const selected = wheres.map(({ id, where }) => `select ${id} as id from relations r where ${where}`)
  // `limit` prevents the planner from reading all matching relations first.
  const probes = wheres.map(({ id, where }) => `(select true from relations r where ${id} = a.id and ${where} limit 1)`)
  const once = selected.length === 1 ? `select distinct s.id from (${selected[0]}) as s` : selected.join(' union ')
  return { ids: selected.join(' union all '), once, has: `(${probes.join(' or ')})` }
}
