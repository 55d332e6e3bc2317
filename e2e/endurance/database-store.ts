import { openClient } from '@millwright/cloud/platform/database/connection.ts'
import { countDifferences } from '@millwright/cloud/services/inventory/testing.ts'
import { callerOf, until } from '../platform.ts'
import type { EnduranceLoad } from './load.ts'
import type { EnduranceSite } from './site.ts'

/** This file compares the database with the acknowledged requests after an endurance run. */

const settleMs = 300_000

/**
 * The actions whose audit entries are counted, with the operations that cause them. Each acknowledged request has one entry. The
 * assignment of an asset to a node is a relation.
 */
const auditedActions: Readonly<Record<string, readonly string[]>> = {
  'inventory.createAsset': ['inventory.createAsset'],
  'inventory.createRelation': ['inventory.createRelation', 'hierarchy.assignAssets'],
  'hierarchy.createNode': ['hierarchy.createNode'],
  'imports.uploadFile': ['imports.uploadFile'],
  'exports.createExport': ['exports.createExport'],
  'remote-access.createSession': ['remote-access.createSession'],
}

/**
 * These operations wait outside of a transaction. If their process is killed before it stores the response, a repeated request runs
 * again, and has a second entry. The identifiers of an asset prevent a second asset.
 */
const claimedActions = ['inventory.createAsset', 'remote-access.createSession']

type Row = Record<string, unknown>
type Owner = { query(sql: string, values?: unknown[]): Promise<{ rows: Row[] }> }

export type DatabaseFigures = { sizeMiB: number; auditEntries: number; events: number }

/** Waits until no write and no event is waiting. */
export async function settle(site: EnduranceSite): Promise<void> {
  await asOwner(site, (owner) =>
    until(
      'all accepted writes are applied and all audit entries are sealed',
      async () => {
        const { rows } = await owner.query(
          `select (select count(*) from operations where state = 'queued')
             + (select count(*) from audit_entries where sequence is null)
             + (select count(*) from imports where state in ('queued', 'running')) as waiting`,
        )
        return Number(rows[0]?.waiting) === 0
      },
      settleMs,
    ),
  )
}

/** Runs all checks of the database, and reports each difference as an unexpected error. */
export async function checkDatabase(
  site: EnduranceSite,
  load: EnduranceLoad,
  entriesBefore: ReadonlyMap<string, number>,
): Promise<DatabaseFigures> {
  const { outcomes } = load
  const require = (name: string, rows: readonly unknown[]) => {
    if (rows.length > 0) outcomes.unexpectedError(name, JSON.stringify(rows))
  }
  for (const { url } of site.platforms) {
    const caller = await callerOf({ baseUrl: url, access: site.replicas.access })
    const { data } = await caller.audit.verify({})
    if (!data.intact) outcomes.unexpectedError('audit chain', JSON.stringify(data))
  }
  return asOwner(site, async (owner) => {
    const rowsOf = async (sql: string, values: unknown[] = []) => (await owner.query(sql, values)).rows
    const [tenant] = await rowsOf(`select tenant_id from assets limit 1`)
    require('stored counts', await countDifferences(owner, String(tenant?.tenant_id)))
    require('assets with the same name', await rowsOf(
      'select name, count(*) from assets group by name having count(*) > 1 limit 10',
    ))
    require('failed tasks', await rowsOf(
      `select kind, key, attempts, last_error from jobs where state = 'failed' limit 10`,
    ))
    require('expired leases of tasks', await rowsOf(
      `select kind, key from jobs where state = 'running' and lease_until < now() - interval '1 minute' limit 10`,
    ))
    require('dead letters', await rowsOf('select id from event_deliveries where is_dead_letter limit 10'))
    require('applied writes that failed', await rowsOf(
      `select id, state from operations where state not in ('queued', 'finished') limit 10`,
    ))
    const entries = await countAuditEntries(owner)
    for (const [action, operations] of Object.entries(auditedActions)) {
      const stored = (entries.get(action) ?? 0) - (entriesBefore.get(action) ?? 0)
      const acknowledged = operations.reduce((sum, operation) => sum + (load.acknowledged.get(operation) ?? 0), 0)
      const repeatedAtMost = claimedActions.includes(action) ? (load.repeated.get(action) ?? 0) : 0
      if (stored < acknowledged || stored > acknowledged + repeatedAtMost)
        outcomes.unexpectedError('audit entries', `${action}: ${stored} entries, ${acknowledged} acknowledged requests`)
    }
    const [figures] = await rowsOf(
      `select pg_database_size(current_database()) / 1024 / 1024 as size, (select count(*) from audit_entries) as audit,
         (select max(last) from event_positions) as events`,
    )
    return { sizeMiB: Number(figures?.size), auditEntries: Number(figures?.audit), events: Number(figures?.events) }
  })
}

/** Returns the number of audit entries by action, of the actions that are compared with the acknowledged requests. */
export function auditEntries(site: EnduranceSite): Promise<Map<string, number>> {
  return asOwner(site, countAuditEntries)
}

async function countAuditEntries(owner: Owner): Promise<Map<string, number>> {
  const { rows } = await owner.query(
    `select action, count(*) from audit_entries where outcome = 'done' and action = any ($1) group by action`,
    [Object.keys(auditedActions)],
  )
  return new Map(rows.map(({ action, count }) => [String(action), Number(count)]))
}

/** Returns the number of connections to the database, without the connection of this check. */
export function databaseConnections(site: EnduranceSite): Promise<number> {
  return asOwner(site, async (owner) => {
    const { rows } = await owner.query(
      `select count(*) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    )
    return Number(rows[0]?.count)
  })
}

async function asOwner<Result>(site: EnduranceSite, work: (owner: Owner) => Promise<Result>): Promise<Result> {
  const owner = await openClient(site.replicas.connection)
  try {
    return await work(owner)
  } finally {
    await owner.end()
  }
}
