import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMigrations } from '@millwright/cloud/platform/database/migrations.ts'
import { isAtLeast } from '@millwright/cloud/platform/semantic-version.ts'
import { productVersion } from '@millwright/cloud/platform/version.ts'
import { migrationSources } from '@millwright/cloud/prepare.ts'
import { findContractions } from './contraction.ts'
import { readReleases } from './releases.ts'

const releases = [{ version: '1.2.0', commit: '', migrations: { plant: '0002-pumps' } }]
const released = {
  module: 'plant',
  name: '0001-pumps',
  text: `create table pumps (tenant_id uuid, constraint pumps_motor foreign key (motor) references motors (id));
    drop table valves`,
}
const check = (text: string) => findContractions([released, { module: 'plant', name: '0003-next', text }], releases)

test('processes of the last release can run after the migrations of this version', async () => {
  assert.deepEqual(findContractions(await readMigrations(migrationSources), readReleases()), [])
})

test('the list of releases is in order, has full commit ids and ends before the current version', () => {
  const listed = readReleases()
  assert.ok(listed.length > 0)
  for (const [index, { version, commit }] of listed.entries()) {
    const next = listed[index + 1]?.version ?? productVersion
    assert.ok(next !== version && isAtLeast(next, version), `${next} must be after ${version}`)
    assert.match(commit, /^[0-9a-f]{40}$/)
  }
})

test('accepts migrations that only add, and migrations of a release', () => {
  for (const text of [
    'create table fans (tenant_id uuid not null); alter table fans drop column a; create unique index on fans (tenant_id)',
    'alter table pumps add column a text, add column b numeric(4, 2) not null default 0',
    'alter table pumps alter column a drop not null; alter table pumps alter column a set default 1',
    'alter table pumps drop constraint pumps_tenant_id_fkey; alter table pumps drop constraint if exists pumps_motor',
    'update pumps set a = b; create index pumps_by_a on pumps (tenant_id, a); grant delete on pumps to :app_role',
    '-- This comment can say: drop table pumps;\nselect 1',
  ]) {
    assert.deepEqual(check(text), [], text)
  }
})

test('refuses migrations that remove or restrict', () => {
  const refused: Record<string, string> = {
    'drop table pumps': 'drops a table (pumps)',
    'drop index pumps_by_a': 'drops an object (drop index pumps_by_a)',
    'alter table pumps drop column a': 'drops a column (pumps)',
    'ALTER TABLE pumps\n  DROP a': 'drops a column (pumps)',
    'alter table pumps drop constraint pumps_pkey':
      'drops a key that `on conflict` of an older version can name (pumps)',
    'alter table pumps rename to fans': 'renames (pumps)',
    'alter table pumps rename column a to b': 'renames (pumps)',
    'alter index a rename to b': 'renames (alter index a rename to b)',
    'alter table pumps add column a text not null': 'adds a required column without a default (pumps)',
    'alter table pumps add a text, add b text not null': 'adds a required column without a default (pumps)',
    'alter table pumps alter column a set not null': 'makes a column required (pumps)',
    'alter table pumps alter column a drop default': 'drops the default of a column (pumps)',
    'alter table pumps alter a type text using a::text': 'changes the type of a column (pumps)',
    'alter table pumps add constraint c check (a > 0)': 'adds a constraint (pumps)',
    'alter table pumps add unique (tenant_id, a)': 'adds a constraint (pumps)',
    'create unique index a on pumps (tenant_id, a)': 'adds a unique index (pumps)',
    'delete from pumps where a is null': 'deletes rows (pumps)',
    'truncate pumps': 'deletes rows (pumps)',
    'revoke update on pumps from :app_role': 'revokes a privilege (pumps)',
    'do $$ begin if true then alter table pumps drop column a; end if; end $$': 'drops a column (pumps)',
    'do $$ begin if true then drop table pumps; end if; end $$': 'drops a table (pumps)',
  }
  for (const [text, reason] of Object.entries(refused))
    assert.deepEqual(check(text), [`plant/0003-next ${reason}`], text)
})

test('accepts a contraction only for a listed release', () => {
  assert.deepEqual(check('-- contract: 1.2.0\ndrop table pumps'), [])
  assert.deepEqual(check('-- contract: 1.3.0\ndrop table pumps'), [
    'plant/0003-next is a contraction for version 1.3.0, which releases.json does not list',
  ])
})
