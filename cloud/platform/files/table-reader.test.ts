import assert from 'node:assert/strict'
import { fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { importLimits } from '@millwright/api/import-limits.ts'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { writeXlsx } from 'hucre/xlsx'
import { openFile } from './table.ts'
import { TableReader } from './table-reader.ts'
import { temporaryFile } from './testing.ts'
import { writeXlsx as writeTable } from './xlsx-writer.ts'
import { zipParts } from './zip-writer.ts'

const contentTypes = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
const relations = (type: string, target: string) =>
  `<Relationships><Relationship Id="rId1" Type="http://x/${type}" Target="${target}"/></Relationships>`

/** Returns a workbook with this content of its sheet, and further parts. */
async function workbook(sheetData: string, parts: Record<string, string | Buffer> = {}): Promise<Buffer> {
  return zip({
    '[Content_Types].xml': contentTypes,
    '_rels/.rels': relations('officeDocument', 'xl/workbook.xml'),
    'xl/workbook.xml': '<workbook><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': relations('worksheet', 'worksheets/sheet1.xml'),
    'xl/worksheets/sheet1.xml': `<worksheet><sheetData>${sheetData}</sheetData></worksheet>`,
    ...parts,
  })
}

async function zip(parts: Record<string, string | Buffer>): Promise<Buffer> {
  const entries = Object.entries(parts).map(([name, content]) => ({ name, content: [content] }))
  return Buffer.concat(await Array.fromAsync(zipParts(entries)))
}

/** Returns the headings and the rows of a file, or the code of its problem. */
async function read(content: string | Uint8Array) {
  using file = temporaryFile(content)
  try {
    const { format, headings, rows } = await openFile(file.path)
    return { format, headings, rows: await Array.fromAsync(rows) }
  } catch (error) {
    return (error as { code?: string }).code
  }
}

const cell = (reference: string, text: string) => `<c r="${reference}" t="inlineStr"><is><t>${text}</t></is></c>`
const heading = `<row r="1">${cell('A1', 'Name')}</row>`

describe('files that are not a plain table', () => {
  type HostileFile = [string, string, () => string | Uint8Array | Promise<string | Uint8Array>]
  const files: HostileFile[] = [
    ['an empty file', 'file_without_rows', () => ''],
    ['a PDF document', 'unsupported_file', () => '%PDF-1.7\n'],
    ['a binary file', 'unsupported_file', () => Buffer.from([1, 2, 0, 3])],
    ['an HTML document that is named .xls', 'unsupported_file', () => '<html><table></table></html>'],
    ['text in UTF-16', 'unsupported_file', () => Buffer.from('\ufeffName\n', 'utf16le')],
    ['text in Latin-1', 'unsupported_file', () => Buffer.from('Name\nGerät\n', 'latin1')],
    ['an .xls file', 'unsupported_file', () => Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1, 1, 2])],
    [
      'an encrypted workbook',
      'encrypted_file',
      () => writeXlsx({ sheets: [{ name: 'A', rows: [['a']] }], encryption: { password: 'x', spinCount: 1000 } }),
    ],
    ['a zip archive without a workbook', 'unsupported_file', () => zip({ 'readme.txt': 'hello' })],
    ['a cut workbook', 'damaged_file', async () => (await workbook(heading)).subarray(0, 400)],
    [
      'XML that ends early',
      'damaged_file',
      () => workbook('', { 'xl/worksheets/sheet1.xml': '<worksheet><sheetData><row r="1"><c ' }),
    ],
    [
      'XML with entities',
      'damaged_file',
      () => workbook(heading, { 'xl/worksheets/sheet1.xml': '<!DOCTYPE x [<!ENTITY a "b">]><worksheet/>' }),
    ],
    ['a workbook with macros', 'file_with_macros', () => workbook(heading, { 'xl/vbaProject.bin': 'x' })],
    [
      'a workbook with a formula',
      'file_with_formulas',
      () => workbook('<row r="1"><c r="B1"><f>1+1</f><v>2</v></c></row>'),
    ],
    [
      'a workbook that refers to another file',
      'file_with_external_links',
      () => workbook(heading, { 'xl/externalLinks/externalLink1.xml': '<externalLink/>' }),
    ],
    ['one cell far away', 'file_too_large', () => workbook(`<row r="1048576">${cell('XFD1048576', 'x')}</row>`)],
    [
      '10,000 columns',
      'file_too_large',
      () => `${Array.from({ length: 10_000 }, (_, index) => `c${index}`).join(',')}\n`,
    ],
    ['a huge cell', 'file_too_large', () => `Name\n"${'x'.repeat(importLimits.cellCharacters + 1)}"\n`],
    [
      'a huge cell in a workbook',
      'file_too_large',
      () => workbook(`<row r="1">${cell('A1', 'x'.repeat(importLimits.cellCharacters + 1))}</row>`),
    ],
    [
      'a heading that is a text',
      'file_too_large',
      () => `Name,${'x'.repeat(importLimits.headingCharacters + 1)}\na,b\n`,
    ],
    ['a row number twice', 'damaged_file', () => workbook(`${heading}<row r="2">${cell('A2', 'a')}</row>`.repeat(2))],
    [
      'rows in descending order',
      'damaged_file',
      () => workbook(`${heading}<row r="3">${cell('A3', 'a')}</row><row r="2">${cell('A2', 'b')}</row>`),
    ],
    ...['1048577', '99999999999', '0', '-5', '1.5', '', 'x'].map(
      (number): HostileFile => [
        `the row number "${number}"`,
        'damaged_file',
        () => workbook(`${heading}<row r="${number}">${cell('A2', 'a')}</row>`),
      ],
    ),
    ['a cell twice', 'damaged_file', () => workbook(`${heading}<row r="2">${cell('A2', 'a').repeat(2)}</row>`)],
    ['a cell without a column', 'damaged_file', () => workbook(`${heading}<row r="2">${cell('2', 'a')}</row>`)],
    [
      'a reference to a text that does not exist',
      'damaged_file',
      () => workbook(`${heading}<row r="2"><c r="A2" t="s"><v>7</v></c></row>`),
    ],
    [
      'a part with an invalid name',
      'damaged_file',
      () => workbook(heading, { 'xl/_rels/workbook.xml.rels': relations('worksheet', 'http://[') }),
    ],
    ['too many rows', 'file_too_large', () => 'a\n'.repeat(importLimits.rows + 2)],
    ['an open quotation mark', 'damaged_file', () => 'Name\n"a\n'],
    ['a line that is not JSON', 'damaged_file', () => '{"a":1}\nb\n'],
    ['a line that is not an object', 'damaged_file', () => '{"a":1}\n[]\n'],
    ['a deeply nested line', 'damaged_file', () => `${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}\n`],
  ]
  for (const [name, code, content] of files)
    test(`refuses ${name} with ${code}`, async () => {
      assert.equal(await read(await content()), code)
    })

  test('reads tags of a million characters in one pass', async () => {
    const many = 1_000_000
    const tags = [`<a b="${'>'.repeat(many)}"/>`, `<c ${'a'.repeat(many)}/>`, `<c ${' '.repeat(many)}/>`]
    for (const tag of tags)
      assert.deepEqual(await read(await workbook(heading, { 'xl/worksheets/sheet1.xml': `<x>${tag}${heading}</x>` })), {
        format: 'xlsx',
        headings: ['Name'],
        rows: [],
      })
  })

  test('refuses a zip bomb before it is decompressed', async () => {
    const bomb = await zip({ 'a.bin': Buffer.alloc(16 * 1024 * 1024) })
    // The directory of the archive states the size of the entry. It is increased beyond the limit.
    const at = bomb.indexOf(Buffer.from([0x50, 0x4b, 1, 2]))
    bomb.writeUInt32LE(importLimits.unpackedBytes + 1, at + 24)
    assert.equal(await read(bomb), 'file_too_large')
  })
})

describe('tables', () => {
  test('reads the cells of a workbook as text: strings, numbers, dates, truth values and rich text', async () => {
    const bytes = await writeXlsx({
      sheets: [
        {
          name: 'A',
          rows: [
            ['Name', 'Count', 'Built', 'Active'],
            ['Ä & <b>', 1.5, new Date(Date.UTC(2026, 0, 31)), true],
          ],
        },
      ],
    })
    assert.deepEqual(await read(bytes), {
      format: 'xlsx',
      headings: ['Name', 'Count', 'Built', 'Active'],
      rows: [{ row: 2, cells: ['Ä & <b>', '1.5', '2026-01-31', 'true'] }],
    })
    const rich =
      '<row r="1"><c r="A1" t="inlineStr"><is><r><t>a</t></r><r><t>b</t></r><rPh><t>c</t></rPh></is></c></row>'
    assert.deepEqual(await read(await workbook(rich)), { format: 'xlsx', headings: ['ab'], rows: [] })
  })

  test('reads rows and cells without references, and parts whose names have spaces', async () => {
    const row = (text: string) => `<row><c t="inlineStr"><is><t>${text}</t></is></c></row>`
    const sheet = `<worksheet><sheetData>${row('Name')}${row('a')}</sheetData></worksheet>`
    const rels = relations('worksheet', 'worksheets/Blatt%201.xml')
    const parts = { 'xl/_rels/workbook.xml.rels': rels, 'xl/worksheets/Blatt 1.xml': sheet }
    assert.deepEqual(await read(await workbook('', parts)), {
      format: 'xlsx',
      headings: ['Name'],
      rows: [{ row: 2, cells: ['a'] }],
    })
  })

  test('reads CSV with commas, semicolons and tabs, with and without a byte order mark', async () => {
    for (const separator of [',', ';', '\t'])
      for (const mark of ['', '\ufeff'])
        assert.deepEqual(await read(`${mark}A${separator}B\r\n"1\n2"${separator}'=3\r\n`), {
          format: 'csv',
          headings: ['A', 'B'],
          rows: [{ row: 2, cells: ['1\n2', '=3'] }],
        })
  })

  test('reads CSV whose lines end with a carriage return only', async () => {
    const table = { format: 'csv', headings: ['A', 'B'], rows: [{ row: 2, cells: ['1', '2'] }] }
    assert.deepEqual(await read('A,B\r1,2\r'), table)
  })

  test('reads NDJSON as documents with their line numbers', async () => {
    assert.deepEqual(await read('{"a":1}\n\n{"b":"ü"}\n'), {
      format: 'ndjson',
      headings: [],
      rows: [
        { row: 1, document: { a: 1 } },
        { row: 3, document: { b: 'ü' } },
      ],
    })
  })

  test('reads every workbook that the platform writes', async () => {
    const text = fc.string({
      unit: fc.constantFrom('a', '<', '&', '"', "'", 'ü', '😀', ' ', '_x000D_', '=', '1'),
      maxLength: 8,
    })
    const table = fc.array(fc.tuple(text, text, text), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const pages = (async function* () {
          yield rows.map((row) => ['x', ...row])
        })()
        const parts = await Array.fromAsync(writeTable({ name: 'A', headings: ['X', 'A', 'B', 'C'], pages }))
        const result = await read(Buffer.concat(parts))
        assert.ok(typeof result === 'object')
        const found = result.rows.map((row) =>
          'cells' in row ? ['A', 'B', 'C'].map((_, at) => row.cells[at + 1] ?? '') : [],
        )
        assert.deepEqual(found, rows)
      }),
      { numRuns: 30 },
    )
  })

  test('never fails without a code, for any bytes', async () => {
    const sound = await workbook(heading)
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      fc.string().map((value) => Buffer.from(value)),
      fc.tuple(fc.nat(sound.length - 1), fc.nat(255)).map(([at, value]) => {
        const changed = Buffer.from(sound)
        changed[at] = value
        return changed
      }),
    )
    await fc.assert(
      fc.asyncProperty(bytes, async (content) => {
        assert.notEqual(await read(content), undefined)
      }),
      { numRuns: 100 },
    )
  })
})

describe('the process that reads a file', () => {
  const optionsWith = ({ signal }: AbortController) => ({ tenantId: 'a', signal })
  const chunks = async function* (...parts: string[]) {
    for (const part of parts) yield Buffer.from(part)
  }

  test('returns the rows in batches', async () => {
    await using reader = await TableReader.open(chunks('A\n', '1\n2\n', '3\n'), optionsWith(new AbortController()))
    assert.deepEqual([reader.format, reader.headings], ['csv', ['A']])
    assert.deepEqual(
      (await reader.next(2)).rows.map(({ row }) => row),
      [2, 3],
    )
    assert.deepEqual(await reader.next(2), { rows: [{ row: 4, cells: ['3'] }], isLast: true })
  })

  test('limits the size of a batch and of all rows if cells share one large string', onlyInLongRuns, async () => {
    const shared = `<sst><si><t>${'x'.repeat(importLimits.cellCharacters)}</t></si></sst>`
    const cells = '<c t="s"><v>0</v></c>'.repeat(importLimits.columns)
    const rows = 160
    const bytes = await workbook(`${heading}${`<row>${cells}</row>`.repeat(rows)}`, {
      'xl/_rels/workbook.xml.rels': relations('worksheet', 'worksheets/sheet1.xml').replace(
        '</Relationships>',
        '<Relationship Id="rId2" Type="http://x/sharedStrings" Target="sharedStrings.xml"/></Relationships>',
      ),
      'xl/sharedStrings.xml': shared,
    })
    const content = (async function* () {
      yield bytes
    })()
    await using reader = await TableReader.open(content, optionsWith(new AbortController()))
    assert.deepEqual(
      (await reader.next(1_000)).rows.map(({ row }) => row),
      [2],
    )
    const readAll = async () => {
      for (let count = 0; count < rows; count++) await reader.next(1_000)
    }
    await assert.rejects(readAll(), { code: 'file_too_large', message: /characters/ })
  })

  test('starts only a limited number of processes for one tenant, and none before the content is complete', async () => {
    const content = Promise.withResolvers<string>()
    const open = (text: string | Promise<string>, controller = new AbortController()) =>
      TableReader.open(
        (async function* () {
          yield Buffer.from(await text)
        })(),
        optionsWith(controller),
      )
    const slow = open(content.promise)
    const readers = await Promise.all(Array.from({ length: importLimits.readersOfTenant }, () => open('A\n1\n')))
    const codeOf = (reading: Promise<unknown>) => reading.then(() => 'opened').catch(({ code }) => code)
    // Most files are aborted while they wait, because each process takes long.
    const aborting = new AbortController()
    const codes = Array.from({ length: importLimits.waitingReaders + 1 }, (_, index) =>
      codeOf(open('%PDF', index < 2 ? new AbortController() : aborting)),
    )
    assert.equal(await Promise.race(codes), 'overloaded')
    aborting.abort({ code: 'aborted' })
    for (const reader of readers) await reader[Symbol.asyncDispose]()
    const counts = Map.groupBy(await Promise.all(codes), (code) => code)
    assert.equal(counts.get('overloaded')?.length, 1)
    assert.deepEqual([...counts.keys()].toSorted(), ['aborted', 'overloaded', 'unsupported_file'])
    content.resolve('A\n1\n')
    await (await slow)[Symbol.asyncDispose]()
  })

  test('deletes the file if the platform was killed', async () => {
    using file = temporaryFile('A\n1\n')
    const child = fork(new URL('./table-process.ts', import.meta.url), { serialization: 'advanced' })
    child.send({ open: file.path })
    await once(child, 'message')
    child.disconnect()
    await once(child, 'exit')
    assert.equal(existsSync(file.path), false)
    mkdirSync(dirname(file.path))
  })

  test('deletes the files of a process that was killed while it wrote them', () => {
    const dead = spawnSync(process.execPath, ['--version']).pid
    const folders = [dead, process.pid].map((pid) => mkdtempSync(join(tmpdir(), `millwright-import-${pid}-`)))
    const program = `
      const { TableReader } = await import(${JSON.stringify(import.meta.resolve('./table-reader.ts'))})
      const content = (async function* () { yield Buffer.from('Name\\nPLC') })()
      const { signal } = new AbortController()
      await using reader = await TableReader.open(content, { tenantId: 'a', signal })`
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program])
    assert.equal(status, 0, String(stderr))
    assert.deepEqual(folders.map(existsSync), [false, true])
    for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  })

  test('returns the problem of a file, and ends when it is aborted', async () => {
    const controller = new AbortController()
    await assert.rejects(TableReader.open(chunks('%PDF'), optionsWith(controller)), { code: 'unsupported_file' })
    await using reader = await TableReader.open(chunks('A\n1\n'), optionsWith(controller))
    controller.abort(new Error('canceled'))
    await assert.rejects(reader.next(1), /canceled/)
  })
})
