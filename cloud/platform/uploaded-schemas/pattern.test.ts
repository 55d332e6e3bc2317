import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { LinearPattern, PatternError } from './pattern.ts'

const atom = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', '_', '-', ' ', 'é', '😀', '/', '1') },
  {
    weight: 4,
    arbitrary: fc.constantFrom('.', '[ab]', '[^a]', '[a-z0-9]', '[\\]a]', '[]', '[^]', '[😀é]', '[\\w-]', '[a\\-\\\\]'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      '\\d',
      '\\D',
      '\\w',
      '\\W',
      '\\s',
      '\\.',
      '\\/',
      '\\p{L}',
      '\\P{L}',
      '\\u0061',
      '\\u{1F600}',
      '\\uD83D\\uDE00',
      '\\x61',
      '\\n',
    ),
  },
)
const assertion = fc.constantFrom('^', '$', '\\b', '\\B')
const quantifier = fc.constantFrom('*', '+', '?', '{2}', '{0}', '{1,3}', '{2,}', '*?', '+?', '{0,2}?')

const { pattern } = fc.letrec<{ pattern: string; sequence: string; term: string }>((tie) => ({
  pattern: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((options) => options.join('|')),
  sequence: fc.array(tie('term'), { maxLength: 4 }).map((parts) => parts.join('')),
  term: fc.oneof(
    { maxDepth: 3 },
    atom,
    assertion,
    fc.tuple(atom, quantifier).map(([of, times]) => of + times),
    fc
      .tuple(fc.constantFrom('(', '(?:', '(?<name>'), tie('pattern'), fc.oneof(quantifier, fc.constant('')))
      .map(([opening, inner, times]) => `${opening}${inner})${times}`),
  ),
}))
const text = fc.string({
  unit: fc.constantFrom('a', 'b', '_', '-', ' ', 'é', '😀', '/', '1', '\n', '\ud83d'),
  maxLength: 8,
})

test('matches the same texts as the regular expressions of the JavaScript engine', () => {
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 8 }), (source, texts) => {
      let native: RegExp
      try {
        native = new RegExp(source, 'u')
      } catch {
        return
      }
      const linear = new LinearPattern(source)
      // The JavaScript engine also matches \B inside a surrogate pair, but ECMA-262 has no position there. So such
      // texts are not compared.
      const comparable = texts.filter((each) => !source.includes('\\B') || !each.includes('😀'))
      for (const each of comparable) {
        assert.equal(linear.test(each), native.test(each), `/${source}/ on ${JSON.stringify(each)}`)
      }
    }),
    { numRuns: 1000 },
  )
})

test('matches patterns in linear time that take a backtracking engine exponential time', () => {
  for (const source of ['^(a+)+$', '^(a|a)*$', '^(a|aa)+$', '(.*)*(.*)*x$', '^(([a-z])+.)+[A-Z]([a-z])+$']) {
    assert.equal(new LinearPattern(source).test(`${'a'.repeat(5_000)}!`), false)
  }
})

test('refuses patterns with back references, lookaround or flags', () => {
  for (const source of ['(a)\\1', '(?<x>a)\\k<x>', '(?=a)', '(?!a)', '(?<=a)', '(?<!a)', '(?i:a)']) {
    assert.throws(() => new LinearPattern(source), PatternError, source)
  }
})

test('refuses an invalid pattern and a pattern that is too large', () => {
  for (const source of ['(', '[', 'a{2,1}', '\\', 'a**', '((a{100}){100}){100}', 'a{1000000000}', 'a'.repeat(3000)]) {
    assert.throws(() => new LinearPattern(source), PatternError, source.slice(0, 40))
  }
})

test('matches a pattern that repeats an empty match a billion times', () => {
  assert.equal(new LinearPattern('^(?:){1000000000}$').test(''), true)
  assert.equal(new LinearPattern('(?:a{0}){1000000000}').test('b'), true)
})

test('accepts random text as a pattern or refuses it with a PatternError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab\\()[]{}|*+?^$.,:<>=!1kpud-'), maxLength: 12 }), (source) => {
      try {
        new LinearPattern(source).test('aab-')
      } catch (error) {
        assert.ok(error instanceof PatternError, `${source}: ${error}`)
      }
    }),
    { numRuns: 5000 },
  )
})
