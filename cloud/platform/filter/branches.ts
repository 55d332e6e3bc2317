import { Problem } from '@millwright/api/problem.ts'
import { all, canonicalName, type Expression, either, filterLimits } from './expression.ts'

/**
 * One `or` branch of a filter. A branch pins a property if it limits the property to given values with `eq` or `in`,
 * outside of `not`. `anchors` contains the names of the pinned properties.
 */
export type Branch = { readonly anchors: ReadonlySet<string>; readonly expression: Expression }

type Part = { readonly expression: Expression; readonly size: number }
/** The parts of a filter. The key is the set of names that a part pins, as a bit mask with one bit for each name. */
type Parts = Map<number, Part>

/**
 * Returns the `or` branches of a filter in disjunctive normal form. Branches that pin the same names are combined, so
 * there is at most one branch for each set of names. All branches joined by `or` are equivalent to the filter.
 */
export function branchesOf(expression: Expression, names: readonly string[]): Branch[] {
  const bits = new Map(names.map((name, index) => [canonicalName(name), 1 << index]))
  return [...split(expression, bits)].map(([mask, part]) => ({
    anchors: new Set(names.filter((_, index) => mask & (1 << index))),
    expression: part.expression,
  }))
}

/**
 * Returns true if every branch pins at least one of the names. Such a filter matches only rows with the pinned values.
 */
export function isNarrow(expression: Expression, names: readonly string[]): boolean {
  const canonicalNames = new Set(names.map(canonicalName))
  const decide = (part: Expression): boolean => {
    if (part.kind === 'and') return part.terms.some(decide)
    if (part.kind === 'or') return part.terms.every(decide)
    return canonicalNames.has(pinned(part) ?? '')
  }
  return decide(expression)
}

/** Returns the filter without the conditions that pin the names. Returns undefined if no other condition is left. */
export function withoutPins(expression: Expression, names: readonly string[]): Expression | undefined {
  const free = new Set(names.map(canonicalName))
  const left = (part: Expression): Expression | undefined => {
    if (part.kind !== 'and' && part.kind !== 'or') return free.has(pinned(part) ?? '') ? undefined : part
    const terms = part.terms.map(left)
    const said = terms.filter((term) => term !== undefined)
    if (part.kind === 'or') return said.length < terms.length ? undefined : either(said)
    return said.length === 0 ? undefined : all(said)
  }
  return left(expression)
}

/**
 * Returns the property and the accepted texts of a filter that consists of one `eq` or `in` condition on text. Returns
 * undefined for any other filter.
 */
export function valuesAlone(expression: Expression): { property: string; values: string[] } | undefined {
  const property = pinned(expression)
  if (property === undefined) return undefined
  const literals = expression.kind === 'in' ? expression.literals : 'literal' in expression ? [expression.literal] : []
  const values = literals.flatMap((literal) => (literal.kind === 'text' ? [literal.value] : []))
  return values.length === literals.length ? { property, values: [...new Set(values)] } : undefined
}

function pinned(expression: Expression): string | undefined {
  if (expression.kind === 'in') return expression.property.name
  const isEquality = expression.kind === 'comparison' && expression.operator === 'eq'
  return isEquality && expression.literal.kind !== 'null' ? expression.property.name : undefined
}

function split(expression: Expression, bits: ReadonlyMap<string, number>): Parts {
  if (expression.kind === 'or') return union(expression.terms.map((term) => split(term, bits)))
  if (expression.kind === 'and') return expression.terms.map((term) => split(term, bits)).reduce(product)
  return new Map([[bits.get(pinned(expression) ?? '') ?? 0, { expression, size: sizeOf(expression) }]])
}

function union(alternatives: readonly Parts[]): Parts {
  const gathered = Map.groupBy(
    alternatives.flatMap((parts) => [...parts]),
    ([mask]) => mask,
  )
  return new Map(
    [...gathered].map(([mask, found]) => {
      const parts = found.map(([, part]) => part)
      return [mask, combined(either, parts)]
    }),
  )
}

/**
 * Combines each part of `left` with each part of `right`. Combinations that pin the same names are merged at once, so
 * that the number of parts stays small.
 */
function product(left: Parts, right: Parts): Parts {
  const sums = [...left].map(([mask, part]) => {
    const together = Map.groupBy(right, ([other]) => mask | other)
    return new Map(
      [...together].map(([names, found]) => {
        const alternatives = found.map(([, other]) => other)
        return [names, combined(all, [part, combined(either, alternatives)])] as const
      }),
    )
  })
  const result = union(sums)
  const size = [...result.values()].reduce((sum, part) => sum + part.size, 0)
  if (size > filterLimits.branchTerms)
    throw new Problem(
      'invalid_filter',
      `The filter has too many combinations of "or" and "and": ${size} conditions after expansion, and the limit is ${filterLimits.branchTerms}. Use fewer "or" inside "and"`,
    )
  return result
}

function combined(join: (terms: Expression[]) => Expression, parts: readonly Part[]): Part {
  return {
    expression: join(parts.map(({ expression }) => expression)),
    size: parts.reduce((sum, { size }) => sum + size, 0),
  }
}

function sizeOf(expression: Expression): number {
  if (expression.kind === 'and' || expression.kind === 'or')
    return expression.terms.reduce((sum, term) => sum + sizeOf(term), 0)
  if (expression.kind === 'not') return sizeOf(expression.term)
  return 1 + (expression.kind === 'any' && expression.lambda ? sizeOf(expression.lambda.condition) : 0)
}
