import type { Owner } from './owner-store.ts'

/**
 * This file contains the queries about the nodes and shards of a Citus cluster. They run as the owner of the database.
 * The queries about placements read only the coordinator, so they work while a worker is down.
 */

/**
 * A table that is distributed by tenant. All tables of tenants are co-located, so the shard of this table determines
 * the node of all data of a tenant.
 */
const anchor = 'access_groups'

/** Returns whether the server has the extension, and whether the tables of tenants are distributed. */
export async function readClusterState(owner: Owner): Promise<{ citus: boolean; distributed: boolean }> {
  const { rows } = await owner.query(`select from pg_extension where extname = 'citus'`)
  if (rows.length === 0) return { citus: false, distributed: false }
  const { rows: distributed } = await owner.query(
    `select from pg_dist_partition where logicalrelid = to_regclass($1) and partmethod = 'h'`,
    [anchor],
  )
  return { citus: true, distributed: distributed.length > 0 }
}

export type ClusterNode = { id: number; host: string; port: number; isCoordinator: boolean; hasShards: boolean }

/** Returns the coordinator and the workers. A coordinator that is not registered is left out. */
export async function selectNodes(owner: Owner): Promise<ClusterNode[]> {
  const { rows } = await owner.query<ClusterNode>(
    `select nodeid as id, nodename as host, nodeport as port, groupid = 0 as "isCoordinator",
            shouldhaveshards as "hasShards"
     from pg_dist_node where noderole = 'primary' and isactive order by groupid`,
  )
  return rows
}

export type TenantShard = {
  tenantId: string
  tenant: string
  state: string
  /** The shard of the anchor table. */
  shard: string
  /** The start of the range of hash values. It identifies the co-located shards of all tables. */
  range: string
  nodeId: number
}

export async function selectTenantShards(owner: Owner): Promise<TenantShard[]> {
  const { rows } = await owner.query<TenantShard>(
    `select t.id as "tenantId", t.name as tenant, t.state, s.shardid::text as shard, s.shardminvalue as range,
            n.nodeid as "nodeId"
     from (select id, name, state, get_shard_id_for_distribution_column($1::regclass, id) as shardid from tenants) t
     join pg_dist_shard s on s.shardid = t.shardid
     join pg_dist_placement p on p.shardid = s.shardid
     join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
     order by t.name`,
    [anchor],
  )
  return rows
}

/** Returns the node that has or will have the rows of a tenant. The tenant does not have to exist. */
export async function selectNodeOf(owner: Owner, tenantId: string): Promise<number | undefined> {
  const { rows } = await owner.query<{ nodeId: number }>(
    `select n.nodeid as "nodeId"
     from pg_dist_placement p join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
     where p.shardid = get_shard_id_for_distribution_column($1::regclass, $2::uuid)`,
    [anchor, tenantId],
  )
  return rows[0]?.nodeId
}

/** Returns true if the coordinator can connect to the node. */
export async function isReachable(owner: Owner, { host, port }: ClusterNode): Promise<boolean> {
  const { rows } = await owner.query<{ reachable: boolean }>(
    'select citus_check_connection_to_node($1, $2::integer) as reachable',
    [host, port],
  )
  return rows[0]?.reachable === true
}

/** The size of one shard of one table, and the most common tenants in it with their share of the rows. */
export type ShardSize = { range: string; bytes: number; tenants: string[]; shares: number[] }

/**
 * A query that each node runs for its own shards. The shares are the statistics of `analyze`, so the query reads no rows
 * of the tables.
 */
const shardSizes = `
  select coalesce(json_agg(json_build_object('range', s.shardminvalue, 'bytes', pg_total_relation_size(c.oid),
           'tenants', coalesce(st.most_common_vals::text::text[], '{}'), 'shares', coalesce(st.most_common_freqs, '{}'))), '[]')
  from pg_dist_shard s
  join pg_dist_placement p on p.shardid = s.shardid and p.groupid = (select groupid from pg_dist_local_group)
  join pg_class c on c.oid = to_regclass(shard_name(s.logicalrelid, s.shardid))
  left join pg_stats st on st.schemaname = c.relnamespace::regnamespace::text and st.tablename = c.relname
    and st.attname = 'tenant_id'
  where s.shardminvalue is not null`

const nodeVersion = `
  select json_build_object('postgres', current_setting('server_version'), 'citus', extversion)
  from pg_extension where extname = 'citus'`

type NodeAnswer = { nodeId: number; success: boolean; result: string }

/** Runs a query that returns one JSON value on all nodes. The value of a node that does not answer is its error. */
async function onAllNodes<Value>(owner: Owner, query: string): Promise<Map<number, Value | { error: string }>> {
  const { rows } = await owner.query<NodeAnswer>(
    'select nodeid as "nodeId", success, result from run_command_on_all_nodes($1)',
    [query],
  )
  return new Map(
    rows.map(({ nodeId, success, result }) => [
      nodeId,
      success ? (JSON.parse(result) as Value) : { error: result.split('\n')[0] ?? '' },
    ]),
  )
}

export function readShardSizes(owner: Owner): Promise<Map<number, ShardSize[] | { error: string }>> {
  return onAllNodes(owner, shardSizes)
}

export type NodeVersion = { postgres: string; citus: string }

export function readNodeVersions(owner: Owner): Promise<Map<number, NodeVersion | { error: string }>> {
  return onAllNodes(owner, nodeVersion)
}

/** `auto` copies with logical replication while writes continue. `block_writes` blocks the writes of the shard. */
export type TransferMode = 'auto' | 'block_writes'

/** Splits the shards of a tenant from those of other tenants, on the same node. Returns the new shard. */
/** Takes the lock for moves of a tenant. Returns false if another connection has the lock. */
export async function lockMove(owner: Owner, tenant: string): Promise<boolean> {
  const { rows } = await owner.query<{ locked: boolean }>(
    'select pg_try_advisory_lock(hashtextextended($1, 7287)) as locked',
    [tenant],
  )
  return rows[0]?.locked === true
}

export async function unlockMove(owner: Owner, tenant: string): Promise<void> {
  await owner.query('select pg_advisory_unlock(hashtextextended($1, 7287))', [tenant])
}

export async function isolateTenant(owner: Owner, tenantId: string, mode: TransferMode): Promise<string> {
  const { rows } = await owner.query<{ shard: string }>(
    `select isolate_tenant_to_new_shard($1::regclass, $2::text, 'CASCADE', shard_transfer_mode => $3)::text as shard`,
    [anchor, tenantId, mode],
  )
  return rows[0]?.shard ?? ''
}

type Move = { shard: string; from: ClusterNode; to: ClusterNode; mode: TransferMode }

/** Moves a shard of the anchor table and the co-located shards of all other tables to another node. */
export async function moveShard(owner: Owner, { shard, from, to, mode }: Move): Promise<void> {
  await owner.query('select citus_move_shard_placement($1::bigint, $2, $3, $4, $5, $6)', [
    ...[shard, from.host, from.port, to.host, to.port, mode],
  ])
}

/** Updates the statistics of the shards of a range. A moved shard has none, and its queries would have bad plans. */
export async function analyzeShards(owner: Owner, shard: string, { host, port }: ClusterNode): Promise<void> {
  await owner.query(
    `select master_run_on_worker(array[$2], array[$3::integer], array[(
       select 'analyze ' || string_agg(shard_name(o.logicalrelid, o.shardid), ', ')
       from pg_dist_shard s
       join pg_dist_partition sp on sp.logicalrelid = s.logicalrelid
       join pg_dist_partition op on op.colocationid = sp.colocationid
       join pg_dist_shard o on o.logicalrelid = op.logicalrelid and o.shardminvalue = s.shardminvalue
       where s.shardid = $1::bigint)], false)`,
    [shard, host, port],
  )
}

/**
 * Drops the old shards of moves. Citus drops them later, but until then their foreign keys prevent the deletion of the
 * tenant.
 */
export async function dropOldShards(owner: Owner): Promise<void> {
  await owner.query('call citus_cleanup_orphaned_resources()')
}
