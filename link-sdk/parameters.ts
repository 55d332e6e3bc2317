import type { ActiveFilter, ActiveOption } from '@millwright/api/proto/generated/filters_pb.js'
import { ComparisonOperator } from '@millwright/api/proto/generated/operators_pb.js'
import type { Variant } from '@millwright/api/proto/generated/variant_pb.js'
import { type JsonValue, jsonOf, variantOfType, variantTypeOf } from '@millwright/api/variant.ts'
import { LinkError } from './link-error.ts'
import type { Manifest, Parameter } from './manifest.ts'

export type Operator = keyof typeof ComparisonOperator

/**
 * `Filter` is a filter of a request. Filters with the same key are combined with "or". Filters with different keys are
 * combined with "and".
 */
export type Filter = { key: string; operator: Operator; value: JsonValue }

export type Options = Readonly<Record<string, JsonValue | undefined>>

/** Validates the filters of a request against the manifest, and adds the defaults of missing filters. */
export function readFilters(activeFilters: readonly ActiveFilter[], declared: readonly Parameter[] = []): Filter[] {
  const filters = activeFilters.map((filter) => readParameter('filter', filter, declared))
  return [...filters, ...defaults('filter', { filters, declared })]
}

/**
 * Validates the options of a request against the manifest, and returns them by key with the defaults of missing
 * options. For a repeated key, the last value is used.
 */
export function readOptions(activeOptions: readonly ActiveOption[], declared: readonly Parameter[] = []): Options {
  const options = activeOptions.map((option) => readParameter('option', option, declared))
  const all = [...options, ...defaults('option', { filters: options, declared })]
  return Object.fromEntries(all.map(({ key, value }) => [key, value]))
}

/** Returns the options of a call that has none: the defaults of the manifest. */
export function defaultOptionsOf({ options }: Pick<Manifest, 'options'>): Options {
  return readOptions([], options)
}

type Kind = 'filter' | 'option'

function readParameter(kind: Kind, active: ActiveFilter | ActiveOption, declared: readonly Parameter[]): Filter {
  const { key } = active
  const parameter = declared.find((one) => one.key === key)
  if (parameter === undefined) {
    const keys = declared.map((one) => one.key).join(', ')
    throw invalid(`Unknown ${kind} "${key}": ${keys === '' ? 'the link has none' : `the link supports ${keys}`}.`)
  }
  return { key, operator: readOperator(active.operator, parameter), value: readValue(active.value, parameter) }
}

const forText: readonly Operator[] = ['STRING_PATTERN']
const forOrder: readonly Operator[] = ['GREATER_THAN', 'GREATER_THAN_OR_EQUAL_TO', 'LESS_THAN', 'LESS_THAN_OR_EQUAL_TO']
const ordered: readonly string[] = ['integer', 'unsigned', 'number', 'text']

function readOperator(number: ComparisonOperator, { key, type }: Parameter): Operator {
  const operator = ComparisonOperator[number] as Operator | undefined
  if (operator === undefined) throw invalid(`Unknown comparison operator ${number} for "${key}".`)
  if (forText.includes(operator) && type !== 'text')
    throw invalid(`"${key}" has the type ${type}, so it cannot be compared with a pattern.`)
  if (forOrder.includes(operator) && !ordered.includes(type))
    throw invalid(`"${key}" has the type ${type}, so it cannot be compared with ${operator}.`)
  return operator
}

/** Converts a value to the declared type, because some clients send every value as bytes or text. */
function readValue(variant: Variant | undefined, { key, type }: Parameter): JsonValue {
  if (variant === undefined || variant.value.case === undefined) throw invalid(`"${key}" has no value.`)
  const isRaw = variant.value.case === 'rawData'
  const plain = isRaw && type !== 'bytes' ? utf8(variant.value.value as Uint8Array) : jsonOf(variant)
  const typed = plain === undefined ? undefined : variantOfType(variantTypeOf(type), plain)
  const value = isRaw && type === 'bytes' ? plain : typed === undefined ? undefined : jsonOf(typed)
  if (value === undefined) throw invalid(`"${key}" must have the type ${type}.`)
  return value
}

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function defaults(
  kind: Kind,
  { filters, declared }: { filters: readonly Filter[]; declared: readonly Parameter[] },
): Filter[] {
  const missing = declared.filter(({ key }) => !filters.some((filter) => filter.key === key))
  const missingParameter = missing.find((parameter) => parameter.mandatory && parameter.default === undefined)
  if (missingParameter !== undefined)
    throw invalid(`The ${kind} "${missingParameter.key}" is mandatory: ${missingParameter.description}`)
  return missing.flatMap(({ key, default: value }) => (value === undefined ? [] : [{ key, operator: 'EQUAL', value }]))
}

function invalid(description: string): LinkError {
  return new LinkError('INVALID_ARGUMENT', description)
}

/**
 * Returns true when a device with these values matches the filters. A filter is ignored if `values` has no value for
 * its key. Comparisons are case-sensitive. In a pattern, `?` matches one character and `*` matches any number of
 * characters.
 */
export function matches(filters: readonly Filter[], values: Readonly<Record<string, JsonValue | undefined>>): boolean {
  return Object.entries(values).every(([key, value]) => {
    const ofKey = filters.filter((filter) => filter.key === key)
    return value === undefined || ofKey.length === 0 || ofKey.some((filter) => compare(value, filter))
  })
}

function compare(value: JsonValue, { operator, value: expected }: Filter): boolean {
  if (operator === 'EQUAL') return value === expected
  if (operator === 'NOT_EQUAL') return value !== expected
  if (operator === 'STRING_PATTERN') return typeof value === 'string' && fits(value, String(expected))
  if (typeof value !== typeof expected || (typeof value !== 'number' && typeof value !== 'string')) return false
  const order = value < (expected as typeof value) ? -1 : value > (expected as typeof value) ? 1 : 0
  if (operator === 'GREATER_THAN') return order > 0
  if (operator === 'GREATER_THAN_OR_EQUAL_TO') return order >= 0
  return operator === 'LESS_THAN' ? order < 0 : order <= 0
}

/**
 * Returns true when a text matches a pattern. The function backtracks only to the last `*` that it has passed, so that
 * no pattern takes exponential time.
 */
function fits(text: string, pattern: string): boolean {
  let at = 0
  let next = 0
  let star = -1
  let starAt = 0
  while (at < text.length) {
    if (next < pattern.length && (pattern[next] === '?' || (pattern[next] === text[at] && pattern[next] !== '*'))) {
      at += 1
      next += 1
    } else if (pattern[next] === '*') {
      star = next
      starAt = at
      next += 1
    } else if (star >= 0) {
      starAt += 1
      at = starAt
      next = star + 1
    } else return false
  }
  while (pattern[next] === '*') next += 1
  return next === pattern.length
}
