import type { ChangeCause, ChangePosition, FieldChange } from '@millwright/api/inventory/changes.ts'
import type { Handle } from '../../../platform/database/database.ts'
import { dynamicStatement, statement } from '../../../platform/database/statement.ts'
import type { NodeSet } from '../assets/node-sets.ts'
import { assetsOfNodes } from '../relations/node-assignment-store.ts'
import { type Groups, isReadableVersion, wasLastReadable } from '../visibility.ts'

/** The changes that a list shows, among those that the caller can read. */
export type ChangeSelection = {
  groups: Groups
  from: string
  to: string
  principal?: string
  assetId?: string
  nodes?: NodeSet
  change?: string
  field?: string
  causeId?: string
}

/** The length of a time range with several changes of most assets. */
const longRangeMs = 31 * 86_400_000

type Conditions = { where: string; values: unknown[] }

/**
 * Returns the conditions on a row of `asset_history` with the alias `h`. Their parameters start at `$2`. A query that reads all
 * rows of a long time sets `readsAll`. Then the last group of each asset is looked up once, and not for each of its changes. For a
 * short time this is slower.
 */
function conditionsOf(selection: ChangeSelection, { readsAll = false } = {}): Conditions {
  const values: unknown[] = []
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const { groups, from, to, principal, assetId, nodes, change, field, causeId } = selection
  const parts = ['h.tenant_id = $1', `h.time >= ${parameter(from)}`, `h.time < ${parameter(to)}`]
  if (causeId !== undefined) parts.push(`h.cause_id = ${parameter(causeId)}`)
  if (assetId !== undefined) parts.push(`h.asset_id = ${parameter(assetId)}`)
  if (principal !== undefined) parts.push(`h.principal_id = ${parameter(principal)}`)
  if (change !== undefined) parts.push(`h.change = ${parameter(change)}`)
  if (field !== undefined) parts.push(`h.changes::jsonb @> ${parameter(JSON.stringify([{ field }]))}::jsonb`)
  if (nodes !== undefined) parts.push(`h.asset_id in (${assetsOfNodes(nodes, parameter(nodes.ids)).ids})`)
  if (groups !== null) {
    const readable = parameter(groups)
    parts.push(isReadableVersion('h', readable))
    parts.push(
      readsAll && Date.parse(to) - Date.parse(from) > longRangeMs
        ? `h.asset_id in (select c.asset_id from (select distinct x.asset_id from asset_history x
             where x.tenant_id = $1 and x.time >= $2 and x.time < $3 offset 0) as c
             where ${wasLastReadable('c.asset_id', readable)})`
        : wasLastReadable('h.asset_id', readable),
    )
  }
  return { where: parts.join(' and '), values }
}

const newestFirst = 'h.time desc, h.asset_id desc, h.version desc'

/** A change without its content: its position, and the operation that caused it. */
export type ChangeKey = ChangePosition & { causeId: string | null }

type KeyPage = {
  before: ChangePosition | undefined
  limit: number
  /** The operations whose changes are left out, because the list contains them already. */
  withoutCauses: readonly string[]
}

/** Returns the positions of the next changes, newest first. */
export function listChangeKeys(
  handle: Handle,
  selection: ChangeSelection,
  { before, limit, withoutCauses }: KeyPage,
): Promise<ChangeKey[]> {
  const { where, values } = conditionsOf(selection)
  const parameter = (value: unknown) => `$${values.push(value) + 1}`
  const parts = [where]
  if (before !== undefined) {
    const [time, asset, version] = [before.time, before.assetId, before.version].map(parameter)
    parts.push(
      `h.time <= ${time} and (h.time, h.asset_id, h.version) < (${time}::timestamptz, ${asset}::uuid, ${version}::bigint)`,
    )
  }
  if (withoutCauses.length > 0)
    parts.push(`(h.cause_id is null or h.cause_id <> all(${parameter(withoutCauses)}::uuid[]))`)
  return handle.rows(
    dynamicStatement<ChangeKey>(
      `select h.time, h.asset_id as "assetId", h.version, h.cause_id as "causeId" from asset_history h
       where ${parts.join(' and ')} order by ${newestFirst} limit ${limit}`,
    ),
    ...values,
  )
}

/** The number of changes of one operation that are counted, and those whose fields and names are read. */
export const groupLimits = { counted: 10_000, sampled: 500, names: 3, fields: 4 } as const

/** The changes of one operation: its newest change, the counts, and the most frequent fields of the newest changes. */
export type ChangeGroupRow = ChangePosition & {
  causeId: string
  count: number
  created: number
  updated: number
  deleted: number
  firstTime: string
  names: (string | null)[] | null
  fields: (FieldChange & { count: number })[] | null
}

/** Returns the changes of operations, as far as the selection contains them. */
export function describeGroups(
  handle: Handle,
  selection: ChangeSelection,
  causeIds: readonly string[],
): Promise<ChangeGroupRow[]> {
  const { where, values } = conditionsOf(selection)
  const own = `${where} and h.cause_id = c.id`
  const { counted, sampled, names, fields } = groupLimits
  return handle.rows(
    dynamicStatement<ChangeGroupRow>(
      `select c.id as "causeId", n.time, n.asset_id as "assetId", n.version, k.count, k.created, k.updated, k.deleted,
              k.first as "firstTime", f.names, s.fields
       from unnest($${values.push(causeIds) + 1}::uuid[]) as c (id)
       cross join lateral (select h.time, h.asset_id, h.version from asset_history h
         where ${own} order by ${newestFirst} limit 1) as n
       cross join lateral (select count(*) as count, count(*) filter (where m.change = 'created') as created,
           count(*) filter (where m.change = 'updated') as updated, count(*) filter (where m.change = 'deleted') as deleted,
           min(m.time) as first
         from (select h.change, h.time from asset_history h where ${own} limit ${counted + 1}) as m) as k
       cross join lateral (select json_agg(m.name) as names
         from (select case when h.document is null then h.changes -> 0 ->> 'before' else h.document ->> 'name' end as name
           from asset_history h
           where ${own} order by ${newestFirst} limit ${names}) as m) as f
       cross join lateral (select json_agg(json_build_object('field', m.field, 'count', m.count,
             'before', m.before, 'after', m.after) order by m.count desc, m.field) as fields
         from (select e.field, count(*) as count,
               case when min(coalesce(e.before, '')) = max(coalesce(e.before, '')) then min(e.before) end as before,
               case when min(coalesce(e.after, '')) = max(coalesce(e.after, '')) then min(e.after) end as after
             from (select h.changes from asset_history h where ${own} and h.change = 'updated' and h.changes is not null
                 limit ${sampled}) as p
             cross join lateral json_to_recordset(p.changes) as e (field text, before text, after text)
             group by e.field order by 2 desc, 1 limit ${fields}) as m) as s`,
    ),
    ...values,
  )
}

export type ChangeRow = ChangePosition & {
  change: 'created' | 'updated' | 'deleted'
  accessGroupId: string
  name: string | null
  type: string | null
  principal: string | null
  principalName: string
  sourceType: string
  sourceValue: string | null
  changes: FieldChange[] | null
  causeKind: ChangeCause['kind'] | null
  causeId: string | null
  causeName: string | null
  /** The access group and the document before the change, if the change has no short form. */
  beforeGroupId: string | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

/** Returns the columns of a change `h`. `isNeeded` is the condition that its documents are read. */
function columnsOf(isNeeded: string): string {
  const columns: Readonly<Record<string, string>> = {
    time: 'h.time',
    assetId: 'h.asset_id',
    version: 'h.version',
    change: 'h.change',
    accessGroupId: 'h.access_group_id',
    name: `coalesce(h.document, b.document) ->> 'name'`,
    type: `coalesce(h.document, b.document) ->> 'functional_object_type'`,
    principal: 'h.principal_id',
    principalName: 'h.principal_name',
    sourceType: 'h.source_type',
    sourceValue: 'h.source_value',
    changes: 'h.changes',
    causeKind: 'h.cause_kind',
    causeId: 'h.cause_id',
    causeName: 'h.cause_name',
    beforeGroupId: `case when ${isNeeded} then b.access_group_id end`,
    before: `case when ${isNeeded} then b.document end`,
    after: `case when ${isNeeded} then h.document end`,
  }
  return Object.entries(columns)
    .map(([name, sql]) => `${sql} as "${name}"`)
    .join(', ')
}

/** The previous version of a change `h`. It is joined only if it is needed. */
function previous(groups: string, isNeeded: string): string {
  return `left join asset_history b on ${isNeeded} and b.tenant_id = $1 and b.asset_id = h.asset_id
    and b.version = h.version - 1 and ${isReadableVersion('b', groups)}`
}

const withoutShortForm = `(h.changes is null and h.change <> 'created')`

const changesStatement = statement<ChangeRow>(
  `select ${columnsOf(withoutShortForm)}
   from unnest($2::uuid[], $3::bigint[]) as f (id, version)
   join asset_history h on h.tenant_id = $1 and h.asset_id = f.id and h.version = f.version
   ${previous('$4', `(h.changes is null or h.change = 'deleted') and h.change <> 'created'`)}`,
)

/** Returns the content of changes. The caller can read all of them. */
export function readChanges(
  handle: Handle,
  keys: readonly Pick<ChangePosition, 'assetId' | 'version'>[],
  groups: Groups,
): Promise<ChangeRow[]> {
  const ids = keys.map(({ assetId }) => assetId)
  return handle.rows(
    changesStatement,
    ids,
    keys.map(({ version }) => version),
    groups,
  )
}

const changeStatement = statement<ChangeRow>(
  `select ${columnsOf('true')} from asset_history h ${previous('$4', 'true')}
   where h.tenant_id = $1 and h.asset_id = $2 and h.version = $3 and ${isReadableVersion('h', '$4')}
     and ${wasLastReadable('h.asset_id', '$4')}`,
)

/** Returns a change with the documents before and after it, if the caller can read it. */
export function findChange(
  handle: Handle,
  { assetId, version }: Pick<ChangePosition, 'assetId' | 'version'>,
  groups: Groups,
): Promise<ChangeRow | undefined> {
  return handle.row(changeStatement, assetId, version, groups)
}

const lastChangesStatement = statement<ChangeRow>(
  `select ${columnsOf(withoutShortForm)}
   from assets a
   join asset_history h on h.tenant_id = $1 and h.asset_id = a.id and h.version = a.version
   ${previous('$3', withoutShortForm)}
   where a.tenant_id = $1 and a.id = any($2::uuid[]) and ${isReadableVersion('h', '$3')}`,
)

/** Returns the last change of each of these assets that the caller can read. */
export function listLastChanges(handle: Handle, ids: readonly string[], groups: Groups): Promise<ChangeRow[]> {
  return handle.rows(lastChangesStatement, ids, groups)
}

export type ChangeCount = { time: string; created: number; updated: number; deleted: number }

/** Counts the changes per time span. The first span starts at the start of the selection. Spans without changes are left out. */
export function countChanges(
  handle: Handle,
  selection: ChangeSelection,
  bucketSeconds: number,
): Promise<ChangeCount[]> {
  const { where, values } = conditionsOf(selection, { readsAll: true })
  return handle.rows(
    dynamicStatement<ChangeCount>(
      `select date_bin(make_interval(secs => ${bucketSeconds}), h.time, $2) as time,
              count(*) filter (where h.change = 'created') as created,
              count(*) filter (where h.change = 'updated') as updated,
              count(*) filter (where h.change = 'deleted') as deleted
       from asset_history h where ${where} group by 1 order by 1`,
    ),
    ...values,
  )
}

/** Returns the principals with the most changes. */
export function listAuthors(handle: Handle, selection: ChangeSelection, limit: number) {
  const { where, values } = conditionsOf(selection, { readsAll: true })
  return handle.rows(
    dynamicStatement<{ id: string; name: string; count: number }>(
      `select h.principal_id as id, max(h.principal_name) as name, count(*) as count
       from asset_history h where ${where} and h.principal_id is not null group by 1 order by 3 desc, 1 limit ${limit}`,
    ),
    ...values,
  )
}
