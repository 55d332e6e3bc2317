import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { branchesOf, type Expression, isNarrow, parseFilter, printFilter, propertyTable } from './filter.ts'
import { evaluate } from './testing.ts'

const sides = ['subject.id', 'object.id']
const narrowing = [...sides, 'predicate']

describe('branches of a filter', () => {
  const cases: [string, Record<string, string>][] = [
    [`subject.id eq 'a' and predicate eq 'p'`, { 'subject.id': `subject/id eq 'a' and predicate eq 'p'` }],
    [`object/id in ('a', 'b')`, { 'object.id': `object/id in ('a', 'b')` }],
    [`subject.id eq 'a' and object.id eq 'b'`, { 'subject.id object.id': `subject/id eq 'a' and object/id eq 'b'` }],
    [`predicate eq 'p'`, { '': `predicate eq 'p'` }],
    [
      `(subject.id eq 'a' or object.id eq 'a') and predicate eq 'p'`,
      {
        'subject.id': `subject/id eq 'a' and predicate eq 'p'`,
        'object.id': `object/id eq 'a' and predicate eq 'p'`,
      },
    ],
    [`subject.id eq 'a' or subject.id eq 'b'`, { 'subject.id': `subject/id eq 'a' or subject/id eq 'b'` }],
    [`subject.id eq 'a' or predicate eq 'p'`, { 'subject.id': `subject/id eq 'a'`, '': `predicate eq 'p'` }],
    [`not (subject.id eq 'a')`, { '': `not (subject/id eq 'a')` }],
    [`subject.id ne 'a' and subject.id gt 'b'`, { '': `subject/id ne 'a' and subject/id gt 'b'` }],
    [`subject.id eq null`, { '': `subject/id eq null` }],
    [`x/any(i: i/subject.id eq 'a')`, { '': `x/any(i: i/subject/id eq 'a')` }],
  ]
  for (const [text, expected] of cases) {
    test(`splits the filter ${text} into branches`, () => {
      const branches = branchesOf(parseFilter(text), sides)
      assert.deepEqual(
        Object.fromEntries(
          branches.map(({ anchors, expression }) => [[...anchors].join(' '), printFilter(expression)]),
        ),
        expected,
      )
    })
  }

  const names = ['a', 'b', 'c']
  const table = propertyTable(
    Object.fromEntries([...names, 'd'].map((name) => [name, { kind: 'number', column: name }])),
  )
  const leaf = fc
    .tuple(fc.constantFrom(...names, 'd'), fc.constantFrom('eq' as const, 'ne' as const), fc.constantFrom('0', '1'))
    .map(
      ([name, operator, value]): Expression => ({
        kind: 'comparison',
        property: { name, at: 0 },
        operator,
        literal: { kind: 'number', value, at: 0 },
        at: 0,
      }),
    )
  const { expression: random } = fc.letrec<{ expression: Expression }>((tie) => ({
    expression: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc
        .tuple(
          fc.constantFrom('and' as const, 'or' as const),
          fc.array(tie('expression'), { minLength: 2, maxLength: 3 }),
        )
        .map(([kind, terms]): Expression => ({ kind, terms })),
      tie('expression').map((term): Expression => ({ kind: 'not', term })),
    ),
  }))

  /**
   * Returns the branches by the textbook algorithm, which multiplies out all terms. Each branch is a list of
   * conditions.
   */
  function textbook(expression: Expression): Expression[][] {
    if (expression.kind === 'or') return expression.terms.flatMap(textbook)
    if (expression.kind !== 'and') return [[expression]]
    return expression.terms
      .map(textbook)
      .reduce((left, right) => left.flatMap((one) => right.map((other) => [...one, ...other])))
  }

  const anchorsOf = (branch: readonly Expression[]) =>
    names.filter((name) =>
      branch.some((part) => part.kind === 'comparison' && part.operator === 'eq' && part.property.name === name),
    )

  test('returns the same branches as a full expansion of the filter, for any filter and row', () => {
    const rows = Array.from({ length: 81 }, (_, n) => ({
      a: n % 3,
      b: Math.floor(n / 3) % 3,
      c: Math.floor(n / 9) % 3,
      d: Math.floor(n / 27),
    }))
    const property = fc.property(random, (expression) => {
      const slow = textbook(expression)
      fc.pre(slow.length < 100)
      const branches = branchesOf(expression, names)
      const expected = Map.groupBy(slow, (branch) => anchorsOf(branch).join())
      assert.deepEqual(branches.map(({ anchors }) => [...anchors].join()).toSorted(), [...expected.keys()].toSorted())
      for (const { anchors, expression: branch } of branches) {
        const parts = expected.get([...anchors].join()) ?? []
        for (const row of rows) {
          const matches = parts.some((conditions) => conditions.every((part) => evaluate(part, row, { table })))
          assert.equal(evaluate(branch, row, { table }), matches)
        }
      }
      assert.equal(
        isNarrow(expression, names),
        slow.every((branch) => anchorsOf(branch).length > 0),
      )
    })
    fc.assert(property, { numRuns: 500 })
  })

  test('splits or refuses a filter with many alternatives in a short time', () => {
    const pair = (n: number) => `(subject.id eq '${n}' or object.id eq '${n}')`
    const wide = Array.from({ length: 10 }, (_, n) => pair(n)).join(' and ')
    assert.equal(branchesOf(parseFilter(wide), sides).length, 3)
    const deep = Array.from({ length: 20 }).reduce<string>(
      (inner, _, n) => `${pair(n)} and (predicate eq 'p' or ${inner})`,
      pair(99),
    )
    // An algorithm that visits all branches would not finish.
    assert.throws(() => branchesOf(parseFilter(deep), sides), {
      code: 'invalid_filter',
      message: /too many combinations of "or" and "and"/,
    })
  })
})

describe('filters that limit every branch to given values', () => {
  const cases: [string, boolean][] = [
    [`predicate eq 'p'`, true],
    [`object.type eq 'node' and object.id eq 'a' and predicate eq 'p'`, true],
    [`subject.id in ('a') or predicate eq 'p'`, true],
    [`predicate eq 'p' or source.type eq 'manual'`, false],
    [`not (predicate eq 'p')`, false],
    [`not (not (predicate eq 'p'))`, false],
    [`predicate ne 'p'`, false],
    [`startswith(predicate, 'p')`, false],
    [`predicate eq null`, false],
    [`(predicate eq 'p' or object.type eq 'node') and (subject.id eq 'a' or source.type eq 'manual')`, false],
    [`(predicate eq 'p' or object.type eq 'node') and subject.id eq 'a'`, true],
  ]
  for (const [text, expected] of cases) {
    test(`reports that the filter ${text} ${expected ? 'limits' : 'does not limit'} every branch to given values`, () =>
      assert.equal(isNarrow(parseFilter(text), narrowing), expected))
  }
})
