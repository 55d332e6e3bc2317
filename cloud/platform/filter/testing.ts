import fc from 'fast-check'
import { comparisons, type Expression, type Literal, type TextLiteral, textFunctions } from './expression.ts'
import { type PropertyTable, propertyTable, type Scalar, timeOf, uuidOf } from './properties.ts'

/**
 * The values of a row, by the names of a property table. The parts of a name are separated by `/`. An array is a list
 * of such rows.
 */
export type Values = { readonly [name: string]: string | number | boolean | null | undefined | readonly Values[] }

type Evaluation = { table: PropertyTable; caseInsensitive?: boolean; itself?: Scalar | undefined }

/**
 * Evaluates a filter. This is the reference implementation and as simple as possible. The compiled filter must give the
 * same result.
 */
export function evaluate(expression: Expression, values: Values, how: Evaluation): boolean {
  switch (expression.kind) {
    case 'and':
      return expression.terms.every((term) => evaluate(term, values, how))
    case 'or':
      return expression.terms.some((term) => evaluate(term, values, how))
    case 'not':
      return !evaluate(expression.term, values, how)
    case 'any': {
      const elements = (values[expression.property.name] ?? []) as readonly Values[]
      const property = how.table.find(expression.property.name)
      const { lambda } = expression
      if (property?.kind !== 'array') throw new TypeError(`${expression.property.name} is not an array`)
      const { properties: table, itself } = property.elements
      return elements.some((element) => !lambda || evaluate(lambda.condition, element, { ...how, table, itself }))
    }
    default:
      return holds(expression, values, how)
  }
}

type Leaf = Extract<Expression, { kind: 'comparison' | 'in' | 'text' }>

function holds(condition: Leaf, values: Values, how: Evaluation): boolean {
  const { name } = condition.property
  const property = name === '' ? how.itself : how.table.find(name)
  if (property === undefined || property.kind === 'array') throw new TypeError(`${name} is not a scalar`)
  const folded = (value: unknown) =>
    how.caseInsensitive && property.kind === 'text' ? `${value}`.toLowerCase() : value
  const stored = values[name] ?? null
  const value = stored === null ? null : folded(comparable(property, stored))
  const literalValue = (literal: Literal) => folded(comparable(property, 'value' in literal ? literal.value : ''))
  if (condition.kind === 'in') return condition.literals.some((literal) => value === literalValue(literal))
  if (condition.kind === 'text') {
    if (value === null) return false
    const [text, part] = [`${value}`, `${folded(condition.literal.value)}`]
    if (condition.function === 'contains') return text.includes(part)
    return condition.function === 'startswith' ? text.startsWith(part) : text.endsWith(part)
  }
  if (condition.literal.kind === 'null') return (value === null) === (condition.operator === 'eq')
  const other = literalValue(condition.literal)
  if (condition.operator === 'eq') return value === other
  if (condition.operator === 'ne') return value !== other
  if (value === null) return false
  const order = compare(value, other)
  if (condition.operator === 'gt' || condition.operator === 'ge')
    return order > 0 || (order === 0 && condition.operator === 'ge')
  return order < 0 || (order === 0 && condition.operator === 'le')
}

function comparable({ kind, normalise }: Scalar, value: unknown): unknown {
  if (kind === 'number') return Number(value)
  if (kind === 'time') return Date.parse(timeOf(`${value}`) ?? '')
  if (kind === 'uuid') return uuidOf(`${value}`)
  return kind === 'text' && normalise !== undefined ? normalise(`${value}`) : value
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b
  return Buffer.compare(Buffer.from(`${a}`), Buffer.from(`${b}`))
}

/** Returns an expression without its columns in the text, because they depend on spaces and parentheses. */
export function withoutColumns(expression: Expression): unknown {
  return JSON.parse(JSON.stringify(expression, (key, value) => (key === 'at' ? undefined : value)))
}

const uuids = [
  '0198a1b2-0000-7000-8000-00000000000a',
  '0198a1b2-0000-7000-8000-00000000000b',
  '0198a1b2-0000-7000-8000-00000000000c',
]
export const extraKey = '0198a1b2-0000-7000-8000-0000000000ff'

/** A property table of items with parts, tags and extras by key. The tables of services have the same structures. */
export const items = propertyTable(
  {
    id: { kind: 'number', column: 't.id', nullable: false },
    name: { kind: 'text', column: 't.name' },
    'maker.name': { kind: 'text', column: `t.document->>'maker'` },
    code: { kind: 'text', column: 't.code', nullable: false, sortable: false },
    size: { kind: 'number', column: 't.size' },
    active: { kind: 'boolean', column: 't.active' },
    made: { kind: 'time', column: 't.made' },
    owner: { kind: 'uuid', column: 't.owner' },
    parts: {
      kind: 'array',
      elements: {
        from: 'parts p',
        where: 'p.tenant_id = $1 and p.thing_id = t.id',
        properties: propertyTable({
          label: { kind: 'text', column: 'p.label' },
          weight: { kind: 'number', column: 'p.weight', nullable: false },
        }),
      },
    },
    tags: {
      kind: 'array',
      elements: {
        from: `json_array_elements_text(t.document->'tags') as tag`,
        properties: propertyTable({}),
        itself: { kind: 'text', column: 'tag' },
      },
    },
  },
  {
    shown: 'extras/<key>',
    find(name) {
      const key = name.startsWith('extras/') ? uuidOf(name.slice('extras/'.length)) : undefined
      if (key === undefined) return undefined
      const where = `e.tenant_id = $1 and e.thing_id = t.id and e.key = '${key}'`
      return { kind: 'text', column: 'e.value', row: { from: 'extras e', where } }
    },
  },
)

/**
 * Characters that often cause errors: wildcards, quotes, escapes, upper and lower case, code points next to the
 * surrogates, the highest code point.
 */
const character = fc.constantFrom(...`aAbBzZ09%_\\'" ()äÄßéÉжЖ😀`, '\ud7ff', '\ue000', '\uffff', '\u{10ffff}')
export const text = fc.array(character, { maxLength: 4 }).map((characters) => characters.join(''))
const size = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, -2.25, 1e20))
const time = fc.constantFrom(0, 1, 999, 86_400_000, 1_700_000_000_000).map((at) => new Date(at).toISOString())
const uuid = fc.constantFrom(...uuids)
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null, freq: 4 })

export const item = fc.record({
  name: maybe(text),
  'maker/name': maybe(text),
  code: text,
  size: maybe(size),
  active: maybe(fc.boolean()),
  made: maybe(time),
  owner: maybe(uuid),
  parts: fc.array(fc.record({ label: maybe(text), weight: size }), { maxLength: 3 }),
  tags: fc.array(
    text.map((tag) => ({ '': tag })),
    { maxLength: 2 },
  ),
  [`extras/${extraKey}`]: fc.oneof(text, fc.constant(undefined)),
})

const at = 0
const textLiteral: fc.Arbitrary<TextLiteral> = text.map((value) => ({ kind: 'text', value, at }))
const literals = {
  text: textLiteral,
  number: size.map((value): Literal => ({ kind: 'number', value: String(value).replace('+', ''), at })),
  boolean: fc.boolean().map((value): Literal => ({ kind: 'boolean', value, at })),
  time: time.map((value): Literal => ({ kind: 'text', value, at })),
  uuid: fc
    .tuple(uuid, fc.boolean())
    .map(([value, upper]): Literal => ({ kind: 'text', value: upper ? value.toUpperCase() : value, at })),
}

function leaf(name: string, kind: keyof typeof literals): fc.Arbitrary<Expression> {
  const property = { name, at }
  const operators = kind === 'boolean' ? (['eq', 'ne'] as const) : comparisons
  const comparison = fc
    .tuple(fc.constantFrom(...operators), literals[kind])
    .map(([operator, literal]): Expression => ({ kind: 'comparison', property, operator, literal, at }))
  const isNull = fc
    .constantFrom('eq' as const, 'ne' as const)
    .map((operator): Expression => ({ kind: 'comparison', property, operator, literal: { kind: 'null', at }, at }))
  const list = fc
    .array(literals[kind], { minLength: 1, maxLength: 3 })
    .map((found): Expression => ({ kind: 'in', property, literals: found, at }))
  const matching = fc
    .tuple(fc.constantFrom(...textFunctions), textLiteral)
    .map(([name, literal]): Expression => ({ kind: 'text', property, function: name, literal, at }))
  return fc.oneof(comparison, isNull, list, ...(kind === 'text' ? [matching, matching] : []))
}

function grown(leaves: fc.Arbitrary<Expression>, maxDepth: number): fc.Arbitrary<Expression> {
  return fc.letrec<{ expression: Expression }>((tie) => ({
    expression: fc.oneof(
      { maxDepth, withCrossShrink: true },
      leaves,
      fc
        .tuple(fc.constantFrom('and' as const, 'or' as const), tie('expression'), tie('expression'))
        .map(([kind, first, second]): Expression => ({ kind, terms: [first, second] })),
      tie('expression').map((term): Expression => ({ kind: 'not', term })),
    ),
  })).expression
}

const parts = grown(fc.oneof(leaf('label', 'text'), leaf('weight', 'number')), 2)

function any(name: string, condition: fc.Arbitrary<Expression>): fc.Arbitrary<Expression> {
  const property = { name, at }
  return fc.oneof(
    fc.constant<Expression>({ kind: 'any', property }),
    condition.map((inner): Expression => ({ kind: 'any', property, lambda: { variable: 'i', condition: inner } })),
  )
}

/** Generates filters over items. */
export const filter = grown(
  fc.oneof(
    leaf('name', 'text'),
    leaf('maker/name', 'text'),
    leaf('code', 'text'),
    leaf(`extras/${extraKey}`, 'text'),
    leaf('size', 'number'),
    leaf('active', 'boolean'),
    leaf('made', 'time'),
    leaf('owner', 'uuid'),
    any('parts', parts),
    any('tags', grown(leaf('', 'text'), 1)),
  ),
  4,
)
