import type { Client } from 'pg'
import { listTables, mainColocation, type PlaceRules, type Table, targetPlace } from './cluster.ts'

/** The properties of a table that every shard must have too. */
const parts = ['columns', 'constraints', 'indexes', 'security', 'policies', 'privileges'] as const

type Part = (typeof parts)[number]

type Definition = Record<Part, string>

export type TableFault = { table: string; part: Part | 'place' | 'shards'; detail: string }

type CheckOptions = { rules: PlaceRules; appRole: string }

/**
 * Compares each table with what it must be, and each of its shards with the table: columns, constraints, indexes,
 * row-level security and the privileges of the application's role. Returns one fault per table and property.
 */
export async function findFaults(owner: Client, { rules, appRole }: CheckOptions): Promise<TableFault[]> {
  const tables = await listTables(owner)
  const placed = placeFaults(tables, rules)
  const spread = new Set(tables.filter(({ place }) => place !== 'plain').map(({ name }) => name))
  const definitions = await tableDefinitions(owner, appRole)
  const nodes = await shardDefinitions(owner, appRole)
  const down = nodes.filter(({ error }) => error !== null)
  const unchecked = down.map(
    ({ node, error }): TableFault => ({ table: node, part: 'shards', detail: `the node cannot be checked (${error})` }),
  )
  if (unchecked.length > 0) return [...placed, ...unchecked]
  const expected = await placementCounts(owner)
  const shards = Map.groupBy(
    nodes.flatMap(({ shards: found }) => found),
    ({ table }) => table,
  )
  const differing = [...spread].flatMap((table) =>
    shardFaults({
      table,
      definition: definitions.get(table),
      shards: shards.get(table) ?? [],
      expected: expected.get(table) ?? 0,
    }),
  )
  return [...placed, ...differing]
}

export function placeFaults(tables: readonly Table[], rules: PlaceRules): TableFault[] {
  const main = mainColocation(tables)
  return tables.flatMap((table): TableFault[] => {
    const target = targetPlace(table, rules)
    const fault = (detail: string): TableFault[] => [{ table: table.name, part: 'place', detail }]
    if (table.place !== target) return fault(`is ${table.place} and must be ${target}`)
    if (target !== 'distributed') return []
    if (table.column !== 'tenant_id') return fault(`is distributed by ${table.column} instead of tenant_id`)
    return table.colocation === main ? [] : fault('is not co-located with the other tables')
  })
}

/** Shards of one table on one node that have the same definition. */
type ShardGroup = Definition & { table: string; count: number }

type TableShards = { table: string; definition: Definition | undefined; shards: ShardGroup[]; expected: number }

function shardFaults({ table, definition, shards, expected }: TableShards): TableFault[] {
  const count = shards.reduce((sum, shard) => sum + shard.count, 0)
  const missing: TableFault[] =
    count === expected ? [] : [{ table, part: 'shards', detail: `has ${count} of ${expected} shards` }]
  const differing = parts.filter((part) => shards.some((shard) => shard[part] !== definition?.[part]))
  return [
    ...missing,
    ...differing.map((part): TableFault => ({ table, part, detail: `shards have other ${part} than the table` })),
  ]
}

async function placementCounts(owner: Client): Promise<Map<string, number>> {
  const { rows } = await owner.query<{ table: string; count: number }>(
    `select c.relname as table, count(*)::int as count
     from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid join pg_class c on c.oid = s.logicalrelid
     where c.relnamespace = current_schema()::regnamespace
     group by c.relname`,
  )
  return new Map(rows.map(({ table, count }) => [table, count]))
}

/** Returns the definitions of the tables on the coordinator. */
async function tableDefinitions(owner: Client, appRole: string): Promise<Map<string, Definition>> {
  const relations = `select c.relname as "table", c.oid as relation from pg_class c
    where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`
  const { rows } = await owner.query<ShardGroup>(definitionsOf(relations, owner.escapeLiteral(appRole)))
  return new Map(rows.map((row) => [row.table, row]))
}

type NodeShards = { node: string; error: string | null; shards: ShardGroup[] }

/** Returns the definitions of the shards on each node. */
async function shardDefinitions(owner: Client, appRole: string): Promise<NodeShards[]> {
  const { rows: schemas } = await owner.query<{ name: string }>('select current_schema() as name')
  const schema = owner.escapeLiteral(owner.escapeIdentifier(schemas[0]?.name ?? ''))
  const relations = `select c.relname as "table", to_regclass(shard_name(s.logicalrelid, s.shardid))::oid as relation
    from pg_dist_shard s join pg_class c on c.oid = s.logicalrelid
    where c.relnamespace = to_regnamespace(${schema})
      and to_regclass(shard_name(s.logicalrelid, s.shardid)) is not null`
  const command = `select coalesce(json_agg(d), '[]') from (${definitionsOf(relations, owner.escapeLiteral(appRole))}) d`
  const { rows } = await owner.query<{ node: string; success: boolean; result: string }>(
    `select n.nodename || ':' || n.nodeport as node, r.success, r.result
     from run_command_on_all_nodes($1) r join pg_dist_node n on n.nodeid = r.nodeid`,
    [command],
  )
  return rows.map(({ node, success, result }) => ({
    node,
    error: success ? null : result,
    shards: success ? JSON.parse(result) : [],
  }))
}

/**
 * Returns SQL that describes relations. Relations of one table with the same definition are counted as one row. The
 * names of constraints and indexes are left out, because those of a shard end with its number.
 */
function definitionsOf(relations: string, role: string): string {
  return `
    select "table", columns, constraints, indexes, security, policies, privileges, count(*)::int as count
    from (
      select r."table",
        (select string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull), ', '
                           order by a.attname)
         from pg_attribute a where a.attrelid = r.relation and a.attnum > 0 and not a.attisdropped) as columns,
        (select coalesce(string_agg(k.contype::text || k.convalidated::text, ' ' order by k.contype, k.convalidated), '')
         from pg_constraint k where k.conrelid = r.relation and k.contype in ('p', 'u', 'f', 'c')) as constraints,
        (select count(*)::text from pg_index i where i.indrelid = r.relation and i.indisvalid) as indexes,
        (select c.relrowsecurity::text from pg_class c where c.oid = r.relation) as security,
        (select coalesce(string_agg(concat_ws(' ', p.polname, p.polcmd, p.polpermissive,
                                              pg_get_expr(p.polqual, p.polrelid), 'check',
                                              pg_get_expr(p.polwithcheck, p.polrelid)), '; ' order by p.polname), '')
         from pg_policy p where p.polrelid = r.relation) as policies,
        (select concat_ws(' ', has_table_privilege(${role}, r.relation, 'delete'),
                          string_agg(concat_ws(' ', a.attname,
                                               has_column_privilege(${role}, r.relation, a.attnum, 'select'),
                                               has_column_privilege(${role}, r.relation, a.attnum, 'insert'),
                                               has_column_privilege(${role}, r.relation, a.attnum, 'update')), ', '
                                     order by a.attname))
         from pg_attribute a where a.attrelid = r.relation and a.attnum > 0 and not a.attisdropped) as privileges
      from (${relations}) r
    ) described
    group by "table", columns, constraints, indexes, security, policies, privileges`
}
