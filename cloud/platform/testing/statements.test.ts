import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nowPlus } from '../database/statement.ts'
import { faultOf } from './statements.ts'

const tables = new Set(['notes'])

const faults: [string, RegExp][] = [
  ['select id from notes where id = $2', /only 0 times/],
  ['insert into notes (id) values ($1)', /without tenant_id/],
  ['insert into notes (tenant_id, id)\n select $1, id from unnest($2::uuid[]) as r (id)', /without returning/],
  ['update notes set until = now() + duration where tenant_id = $1', /adds a column/],
  ['update notes set until = now() + make_interval(secs => seconds) where tenant_id = $1', /adds a column/],
  [`update notes set until = now() + ($2::int[])[place] * interval '1 second' where tenant_id = $1`, /adds a column/],
]
for (const [text, message] of faults)
  test(`finds the fault of "${text.replace(/\s+/g, ' ')}"`, () => assert.match(faultOf(text, tables) ?? '', message))

const valid = [
  'insert into notes (tenant_id, id) select $1, id from unnest($2::uuid[]) as r (id) returning id',
  'insert into notes (tenant_id, id) select $1, $2 on conflict (tenant_id, id) do nothing',
  'insert into notes (tenant_id, id) values ($1, (select max(id) from notes where tenant_id = $1))',
  `update notes set until = now() + $2 * interval '1 second' where tenant_id = $1`,
  `delete from notes where tenant_id = $1 and made_at < now() - interval '1 day'`,
  'update notes set until = now() + make_interval(secs => $2::integer) where tenant_id = $1',
  `update notes set until = ${nowPlus('make_interval(secs => seconds)')} where tenant_id = $1`,
]
for (const text of valid) test(`finds no fault in "${text}"`, () => assert.equal(faultOf(text, tables), undefined))
