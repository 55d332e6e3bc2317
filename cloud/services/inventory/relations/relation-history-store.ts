import type { Handle } from '../../../platform/database/database.ts'
import { statement } from '../../../platform/database/statement.ts'
import { totalFromPage } from '../assets/listing.ts'
import { type Groups, wasReadableAt } from '../visibility.ts'
import type { RelationChangeRow } from './relation.ts'
import { columnsOf, type Listed, type Side } from './relation-store.ts'

/**
 * Returns the SQL for the changes of relations that have the asset at one side. An ended relation has two changes: its
 * creation and its deletion.
 */
function changesAt(side: Side): string {
  const other = side === 'subject' ? 'object' : 'subject'
  // A relation of an asset to itself is selected only at its subject, so that it is listed once.
  const isOfAsset = (table: string) =>
    `${table}.tenant_id = $1 and ${table}.${side}_id = $2 and ${table}.${side}_type = 'asset'${
      side === 'object' ? ` and not (${table}.subject_id = $2 and ${table}.subject_type = 'asset')` : ''
    }`
  return `select ${columnsOf('r')}, r.${other}_type as type, r.${other}_id as other, 'created' as change,
      r.created_at as time, r.created_by_id as principal, r.created_by_name as "principalName",
      r.created_ordinal as ordinal
    from relations r where ${isOfAsset('r')}
    union all
    select ${columnsOf('e')}, e.${other}_type, e.${other}_id, c.change, c.time, c.principal, c.name, c.ordinal
    from ended_relations e cross join lateral (values
      ('created', e.created_at, e.created_by_id, e.created_by_name, e.created_ordinal),
      ('deleted', e.ended_at, e.principal_id, e.principal_name, e.ended_ordinal)) as c (change, time, principal, name, ordinal)
    where ${isOfAsset('e')}`
}

/** Selects the changes at times when the assets at both ends were readable. */
const changes = `(${changesAt('subject')} union all ${changesAt('object')}) as o
  where ${wasReadableAt('$2', '$3', 'o.time')}
    and (o.type = 'node' or o.other = $2 or ${wasReadableAt('o.other', '$3', 'o.time')})`

/**
 * Sorts changes by the order in which they were committed. Times alone cannot give this order, because they come from the
 * clocks of several hosts.
 */
const latestFirst = 'order by o.ordinal desc, o.time desc, o.id desc, o.change desc'

/** Returns the SQL for the name of the asset at one side. For a deleted asset, this is its last name. */
function nameAt(side: Side): string {
  return `case when o."${side}Type" = 'asset' then
    case when ${side}.id is null then
      (select h.document ->> 'name' from asset_history h
       where h.tenant_id = $1 and h.asset_id = o."${side}Id" and h.document is not null order by h.version desc limit 1)
    else ${side}.name end end`
}

const pageStatement = statement<RelationChangeRow>(
  `select o.id, o."subjectType", o."subjectId", o.predicate, o."objectType", o."objectId", o."sourceType", o."sourceValue",
          o."createdAt", o."modifiedAt", o.change, o.time, o.principal, o."principalName",
          ${nameAt('subject')} as "subjectName", ${nameAt('object')} as "objectName"
   from (select o.* from ${changes} ${latestFirst} limit $4 offset $5) as o
   left join assets subject on subject.tenant_id = $1 and subject.id = o."subjectId" and o."subjectType" = 'asset'
   left join assets object on object.tenant_id = $1 and object.id = o."objectId" and o."objectType" = 'asset'
   ${latestFirst}`,
)
const countStatement = statement<{ total: number }>(`select count(*) as total from ${changes}`)

/**
 * Returns the changes of the relations of an asset, latest first. The other end of each relation is a node, or an asset
 * that was readable at the time of the change.
 */
export async function listRelationChanges(
  handle: Handle,
  { id, groups }: { id: string; groups: Groups },
  page: { limit: number; offset: number },
): Promise<Listed<RelationChangeRow>> {
  const rows = await handle.rows(pageStatement, id, groups, page.limit, page.offset)
  const total = totalFromPage(rows, page) ?? (await handle.row(countStatement, id, groups))?.total ?? 0
  return { rows, total }
}
