import { sharedTables } from '../../../architecture.ts'
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
  const shared: readonly string[] = sharedTables
  return new Set((await tableNames()).filter((name) => !shared.includes(name)))
}

/**
 * Returns the fault of a statement, or undefined if it has none. A distributed database requires that the statement
 * itself restricts each table of a tenant to the tenant. It also refuses some forms of inserts and updates: see
 * `statement`, `timePlus` and `firstTime`.
 */
export function faultOf(text: string, tables: ReadonlySet<string>): string | undefined {
  const flat = text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').toLowerCase()
  const unquoted = flat.replace(/'[^']*'|"[^"]*"/g, "''")
  if (conflictClausesOf(unquoted).some((clause) => mutable.test(clause)))
    return 'contains a time or a random value in on conflict'
  if (conditionalsOf(unquoted).some((expression) => mutable.test(expression)))
    return 'contains a time or a random value in coalesce or case of an update'
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
  if (/\b(?:update|delete from) \w+/.test(flat) && addsColumnToTime.test(flat)) return 'adds a column to a time'
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

/** Matches functions that return the current time or a random value. They are not immutable. */
const mutable =
  /\b(?:(?:now|(?:clock|statement|transaction)_timestamp|random|gen_random_uuid)\(|current_(?:date|time|timestamp)\b|localtime)/

/** Returns each clause `on conflict` up to `returning`, the end of a sub-statement or the end of the text. */
function conflictClausesOf(text: string): string[] {
  return [...text.matchAll(/\bon conflict\b/g)].map(({ index }) => {
    let depth = 0
    for (const token of text.slice(index).matchAll(/[()]|\breturning\b/g)) {
      if (token[0] === '(') depth++
      else if (depth === 0) return text.slice(index, index + token.index)
      else if (token[0] === ')') depth--
    }
    return text.slice(index)
  })
}

/** Matches parentheses, the limits of `case`, and the first words of commands. `for update` and `do update` are none. */
const structure = /\bcoalesce ?\(|[()]|\b(?:case|end|select|insert|delete)\b|(?<!\b(?:do|for|key) )\bupdate\b/g

/** Returns the expressions `coalesce` and `case` of updates and deletions, except those in a `select` inside them. */
function conditionalsOf(text: string): string[] {
  const expressions: string[] = []
  let command = ''
  const open: { token: string; start: number; command: string }[] = []
  for (const { 0: token, index } of text.matchAll(structure)) {
    if (token === ')' || token === 'end') {
      const opened = open.pop()
      if (opened === undefined) break
      command = opened.command
      const isConditional = opened.token !== '(' && (command === 'update' || command === 'delete')
      if (isConditional) expressions.push(text.slice(opened.start, index))
    } else if (token === 'case' || token.endsWith('(')) open.push({ token, start: index, command })
    else command = token
  }
  return expressions
}

/** Matches the sum of a time and an interval that is neither a constant nor a parameter. */
const addsColumnToTime =
  /(?:\bnow\(\)|::timestamptz) [-+] (?!(?:\$\d+(?:::\w+)? \* )?interval '|make_interval\(\w+ => (?:\$\d+(?:::\w+)?|[\d.]+)\))/
