import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Client } from 'pg'
import { type TestDatabase, testDatabase } from '../testing/server.ts'
import { openClient } from './connection.ts'
import { arrayOf, rowset } from './rowset.ts'

type Row = {
  id: string | null
  name: string | null
  place: number
  version: number
  time: string | null
  printed: string
  document: string
  detail: string | null
  hash: Uint8Array
}

const columns = {
  id: 'uuid',
  name: 'text',
  place: 'integer',
  version: 'bigint',
  time: 'timestamptz',
  printed: 'printed',
  document: 'json',
  detail: 'jsonb',
  hash: 'bytea',
} as const

const row: fc.Arbitrary<Row> = fc.record({
  id: fc.option(fc.uuid()),
  name: fc.option(fc.string({ unit: 'grapheme', maxLength: 40 })),
  place: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  version: fc.maxSafeInteger(),
  time: fc.option(
    fc
      .date({ min: new Date('1970-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
  ),
  printed: fc.jsonValue().map((value) => JSON.stringify(value).replaceAll('\\u0000', '')),
  document: fc.jsonValue().map((value) => JSON.stringify(value)),
  detail: fc.option(fc.dictionary(fc.constantFrom('a', 'b'), fc.integer()).map((value) => JSON.stringify(value))),
  hash: fc.uint8Array({ maxLength: 40 }),
})

describe('rows as statement parameters', () => {
  let database: TestDatabase
  let client: Client

  before(async () => {
    database = await testDatabase()
    client = await openClient(database.owner)
    await client.query(`set timezone = 'UTC'`)
  })

  after(async () => {
    await client.end()
    await database.leave([])
  })

  test('stores rows that are passed as parameters unchanged and in order', async () => {
    const rows = rowset<Row>(columns)
    const text = `select id, name, place, version, time, printed, document::text as document, detail::text as detail, hash
                  from ${rows.rows} where $1 = ''`
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 8 }), fc.boolean(), async (given, twice) => {
        // Equal consecutive values are tested too, because they use another code path.
        const sent = twice ? given.flatMap((one) => [one, { ...one }]) : given
        const found = await client.query(text, ['', ...rows.values(sent)])
        const expected = sent.map((one) => ({
          ...one,
          name: one.name?.replaceAll('\0', '\ufffd').toWellFormed() ?? null,
          detail: one.detail === null ? null : JSON.parse(one.detail),
          hash: Buffer.from(one.hash),
        }))
        const actual = found.rows.map((one) => ({
          ...one,
          detail: one.detail === null ? null : JSON.parse(one.detail),
        }))
        assert.deepEqual(actual, expected)
      }),
      { numRuns: 60 },
    )
  })

  test('replaces lone surrogates and NUL characters in stored rows', async () => {
    const { rows } = await client.query('select unnest($1::text[]) as text', [arrayOf('text', ['a\0b', 'c\ud800'])])
    assert.deepEqual(
      rows.map(({ text }) => text),
      ['a\ufffdb', 'c\ufffd'],
    )
  })

  test('stores lexemes that a full-text search finds, in any order and script', async () => {
    const lexemes = { prefix: 'x', lexemes: ['b', "o'hara", 'a\\b', '泵', '', '\u{1f600}', 'ä'] }
    const { rows } = await client.query(
      `select array_to_tsvector(array['xb', 'xo''hara', 'xa\\b', 'x泵', 'x', 'x\u{1f600}', 'xä']) = v as equal,
              v @@ '''xo''''ha'':* & x泵'::tsquery as found
       from unnest($1::tsvector[]) as v`,
      [arrayOf('tsvector', [lexemes])],
    )
    assert.deepEqual(rows, [{ equal: true, found: true }])
    const none = arrayOf('tsvector', [{ prefix: 'x', lexemes: [] }])
    assert.equal((await client.query('select ($1::tsvector[])[1]::text as words', [none])).rows[0].words, '')
  })

  test('refuses a row value that is not a UUID, and runs later statements normally', async () => {
    assert.throws(() => arrayOf('uuid', ['01890000-0000-7000-8000-00000000000g']), /is not a UUID/)
    assert.throws(() => arrayOf('uuid', ['short']), /is not a UUID/)
    const id = '01890000-0000-7000-8000-00000000000f'
    const { rows } = await client.query('select $1::uuid[] as ids', [arrayOf('uuid', [id, null, id])])
    assert.deepEqual(rows[0].ids, [id, null, id])
  })

  test('stores many rows and long rows', async () => {
    const long = 'ä'.repeat(700_000)
    const { rows } = await client.query('select sum(length(t)) as length from unnest($1::text[]) as t', [
      arrayOf('text', [long, 'x', long]),
    ])
    assert.equal(Number(rows[0].length), 1_400_001)
  })
})
