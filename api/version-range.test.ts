import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import { Problem } from './problem.ts'
import { compareVersions, versionSortKey } from './version-order.ts'
import { isInRange, parseVersionRange } from './version-range.ts'

const text = fc.oneof(
  fc.array(fc.constantFrom('0', '1', '2', '10', '.', '-', ' ', 'rc', 'SP', 'a', 'v', '+', '版'), { maxLength: 7 }),
  fc.array(fc.constantFrom('0', '1', '2', '3'), { minLength: 1, maxLength: 4 }).map((numbers) => [numbers.join('.')]),
)
const version = text.map((parts) => parts.join(''))
const sign = (order: number) => Math.sign(order)

test('orders versions totally: antisymmetric, transitive, and equal versions are interchangeable', () => {
  fc.assert(
    fc.property(version, version, version, (one, two, three) => {
      assert.equal(sign(compareVersions(one, two)) + sign(compareVersions(two, one)), 0)
      assert.equal(compareVersions(one, one), 0)
      if (compareVersions(one, two) <= 0 && compareVersions(two, three) <= 0)
        assert.ok(compareVersions(one, three) <= 0, `${one} | ${two} | ${three}`)
      if (compareVersions(one, two) === 0)
        assert.equal(sign(compareVersions(one, three)), sign(compareVersions(two, three)))
    }),
    { numRuns: 5_000 },
  )
})

test('orders versions in the same way as their sort keys', () => {
  fc.assert(
    fc.property(version, version, (one, two) => {
      const keys = Buffer.compare(Buffer.from(versionSortKey(one)), Buffer.from(versionSortKey(two)))
      assert.equal(sign(compareVersions(one, two)), sign(keys), `${one} | ${two}`)
    }),
    { numRuns: 3_000 },
  )
})

const equal = [
  ['V2.8.3', '2.8.3', 'v 2.08.3', 'Version 2.8.3'],
  ['2.8', '2.8.0', 'V2.8.0.0'],
  ['1.0.0-rc1', '1.0-RC.1', '1rc1'],
]

for (const [first = '', ...others] of equal) {
  test(`treats ${[first, ...others].join(', ')} as the same version`, () => {
    for (const other of others) assert.equal(compareVersions(first, other), 0, other)
  })
}

const cases: [range: string, inside: string[], outside: string[]][] = [
  ['*', ['1', '', 'abc', '0.0.1-rc1'], []],
  ['2.8', ['V2.8', '2.8.0'], ['2.8.1', '2.8-rc1', '2.80']],
  ['=2.8', ['V2.8'], ['2.8.1']],
  ['!=2.8', ['2.8.1', '2.7'], ['2.8.0']],
  ['>=2.6 <3.0', ['2.6', 'V2.6.0', '2.10', '2.99', '3.0-rc1'], ['2.5.9', '2.6-rc1', '3.0', '3', '10']],
  ['>= 2.6, < 3.0', ['2.9'], ['3.1']],
  ['2.8.*', ['2.8', '2.8.0', '2.8.7 SP1', 'V2.8.3', '2.8-rc1'], ['2.80', '2.9', '2', '12.8']],
  ['2.0.x', ['2', '2.0', '2.0.5', '2-rc1'], ['2.1', '20']],
  ['V2.*', ['2.0', '2.8.3'], ['3.0', '12']],
  ['1.4 || 1.6 || >=2', ['1.4', '1.6.0', '2.1'], ['1.5', '1.6.1', '2.0-beta']],
  ['"1.0 SP1"', ['1.0 SP1', '1.0-sp1'], ['1.0', '1.0 SP2']],
  ['>="1.0 SP1" <=20.11', ['1.0 SP2', '3.51', '20.11'], ['1.0', '20.12']],
  ['"1 || 2"', ['1 2', '1-2'], ['1', '2']],
]

for (const [range, inside, outside] of cases) {
  test(`finds the versions in the range ${range}`, () => {
    for (const each of inside) assert.equal(isInRange(each, range), true, `${each} is in the range`)
    for (const each of outside) assert.equal(isInRange(each, range), false, `${each} is not in the range`)
  })
}

const refused: [range: string, reason: RegExp][] = [
  ['', /missing at the end/],
  ['  ', /missing at the end/],
  ['1.0 ||', /missing at the end/],
  ['|| 1.0', /missing before "\|\|"/],
  ['1 || || 2', /missing before "\|\|"/],
  ['1,,2', /missing before ","/],
  ['1,', /missing at the end/],
  [', 1', /missing before ","/],
  ['>=', /missing at the end/],
  ['>= || 2', /missing before "\|\|"/],
  ['> >= 2', /version is missing before ">="/],
  ['1 | 2', /"\| 2" is not a condition/],
  ['"1.0', /""1.0" is not a condition/],
  ['>=2.*', /cannot have the operator >=/],
  ['2.*.1', /only at the end/],
  ['2.8*', /only at the end/],
  ['rc.*', /only numbers/],
  ['-', /no numbers and no letters/],
  [Array(65).fill('1').join('||'), /more than 64 conditions/],
]

for (const [range, reason] of refused) {
  test(`refuses the range "${range.slice(0, 20)}" with the reason`, () => {
    assert.throws(
      () => parseVersionRange(range),
      (problem) =>
        problem instanceof Problem && problem.code === 'invalid_version_range' && reason.test(problem.message),
    )
    assert.equal(isInRange('1.0', range), false)
  })
}

test('compares a version with each condition of a generated range', () => {
  const plain = fc
    .array(fc.constantFrom('0', '1', '2', '3', '10'), { minLength: 1, maxLength: 3 })
    .map((numbers) => numbers.join('.'))
  const condition = fc.record({ operator: fc.constantFrom('<', '<=', '>', '>=', '=', '!='), version: plain })
  const alternatives = fc.array(fc.array(condition, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
  const holds: Record<string, (order: number) => boolean> = {
    '<': (order) => order < 0,
    '<=': (order) => order <= 0,
    '>': (order) => order > 0,
    '>=': (order) => order >= 0,
    '=': (order) => order === 0,
    '!=': (order) => order !== 0,
  }
  fc.assert(
    fc.property(alternatives, plain, (range, installed) => {
      const written = range.map((all) => all.map((one) => one.operator + one.version).join(' ')).join(' || ')
      const expected = range.some((all) =>
        all.every((one) => holds[one.operator]?.(compareVersions(installed, one.version))),
      )
      assert.equal(isInRange(installed, written), expected, `${installed} in ${written}`)
    }),
    { numRuns: 2_000 },
  )
})

test('gives equal versions the same result in every range', () => {
  const range = fc.constantFrom('2.*', '0.*', '1.0.*', '>=1', '<2.0', '1 || 2', '!=1.0', '*')
  fc.assert(
    fc.property(version, range, (one, range) => {
      for (const other of [`V${one}`, `${one}.0`]) {
        if (compareVersions(one, other) === 0) assert.equal(isInRange(one, range), isInRange(other, range))
      }
    }),
    { numRuns: 2_000 },
  )
})

test('never throws another error than a problem for any text', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'0129.*x|,<>=!" vrc\t'), maxLength: 30 }), (text) => {
      try {
        parseVersionRange(text)
      } catch (error) {
        assert.ok(error instanceof Problem)
      }
    }),
    { numRuns: 5_000 },
  )
})

const page = readFileSync(new URL('../docs/reference/versions.md', import.meta.url), 'utf8')

test('orders versions as the list on the reference page', () => {
  const [, block = ''] = /```versions\n(.*?)```/s.exec(page) ?? []
  const lines = block.trim().split('\n')
  assert.ok(lines.length > 10)
  for (const [index, line] of lines.entries()) {
    const [first = '', ...others] = line.split(' = ')
    for (const other of others) assert.equal(compareVersions(first, other), 0, `${first} = ${other}`)
    const next = lines[index + 1]?.split(' = ')[0]
    if (next !== undefined) assert.ok(compareVersions(first, next) < 0, `${first} is older than ${next}`)
  }
})

test('finds the versions of the table on the reference page in their ranges', () => {
  const [, table = ''] = /\| Range \| Contains .*?\n\|[-|]+\n(.*?)\n\n/s.exec(page) ?? []
  const rows = table.split('\n').map((row) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  assert.ok(rows.length > 4)
  const texts = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text.replaceAll('\\|', '|'))
  for (const [, range, inside, outside] of rows) {
    const [written = ''] = texts(range)
    for (const each of texts(inside)) assert.equal(isInRange(each, written), true, `${each} in ${written}`)
    for (const each of texts(outside)) assert.equal(isInRange(each, written), false, `${each} in ${written}`)
  }
})
