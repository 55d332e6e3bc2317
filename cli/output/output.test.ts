import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { details } from './details.ts'
import { at, Table, table } from './table.ts'
import { cut, plain, shown, sized, widthOf } from './text.ts'

describe('a table', () => {
  const rows = [
    { id: '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5', name: 'Gateway in the hall behind the second door', deep: { er: 1 } },
    { id: '01a1e035-11d5-7101-94c6-07a0599d3103', name: 'Drive', deep: { er: [2, 3] }, ok: true },
  ]
  const columns = { id: 'id', name: 'name', number: 'deep.er', fine: 'ok' }

  test('is as wide as it needs to be where nobody looks', () => {
    assert.deepEqual(new Table(columns).lines(rows), [
      'ID                                    NAME                                        NUMBER  FINE',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in the hall behind the second door  1',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive                                       2, 3    yes',
    ])
  })

  test('fits the screen, cuts the widest column, and leaves ids whole', () => {
    assert.deepEqual(new Table(columns, { columns: 72 }).lines(rows), [
      'ID                                    NAME                  NUMBER  FINE',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in the hall…  1',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive                 2, 3    yes',
    ])
  })

  test('leaves columns out where the screen is too narrow for all: empty ones first, then the last', () => {
    const lines = new Table({ id: 'id', name: 'name', nothing: 'none', number: 'deep.er', fine: 'ok' }, { columns: 50 })
    assert.deepEqual(lines.lines(rows), [
      'ID                                    NAME',
      '01a1e034-5f63-73fc-b27d-cb0ddfafbfb5  Gateway in …',
      '01a1e035-11d5-7101-94c6-07a0599d3103  Drive',
    ])
  })

  test('goes on with the widths of its first rows', () => {
    const going = new Table({ name: 'name' })
    going.lines([{ name: 'four' }])
    assert.deepEqual(going.lines([{ name: 'a longer name' }]), ['a l…'])
  })

  test('is never wider than the screen when the screen is not tiny, whatever is in it', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme' }), fc.constant('機械'.repeat(9)))
    fc.assert(
      fc.property(fc.array(fc.record({ a: text, b: text, c: text }), { minLength: 1, maxLength: 4 }), (some) => {
        const lines = new Table({ a: 'a', b: 'b', c: 'c' }, { columns: 60 }).lines(some)
        assert.ok(lines.every((line) => widthOf(line) <= 60))
        assert.ok(lines.every((line) => !/\p{Cc}/u.test(line)))
      }),
      { numRuns: 200 },
    )
  })

  test('has a heading for each field of plain rows', () => {
    assert.equal(table([{ createdTimestamp: 'now', name: 'x' }]), 'CREATED TIMESTAMP  NAME\nnow                x')
  })
})

describe('text', () => {
  test('holds nothing that a terminal would obey', () => {
    assert.equal(plain('\u001b[31mred\u0007\r\n\u202edne'), '\ufffd[31mred\ufffd\ufffd\ufffd\ufffddne')
    assert.equal(shown({ a: '\u001b[2J' }), '{"a":"\\u001b[2J"}')
  })

  test('is what people read', () => {
    assert.deepEqual([null, undefined, true, ['a', 1], '2026-01-31T08:30:00.000Z', 1.5].map(shown), [
      '',
      '',
      'yes',
      'a, 1',
      '2026-01-31T08:30:00Z',
      '1.5',
    ])
    assert.deepEqual([0, 1023, 2048, 5e9].map(sized), ['0 bytes', '1023 bytes', '2.0 KiB', '4.7 GiB'])
  })

  test('is cut by what it takes on the screen', () => {
    assert.equal(cut('機械工場', 5), '機械…')
    assert.equal(widthOf('e\u0301'), 1)
  })

  test('is found inside a document, and in every entry of a list', () => {
    const document = { 'a.b': 1, a: { c: [{ d: 2 }, { d: 3 }, {}] } }
    assert.deepEqual(
      [at(document, 'a.b'), at(document, 'a.c.d'), at(document, 'a/c/d'), at(document, 'x.y')],
      [1, [2, 3], [2, 3], undefined],
    )
  })
})

test('a document is shown field by field, without what is empty', () => {
  const document = { id: '1', empty: [], none: null, states: { a: 'b' }, list: [{ x: 1, y: 2 }], tags: ['p', 'q'] }
  assert.deepEqual(details(document), ['id    1', 'states', '  a  b', 'list', '  - x  1', '    y  2', 'tags  p, q'])
})
