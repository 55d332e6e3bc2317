import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type CsvRow, parseCsv, printCsvRow } from './csv.ts'

const options = {
  invalid: (line: number, detail: string) => new RangeError(`Line ${line}: ${detail}`),
  yieldTurn: () => undefined,
  limits: { rows: 1_000, cells: 20, characters: 1_000 },
}

function rowsIn(text: string, limits = options.limits): Promise<CsvRow[]> {
  return Array.fromAsync(parseCsv(text, { ...options, limits }))
}

async function cellsIn(text: string): Promise<string[][]> {
  return (await rowsIn(text)).map(({ cells }) => cells)
}

/** Texts with many of the characters that CSV treats specially. */
const cell = fc.string({
  unit: fc.constantFrom(...'a \u00a0\u200b\ufeff",;\n\r\t\'=-＝/\\ü😀'),
})

test('reads every printed table', async () => {
  const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(table, async (rows) => {
      const printed = [['Path', 'Type', 'third'], ...rows]
      const filled = printed.filter((row) => row.some((value) => value !== ''))
      assert.deepEqual(await cellsIn(printed.map(printCsvRow).join('')), filled)
    }),
    { numRuns: 500 },
  )
})

test('reads any text, or names the line that is invalid', async () => {
  await fc.assert(
    fc.asyncProperty(cell, async (text) => {
      try {
        await rowsIn(text)
      } catch (error) {
        assert.ok(error instanceof RangeError)
        assert.match(error.message, /^Line \d+: (?:a quotation mark is not closed|text follows the closing)/)
      }
    }),
    { numRuns: 1_000 },
  )
})

for (const [what, text, expected] of [
  [
    'semicolons',
    'Path;Type\r\na;b\r\n',
    [
      ['Path', 'Type'],
      ['a', 'b'],
    ],
  ],
  ['a byte order mark and no last line end', '\ufeffPath\nä', [['Path'], ['ä']]],
  [
    'separators in the quoted header',
    '"Path",Type,"Property: a;b;c;d"\n1,2,3\n',
    [
      ['Path', 'Type', 'Property: a;b;c;d'],
      ['1', '2', '3'],
    ],
  ],
  [
    'empty lines and an empty last cell',
    'Path,Type\n\n,\na,\n',
    [
      ['Path', 'Type'],
      ['a', ''],
    ],
  ],
  ['a quotation mark within a cell', 'Path\n5" pipe\n', [['Path'], ['5" pipe']]],
] as const)
  test(`reads a file with ${what}`, async () => {
    assert.deepEqual(await cellsIn(text), expected)
  })

test('counts the lines of cells with line breaks', async () => {
  const rows = await rowsIn('Path\n"a\nb"\n\nc\n')
  assert.deepEqual(
    rows.map(({ line }) => line),
    [1, 2, 5],
  )
  await assert.rejects(rowsIn('Path\n"a\nb"x\n'), /^RangeError: Line 2: text follows/)
})

test('refuses more rows, cells or characters than the limits allow', async () => {
  const limits = { rows: 2, cells: 3, characters: 4 }
  const parse = (text: string) => rowsIn(text, limits)
  assert.equal((await parse('a,b,c\n1234,,\n')).length, 2)
  await assert.rejects(parse('a\nb\nc\nd\n'), /^RangeError: Line 4: the file has more than 2 rows/)
  await assert.rejects(parse('a,b,c,d\n'), /^RangeError: Line 1: the row has more than 3 cells/)
  await assert.rejects(parse('12345\n'), /^RangeError: Line 1: a cell has more than 4 characters/)
  await assert.rejects(parse('a\n\n\n,,\n'), /^RangeError: Line 4: the file has more than 2 rows/)
  assert.deepEqual((await parse('"1""3""",\n'))[0]?.cells, ['1"3"', ''])
  // A quoted cell is refused before its end, so a cell without a closing mark is refused because of its length.
  await assert.rejects(parse(`"${'""'.repeat(10)}`), /^RangeError: Line 1: a cell has more than 4 characters/)
})

for (const start of ['\n', '\r', '\t', '', ' ', '\u00a0', '\u200b', '\ufeff'])
  for (const formula of ['=1+1', '＝1', '＋1', '－1', '＠a'])
    test(`protects the formula ${formula} after ${JSON.stringify(start)} with an apostrophe`, async () => {
      const printed = printCsvRow([`${start}${formula}`, 'a'])
      assert.match(printed, /^"?'/)
      assert.deepEqual(await cellsIn(printed), [[`${start}${formula}`, 'a']])
    })
