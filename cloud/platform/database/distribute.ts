import type { Client } from 'pg'
import { StartError } from '../start-error.ts'
import {
  dropTenantKeys,
  isCitus,
  listTables,
  mainColocation,
  type PlaceRules,
  placementTargets,
  placeTable,
  repeatColumnGrants,
  schemaTransaction,
  type Table,
  type Target,
  targetPlace,
} from './cluster.ts'
import { findFaults, type TableFault } from './distribution-check.ts'
import { inForeignKeyOrder } from './foreign-key-order.ts'
import { withMigrationLock } from './migration-lock.ts'

/** The tables that `distribute` has changed. */
export type Distribution = { distributed: string[]; reference: string[] }

export type DistributeOptions = {
  rules: PlaceRules
  appRole: string
  /** Receives one line per step. */
  onProgress?: ((line: string) => void) | undefined
}

/**
 * Distributes the tables over the workers of a Citus cluster. Tables of tenants are distributed by `tenant_id` and
 * co-located. The shared tables in `rules.referenceTables` become reference tables. The other shared tables stay on the
 * coordinator. Each step is one transaction, and the steps are derived from the state of the database. After an
 * interruption, the next run therefore continues with the step that was interrupted. If a step changed a table, the
 * result is checked on all nodes.
 */
export async function distribute(owner: Client, options: DistributeOptions): Promise<Distribution> {
  if (!(await isCitus(owner))) {
    throw new StartError(
      'This server is not a Citus coordinator: create the extension citus and add its workers first.',
    )
  }
  return withMigrationLock(owner, async () => {
    const report = options.onProgress ?? (() => {})
    await undistributeLocalTables(owner, report)
    await replaceTenantKeys(owner, { ...options, place: 'plain' })
    const moved = await moveTables(owner, options.rules, report)
    const placed = await placeTables(owner, options.rules, report)
    const replaced = await replaceTenantKeys(owner, { ...options, place: 'distributed' })
    const returned = await returnTables(owner, options.rules, report)
    await deleteLeftoverRows(owner, report)
    const targets = [...moved, ...placed]
    if (targets.length + replaced + returned > 0) await checkDistribution(owner, options)
    const tablesOf = (how: Target['how']) => targets.filter((step) => step.how === how).map(({ table }) => table)
    return { distributed: tablesOf('distributed'), reference: tablesOf('reference') }
  })
}

/** Throws if the tables are not distributed as they must be, or if a shard differs from its table. */
export async function checkDistribution(owner: Client, options: DistributeOptions): Promise<void> {
  const report = options.onProgress ?? (() => {})
  let faults = await findFaults(owner, options)
  const ungranted = new Set(faults.filter(({ part }) => part === 'privileges').map(({ table }) => table))
  for (const table of ungranted) {
    await schemaTransaction(owner, () => repeatColumnGrants(owner, table))
    report(`${table}: privileges repeated on its shards`)
  }
  if (ungranted.size > 0) faults = await findFaults(owner, options)
  if (faults.length > 0) throw new StartError(describe(faults))
}

function describe(faults: readonly TableFault[]): string {
  const shown = faults.slice(0, 10).map(({ table, detail }) => `${table}: ${detail}`)
  const more = faults.length > shown.length ? `, and ${faults.length - shown.length} more` : ''
  return `The tables are not distributed correctly (${shown.join('; ')}${more}): check that all nodes run, and repeat "millwright database distribute".`
}

/**
 * Converts the local tables of Citus, and all tables that foreign keys connect with them, to plain tables. Citus creates
 * local tables if a reference table is created while other tables reference it.
 */
async function undistributeLocalTables(owner: Client, report: (line: string) => void): Promise<void> {
  for (;;) {
    const local = (await listTables(owner)).find(({ place }) => place === 'local')
    if (local === undefined) return
    await schemaTransaction(owner, async () => {
      await owner.query('select undistribute_table($1::regclass, cascade_via_foreign_keys => true)', [local.name])
    })
    report(`${local.name}: moved back to the coordinator, with all tables that foreign keys connect to it`)
  }
}

/**
 * Replaces the foreign keys to `tenants` of all tables of a place, in one transaction per table. Returns the number of
 * tables. Both tables of a foreign key must be plain, or both must be distributed.
 */
async function replaceTenantKeys(
  owner: Client,
  { rules, place, onProgress }: DistributeOptions & { place: 'plain' | 'distributed' },
): Promise<number> {
  const tables = await listTables(owner)
  if (tables.find(({ name }) => name === rules.tenantRows)?.place !== place) return 0
  const wrong = tables.filter(
    (table) => table.place === place && table.needs.includes('tenants') && targetPlace(table, rules) === 'distributed',
  )
  for (const { name } of wrong) {
    await schemaTransaction(owner, async () => {
      for (const key of await dropTenantKeys(owner, name, rules)) await owner.query(key)
    })
    if (place === 'distributed') onProgress?.(`${name}: references ${rules.tenantRows} instead of tenants`)
  }
  return wrong.length
}

/** Moves tables that must be plain back to the coordinator. Tables of tenants no longer reference them. */
async function returnTables(owner: Client, rules: PlaceRules, report: (line: string) => void): Promise<number> {
  const tables = await listTables(owner)
  const wrong = misplacedTables(tables, rules).filter((table) => targetPlace(table, rules) === 'plain')
  for (const { name } of wrong) {
    await schemaTransaction(owner, async () => {
      const keys = await dropForeignKeys(owner, name)
      await owner.query('select undistribute_table($1::regclass)', [name])
      for (const key of keys) await owner.query(key)
    })
    report(`${name}: moved to the coordinator`)
  }
  return wrong.length
}

/** Moves tables that are distributed in another way than they must be. Each table is moved in one transaction. */
async function moveTables(owner: Client, rules: PlaceRules, report: (line: string) => void): Promise<Target[]> {
  const tables = await listTables(owner)
  const wrong = misplacedTables(tables, rules).filter((table) => targetPlace(table, rules) !== 'plain')
  const targets: Target[] = []
  for (const { name } of wrong) {
    const plain = tables
      .filter((table) => !wrong.includes(table) || table.name === name)
      .map(
        (table): Table => (table.name === name ? { ...table, place: 'plain', column: null, colocation: null } : table),
      )
    const target = placementTargets(plain, rules).find(({ table }) => table === name)
    if (target === undefined) continue
    await schemaTransaction(owner, async () => {
      const keys = await dropForeignKeys(owner, name)
      await owner.query('select undistribute_table($1::regclass)', [name])
      await placeTable(owner, target, rules)
      for (const key of keys) await owner.query(key)
    })
    report(`${name}: ${kindOf(target)}`)
    targets.push(target)
  }
  return targets
}

/** Returns the tables that are distributed in another way than they must be. */
export function misplacedTables(tables: readonly Table[], rules: PlaceRules): Table[] {
  const main = mainColocation(tables)
  return tables.filter((table) => {
    if (table.place === 'plain' || table.place === 'local') return false
    const target = targetPlace(table, rules)
    if (table.place !== target) return true
    return target === 'distributed' && (table.column !== 'tenant_id' || table.colocation !== main)
  })
}

/** Drops the foreign keys of a table and those that reference it. Returns the commands that create them again. */
async function dropForeignKeys(owner: Client, table: string): Promise<string[]> {
  const { rows } = await owner.query<{ drop: string; add: string }>(
    `select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as drop,
            format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname,
                   pg_get_constraintdef(k.oid)) as add
     from pg_constraint k where k.contype = 'f' and $1::regclass in (k.conrelid, k.confrelid)`,
    [table],
  )
  for (const { drop } of rows) await owner.query(drop)
  return rows.map(({ add }) => add)
}

async function placeTables(owner: Client, rules: PlaceRules, report: (line: string) => void): Promise<Target[]> {
  const targets = placementTargets(await listTables(owner), rules)
  for (const [index, target] of targets.entries()) {
    await schemaTransaction(owner, () => placeTable(owner, target, rules))
    report(`${index + 1}/${targets.length} ${target.table}: ${kindOf(target)}`)
  }
  return targets
}

function kindOf({ how }: Target): string {
  return how === 'distributed' ? 'distributed by tenant' : 'copied to every node'
}

/**
 * Deletes the rows that the coordinator still stores after they were copied to the shards. Citus refuses this while a
 * plain table references the table, so it is the last step.
 */
async function deleteLeftoverRows(owner: Client, report: (line: string) => void): Promise<void> {
  const filled = inForeignKeyOrder(await listTables(owner)).filter(({ leftover }) => leftover)
  for (const { name } of filled.reverse()) {
    await owner.query('select truncate_local_data_after_distributing_table($1::regclass)', [name])
  }
  if (filled.length > 0) report(`Deleted the copied rows of ${filled.length} tables on the coordinator.`)
}
