import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { describe, test } from 'node:test'
import {
  meaninglessNames,
  modules,
  ownerConnectionUsers,
  restrictedPackages,
  sharedTables,
  testsMayAlsoImport,
} from './architecture.ts'
import { readMigrations } from './cloud/platform/database/migrations.ts'
import { migrationSources } from './cloud/prepare.ts'

const root = import.meta.dirname
const sources = globSync('**/*.{ts,tsx,js,mjs}', {
  cwd: root,
  exclude: (name) => name === 'node_modules' || name === '.millwright' || name === '.git' || name === 'dist',
})
  .filter((file) => !file.includes('node_modules/') && !file.includes('/generated/'))
  .toSorted()
const codeFiles = sources.filter((file) => !isTest(file))
const text = (file: string) => readFileSync(join(root, file), 'utf8')

const migrations = await readMigrations(migrationSources)

describe('imports', () => {
  const imports = sources.flatMap((file) => importsOf(file).map((target) => ({ file, target })))

  test('the import check finds more than 300 imports', () => assert.ok(imports.length > 300 && sources.length > 80))

  test('imports follow the rules of architecture.ts', () => {
    const wrong = imports.filter(({ file, target }) => {
      const from = moduleOf(file)
      const to = importedFile(file, target)
      if (to === undefined || from === undefined) return false
      const module = moduleOf(to)
      if (module === from || module === undefined) return false
      const allowed = [
        ...(modules[from]?.mayImport ?? []),
        ...(isTest(file) || isTestSupport(file) ? testsMayAlsoImport : []),
      ]
      return !allowed.includes(module)
    })
    assert.deepEqual(wrong, [])
  })

  test('every file is in a module, and every module has files', () => {
    const entries = ['main.ts', 'main.mjs', 'bootstrap.mjs']
    assert.deepEqual(
      sources.filter((file) => moduleOf(file) === undefined && !entries.includes(file)),
      [],
    )
    const used = new Set(sources.map(moduleOf))
    assert.deepEqual(
      Object.keys(modules).filter((module) => !used.has(module)),
      [],
    )
  })

  test('restricted packages are imported only in their folders', () => {
    const wrong = imports.filter(({ file, target }) => {
      const places = restrictedPackages[packageOf(target)]
      if (places === undefined || isTest(file) || isTestSupport(file)) return false
      if (packageOf(target) === 'pg' && ownerConnectionUsers.some((place) => file.startsWith(place))) return false
      return !places.some((place) => file.startsWith(place))
    })
    assert.deepEqual(wrong, [])
  })

  test('files have no import cycles, including type imports', () => {
    const graph = new Map(
      codeFiles.map((file) => [file, importsOf(file).flatMap((target) => importedFile(file, target) ?? [])]),
    )
    assert.deepEqual(cyclesIn(graph), [])
  })

  test('the import check finds a cycle of type imports', () => {
    const graph = new Map([
      ['a.ts', ['b.ts']],
      ['b.ts', ['c.ts']],
      ['c.ts', ['a.ts', 'd.ts']],
      ['d.ts', []],
    ])
    assert.deepEqual(cyclesIn(graph), [['a.ts', 'b.ts', 'c.ts', 'a.ts']])
    assert.deepEqual(targetsIn("import type { A } from './a.ts'\nimport { type B, b } from './b.ts'\n"), [
      './a.ts',
      './b.ts',
    ])
  })
})

describe('files', () => {
  test('files and folders do not have generic names', () => {
    const wrong = sources.filter(
      (file) =>
        file.split('/').some((part) => meaninglessNames.includes(part.replace(/\..*$/, ''))) &&
        !file.endsWith('index.html'),
    )
    assert.deepEqual(wrong, [])
  })

  test('file names are in kebab case', () => {
    assert.deepEqual(
      sources.filter((file) => !/^[a-z0-9.-]+$/.test(basename(file))),
      [],
    )
  })

  test('files have at most 700 lines', () => {
    assert.deepEqual(
      codeFiles.filter((file) => text(file).split('\n').length > 700),
      [],
    )
  })

  test('every service has a file service.ts', () => {
    const services = Object.keys(modules).filter((module) => /^cloud\/services\/./.test(module))
    assert.ok(services.length > 3)
    assert.deepEqual(
      services.filter((module) => !existsSync(join(root, module, 'service.ts'))),
      [],
    )
  })

  test('SQL is only in stores and the database module', () => {
    const allowed =
      /(store|statements?)\.ts$|^cloud\/platform\/(database|postgres|testing)\/|^cloud\/(prepare|start|pages)\.ts$|^bench\//
    const wrong = codeFiles.filter(
      (file) =>
        !allowed.test(file) &&
        /['"`]\s*((?:select|SELECT)\b.+\b(?:from|FROM)\b|insert into|update \w+ set|delete from)\b/s.test(text(file)),
    )
    assert.deepEqual(wrong, [])
  })

  test('files contain no TODO, no suppressed type errors and no skipped tests', () => {
    const marks = /\b(TODO|FIXME|XXX)\b|@ts-ignore|eslint-disable|\btest\.only\(|\.skip\(\)/
    assert.deepEqual(
      sources.filter((file) => file !== 'architecture.test.ts' && marks.test(text(file))),
      [],
    )
  })
})

describe('the README', () => {
  test('the README lists every module with its purpose', () => {
    const readme = text('README.md')
    for (const [module, { purpose }] of Object.entries(modules)) {
      assert.ok(
        readme.includes(`| \`${module}\` | ${purpose} |`),
        `README.md lacks the row for ${module}: | \`${module}\` | ${purpose} |`,
      )
    }
  })
})

describe('migrations', () => {
  const statements = migrations.flatMap(({ text: sql }) =>
    sql
      .replace(/--.*$/gm, '')
      .split(';')
      .map((part) => part.trim()),
  )
  const tables = statements.filter((sql) => /^create table/i.test(sql))
  const nameOf = (sql: string) => /create table (?:if not exists )?(\w+)/i.exec(sql)?.[1] ?? ''
  const isShared = (name: string) => (sharedTables as readonly string[]).includes(name)

  test('the migration check finds more than 10 tables', () => assert.ok(tables.length > 10 && migrations.length > 5))

  test('released migrations are unchanged, and every migration is recorded', () => {
    const recorded: Record<string, string> = JSON.parse(text('cloud/migrations.lock.json'))
    const now = Object.fromEntries(
      migrations.map(({ module, name, text: sql }) => [
        `${module}/${name}`,
        createHash('sha256').update(sql).digest('hex'),
      ]),
    )
    assert.deepEqual(
      now,
      recorded,
      'a released migration is never changed; record new ones with: node tools/record-migrations.mjs',
    )
  })

  test('every table key starts with the tenant column, except in shared tables', () => {
    const wrong = tables.filter(
      (sql) => !isShared(nameOf(sql)) && !keys(sql).every((key) => key.startsWith('tenant_id')),
    )
    assert.deepEqual(wrong.map(nameOf), [])
    assert.ok(
      tables.filter((sql) => !isShared(nameOf(sql))).every((sql) => /tenant_id uuid (not null|primary key)/.test(sql)),
    )
    assert.deepEqual(
      sharedTables.filter((name) => !tables.some((sql) => nameOf(sql) === name)),
      [],
    )
  })

  test('every table has a primary key or a replica identity, so that Citus can move its shards', () => {
    const identified = statements.flatMap((sql) => /^alter table (\w+) replica identity/i.exec(sql)?.[1] ?? [])
    const without = tables.filter((sql) => !/\bprimary key\b/i.test(sql)).map(nameOf)
    assert.deepEqual(
      without.filter((name) => !identified.includes(name)),
      [],
    )
  })

  test('every unique index starts with the tenant column', () => {
    const indexes = statements.filter((sql) => /^create unique index/i.test(sql))
    assert.ok(indexes.length > 0)
    assert.deepEqual(
      indexes.filter((sql) => !/\(\s*tenant_id\b/.test(sql)),
      [],
    )
  })

  test('foreign keys stay within a tenant or refer to shared tables', () => {
    const references = tables.flatMap((sql) => [...sql.matchAll(/foreign key \(([^)]*)\)\s+references (\w+)/gi)])
    assert.ok(references.length > 3)
    assert.deepEqual(
      references
        .filter(([, columns = '', table = '']) => !columns.startsWith('tenant_id') && !isShared(table))
        .map(([whole]) => whole),
      [],
    )
  })

  test('migrations use no triggers, functions, sequences or features newer than PostgreSQL 15', () => {
    const unwanted =
      /\b(create trigger|create( or replace)? function|create sequence|bigserial|\bserial\b|generated (always|by default) as identity|uuidv7\s*\()/i
    assert.deepEqual(
      statements.filter((sql) => unwanted.test(sql)),
      [],
    )
  })

  test('times are stored in milliseconds, as programs read them', () => {
    // A released migration does not change.
    const released = ['accepted_at timestamptz not null']
    const precise = statements.flatMap((sql) =>
      /^(create|alter) table/i.test(sql)
        ? [...sql.matchAll(/\w+ timestamptz(?!\(3\))[^,;)\n]*/g)].map(([part]) => part)
        : [],
    )
    assert.deepEqual(precise, released)
  })

  test('text columns in keys use the collation C', () => {
    const indexed = statements.filter((sql) => /\btext\b(?! collate "C")/.test(sql) && /primary key|unique/.test(sql))
    const wrong = indexed.flatMap((sql) => {
      const keyColumns = keys(sql).flatMap((key) => key.split(',').map((part) => part.trim()))
      return [...sql.matchAll(/^\s*(\w+) text(?! collate "C")/gm)]
        .map(([, column = '']) => column)
        .filter((column) => keyColumns.includes(column))
    })
    assert.deepEqual(wrong, [])
  })
})

describe('tests', () => {
  test('no group of tests is created asynchronously', () => {
    // The test runner assigns tests to their group by promises only while it loads a file (see tools/test-hook.ts). Tests that
    // an asynchronous group creates later could be lost.
    const group = /\b(?:describe|suite)(?:\.\w+)?\(\s*(?:'[^']*'|"[^"]*"|`[^`]*`)\s*,\s*(?:\{[^}]*\}\s*,\s*)?async\b/
    assert.ok(group.test(`describe('one', { skip }, ${'async'} () => {})`))
    assert.deepEqual(
      sources.filter((file) => isTest(file) && group.test(text(file))),
      [],
    )
  })
})

describe('dependencies', () => {
  test('the lock file contains no download addresses', () => {
    const lock: { packages: Record<string, { resolved?: string; link?: boolean }> } = JSON.parse(
      text('package-lock.json'),
    )
    const addressed = Object.entries(lock.packages).filter(
      ([, entry]) => entry.link !== true && /^https?:/.test(entry.resolved ?? ''),
    )
    assert.deepEqual(addressed, [])
    assert.ok(Object.keys(lock.packages).length > 50)
  })

  test('every import is declared in the package that uses it', () => {
    const workspaces: string[] = JSON.parse(text('package.json')).workspaces
    const missing = workspaces.flatMap((workspace) => {
      const manifest = JSON.parse(text(join(workspace, 'package.json')))
      const declared = Object.keys({
        ...manifest.dependencies,
        ...manifest.devDependencies,
        ...manifest.optionalDependencies,
      })
      const used = sources
        .filter((file) => file.startsWith(`${workspace}/`))
        .flatMap((file) =>
          importsOf(file)
            .filter((target) => /^[@a-z]/.test(target) && !/^(node|virtual):/.test(target))
            .map(packageOf),
        )
      return [...new Set(used)]
        .filter((name) => !declared.includes(name) && name !== manifest.name)
        .map((name) => `${workspace}: ${name}`)
    })
    assert.deepEqual(missing, [])
  })
})

function isTest(file: string): boolean {
  return /\.test\.ts$/.test(file)
}

/** Whether a file is used only by tests. */
function isTestSupport(file: string): boolean {
  return file.endsWith('/testing.ts') || file.startsWith('cloud/platform/testing/') || file.startsWith('e2e/')
}

function moduleOf(file: string): string | undefined {
  if (/^architecture(\.test)?\.ts$/.test(file)) return 'architecture'
  return Object.keys(modules)
    .filter((module) => file.startsWith(`${module}/`))
    .toSorted((a, b) => b.length - a.length)[0]
}

function importsOf(file: string): string[] {
  return targetsIn(text(file))
}

/** The imports of a file, including types. */
function targetsIn(source: string): string[] {
  const code = source.replace(/\/\*[\s\S]*?\*\//g, '')
  const found = [
    ...code.matchAll(/^(?:import|export)\s+(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"]/gm),
    ...code.matchAll(/\bimport\(['"]([^'"]+)['"]\)/g),
  ]
  return found.map(([, target = '']) => target)
}

/** The file of this repository that an import refers to. */
function importedFile(file: string, target: string): string | undefined {
  const own = /^@millwright\/([^/]+)\/(.+)$/.exec(target)
  if (own !== null) return `${own[1]}/${own[2]}`
  return target.startsWith('.') ? relative(root, normalize(join(root, dirname(file), target))) : undefined
}

function packageOf(target: string): string {
  return target
    .split('/')
    .slice(0, target.startsWith('@') ? 2 : 1)
    .join('/')
}

/** The columns of every primary and unique key of a table. */
function keys(sql: string): string[] {
  const listed = [...sql.matchAll(/(?:primary key|unique(?: nulls not distinct)?)\s*\(([^)]*)\)/gi)].map(
    ([, columns = '']) => columns.trim(),
  )
  const inline = [
    ...sql
      .slice(sql.indexOf('(') + 1)
      .matchAll(/^\s*(\w+) [^,()]*(?:\([^)]*\))?[^,]*\b(?:primary key|unique)\b(?!\s*(?:nulls not distinct\s*)?\()/gim),
  ].map(([, column = '']) => column)
  return [...listed, ...inline.filter((column) => column !== 'constraint')]
}

function cyclesIn(graph: ReadonlyMap<string, string[]>): string[][] {
  const cycles: string[][] = []
  const done = new Set<string>()
  const visit = (file: string, path: string[]) => {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file])
    if (start >= 0 || done.has(file)) return
    for (const next of graph.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of graph.keys()) visit(file, [])
  return cycles
}
