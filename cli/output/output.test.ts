import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { details } from './details.ts'
import { Table, table, valueAt } from './table.ts'
import { displayText, displayWidth, formatBytes, sanitize, truncate } from './text.ts'

describe('a table', () => {
  const rows = [
    { id: '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5', name: 'Gateway in the hall behind the second gate', deep: { er: 1 } },
    { id: '01a1e035-11d5-7101-94c6-07a0599d3103', name: 'Drive', deep: { er: [2, 3] }, ok: true },
  ]
  const columns = { id: 'id', name: 'name', number: 'deep.er', fine: 'ok' }

  test('prints a table as wide as its content when the output is not a terminal', () => {
    assert.deepEqual(new Table(columns).lines(rows), [
      'ID                                    NAME                                        NUMBER  FINE',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in the hall behind the second gate  1',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive                                       2, 3    yes',
    ])
  })

  test('truncates the widest column of a table to fit the terminal, but never ids', () => {
    assert.deepEqual(new Table(columns, { columns: 72 }).lines(rows), [
      'ID                                    NAME                  NUMBER  FINE',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in the hall…  1',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive                 2, 3    yes',
    ])
  })

  test('drops columns of a table before it truncates an address', () => {
    const rows = [
      { address: '192.168.100.101', name: 'A long name of a device', mac: '00:1B:1B:73:00:0A', links: 'snmp' },
    ]
    const [, line] = new Table({ address: 'address', name: 'name', mac: 'mac', links: 'links' }, { columns: 48 }).lines(
      rows,
    )
    assert.equal(line, '192.168.100.101  A long name…  00:1B:1B:73:00:0A')
  })

  test('drops empty columns of a table first, then the last column, on a narrow terminal', () => {
    const lines = new Table({ id: 'id', name: 'name', nothing: 'none', number: 'deep.er', fine: 'ok' }, { columns: 50 })
    assert.deepEqual(lines.lines(rows), [
      'ID                                    NAME',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in …',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive',
    ])
  })

  test('keeps the column widths of the first rows for all later rows of a table', () => {
    const names = new Table({ name: 'name' }, { columns: 72 })
    names.lines([{ name: 'four' }])
    assert.deepEqual(names.lines([{ name: 'a longer name' }]), ['a l…'])
  })

  test('prints later rows of a table completely when the output is not a terminal', () => {
    const names = new Table({ name: 'name', number: 'number' })
    names.lines([{ name: 'four', number: 1 }])
    assert.deepEqual(names.lines([{ name: 'a longer name', number: 2 }]), ['a longer name  2'])
  })

  test('never prints a table wider than a terminal of 60 columns, for any content', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constant('機械'.repeat(9)))
    fc.assert(
      fc.property(fc.array(fc.record({ a: text, b: text, c: text }), { minLength: 1, maxLength: 4 }), (some) => {
        const lines = new Table({ a: 'a', b: 'b', c: 'c' }, { columns: 60 }).lines(some)
        assert.ok(lines.every((line) => displayWidth(line) <= 60))
        assert.ok(lines.every((line) => !/\p{Cc}/u.test(line)))
      }),
      { numRuns: 200 },
    )
  })

  test('prints a table heading for each field of the rows', () => {
    assert.equal(table([{ createdTimestamp: 'now', name: 'x' }]), 'CREATED TIMESTAMP  NAME\nnow                x')
  })
})

describe('text functions', () => {
  test('sanitize and displayText replace control characters', () => {
    assert.equal(sanitize('\u001b[31mred\u0007\r\n\u202edne'), '\ufffd[31mred\ufffd\ufffd\ufffd\ufffddne')
    assert.equal(displayText({ a: '\u001b[2J' }), '{"a":"\\u001b[2J"}')
  })

  test('displayText and formatBytes format values as readable text', () => {
    assert.deepEqual([null, undefined, true, ['a', 1], '2026-01-31T08:30:00.000Z', 1.5].map(displayText), [
      '',
      '',
      'yes',
      'a, 1',
      '2026-01-31T08:30:00Z',
      '1.5',
    ])
    assert.deepEqual([0, 1023, 2048, 5e9].map(formatBytes), ['0 bytes', '1023 bytes', '2.0 KiB', '4.7 GiB'])
  })

  test('truncate and displayWidth count terminal columns', () => {
    assert.equal(truncate('機械工場', 5), '機械…')
    assert.equal(displayWidth('e\u0301'), 1)
  })

  test('valueAt reads the value at a path, also in every entry of a list', () => {
    const document = { 'a.b': 1, a: { c: [{ d: 2 }, { d: 3 }, {}] } }
    assert.deepEqual(
      [valueAt(document, 'a.b'), valueAt(document, 'a.c.d'), valueAt(document, 'a/c/d'), valueAt(document, 'x.y')],
      [1, [2, 3], [2, 3], undefined],
    )
  })
})

test('details() prints a document field by field, without empty fields', () => {
  const document = { id: '1', empty: [], none: null, states: { a: 'b' }, list: [{ x: 1, y: 2 }], tags: ['p', 'q'] }
  assert.deepEqual(details(document), ['id    1', 'states', '  a  b', 'list', '  - x  1', '    y  2', 'tags  p, q'])
})
