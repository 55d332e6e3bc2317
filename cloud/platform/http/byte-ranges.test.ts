import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { randomCases } from '@millwright/api/test-effort.ts'
import fc from 'fast-check'
import { parseContentRange, requestedRange } from './byte-ranges.ts'

const runs = { numRuns: randomCases(300) }

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Problem)
    return error.code
  }
  return 'none'
}

describe('Content-Range', () => {
  test('parses the first byte, the last byte and the size of Content-Range', () => {
    assert.deepEqual(parseContentRange('bytes 0-9/100'), { first: 0, last: 9, size: 100 })
    assert.deepEqual(parseContentRange('bytes 0-9/*'), { first: 0, last: 9, size: undefined })
    assert.deepEqual(parseContentRange('bytes */100'), { first: 100, last: undefined, size: 100 })
  })

  test('refuses an invalid Content-Range', () => {
    const texts = [
      '',
      'bytes',
      'bytes 0-9',
      'bytes 9-0/100',
      'bytes 0-100/100',
      'bytes */*',
      'bytes -1-2/3',
      'items 0-1/2',
    ]
    for (const text of [...texts, 'bytes 0-9/1e3', `bytes 0-${'9'.repeat(16)}/*`])
      assert.equal(
        codeOf(() => parseContentRange(text)),
        'invalid_header',
        text,
      )
  })

  test('parses or refuses any text as Content-Range', () => {
    const part = fc.oneof(fc.string(), fc.nat().map(String), fc.constantFrom('*', '-', '/', 'bytes '))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const code = codeOf(() => parseContentRange(parts.join('')))
        assert.ok(code === 'none' || code === 'invalid_header')
      }),
      runs,
    )
  })

  test('returns the numbers that a generated Content-Range contains', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (first, more, rest) => {
        const last = first + more
        const size = last + 1 + rest
        assert.deepEqual(parseContentRange(`bytes ${first}-${last}/${size}`), { first, last, size })
      }),
      runs,
    )
  })
})

describe('Range', () => {
  test('selects the part of the content that Range names', () => {
    assert.deepEqual(requestedRange('bytes=0-9', 100), { first: 0, last: 9 })
    assert.deepEqual(requestedRange('bytes=90-', 100), { first: 90, last: 99 })
    assert.deepEqual(requestedRange('bytes=90-200', 100), { first: 90, last: 99 })
    assert.deepEqual(requestedRange('bytes=-10', 100), { first: 90, last: 99 })
    assert.deepEqual(requestedRange('bytes=-200', 100), { first: 0, last: 99 })
  })

  test('ignores an invalid Range and a Range with several ranges', () => {
    for (const text of [undefined, '', 'bytes=', 'bytes=-', 'bytes=9-0', 'bytes=0-1,3-4', 'items=0-1', 'bytes=a-b'])
      assert.equal(requestedRange(text, 100), undefined, text)
  })

  test('refuses a Range outside the content', () => {
    for (const text of ['bytes=100-', 'bytes=100-200', 'bytes=-0'])
      assert.equal(
        codeOf(() => requestedRange(text, 100)),
        'range_not_satisfiable',
        text,
      )
  })

  test('selects only bytes of the content, for any text of Range', () => {
    const part = fc.oneof(fc.string(), fc.nat(300).map(String), fc.constantFrom('-', ',', 'bytes='))
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.integer({ min: 1, max: 200 }), (parts, size) => {
        let range: ReturnType<typeof requestedRange>
        try {
          range = requestedRange(`bytes=${parts.join('')}`, size)
        } catch (error) {
          assert.ok(error instanceof Problem && error.code === 'range_not_satisfiable')
          return
        }
        if (range !== undefined) assert.ok(range.first >= 0 && range.first <= range.last && range.last < size)
      }),
      runs,
    )
  })
})
