import { allVersions, compatibleWith } from '@millwright/cloud/platform/database/compatibility.ts'
import type { Migration } from '@millwright/cloud/platform/database/migrations.ts'
import { splitCommands } from '@millwright/cloud/platform/database/sql-commands.ts'
import { isReleased, type Release } from './releases.ts'

/**
 * This file checks that processes of the last release can run after the migrations of this version. A migration that is
 * not released may only add to released tables. A migration that removes or restricts is a contraction. Its file must name
 * a listed release that does not use what the migration removes, in the line `-- contract: <version>`. Tables that no
 * release contains may change in any form.
 */

type MigrationFile = Pick<Migration, 'module' | 'name' | 'text'>

const constraintKinds = '(?:primary key|unique|foreign key|check|exclude)'

/** The forms of one action of `alter table` that older processes do not survive. The first form that matches applies. */
const actionForms: { form: RegExp; reason: string }[] = [
  { form: /^drop constraint\b/, reason: 'drops a key that `on conflict` of an older version can name' },
  { form: /^drop\b/, reason: 'drops a column' },
  { form: /^rename\b/, reason: 'renames' },
  { form: /^set schema\b/, reason: 'moves a table' },
  { form: new RegExp(`^add (?:constraint \\S+ )?${constraintKinds}\\b`), reason: 'adds a constraint' },
  { form: /^add (?!.*\b(?:default|generated)\b).*\bnot null\b/, reason: 'adds a required column without a default' },
  { form: /^alter .*\bset not null\b/, reason: 'makes a column required' },
  { form: /^alter .*\bdrop (?:default|expression|identity)\b/, reason: 'drops the default of a column' },
  { form: /^alter (?:column )?\S+ (?:set data )?type\b/, reason: 'changes the type of a column' },
]

/** The forms of other statements. The group `table`, if it exists, is the table that the statement changes. */
const statementForms: { form: RegExp; reason: string }[] = [
  { form: /\bdrop table (?:if exists )?(?<table>\w+)/, reason: 'drops a table' },
  { form: /^(?:.* )?drop (?!table)\w+/, reason: 'drops an object' },
  { form: /\balter (?!table|column)\w+ .*\brename\b/, reason: 'renames' },
  { form: /\balter (?:domain|policy|type)\b/, reason: 'changes a type or a policy' },
  { form: /\bcreate unique index .*\bon (?<table>\w+)/, reason: 'adds a unique index' },
  { form: /\bdelete from (?<table>\w+)/, reason: 'deletes rows' },
  { form: /\btruncate (?:table )?(?<table>\w+)/, reason: 'deletes rows' },
  { form: /\brevoke .*\bon (?:table )?(?<table>\w+)/, reason: 'revokes a privilege' },
]

/** Returns a sentence for each contraction that is not allowed. */
export function findContractions(migrations: readonly MigrationFile[], releases: readonly Release[]): string[] {
  const versions = releases.map(({ version }) => version)
  const pending = migrations.filter((migration) => !isReleased(migration, releases))
  const context = {
    created: new Set(pending.flatMap(({ text }) => statementsOf(text).flatMap(createdTables))),
    relaxing: new Set(migrations.flatMap(({ text }) => relaxingConstraints(text))),
  }
  return pending.flatMap(({ module, name, text }) => {
    const version = compatibleWith(text)
    if (versions.includes(version)) return []
    if (version !== allVersions) {
      return [`${module}/${name} is a contraction for version ${version}, which releases.json does not list`]
    }
    return statementsOf(text).flatMap((sql) => reasonsOf(sql, context).map((reason) => `${module}/${name} ${reason}`))
  })
}

/** Returns the commands of a migration in lower case, with single spaces. The commands of a `do` block are separate commands. */
function statementsOf(text: string): string[] {
  return splitCommands(text)
    .flatMap((command) => (/^do\b/i.test(command) ? splitCommands(command.replaceAll('$$', ' ')) : [command]))
    .map((sql) => sql.replace(/\s+/g, ' ').trim().toLowerCase())
}

function createdTables(sql: string): string[] {
  const table = /\bcreate table (?:if not exists )?(\w+)/.exec(sql)?.[1]
  return table === undefined ? [] : [table]
}

/** Returns the names of foreign keys and checks. Older processes can run without them, because no statement names them. */
function relaxingConstraints(text: string): string[] {
  const declared = text.toLowerCase().matchAll(/\bconstraint (\w+)\s+(?:foreign key|check)\b/g)
  return [...declared].map(([, name = '']) => name)
}

type CheckContext = {
  /** The tables that no release contains. */
  created: ReadonlySet<string>
  relaxing: ReadonlySet<string>
}

function reasonsOf(sql: string, { created, relaxing }: CheckContext): string[] {
  const alter = /\balter table (?:if exists )?(?:only )?(\w+) (.*)$/.exec(sql)
  if (alter !== null) {
    const [, table = '', actions = ''] = alter
    if (created.has(table)) return []
    return splitActions(actions)
      .filter((action) => !isRelaxing(action, relaxing))
      .flatMap((action) => actionForms.find(({ form }) => form.test(action)) ?? [])
      .map(({ reason }) => `${reason} (${table})`)
  }
  for (const { form, reason } of statementForms) {
    const match = form.exec(sql)
    if (match === null) continue
    const table = match.groups?.table
    return table !== undefined && created.has(table) ? [] : [`${reason} (${table ?? sql.slice(0, 60)})`]
  }
  return []
}

/** Returns whether an action drops a foreign key or a check. Without a name, they have the suffixes of PostgreSQL. */
function isRelaxing(action: string, relaxing: ReadonlySet<string>): boolean {
  const name = /^drop constraint (?:if exists )?(\w+)/.exec(action)?.[1]
  return name !== undefined && (relaxing.has(name) || /_(?:fkey|check)\d*$/.test(name))
}

/** Splits the actions of `alter table` at the commas outside parentheses. */
function splitActions(actions: string): string[] {
  return actions.split(/,(?![^(]*\))/).map((action) => action.trim())
}
