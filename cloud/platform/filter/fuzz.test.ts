import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import { randomCases } from '@millwright/api/test-effort.ts'
import { branchesOf, compileFilter, filterLimits, isNarrow, parseFilter, parseSort, printFilter } from './filter.ts'
import { extraKey, items, withoutColumns } from './testing.ts'

const count = Number(process.env.MILLWRIGHT_FUZZ ?? randomCases(20_000))
const seed = Number(process.hrtime.bigint() % 2n ** 32n)

// Most texts are refused, and creating a stack trace takes longer than refusing a text.
const { stackTraceLimit } = Error
before(() => {
  Error.stackTraceLimit = 0
})
after(() => {
  Error.stackTraceLimit = stackTraceLimit
})

/** A small, fast pseudo-random generator (mulberry32). The same seed gives the same numbers. */
function randomFrom(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Runs every step of a request with a filter, except the database query. */
function use(text: string): 'read' | 'refused' {
  try {
    const expression = parseFilter(text)
    const { sql, values } = compileFilter(expression, items, { caseInsensitive: text.length % 2 === 0 })
    assert.ok(!sql.includes('needle'), `a literal is in the SQL: ${sql}`)
    for (let n = 0; n < values.length; n++) assert.ok(sql.includes(`$${n + 2}::`), sql)
    branchesOf(expression, ['owner', 'name'])
    isNarrow(expression, ['owner', 'name'])
    const again = parseFilter(printFilter(expression))
    assert.equal(JSON.stringify(withoutColumns(again)), JSON.stringify(withoutColumns(expression)))
    return 'read'
  } catch (error) {
    if (error instanceof Problem && ['invalid_filter', 'unknown_property'].includes(error.code)) return 'refused'
    throw new Error(`seed ${seed}, text ${JSON.stringify(text)}`, { cause: error })
  }
}

test('parses or refuses random bytes as a filter without an internal error', () => {
  const random = randomFrom(seed)
  for (let run = 0; run < count / 2; run++) {
    const bytes = Buffer.from(Array.from({ length: random(24) }, () => random(256)))
    use(bytes.toString(run % 2 === 0 ? 'utf8' : 'utf16le'))
  }
})

const words = [
  ...[
    'eq',
    'ne',
    'gt',
    'ge',
    'lt',
    'le',
    'in',
    'and',
    'or',
    'not',
    'NOT',
    'And',
    '(',
    ')',
    ',',
    ':',
    '/',
    '.',
    ' ',
    `'`,
  ],
  ...[
    'name',
    'size',
    'active',
    'made',
    'owner',
    'maker.name',
    'parts/any(p:',
    'p/label',
    'p.weight',
    'tags/any()',
    'p',
  ],
  ...[
    `'needle'`,
    `'it''s'`,
    '5',
    '-1.5',
    '1e400',
    'true',
    'null',
    `'2026-01-31'`,
    `'${extraKey}'`,
    extraKey,
    '\0',
    '😀',
  ],
  ...['contains(', 'startswith(', 'endswith(', `contains(name,'needle')`, `name eq 'needle'`, `extras/${extraKey}`],
]
const good = [
  `name eq 'needle' and not (size gt 5 or active eq true)`,
  `parts/any(p: p/label eq 'needle' and p/weight in (1, 2, 3)) or tags/any()`,
  `owner in ('${extraKey}') and startswith(maker.name, 'needle%_\\') and made ge '2026-01-31T12:00:00Z'`,
  `not tags/any(t: endswith(t, 'needle')) and extras/${extraKey} ne null`,
]

test('parses or refuses random tokens and mutations of a valid filter without an internal error', () => {
  const random = randomFrom(seed)
  const pick = (from: readonly string[]) => from[random(from.length)] ?? ''
  let read = 0
  for (let run = 0; run < count / 2; run++) {
    const mixed = run % 2 === 0
    const text = mixed
      ? Array.from({ length: random(9) }, () => pick(words)).join(random(3) === 0 ? '' : ' ')
      : mutated()
    if (use(text) === 'read') read++
  }
  assert.ok(read > count / 200, `only ${read} could be read`)

  function mutated(): string {
    let text = pick(good)
    for (let changes = random(3); changes >= 0; changes--) {
      const at = random(text.length + 1)
      text = text.slice(0, at) + (random(2) === 0 ? pick(words) : '') + text.slice(at + random(4))
    }
    return text
  }
})

test('parses or refuses random sort expressions without an internal error', () => {
  const random = randomFrom(seed)
  const pieces = [
    'name',
    'size',
    '-',
    ',',
    ' ',
    'parts',
    'maker',
    '.',
    '/',
    '__proto__',
    extraKey,
    'extras/',
    '😀',
    '\0',
  ]
  for (let run = 0; run < count / 20; run++) {
    const text = Array.from({ length: random(8) }, () => pieces[random(pieces.length)]).join('')
    try {
      parseSort(text, items)
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 400) throw new Error(JSON.stringify(text), { cause: error })
    }
  }
})

test('parses a filter in time proportional to its length, up to the limit', () => {
  const pieces = [
    `'`,
    `''`,
    '(',
    'not ',
    'a/',
    'a.',
    '1',
    '-',
    ' ',
    'a ',
    `a eq '`,
    '\\',
    '%',
    '9e9',
    '😀',
    `name in ('a',`,
  ]
  for (const piece of [...pieces, `name eq 'x' or `, `parts/any(p:`, `x/any(x:x/`]) {
    const ofBytes = (bytes: number) => piece.repeat(Math.floor(bytes / Buffer.byteLength(piece)))
    const [short, long] = [quickest(ofBytes(filterLimits.bytes / 8)), quickest(ofBytes(filterLimits.bytes))]
    // A text of eight times the length may take eight times as long, plus a tolerance. With quadratic growth it would
    // take 64 times as long.
    assert.ok(long < 32 * Math.max(short, clockMs), `${JSON.stringify(piece)} took ${short} ms, then ${long} ms`)
    const refused = quickest(piece.repeat(1_000_000))
    assert.ok(refused < Math.max(long, 10 * clockMs), `${JSON.stringify(piece)} took ${refused} ms to be refused`)
  }
})

/** The resolution of the clock. Shorter times are not reliable. */
const clockMs = 0.05

/** Returns the time of the fastest of several runs, in milliseconds. Other processes can only make a run slower. */
function quickest(text: string): number {
  const runs = Array.from({ length: 15 }, () => {
    const startedAt = performance.now()
    use(text)
    return performance.now() - startedAt
  })
  return Math.min(...runs)
}
