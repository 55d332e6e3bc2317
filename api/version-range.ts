import { Problem } from './problem.ts'
import { compareVersions, isNumber, versionParts } from './version-order.ts'

/**
 * Ranges of versions, such as `>=2.6 <3.0`, `2.8.*` or `1.4 || 1.6`. A range has alternatives, separated by `||`. An
 * alternative has conditions, separated by spaces or commas, that must all be true. A condition is a version with an optional
 * operator (`=` is the default), numbers that end with `.*`, or only `*`. A version with spaces is written in double quotes.
 */

const operators = ['>=', '<=', '!=', '>', '<', '='] as const
type Operator = (typeof operators)[number]

type Condition = { operator: Operator; version: string } | { numbers: readonly string[] }

export type VersionRange = { readonly alternatives: readonly (readonly Condition[])[] }

/** The maximum number of conditions in a range. */
const mostConditions = 64

/** Matches the next token: a separator, an operator, a version in quotes or a version without spaces. */
const tokenPattern = /\s*(?:(\|\||,)|(>=|<=|!=|>|<|=)|"([^"]+)"|([^\s,"|<>=!]+))/y

/** Parses a range of versions. Throws a problem with the code `invalid_version_range`. */
export function parseVersionRange(text: string): VersionRange {
  const alternatives: Condition[][] = [[]]
  const end = text.trimEnd().length
  let operator: Operator | undefined
  let previous = '||'
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < end) {
    const start = tokenPattern.lastIndex
    const match = tokenPattern.exec(text)
    if (match === null) throw invalid(text, `"${text.slice(start, start + 40).trim()}" is not a condition`)
    const [, separator, symbol, quoted, plain] = match
    const current = separator ?? symbol ?? ''
    if (current !== '' && (previous === '||' || previous === ',' || operator !== undefined) && symbol === undefined) {
      throw invalid(text, `a condition is missing before "${current}"`)
    }
    if (symbol !== undefined && operator !== undefined) throw invalid(text, `a version is missing before "${symbol}"`)
    if (separator === '||') alternatives.push([])
    if (separator === undefined && symbol === undefined) {
      alternatives.at(-1)?.push(conditionOf(text, { operator, quoted, plain: plain ?? '' }))
    }
    operator = symbol as Operator | undefined
    previous = current
  }
  if (previous !== '') throw invalid(text, 'a condition is missing at the end')
  if (alternatives.flat().length > mostConditions) throw invalid(text, `it has more than ${mostConditions} conditions`)
  return { alternatives }
}

/** Returns whether a version is in a range. A text that is not a range contains no version. */
export function isInRange(version: string, range: VersionRange | string): boolean {
  const parsed = typeof range === 'string' ? parsedOrNothing(range) : range
  return parsed.alternatives.some((conditions) => conditions.every((condition) => isTrueFor(version, condition)))
}

function parsedOrNothing(text: string): VersionRange {
  try {
    return parseVersionRange(text)
  } catch {
    return { alternatives: [] }
  }
}

type ConditionText = { operator: Operator | undefined; quoted: string | undefined; plain: string }

function conditionOf(text: string, { operator, quoted, plain }: ConditionText): Condition {
  const version = quoted ?? plain
  if (quoted === undefined && /(?:^|\.)[*x]$/i.test(plain)) {
    if (operator !== undefined) throw invalid(text, `"${plain}" cannot have the operator ${operator}`)
    return { numbers: prefixNumbers(text, plain) }
  }
  if (plain.includes('*')) throw invalid(text, `"${plain}" can have * only at the end, after a dot`)
  if (!/[0-9\p{L}]/u.test(version)) throw invalid(text, `"${version}" has no numbers and no letters`)
  return { operator: operator ?? '=', version }
}

/** Returns the numbers before the wildcard. */
function prefixNumbers(text: string, plain: string): string[] {
  const before = plain.slice(0, -1).replace(/^(?:v|ver|version)(?=\d)/i, '')
  if (!/^(?:\d+\.)*$/.test(before)) throw invalid(text, `"${plain}" can have only numbers before the last dot`)
  return before
    .split('.')
    .slice(0, -1)
    .map((number) => number.replace(/^0+/, ''))
}

function isTrueFor(version: string, condition: Condition): boolean {
  if ('numbers' in condition) return startsWith(version, condition.numbers)
  const order = compareVersions(version, condition.version)
  switch (condition.operator) {
    case '=':
      return order === 0
    case '!=':
      return order !== 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
  }
}

/** Returns whether a version starts with these numbers. Missing numbers are zeros, so 2 starts with 2.0. */
function startsWith(version: string, numbers: readonly string[]): boolean {
  const parts = versionParts(version)
  const end = parts.findIndex((part) => !isNumber(part))
  const own = end === -1 ? parts : parts.slice(0, end)
  return numbers.every((number, index) => number === (own[index] ?? ''))
}

function invalid(text: string, reason: string): Problem {
  const detail = `The range of versions "${text}" is not valid: ${reason}. Use a range such as ">=2.6 <3.0", "2.8.*" or "1.4 || 1.6"`
  return new Problem('invalid_version_range', detail)
}
