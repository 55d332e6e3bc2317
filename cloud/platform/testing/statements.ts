import { referenceTables } from '../../../architecture.ts'
import { migrationSources } from '../../prepare.ts'
import { readMigrations } from '../database/migrations.ts'

/** Returns the names of all tables of the product, from its migrations. */
export async function tableNames(): Promise<string[]> {
  const migrations = await readMigrations(migrationSources)
  return migrations.flatMap(({ text }) =>
    [...text.matchAll(/create table (?:if not exists )?(\w+)/g)].map((match) => match[1] ?? ''),
  )
}

let knownTenantTables: Promise<Set<string>> | undefined

export function tenantTables(): Promise<Set<string>> {
  knownTenantTables ??= readTenantTables()
  return knownTenantTables
}

async function readTenantTables(): Promise<Set<string>> {
  const shared: readonly string[] = referenceTables
  return new Set((await tableNames()).filter((name) => !shared.includes(name)))
}

/**
 * Returns the fault of a statement, or undefined if it has none. A distributed database requires that the statement
 * itself restricts each table of a tenant to the tenant. It also refuses some forms of inserts and updates: see `statement`
 * and `nowPlus`.
 */
export function faultOf(text: string, tables: ReadonlySet<string>): string | undefined {
  const flat = text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').toLowerCase()
  const touched = [...flat.matchAll(/\b(?:from|join|update|into) (?:only )?(\w+)/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => tables.has(name))
  if (touched.length === 0) return undefined
  const inserts = [...flat.matchAll(/\binsert into (\w+)(?: as \w+)? \(([^)]*)\)/g)].filter((match) =>
    tables.has(match[1] ?? ''),
  )
  for (const [, name, columns] of inserts) {
    if (!columns?.split(',').some((column) => column.trim() === 'tenant_id'))
      return `inserts into ${name} without tenant_id`
  }
  if (inserts.length > 0 && isCopied(flat)) return 'inserts selected rows without returning or on conflict'
  if (/\b(?:update|delete from) \w+/.test(flat) && addsColumnToNow.test(flat)) return 'adds a column to now()'
  const pinned = [...flat.matchAll(/tenant_id = (?:\$1\b|\w+\.tenant_id|excluded\.tenant_id)/g)].length
  const needed = touched.length - inserts.length
  if (pinned < needed) return `touches ${touched.join(', ')} but contains tenant_id only ${pinned} times`
  if (needed > 0 && !/tenant_id = \$1\b/.test(flat)) return 'does not contain tenant_id = $1'
  return undefined
}

/** Returns whether a distributed database would insert the rows of a statement with `copy`. */
function isCopied(text: string): boolean {
  return /\binsert into \w+(?: as \w+)? \([^)]*\) select\b/.test(text) && !/\b(?:returning|on conflict)\b/.test(text)
}

/** Matches a time whose distance from now is neither a constant nor a parameter. */
const addsColumnToNow =
  /\bnow\(\) [-+] (?!(?:\$\d+(?:::\w+)? \* )?interval '|make_interval\(\w+ => (?:\$\d+(?:::\w+)?|[\d.]+)\))/
