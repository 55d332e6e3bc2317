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
 * Returns the fault of a statement of a store, or undefined if it has none. A distributed database requires that the
 * statement itself restricts each table of a tenant to `$1`. With a condition such as `a.tenant_id = b.tenant_id`, it
 * sends some statements to all shards, and refuses others. It also refuses some forms of inserts and updates: see
 * `statement`, `timePlus` and `firstTime`.
 */
export function faultOf(text: string, tables: ReadonlySet<string>): string | undefined {
  const flat = flatten(text)
  const fault = faultOfCommand(text, tables)
  if (fault !== undefined) return fault
  const touched = tablesOf(flat, tables)
  const inserts = insertsOf(flat, tables)
  if (inserts.length > 0 && isCopied(flat)) return 'inserts selected rows without returning or on conflict'
  if (inserts.length > 0 && isRecursiveBeforeInsert(flat)) return 'contains a recursive query before insert'
  if (isSelected(flat) && conflictClausesOf(flat).some((clause) => /\$\d/.test(clause)))
    return 'contains a parameter in on conflict of selected rows'
  const pinned = [...flat.matchAll(/tenant_id = \$1\b/g)].length
  const needed = touched.length - inserts.length
  if (pinned < needed) return `uses ${touched.join(', ')} but contains tenant_id = $1 only ${pinned} times`
  return undefined
}

/**
 * Returns the fault of a command of any database user, or undefined if it has none. Commands of the owner can use the
 * rows of all tenants. Row-level security does not apply to the owner, so its commands can insert selected rows.
 */
export function faultOfCommand(text: string, tables: ReadonlySet<string>): string | undefined {
  const flat = flatten(text)
  const unquoted = flat.replace(quoted, "''")
  if (/;\s*\S/.test(unquoted)) return 'contains several commands'
  if (conflictClausesOf(unquoted).some((clause) => mutable.test(clause)))
    return 'contains a time or a random value in on conflict'
  if (conditionalsOf(unquoted).some((expression) => mutable.test(expression)))
    return 'contains a time or a random value in coalesce or case of an update'
  if (returnedBy(unquoted).some((clause) => mutable.test(clause) || stable.test(clause)))
    return 'contains a function that is not immutable in returning'
  const incomplete = insertsOf(flat, tables).find(({ columns }) => !columns.includes('tenant_id'))
  if (incomplete !== undefined) return `inserts into ${incomplete.name} without tenant_id`
  const isChange = /\b(?:update|delete from) \w+/.test(flat) && tablesOf(flat, tables).length > 0
  if (isChange && addsColumnToTime.test(flat)) return 'adds a column to a time'
  return undefined
}

/** Matches quoted texts and names. */
const quoted = /\$(\w*)\$.*?\$\1\$|'[^']*'|"[^"]*"/g

function flatten(text: string): string {
  return text.replace(/--.*$/gm, ' ').replace(/\s+/g, ' ').toLowerCase()
}

/** Returns the tables of tenants that a statement reads or changes. A table occurs as often as the statement names it. */
function tablesOf(text: string, tables: ReadonlySet<string>): string[] {
  return [...text.matchAll(/\b(?:from|join|update|into|using) (?:only )?(\w+)|, (\w+)(?: as)? (?!from\b)\w+\b/g)]
    .map(([, first, listed]) => first ?? listed ?? '')
    .filter((name) => tables.has(name))
}

function insertsOf(text: string, tables: ReadonlySet<string>): { name: string; columns: string[] }[] {
  return [...text.matchAll(/\binsert into (\w+)(?: as \w+)? \(([^)]*)\)/g)]
    .map(([, name = '', columns = '']) => ({ name, columns: columns.split(',').map((column) => column.trim()) }))
    .filter(({ name }) => tables.has(name))
}

/** Returns whether a distributed database would insert the rows of a statement with `copy`. */
function isCopied(text: string): boolean {
  return isSelected(text) && !/\b(?:returning|on conflict)\b/.test(text)
}

function isSelected(text: string): boolean {
  return /\binsert into \w+(?: as \w+)? \([^)]*\) (?:select|with)\b/.test(text)
}

/**
 * Returns the texts of statements in a source whose number of affected rows is used, although a distributed database
 * returns the number of selected rows: each `insert … select` with `on conflict` and without `returning`.
 */
export function miscountedIn(source: string): string[] {
  const counted = new Set([...source.matchAll(countUse)].map(([, name]) => name))
  return [...source.matchAll(definition)]
    .filter(([, name]) => counted.has(name))
    .map(([, , text = '']) => flatten(text))
    .filter((text) => isSelected(text) && conflictClausesOf(text).length > 0 && returnedBy(text).length === 0)
}

/** Matches a call of `run` whose result is returned, compared or assigned. The group is the name of the statement. */
const countUse = /(?:\breturn |[=?:(]\s*)\(?(?:await )?\w+\.run\(\s*(\w+)/g

/** Matches the definition of a statement. The groups are its name and its text. */
const definition = /\bconst (\w+) = statement(?:<[^(]*>)?\(\s*(`[^`]*`|'[^']*')/g

/** Returns whether the rows of an insert come from a recursive query in front of it, which a shard cannot find. */
function isRecursiveBeforeInsert(text: string): boolean {
  if (!/^ ?with recursive\b/.test(text)) return false
  const outer = text.replace(quoted, "''")
  let depth = 0
  for (const { 0: token } of outer.matchAll(/[()]|\binsert into\b/g)) {
    if (token === 'insert into' && depth === 0) return true
    depth += token === '(' ? 1 : token === ')' ? -1 : 0
  }
  return false
}

/** Matches functions that return the current time or a random value. They are not immutable. */
const mutable =
  /\b(?:(?:now|(?:clock|statement|transaction)_timestamp|random|gen_random_uuid)\(|current_(?:date|time|timestamp)\b|localtime)/

/** Matches functions that depend on settings of the session. They are stable. */
const stable = /\b(?:to_jsonb?|(?:array|row)_to_json|jsonb?_build_\w+|jsonb?_agg|to_char|concat|concat_ws|format)\(/

/** Returns each clause `on conflict` up to `returning`, the end of a sub-statement or the end of the text. */
function conflictClausesOf(text: string): string[] {
  return [...text.matchAll(/\bon conflict\b/g)].map(({ index }) => clauseAt(text, index))
}

/** Returns each clause `returning` up to the end of its statement. */
function returnedBy(text: string): string[] {
  return [...text.matchAll(/\breturning\b/g)].map(({ index }) => clauseAt(text, index))
}

function clauseAt(text: string, start: number): string {
  const rest = text.slice(start)
  let depth = 0
  for (const { 0: token, index } of rest.matchAll(/[()]|(?<!^)\breturning\b/g)) {
    if (token === '(') depth++
    else if (depth === 0) return rest.slice(0, index)
    else if (token === ')') depth--
  }
  return rest
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
