import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import { openClient } from '../database/connection.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { compileFilter, parseFilter, printFilter, propertyTable } from './filter.ts'
import { afterPrefix } from './prefix.ts'
import { evaluate, extraKey, filter, item, items, type Values } from './testing.ts'

describe('compiled filters', () => {
  const compiled = (text: string, options = {}) => compileFilter(parseFilter(text), items, options)

  test('passes every literal of a filter as a parameter, numbered from the given start', () => {
    assert.deepEqual(compiled(`name eq 'x' and size gt 5`), {
      sql: '(t.name = $2::text and t.size > $3::numeric)',
      values: ['x', '5'],
    })
    assert.deepEqual(compiled(`owner in ('0198A1B2-0000-7000-8000-00000000000A')`, { firstParameter: 7 }), {
      sql: 't.owner = any($7::uuid[])',
      values: [['0198a1b2-0000-7000-8000-00000000000a']],
    })
  })

  test('compares text by code point, regardless of the collation of the database', () => {
    assert.equal(compiled(`name ge 'x'`).sql, 't.name >= $2::text collate "C"')
    assert.deepEqual(compiled(`startswith(name, 'x%')`), {
      sql: '(t.name >= $2::text collate "C" and t.name < $3::text collate "C")',
      values: ['x%', 'x&'],
    })
    assert.equal(
      compiled(`name lt 'x'`, { caseInsensitive: true }).sql,
      'lower(t.name collate "default") collate "C" < lower($2::text collate "default") collate "C"',
    )
    assert.equal(compiled(`maker.name eq 'x'`).sql, `(t.document->>'maker') = $2::text`)
  })

  test('compiles a condition on array elements to an EXISTS subquery', () => {
    assert.deepEqual(compiled(`parts/any(p: p/label eq 'x' or p.weight eq 1)`), {
      sql: `exists (select from parts p where (p.tenant_id = $1 and p.thing_id = t.id) and (p.label = $2::text or p.weight = $3::numeric))`,
      values: ['x', '1'],
    })
    assert.equal(compiled('not parts/any()').sql.startsWith('not (exists (select from parts p'), true)
  })

  test('adds an indexed condition when a filter compares an array element for equality', () => {
    const label = {
      kind: 'text' as const,
      column: 'e.label',
      narrowing: { like: (text: string) => text.trim(), where: (parameter: string) => `t.id = found(${parameter})` },
    }
    const elements = {
      from: 'elements e',
      properties: propertyTable({ label, size: { kind: 'number', column: 'e.size' } }),
    }
    const table = propertyTable({ parts: { kind: 'array', elements } })
    const sqlOf = (text: string, caseInsensitive = false) =>
      compileFilter(parseFilter(text), table, { caseInsensitive })
    const exists = `exists (select from elements e where (e.label = $2::text))`
    assert.deepEqual(sqlOf(`parts/any(p: p/label eq ' x')`), {
      sql: `(t.id = found($3) and ${exists})`,
      values: [' x', 'x'],
    })
    assert.equal(sqlOf(`not parts/any(p: p/label eq ' x')`).sql, `not (t.id = found($3) and ${exists})`)
    assert.match(sqlOf(`parts/any(p: p/label eq 'x' and p/size gt 1)`).sql, /^\(t\.id = found/)
    for (const open of [
      `p/label eq 'x' or p/size gt 1`,
      `not (p/label eq 'x')`,
      `p/label ne 'x'`,
      `contains(p/label,'x')`,
    ])
      assert.doesNotMatch(sqlOf(`parts/any(p: ${open})`).sql, /found/)
    assert.doesNotMatch(sqlOf(`parts/any(p: p/label eq 'x')`, true).sql, /found/)
  })

  test('normalizes a literal that is compared with a whole value, but not a literal of `contains`', () => {
    const capital = (literal: string) => literal.slice(0, 1).toUpperCase() + literal.slice(1)
    const table = propertyTable({ type: { kind: 'text', column: 'type', normalise: capital } })
    const valuesOf = (text: string) => compileFilter(parseFilter(text), table).values
    assert.deepEqual(valuesOf(`type eq 'device'`), ['Device'])
    assert.deepEqual(valuesOf(`type in ('device', 'Asset')`), [['Device', 'Asset']])
    assert.deepEqual(valuesOf(`contains(type, 'device')`), ['%device%'])
  })

  test('accepts times with any UTC offset, and dates without a time', () => {
    const valuesOf = (literal: string) => compiled(`made ge '${literal}'`).values[0]
    assert.equal(valuesOf('2026-03-01T01:30:00.5+02:00'), '2026-02-28T23:30:00.500Z')
    assert.equal(valuesOf('2026-03-01t01:30z'), '2026-03-01T01:30:00.000Z')
    assert.equal(valuesOf('2026-03-01T00:00:00.123456Z'), '2026-03-01T00:00:00.123456Z')
    assert.equal(valuesOf('2026-03-01'), '2026-03-01T00:00:00.000Z')
  })

  const refused: [string, RegExp][] = [
    [`name eq 5`, /^Column 9: expected text in single quotes, found 5$/],
    [`size eq 'x'`, /^Column 9: expected a number without quotes, found 'x'$/],
    [`contains(size, 'x')`, /^Column 1: contains applies to text only/],
    [`active gt true`, /^Column 8: true and false have no order, expected eq or ne, found "gt"$/],
    [`active eq 'true'`, /^Column 11: expected true or false/],
    [`made lt '2026-02-30'`, /^Column 9: expected a time in single quotes/],
    [`made lt '0000-01-01'`, /^Column 9: expected a time/],
    [`made lt '0001-01-01T00:00:00+10:00'`, /^Column 9: expected a time/],
    [`made lt '2026-01-01T00:00:00'`, /^Column 9: expected a time/],
    [`made lt '2026-01-01T25:00:00Z'`, /^Column 9: expected a time/],
    [
      `owner in ('0198a1b2-0000-7000-8000-00000000000a', 'x')`,
      /^Column 51: expected a UUID in single quotes, found 'x'$/,
    ],
    [`parts eq 'x'`, /^Column 1: "parts" is an array, expected .* parts\/any\(i: …\)$/],
    [`name/any(i: i/x eq 1)`, /^Column 1: "name" is not an array/],
    [`parts/any(p: p eq 'x')`, /^Column 14: expected a property of the element: label, weight$/],
  ]
  for (const [text, detail] of refused) {
    test(`refuses the filter ${text}`, () =>
      assert.throws(() => compiled(text), { name: 'Problem', code: 'invalid_filter', message: detail }))
  }

  test('lists the filterable properties when a filter contains an unknown property', () => {
    for (const name of ['nmae', '__proto__', 'constructor', 'extras/x', 'parts/label']) {
      assert.throws(() => compiled(`${name} eq 'x'`), {
        code: 'unknown_property',
        message: `Unknown property "${name}". Properties to filter by: id, name, maker.name, code, size, active, made, owner, parts/any(…), tags/any(…), extras/<key>`,
      })
    }
    assert.throws(() => compiled(`parts/any(p: p/colour eq 'x')`), {
      code: 'unknown_property',
      message: 'Unknown property "colour". Properties to filter by: label, weight',
    })
  })
})

test('returns the next text that does not start with a prefix as the end of its range', () => {
  assert.equal(afterPrefix('ab'), 'ac')
  assert.equal(afterPrefix('a\u{10ffff}'), 'b')
  assert.equal(afterPrefix('\ud7ff'), '\ue000')
  assert.equal(afterPrefix('\uffff'), '\u{10000}')
  assert.equal(afterPrefix('\u{10ffff}'), undefined)
  assert.equal(afterPrefix(''), undefined)
})

describe('compiled filters on the database', () => {
  let hub: TestHub
  before(async () => {
    hub = await testHub()
  })
  after(() => hub[Symbol.asyncDispose]())

  test('returns exactly the matching rows for any data and filter', async () => {
    await hub.asOwner(async (owner) => {
      const { tenantId } = hub.tenant
      await owner.query(tables)
      // A database with the locale "C" only lowercases ASCII letters.
      const known = await owner.query<{ all: boolean }>(`select lower('ÄЖ' collate "default") = 'äж' as all`)
      const knowsCase = known.rows[0]?.all === true
      let telling = 0
      const property = fc.asyncProperty(
        fc.array(item, { minLength: 1, maxLength: 12 }),
        fc.array(fc.tuple(filter, fc.boolean()), { minLength: 30, maxLength: 30 }),
        async (rows, filters) => {
          await owner.query(fill, [tenantId, JSON.stringify(rows.map((row, id) => ({ ...row, id })))])
          for (const [wanted, anyCase] of filters) {
            const caseInsensitive = anyCase && knowsCase
            const expression = parseFilter(printFilter(wanted))
            const { sql, values } = compileFilter(expression, items, { caseInsensitive })
            const matches = await owner.query<{ id: number }>(
              `select id from items t where t.tenant_id = $1 and ${sql} order by id`,
              [tenantId, ...values],
            )
            const ids = matches.rows.map(({ id }) => id)
            const expected = [...rows.keys()].filter((id) =>
              evaluate(expression, rows[id] as Values, { table: items, caseInsensitive }),
            )
            assert.deepEqual(ids, expected, `${printFilter(expression)}\n${sql}\n${JSON.stringify(values)}`)
            if (ids.length > 0 && ids.length < rows.length) telling++
          }
        },
      )
      await fc.assert(property, { numRuns: 40 })
      assert.ok(telling > 200, `only ${telling} filters told rows apart`)
    })
  })

  test('uses the index of a filtered column under row-level security', async () => {
    const groups = propertyTable({
      name: { kind: 'text', column: 'g.name', nullable: false },
      id: { kind: 'uuid', column: 'g.id', nullable: false },
    })
    await hub.asOwner(async (owner) => {
      await owner.query(
        `insert into access_groups (tenant_id, id, name)
         select $1, gen_random_uuid(), 'group-' || n from generate_series(1, 5000) n`,
        [hub.tenant.tenantId],
      )
      await owner.query('analyze access_groups')
    })
    const application = await openClient(hub.database.app)
    try {
      await application.query('begin')
      if (hub.database.server.citus) await application.query(`set local citus.propagate_set_commands = 'local'`)
      await application.query(`set local app.tenant = '${hub.tenant.tenantId}'`)
      const asked = {
        name: [
          `name eq 'group-7'`,
          `name in ('group-7', 'group-8')`,
          `startswith(name, 'group-77')`,
          `name lt 'group-1001'`,
        ],
        id: [`id eq '${extraKey}'`, `id in ('${extraKey}')`],
      }
      for (const [column, filters] of Object.entries(asked)) {
        for (const text of filters) {
          const { sql, values } = compileFilter(parseFilter(text), groups)
          const { rows } = await application.query(
            `explain (format json) select id from access_groups g where g.tenant_id = $1 and ${sql}`,
            [hub.tenant.tenantId, ...values],
          )
          assert.match(JSON.stringify(rows), new RegExp(`Index Cond":"[^"]*\\b${column}\\b`), text)
        }
      }
      await application.query('rollback')
    } finally {
      await application.end()
    }
  })
})

const tables = `
  create temp table items (tenant_id uuid, id int, name text collate "C", code text collate "C" not null, size numeric,
    active boolean, made timestamptz(3), owner uuid, document json);
  create temp table parts (tenant_id uuid, thing_id int, label text collate "C", weight numeric not null);
  create temp table extras (tenant_id uuid, thing_id int, key uuid, value text collate "C");`

/** A single statement that replaces all rows, so that rows of an earlier run are never mixed with these. */
const fill = `
  with given as (select * from json_to_recordset($2::json) as g(id int, name text, "maker/name" text, code text, size numeric,
      active boolean, made timestamptz, owner uuid, parts json, tags json, "extras/${extraKey}" text)),
    no_things as (delete from items), no_parts as (delete from parts), no_extras as (delete from extras),
    new_parts as (insert into parts select $1, g.id, p.label, p.weight
      from given g, json_to_recordset(g.parts) as p(label text, weight numeric)),
    new_extras as (insert into extras select $1, id, '${extraKey}', "extras/${extraKey}" from given
      where "extras/${extraKey}" is not null)
  insert into items select $1, id, name, code, size, active, made, owner,
    json_build_object('maker', "maker/name", 'tags', (select coalesce(json_agg(t->>''), '[]') from json_array_elements(tags) t)) from given`
