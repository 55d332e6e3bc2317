import type { Owner } from '@millwright/cloud/platform/tenants/tenants.ts'

/**
 * This file contains the read-only queries of the support archive. They run as the owner of the database. They read no
 * assets, users and secrets.
 */

const statementsShown = 50
const indexesShown = 50

/** Limits the time of the following statements, so that a busy database does not delay the archive. */
export async function limitStatements(owner: Owner, ms: number): Promise<void> {
  await owner.query(`select set_config('statement_timeout', $1, false)`, [String(ms)])
}

/** Returns the sizes of all tables, with rows that a vacuum has not removed yet. */
export async function readTables(owner: Owner) {
  const { rows } = await owner.query(
    `select s.relname as name, pg_total_relation_size(s.relid)::float8 as "totalBytes",
            pg_relation_size(s.relid)::float8 as "tableBytes", pg_indexes_size(s.relid)::float8 as "indexBytes",
            s.n_live_tup::float8 as "liveRows", s.n_dead_tup::float8 as "deadRows",
            s.seq_scan::float8 as "sequentialScans", s.idx_scan::float8 as "indexScans",
            greatest(s.last_vacuum, s.last_autovacuum) as "lastVacuum",
            greatest(s.last_analyze, s.last_autoanalyze) as "lastAnalyze"
     from pg_stat_user_tables s where s.schemaname = current_schema() order by 2 desc`,
  )
  return rows
}

export async function readIndexes(owner: Owner) {
  const { rows } = await owner.query(
    `select indexrelname as name, relname as "table", pg_relation_size(indexrelid)::float8 as bytes,
            idx_scan::float8 as scans
     from pg_stat_user_indexes where schemaname = current_schema() order by 3 desc limit $1`,
    [indexesShown],
  )
  return rows
}

/** Returns the state of the connections to the database, without the texts of their statements. */
export async function readConnections(owner: Owner) {
  const { rows } = await owner.query(
    `select application_name as application, state, wait_event_type as "waitType", wait_event as "waitEvent",
            count(*)::integer as connections,
            max(extract(epoch from now() - xact_start))::float8 as "longestTransactionSeconds"
     from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
     group by 1, 2, 3, 4 order by 5 desc limit 100`,
  )
  return rows
}

export async function readServerSettings(owner: Owner) {
  const { rows } = await owner.query(
    `select name, setting, unit from pg_settings
     where name in ('server_version', 'max_connections', 'shared_buffers', 'work_mem', 'effective_cache_size',
                    'maintenance_work_mem', 'autovacuum', 'max_wal_size', 'random_page_cost', 'synchronous_commit',
                    'shared_preload_libraries', 'TimeZone') order by name`,
  )
  return rows
}

/** Returns whether the extension pg_stat_statements is installed. */
export async function hasStatementStatistics(owner: Owner): Promise<boolean> {
  const { rows } = await owner.query(`select from pg_extension where extname = 'pg_stat_statements'`)
  return rows.length > 0
}

/** Returns the statements with the most time. The extension replaces most values by parameters. */
export async function readSlowStatements(owner: Owner): Promise<{ text: string }[]> {
  const { rows } = await owner.query<{ text: string }>(
    `select query as text, calls::float8 as calls, total_exec_time::float8 as "totalMs",
            mean_exec_time::float8 as "meanMs", max_exec_time::float8 as "longestMs", rows::float8 as rows
     from pg_stat_statements
     where dbid = (select oid from pg_database where datname = current_database())
     order by total_exec_time desc limit $1`,
    [statementsShown],
  )
  return rows
}

/** Returns all gateways with their states. Keys and enrolment tokens are not read. */
export async function readGateways(owner: Owner) {
  const { rows } = await owner.query(
    `select t.name as tenant, g.name, g.software_version as version, g.enrolled_at as "enrolledAt",
            g.revoked_at as "revokedAt", g.last_seen_at as "lastSeenAt", g.reachability
     from gateways g join tenants t on t.id = g.tenant_id order by t.name, g.name limit 2000`,
  )
  return rows
}
