import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read, utils } from '@e965/xlsx'
import { cellText } from '@millwright/api/asset-columns.ts'
import { randomCases } from '@millwright/api/test-effort.ts'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { writeCsv } from './csv.ts'
import { writeXlsx, type XlsxTable } from './xlsx-writer.ts'

const formulaStarts = ['=', '+', '-', '@', '\t', '\r', '\n', "'", '＝', ' =']
const cell = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.tuple(fc.constantFrom(...formulaStarts), fc.string({ unit: 'grapheme' })).map((parts) => parts.join('')),
    fc.constantFrom(
      '=1+1',
      '=cmd|" /C calc"!A0',
      '@SUM(1)',
      '-2',
      '+49 911',
      '00123',
      '1E5',
      'TRUE',
      '_x000D_',
      '"',
      ';',
      '',
    ),
  )
  .map(cellText)
const rows = fc.array(fc.tuple(fc.constant('row'), cell, cell), { minLength: 1, maxLength: 5 })

function tableOf(cells: readonly (readonly string[])[]): XlsxTable {
  return {
    name: 'Assets',
    headings: ['Key', 'Name', '=Sum'],
    pages: (async function* () {
      yield cells
    })(),
  }
}

async function bytesOf(parts: AsyncIterable<string | Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(parts, (part) => Buffer.from(part as Uint8Array)))
}

test('writes .xlsx files that another library reads with the same cells and without formulas', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (cells) => {
      const book = read(await bytesOf(writeXlsx(tableOf(cells))))
      const sheet = book.Sheets[book.SheetNames[0] ?? ''] ?? {}
      for (const [address, value] of Object.entries(sheet))
        if (!address.startsWith('!')) assert.deepEqual([value.f, value.t], [undefined, 's'], address)
      const found = utils.sheet_to_json<string[]>(sheet, { header: 1, defval: '', raw: true })
      assert.deepEqual(found, [['Key', 'Name', '=Sum'], ...cells])
    }),
    { numRuns: randomCases(40) },
  )
})

test('writes CSV files that another library reads, with no cell that a spreadsheet runs as a formula', async () => {
  await fc.assert(
    fc.asyncProperty(rows, async (cells) => {
      const found: string[][] = parse((await bytesOf(writeCsv(tableOf(cells)))).toString(), { bom: true })
      assert.equal(found.length, cells.length + 1)
      for (const [index, row] of found.slice(1).entries())
        for (const [column, text] of row.entries()) {
          assert.doesNotMatch(text, /^\s*[=+\-@\t\r]/)
          const original = cells[index]?.[column] ?? ''
          assert.ok(text === original || text === `'${original}`, JSON.stringify([text, original]))
        }
    }),
    { numRuns: randomCases(100) },
  )
})

test('cuts a text above the limit of a cell, and keeps the file readable', async () => {
  const book = read(await bytesOf(writeXlsx(tableOf([['row', 'x'.repeat(40_000), 'y']]))))
  const [, row] = utils.sheet_to_json<string[]>(book.Sheets.Assets ?? {}, { header: 1 })
  assert.deepEqual([row?.[1]?.length, row?.[2]], [32_767, 'y'])
})

test('continues in a further sheet if the rows exceed the limit of a sheet', async () => {
  const cells = Array.from({ length: 7 }, (_, index) => ['row', String(index), ''])
  for (const [sheetRows, sizes] of [
    [4, [3, 3, 1]],
    [8, [7]],
    [2, [1, 1, 1, 1, 1, 1, 1]],
  ] as const) {
    const book = read(await bytesOf(writeXlsx(tableOf(cells), { sheetRows })))
    const sheets = book.SheetNames.map((name) => utils.sheet_to_json<{ Name: string }>(book.Sheets[name] ?? {}))
    assert.deepEqual(
      sheets.map(({ length }) => length),
      sizes,
    )
    assert.deepEqual(
      sheets.flat().map(({ Name }) => Name),
      cells.map(([, text]) => text),
    )
  }
})
