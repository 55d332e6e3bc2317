import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { readMigrations } from './platform/database/migrations.ts'
import { registeredStatements } from './platform/database/statement.ts'
import { testDatabase } from './platform/testing/server.ts'
import { planFaults } from './platform/testing/statement-plans.ts'
import { faultOf, faultOfCommand, miscountedIn, tenantTables } from './platform/testing/statements.ts'
import { migrationSources } from './prepare.ts'

/**
 * These tests read all SQL of the product and refuse the forms that a distributed database cannot run. Texts that
 * depend on a request are checked when a test sends them: see `testHub`.
 */

const root = join(import.meta.dirname, '..')
const sources = globSync('{cloud,cli}/**/*.ts', { cwd: root }).filter(
  (file) => !/node_modules|\.test\.ts$|\/testing(\.ts|\/)/.test(file),
)

describe('forms of statements', () => {
  let tables: Set<string>

  before(async () => {
    tables = await tenantTables()
    for (const file of sources.filter((name) => /^cloud\/.*store\.ts$/.test(name))) await import(join(root, file))
  })

  test('every statement of a store names the tenant for each table, and has a form that can be distributed', async () => {
    const statements = registeredStatements()
    assert.ok(statements.length > 1_000)
    const wrong = statements.flatMap(({ text }) => faultOf(text, tables)?.concat(`: ${text}`) ?? [])
    assert.deepEqual(wrong, [])
  })

  const skip = process.env.MILLWRIGHT_TEST_DATABASE_URL === undefined && 'the database is not a cluster'
  test('every statement of a store runs on one shard of a cluster', { skip }, async (context) => {
    const database = await testDatabase()
    if (!database.server.citus) return context.skip('the database is not a cluster')
    const texts = registeredStatements().map(({ text }) => text)
    assert.deepEqual(await planFaults(database.app, texts), [])
  })

  test('no store uses the number of affected rows of selected rows with on conflict', () => {
    const wrong = sources.flatMap((file) =>
      miscountedIn(readFileSync(join(root, file), 'utf8')).map((text) => `${file}: ${text}`),
    )
    assert.deepEqual(wrong, [])
  })

  test('every command that is sent without a store has a form that can be distributed', () => {
    const commands = sources.flatMap((file) =>
      literalsSent(readFileSync(join(root, file), 'utf8')).map((text) => ({ file, text })),
    )
    assert.ok(commands.length > 60)
    const wrong = commands.flatMap(({ file, text }) => faultOfCommand(text, tables)?.concat(`: ${file}: ${text}`) ?? [])
    assert.deepEqual(wrong, [])
  })

  test('finds the commands in a source', () => {
    const source = `owner.query('select 1')
      await client.query<{ name: string; parts: Array<string> }>(\`update notes set a = \${value}; select 2\`, [1])`
    assert.deepEqual(literalsSent(source), ['select 1', 'update notes set a = $; select 2'])
    assert.match(faultOfCommand('begin; set local a = 1', tables) ?? '', /several commands/)
  })

  test('every command of a migration that changes rows has a form that can be distributed', async () => {
    const commands = (await readMigrations(migrationSources)).flatMap(({ module, name, text }) =>
      text
        .replace(/--.*$/gm, '')
        .split(/;\s*$/m)
        .map((part) => ({ name: `${module}/${name}`, text: part.trim() })),
    )
    const changes = commands.filter(({ text }) => /^(?:insert|update|delete|with)\b/i.test(text))
    assert.ok(changes.length > 0)
    const wrong = changes.flatMap(({ name, text }) => faultOfCommand(text, tables)?.concat(`: ${name}: ${text}`) ?? [])
    assert.deepEqual(wrong, [])
  })

  test('no migration adds a column with a constraint, because a cluster needs a separate command', async () => {
    const column = /\badd column [^,;]*\b(?:check ?\(|references|unique|primary key)/i
    const migrations = (await readMigrations(migrationSources)).filter(({ text }) => column.test(text))
    // The first release contains this migration, and could not be distributed.
    assert.deepEqual(
      migrations.map(({ module, name }) => `${module}/${name}`),
      ['onboarding/0002-reachability'],
    )
  })
})

/** Returns the texts that a source passes to `query`. An expression in a template becomes `$`. */
function literalsSent(source: string): string[] {
  const calls = /\.query(?:<[^(]*>)?\(\s*(?:'([^']*)'|`((?:[^`$]|\$(?!\{)|\$\{[^}]*\})*)`)/g
  return [...source.matchAll(calls)].map(([, plain, template]) => plain ?? template?.replace(/\$\{[^}]*\}/g, '$') ?? '')
}
