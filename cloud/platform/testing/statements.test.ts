import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstTime, timePlus } from '../database/statement.ts'
import { faultOf, miscountedIn } from './statements.ts'

const tables = new Set(['notes'])

const upsert = 'insert into notes (tenant_id, id) values ($1, $2) on conflict (tenant_id, id)'

const faults: [string, RegExp][] = [
  ['select id from notes where id = $2', /only 0 times/],
  ['select n.id from notes n join notes m on m.tenant_id = n.tenant_id where n.tenant_id = $1', /only 1 times/],
  ['select n.id from unnest($2::uuid[]) as r (id), notes n where n.id = r.id', /only 0 times/],
  ['delete from notes n using notes m where n.tenant_id = $1 and m.id = n.id', /only 1 times/],
  ['select 1; select 2', /several commands/],
  [
    'insert into notes (tenant_id, id) select $1, id from unnest($2::uuid[]) as r (id) on conflict (tenant_id, id) do update set a = $3',
    /parameter in on conflict/,
  ],
  [
    'with recursive up as (select $2::uuid as id) insert into notes (tenant_id, id) select $1, id from up on conflict do nothing',
    /recursive query before insert/,
  ],
  ['insert into notes (id) values ($1)', /without tenant_id/],
  ['insert into notes (tenant_id, id)\n select $1, id from unnest($2::uuid[]) as r (id)', /without returning/],
  ['update notes set until = now() + duration where tenant_id = $1', /adds a column/],
  ['update notes set until = now() + make_interval(secs => seconds) where tenant_id = $1', /adds a column/],
  [`update notes set until = now() + ($2::int[])[place] * interval '1 second' where tenant_id = $1`, /adds a column/],
  ['update notes set until = $2::timestamptz - make_interval(days => days) where tenant_id = $1', /adds a column/],
  [`${upsert} do update set made_at = now()`, /in on conflict/],
  [`${upsert} do update set text = excluded.text where notes.until < clock_timestamp() returning id`, /in on conflict/],
  [`with put as (${upsert} do update set made_at = now()) select 1`, /in on conflict/],
  ['insert into keys (id) values ($1) on conflict (id) do update set made_at = now()', /in on conflict/],
  ['update notes set text = $2 where tenant_id = $1 returning id, to_json(tags) as tags', /in returning/],
  [`with put as (${upsert} do nothing returning now()) select 1`, /in returning/],
  ['update notes set made_at = coalesce(made_at, now()) where tenant_id = $1', /coalesce or case/],
  [
    'update notes n set made_at = case when $2 then (now()) else n.made_at end where n.tenant_id = $1',
    /coalesce or case/,
  ],
  ['update notes set made_at = least($2, coalesce(until, (select now()))) where tenant_id = $1', /coalesce or case/],
  [
    `update notes set text = ')', "end" = $2, made_at = coalesce(made_at, now()) where tenant_id = $1`,
    /coalesce or case/,
  ],
  ['delete from notes where tenant_id = $1 and coalesce(until, current_timestamp) < $2', /coalesce or case/],
  [
    'with due as (select $1::uuid as id) update notes set made_at = coalesce(made_at, now()) where tenant_id = $1',
    /coalesce or case/,
  ],
]
for (const [text, message] of faults)
  test(`finds the fault of "${text.replace(/\s+/g, ' ')}"`, () => assert.match(faultOf(text, tables) ?? '', message))

const valid = [
  'insert into notes (tenant_id, id) select $1, id from unnest($2::uuid[]) as r (id) returning id',
  'select 1, notes from (select 1 as notes) as n;',
  'do $$ begin perform 1; perform 2; end $$',
  'insert into notes (tenant_id, id) select $1, $2 on conflict (tenant_id, id) do nothing',
  'insert into notes (tenant_id, id) with recursive up as (select $2::uuid as id) select $1, id from up on conflict do nothing',
  'insert into notes (tenant_id, id) values ($1, (select max(id) from notes where tenant_id = $1))',
  `update notes set until = now() + $2 * interval '1 second' where tenant_id = $1`,
  `delete from notes where tenant_id = $1 and made_at < now() - interval '1 day'`,
  'update notes set until = now() + make_interval(secs => $2::integer) where tenant_id = $1',
  `${upsert} do update set made_at = excluded.made_at`,
  `with put as (${upsert} do nothing returning id) select id, now() from put`,
  `with put as (${upsert} do nothing) select now()`,
  'insert into notes (tenant_id, made_at) values ($1, coalesce($2, now())) on conflict do nothing',
  'select coalesce(until, now()) from notes where tenant_id = $1 for update',
  `update notes set made_at = ${firstTime('made_at')} where tenant_id = $1`,
  `update notes set text = coalesce($2, 'now()') where tenant_id = $1`,
  'update notes set made_at = now(), text = coalesce($2, text) where tenant_id = $1',
  'delete from notes where tenant_id = $1 and until < (select coalesce($2, now()))',
  'with gone as (delete from notes where tenant_id = $1 returning id) select coalesce($2, now()) from gone',
  `update notes set until = ${timePlus('now()', 'make_interval(secs => seconds)')} where tenant_id = $1`,
]
for (const text of valid) test(`finds no fault in "${text}"`, () => assert.equal(faultOf(text, tables), undefined))

const selected =
  'insert into notes (tenant_id, id) select $1, id from unnest($2::uuid[]) as r (id) on conflict do nothing'
const uses: [use: string, text: string, isFault: boolean][] = [
  ['return tx.run(add, ids)', selected, true],
  ['return (await tx.run(add, ids)) > 0', selected, true],
  ['const added = await handle.run(\n    add, ids)', selected, true],
  ['return ids.length === 0 ? 0 : tx.run(add, ids)', selected, true],
  ['if (ids.length > 0) await tx.run(add, ids)', selected, false],
  ['await Promise.all([ids.length > 0 && tx.run(add, ids)])', selected, false],
  ['return (await tx.rows(add, ids)).length', `${selected} returning id`, false],
  ['return tx.run(add, id)', 'insert into notes (tenant_id, id) values ($1, $2) on conflict do nothing', false],
]
for (const [use, text, isFault] of uses)
  test(`${isFault ? 'refuses' : 'accepts'} "${use.replace(/\s+/g, ' ')}" for "${text}"`, () => {
    const source = `const add = statement<{ id: string }>(\n  \`${text}\`,\n)\n  ${use}`
    assert.equal(miscountedIn(source).length, isFault ? 1 : 0)
  })
