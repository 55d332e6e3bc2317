import type { AnyElement, Comparison, Condition, Expression, Literal, Path, TextLiteral } from './expression.ts'
import { invalidFilter } from './parser.ts'
import { afterPrefix } from './prefix.ts'
import {
  type ArrayProperty,
  type PropertyTable,
  type Rows,
  type Scalar,
  type ScalarKind,
  timeOf,
  unknownProperty,
  uuidOf,
} from './properties.ts'

export type CompileOptions = {
  /** Whether text is compared case-insensitively. No index is used then. */
  caseInsensitive?: boolean
  /** The number of the first free parameter. `$1` is the tenant. */
  firstParameter?: number
}

/**
 * A condition for `where`, in which null counts as false. It must not be negated, because the negation of null is null.
 */
export type CompiledFilter = { readonly sql: string; readonly values: readonly unknown[] }

/**
 * An SQL condition. `isSure` is true if the condition is never null. Such a condition can be negated with `not`, which
 * the planner handles best.
 */
type Sql = { readonly text: string; readonly isSure: boolean; readonly isJoined?: boolean }

type Scope = {
  readonly table: PropertyTable
  readonly itself?: Scalar | undefined
  readonly caseInsensitive: boolean
  readonly bind: (value: unknown) => string
}

const symbols = { eq: '=', ne: '<>', gt: '>', ge: '>=', lt: '<', le: '<=' } as const satisfies Record<
  Comparison,
  string
>
const types = { text: 'text', number: 'numeric', boolean: 'boolean', time: 'timestamptz', uuid: 'uuid' } as const

export function compileFilter(
  expression: Expression,
  table: PropertyTable,
  { caseInsensitive = false, firstParameter = 2 }: CompileOptions = {},
): CompiledFilter {
  const values: unknown[] = []
  const bind = (value: unknown) => `$${firstParameter + values.push(value) - 1}`
  const { text, isJoined } = compile(expression, { table, caseInsensitive, bind })
  return { sql: isJoined ? `(${text})` : text, values }
}

function compile(expression: Expression, scope: Scope): Sql {
  switch (expression.kind) {
    case 'and':
    case 'or':
      return join(
        expression.kind,
        expression.terms.map((term) => compile(term, scope)),
      )
    case 'not':
      return negated(compile(expression.term, scope))
    case 'any':
      return compileAny(expression, scope)
    default:
      return compileCondition(expression, scope)
  }
}

function join(word: 'and' | 'or', terms: readonly Sql[]): Sql {
  const text = terms.map((term) => (term.isJoined ? `(${term.text})` : term.text)).join(` ${word} `)
  return { text, isSure: terms.every(({ isSure }) => isSure), isJoined: true }
}

function negated({ text, isSure }: Sql): Sql {
  return { text: isSure ? `not (${text})` : `((${text}) is not true)`, isSure: true }
}

function compileCondition(condition: Exclude<Condition, AnyElement>, scope: Scope): Sql {
  const property = scalarAt(condition.property, scope)
  if (property.row === undefined) return compileOn(property, condition, scope)
  const isInverse =
    condition.kind === 'comparison' && (condition.operator === 'ne') !== (condition.literal.kind === 'null')
  // A missing row counts as null. So a condition that accepts null is compiled as the negation of its opposite.
  const positive = isInverse ? { ...condition, operator: opposite(condition.operator) } : condition
  const existence = exists(property.row, compileOn(property, positive, scope))
  return isInverse ? negated(existence) : existence
}

function opposite(operator: Comparison): 'eq' | 'ne' {
  return operator === 'ne' ? 'eq' : 'ne'
}

function exists({ from, where }: Rows, condition?: Sql): Sql {
  const conditions = [where, condition?.text].filter((part) => part !== undefined).map((part) => `(${part})`)
  const filtered = conditions.length === 0 ? '' : ` where ${conditions.join(' and ')}`
  return { text: `exists (select from ${from}${filtered})`, isSure: true }
}

function compileAny({ property, lambda }: AnyElement, scope: Scope): Sql {
  const { elements } = arrayAt(property, scope)
  if (lambda === undefined) return exists(elements)
  const inner = { ...scope, table: elements.properties, itself: elements.itself }
  const existence = exists(elements, compile(lambda.condition, inner))
  const narrowed = scope.caseInsensitive ? [] : narrowingOf(lambda.condition, inner)
  if (narrowed.length === 0) return existence
  return { text: [...narrowed, existence.text].join(' and '), isSure: true, isJoined: true }
}

/** Returns additional conditions that let the planner use an index. They do not change the result. */
function narrowingOf(condition: Expression, scope: Scope): string[] {
  if (condition.kind === 'and') return condition.terms.flatMap((term) => narrowingOf(term, scope))
  if (condition.kind !== 'comparison' || condition.operator !== 'eq' || condition.literal.kind !== 'text') return []
  const { narrowing } = scalarAt(condition.property, scope)
  return narrowing === undefined ? [] : [narrowing.where(scope.bind(narrowing.like(condition.literal.value)))]
}

function scalarAt({ name, at }: Path, scope: Scope): Scalar {
  const property = name === '' ? scope.itself : scope.table.find(name)
  if (property === undefined) throw unknownAt(name, at, scope)
  if (property.kind === 'array')
    throw invalidFilter(at, `"${name}" is an array, expected a condition on its elements: ${name}/any(i: …)`)
  return property
}

function arrayAt({ name, at }: Path, scope: Scope): ArrayProperty {
  const property = name === '' ? scope.itself : scope.table.find(name)
  if (property === undefined) throw unknownAt(name, at, scope)
  if (property.kind !== 'array') throw invalidFilter(at, `"${name}" is not an array, expected an array before /any`)
  return property
}

function unknownAt(name: string, at: number, { table }: Scope) {
  if (name === '') return invalidFilter(at, `expected a property of the element: ${table.filterable.join(', ')}`)
  return unknownProperty(name, { to: 'filter', available: table.filterable })
}

function compileOn(property: Scalar, condition: Exclude<Condition, AnyElement>, scope: Scope): Sql {
  switch (condition.kind) {
    case 'comparison':
      return compileComparison(property, condition, scope)
    case 'in':
      return compileList(property, condition.literals, scope)
    case 'text':
      return compileTextFunction(property, condition, scope)
  }
}

function compileComparison(
  property: Scalar,
  { operator, literal, at }: Extract<Condition, { kind: 'comparison' }>,
  scope: Scope,
): Sql {
  const column = operand(property.column)
  if (literal.kind === 'null') return { text: `${column} is ${operator === 'eq' ? '' : 'not '}null`, isSure: true }
  const isEquality = operator === 'eq' || operator === 'ne'
  if (property.kind === 'boolean' && !isEquality)
    throw invalidFilter(at, `true and false have no order, expected eq or ne, found "${operator}"`)
  const value = scope.bind(valueFor(property, literal, { isWhole: isEquality }))
  const [left, right] = sides(property, value, { ...scope, isOrdered: !isEquality })
  if (operator === 'ne' && property.nullable !== false)
    return { text: `${left} is distinct from ${right}`, isSure: true }
  return { text: `${left} ${symbols[operator]} ${right}`, isSure: property.nullable === false }
}

function compileList(property: Scalar, literals: readonly Literal[], scope: Scope): Sql {
  const values = literals.map((literal) => valueFor(property, literal, { isWhole: true }))
  const isSure = property.nullable === false
  if (property.kind !== 'text' || !scope.caseInsensitive)
    return { text: `${operand(property.column)} = any(${scope.bind(values)}::${types[property.kind]}[])`, isSure }
  const items = values.map((value) => lowered(`${scope.bind(value)}::text`))
  return { text: `${lowered(operand(property.column))} in (${items.join(', ')})`, isSure }
}

/**
 * Returns both sides of a comparison. The column stays unchanged, because otherwise its index is not used. Text is
 * ordered by code point, independent of the database's locale. The collation is set on the parameter, so that it
 * matches the index of the column.
 */
function sides(
  { kind, column }: Scalar,
  parameter: string,
  { caseInsensitive, isOrdered }: { caseInsensitive: boolean; isOrdered: boolean },
): [string, string] {
  const value = `${parameter}::${types[kind]}`
  if (kind !== 'text') return [operand(column), value]
  const order = isOrdered ? ' collate "C"' : ''
  if (caseInsensitive) return [`${lowered(operand(column))}${order}`, `${lowered(value)}${order}`]
  return [operand(column), `${value}${order}`]
}

function compileTextFunction(
  property: Scalar,
  { function: name, literal, at }: Extract<Condition, { kind: 'text' }>,
  { bind, caseInsensitive }: Scope,
): Sql {
  if (property.kind !== 'text')
    throw invalidFilter(
      at,
      `${name} applies to text only, expected eq or another comparison of a ${nounOf[property.kind]}`,
    )
  const isSure = property.nullable === false
  const column = operand(property.column)
  if (name === 'startswith' && !caseInsensitive) return { ...prefixRange(column, literal, bind), isSure }
  const escaped = literal.value.replace(/[\\%_]/g, '\\$&')
  const pattern = `${name === 'startswith' ? '' : '%'}${escaped}${name === 'endswith' ? '' : '%'}`
  const parameter = `${bind(pattern)}::text`
  const [left, right] = caseInsensitive ? [lowered(column), lowered(parameter)] : [column, parameter]
  return { text: `${left} like ${right}`, isSure }
}

function prefixRange(column: string, { value }: TextLiteral, bind: Scope['bind']): Pick<Sql, 'text' | 'isJoined'> {
  const from = `${column} >= ${bind(value)}::text collate "C"`
  const end = afterPrefix(value)
  if (end === undefined) return { text: from }
  return { text: `${from} and ${column} < ${bind(end)}::text collate "C"`, isJoined: true }
}

/**
 * Returns SQL that lowercases text with the locale of the database. The collation "C" only lowercases ASCII letters.
 */
function lowered(text: string): string {
  return `lower(${text} collate "default")`
}

/** Returns a plain column unchanged, and any other expression in parentheses. */
function operand(column: string): string {
  return /^[\w.]+$/.test(column) ? column : `(${column})`
}

const nounOf: Record<ScalarKind, string> = {
  text: 'text',
  number: 'number',
  boolean: 'Boolean',
  time: 'time',
  uuid: 'UUID',
}
const expectedText: Record<ScalarKind, string> = {
  text: 'text in single quotes',
  number: 'a number without quotes',
  boolean: 'true or false',
  time: `a time in single quotes, such as '2026-01-31T12:00:00Z'`,
  uuid: 'a UUID in single quotes',
}

function valueFor(property: Scalar, literal: Literal, { isWhole }: { isWhole: boolean }): string | boolean {
  const value = literal.kind === 'null' ? undefined : checked(property, literal, isWhole)
  if (value === undefined)
    throw invalidFilter(literal.at, `expected ${expectedText[property.kind]}, found ${shown(literal)}`)
  return value
}

function checked(
  { kind, normalise }: Scalar,
  literal: Exclude<Literal, { kind: 'null' }>,
  isWhole: boolean,
): string | boolean | undefined {
  if (kind === 'number' || kind === 'boolean') return literal.kind === kind ? literal.value : undefined
  if (literal.kind !== 'text') return undefined
  const text = isWhole && normalise !== undefined ? normalise(literal.value) : literal.value
  if (kind === 'time') return timeOf(text)
  return kind === 'uuid' ? uuidOf(text) : text
}

function shown(literal: Literal): string {
  if (literal.kind === 'null') return 'null'
  return literal.kind === 'text' ? `'${[...literal.value].slice(0, 40).join('')}'` : String(literal.value)
}
