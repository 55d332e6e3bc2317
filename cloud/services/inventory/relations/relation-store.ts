import type { Handle, Transaction } from '../../../platform/database/database.ts'
import { idsAt } from '../../../platform/database/id.ts'
import { jsonText, storableText } from '../../../platform/database/json.ts'
import { rowset } from '../../../platform/database/rowset.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import { type AssetSet, keyText, orderBy, type SortKey, type Stretches } from '../assets/listing.ts'
import { type Groups, isReadableRow, isReadable as readable } from '../visibility.ts'
import type { AuthoredRelation, Ending, RelationRow, StatedRelation } from './relation.ts'
import { countPredicates, nextChangeOrdinal } from './relation-count-store.ts'

export type Listed<Row> = { rows: Row[]; total: number }

/** A condition on `relations r` with its values, which follow the tenant. */
export type Condition = { sql: string; values: readonly unknown[] }

type Paging = { limit: number; offset: number }

/** The columns of a relation. */
export function columnsOf(table: string): string {
  return `${table}.id, ${table}.subject_type as "subjectType", ${table}.subject_id as "subjectId", ${table}.predicate,
    ${table}.object_type as "objectType", ${table}.object_id as "objectId", ${table}.source_type as "sourceType",
    ${table}.source_value as "sourceValue", ${table}.created_at as "createdAt", ${table}.modified_at as "modifiedAt"`
}

/**
 * Locks on rows are not fair: who relates an asset passes by somebody who waits until nobody does. Where that moment would
 * never come, the one who waits closes this door, one for each tenant: who is inside comes to an end, all others wait.
 */
const door = `hashtextextended($1::text, 7245)`
const enterStatement = statement(`select pg_advisory_xact_lock_shared(${door})`)
const closeStatement = statement(`select pg_advisory_xact_lock(${door})`)

/** Until the end of the transaction nobody relates anything. Call it before assets are held. */
export async function stopRelating(tx: Transaction): Promise<void> {
  await tx.run(closeStatement)
}

const lockAssetsStatement = statement<{ id: string; accessGroupId: string }>(
  `select id, access_group_id as "accessGroupId" from assets
   where tenant_id = $1 and id = any($2::uuid[]) and ($3::uuid[] is null or access_group_id = any($3))
   order by id for key share`,
)

/**
 * The assets that are there and may be seen, with their groups. They stay until the end of the transaction: whoever
 * deletes one waits, and then finds the relations that were made meanwhile.
 */
export async function lockAssets(
  tx: Transaction,
  ids: readonly string[],
  groups: Groups,
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const [, rows] = await Promise.all([tx.run(enterStatement), tx.rows(lockAssetsStatement, ids, groups)])
  return groupsById(rows)
}

const lockFreeAssetsStatement = statement<{ id: string; accessGroupId: string }>(
  `select id, access_group_id as "accessGroupId" from assets
   where tenant_id = $1 and id = any($2::uuid[]) order by id for key share skip locked`,
)

/** The same of all groups, without those that somebody else holds at the moment: nobody is waited for. */
export async function lockFreeAssets(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const [, rows] = await Promise.all([tx.run(enterStatement), tx.rows(lockFreeAssetsStatement, ids)])
  return groupsById(rows)
}

function groupsById(rows: readonly { id: string; accessGroupId: string }[]): Map<string, string> {
  return new Map(rows.map(({ id, accessGroupId }) => [id, accessGroupId]))
}

/** A relation with who stated it first, as far as that is known, and the place of its creation in the order of changes. */
type CreatedRow = RelationRow & { createdById: string | null; createdByName: string | null; createdOrdinal: number }

/** What a relation is recognised by. */
const keyColumns = {
  subjectType: 'text',
  subjectId: 'uuid',
  predicate: 'text',
  objectType: 'text',
  objectId: 'uuid',
  sourceType: 'text',
} as const

function keyIn({ subject, predicate, object, source }: StatedRelation): Pick<RelationRow, keyof typeof keyColumns> {
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

/** Those of the relations that are stated already, held until the end of the transaction. */
export async function lockStated(tx: Transaction, relations: readonly StatedRelation[]): Promise<RelationRow[]> {
  return relations.length === 0 ? [] : tx.rows(equalStatement, ...keys.values(relations.map(keyIn)))
}

const stated = rowset<Omit<CreatedRow, 'modifiedAt'>>({
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
   from ${stated.rows}
   on conflict (tenant_id, subject_id, predicate, object_id, source_type, subject_type, object_type) do update
   set modified_at = greatest(s.modified_at, excluded.modified_at),
       source_value = coalesce(excluded.source_value, s.source_value)
   returning ${columnsOf('s')}`,
)

export type PutRelation = { relation: RelationRow; outcome: 'created' | 'refreshed' }

/**
 * States relations, as many as there are in one statement. One that exists already keeps its id: that tells what was
 * made from what was refreshed. It also stays of who stated it first. The answers are in the order given.
 */
export async function putRelations(
  tx: Transaction,
  relations: readonly AuthoredRelation[],
  now = new Date().toISOString(),
): Promise<PutRelation[]> {
  if (relations.length === 0) return []
  const wanted = distinct(relations)
  const ids = idsAt(Date.parse(now), wanted.size)
  const createdOrdinal = await nextChangeOrdinal(tx)
  // In the order of their keys, so that two who state the same relations do not wait for each other crosswise.
  const rows = [...wanted]
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
  const put = await tx.rows(putStatement, ...stated.values(rows))
  const byKey = new Map(put.map((row) => [keyOfRow(row), row]))
  const made = new Set(ids)
  await countPredicates(
    tx,
    put.filter(({ id }) => made.has(id)),
    1,
  )
  return relations.map((relation) => {
    const stated = storable(relation)
    const key = keyOf(stated)
    const row = byKey.get(key)
    if (row === undefined) throw new TypeError('A relation that was stated did not come back')
    // The second of two equal ones in a set is a refresh of the first. Each comes back as it was after its own statement:
    // one who states the same in the same moment says nothing in the name of another.
    const outcome = made.delete(row.id) ? 'created' : 'refreshed'
    const sourceValue = stated.source.value ?? (outcome === 'created' ? null : row.sourceValue)
    const seen = sourceValue === row.sourceValue ? row : { ...row, sourceValue }
    byKey.set(key, seen)
    return { relation: seen, outcome }
  })
}

/** Each once, of who states it first; a later one brings its source along. */
function distinct(stated: readonly AuthoredRelation[]): Map<string, AuthoredRelation> {
  const wanted = new Map<string, AuthoredRelation>()
  for (const { author, ...given } of stated) {
    const relation = storable(given)
    const key = keyOf(relation)
    const before = wanted.get(key)
    if (before === undefined || relation.source.value !== undefined)
      wanted.set(key, { ...relation, author: before?.author ?? author })
  }
  return wanted
}

function storable({ subject, predicate, object, source }: StatedRelation): StatedRelation {
  const { type, value } = source
  return {
    subject,
    predicate: storableText(predicate),
    object,
    source: value === undefined ? { type } : { type, value: storableText(value) },
  }
}

function keyOf({ subject, predicate, object, source }: StatedRelation): string {
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

/** Ends relations by id and answers those that were there. */
export async function endRelations(tx: Transaction, ids: readonly string[], who: Ending): Promise<RelationRow[]> {
  const ended = ids.length === 0 ? [] : await tx.rows(deleteByIdStatement, ids)
  await keepEnded(tx, ended, who)
  return ended
}

/**
 * As many as are asked for of the relations of assets, held until the end of the transaction: one that somebody else
 * ends meanwhile is not among them. Side by side, so that an index is followed only as far as that.
 */
function heldOfAssets(columns: (table: string) => string): string {
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

const lockOfAssetsStatement = statement<RelationRow>(heldOfAssets(columnsOf))

/** Relations of an asset, at most so many, held until the end of the transaction. Hold the asset first: then no more come. */
export function lockRelationsOf(tx: Transaction, assetId: string, most: number): Promise<RelationRow[]> {
  return tx.rows(lockOfAssetsStatement, [assetId], most)
}

const deleteOfAssetsStatement = statement<CreatedRow>(
  `delete from relations r where r.tenant_id = $1 and r.id = any(array(${heldOfAssets((table) => `${table}.id`)}))
   returning ${endedColumns}`,
)

/**
 * Ends relations of assets, also those from nodes, and answers them: all, or as many as are asked for. Fewer than that
 * are all there were. Hold or delete the assets first, in the same transaction: that waits for everybody who is just
 * relating them.
 */
export async function endRelationsOf(
  tx: Transaction,
  assetIds: readonly string[],
  { most, ...who }: Ending & { most?: number | undefined },
): Promise<RelationRow[]> {
  const ended = assetIds.length === 0 ? [] : await tx.rows(deleteOfAssetsStatement, assetIds, most ?? null)
  await keepEnded(tx, ended, who)
  return ended
}

/** The host that ends a relation may have a slower clock than the host that created it: no relation ends before it began. */
const keepEndedStatement = statement(
  `insert into ended_relations (tenant_id, id, subject_type, subject_id, predicate, object_type, object_id, source_type,
                                source_value, created_at, modified_at, created_by_id, created_by_name, ended_at,
                                principal_id, principal_name, created_ordinal, ended_ordinal)
   select $1, e.id, e."subjectType", e."subjectId", e.predicate, e."objectType", e."objectId", e."sourceType",
          e."sourceValue", e."createdAt", e."modifiedAt", e."createdById", e."createdByName",
          greatest($3::timestamptz, e."createdAt"), $4::uuid, $5, e."createdOrdinal", $6::bigint
   from json_to_recordset($2::json) as e (id uuid, "subjectType" text, "subjectId" uuid, predicate text,
     "objectType" text, "objectId" uuid, "sourceType" text, "sourceValue" text, "createdAt" timestamptz,
     "modifiedAt" timestamptz, "createdById" uuid, "createdByName" text, "createdOrdinal" bigint)`,
)

async function keepEnded(tx: Transaction, ended: readonly CreatedRow[], who: Ending): Promise<void> {
  if (ended.length === 0) return
  const ordinal = await nextChangeOrdinal(tx)
  await countPredicates(tx, ended, -1)
  const { principalId, principalName, at = new Date().toISOString() } = who
  await tx.run(keepEndedStatement, jsonText(ended), at, principalId, storableText(principalName), ordinal)
}

/** A relation, and where it stands in the order of its list. */
export type ListedRelation = RelationRow & { place: (string | null)[] }

type Page = Paging & { stretches: Stretches; order: readonly SortKey[] }

/** A page of the tenant's relations that fulfil a condition. */
export function listRelations(
  handle: Handle,
  { sql, values }: Condition,
  { stretches, order, limit, offset }: Page,
): Promise<ListedRelation[]> {
  const next = values.length + stretches.values.length + 2
  const by = orderBy(order)
  const found = stretches.conditions.map(
    (condition) =>
      `(select r.* from relations r where r.tenant_id = $1 and (${sql}) and ${condition} order by ${by} limit $${next})`,
  )
  return handle.rows(
    dynamicStatement<ListedRelation>(
      `select ${columnsOf('r')}, array[${order.map(keyText).join(', ')}] as place
       from (${found.join(' union all ')}) as r order by ${by} limit $${next + 1} offset $${next + 2}`,
    ),
    ...values,
    ...stretches.values,
    offset + limit,
    limit,
    offset,
  )
}

export async function countRelations(handle: Handle, { sql, values }: Condition): Promise<number> {
  const counting = dynamicStatement<{ total: number }>(
    `select count(*) as total from relations r where r.tenant_id = $1 and (${sql})`,
  )
  return (await handle.row(counting, ...values))?.total ?? 0
}

/** The oldest that fulfil a condition, held until the end of the transaction. Ids are in the order of creation. */
export async function lockOldest(tx: Transaction, { sql, values }: Condition, limit: number): Promise<string[]> {
  const oldest = dynamicStatement<{ id: string }>(
    `select r.id from relations r where r.tenant_id = $1 and (${sql}) order by r.id limit $${values.length + 2} for update`,
  )
  return (await tx.rows(oldest, ...values, limit)).map(({ id }) => id)
}

const relationsOfAsset = `(
    select ${columnsOf('r')}, r.object_type as type, r.object_id as other from relations r
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

/** Relations of an asset in and out whose other end is a node or may be seen. */
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

/** Whether an asset is there, for somebody who sees these groups. */
export async function isReadable(handle: Handle, { id, groups }: { id: string; groups: Groups }): Promise<boolean> {
  return (await handle.row(readableStatement, id, groups)) !== undefined
}

export type Side = 'subject' | 'object'

/** Relations that fulfil a condition, and the end of them that is meant. */
export type Ends = { side: Side; sql: string }

/**
 * The assets at such ends, as a set: see `AssetSet`. With groups, relations whose other end is an asset outside them do
 * not count.
 */
export function assetsAtEnds(ends: readonly Ends[], groupsParameter: string | undefined): AssetSet {
  const wheres = ends.map(({ side, sql }) => {
    const other = side === 'subject' ? 'object' : 'subject'
    const seen =
      groupsParameter === undefined
        ? ''
        : `and (r.${other}_type = 'node' or ${readable(`r.${other}_id`, groupsParameter)})`
    const where = `r.tenant_id = $1 and r.${side}_type = 'asset' and (${sql}) ${seen}`
    return { id: `r.${side}_id`, where }
  })
  const gathered = wheres.map(({ id, where }) => `select ${id} as id from relations r where ${where}`)
  // `limit` keeps the planner from gathering them all.
  const asked = wheres.map(({ id, where }) => `(select true from relations r where ${id} = a.id and ${where} limit 1)`)
  const once = gathered.length === 1 ? `select distinct s.id from (${gathered[0]}) as s` : gathered.join(' union ')
  return { ids: gathered.join(' union all '), once, has: `(${asked.join(' or ')})` }
}
